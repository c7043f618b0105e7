#!/usr/bin/env bash
# Runs every command of quire-bench: results are correct, rows are valid, bad arguments fail. Does not check times.
# usage: smoke.sh QUIRE-BENCH [QUIRE-EVAL]
set -eu
bench=$1 eval=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

# $1 = expected exit code, the rest = arguments
fails() {
    local expected=$1 got=0
    shift
    "$bench" "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ $got = "$expected" ] || fail "quire-bench $*: exit code $got, expected $expected: $(cat "$dir/err")"
    [ -s "$dir/err" ] || fail "quire-bench $*: no message"
    if [ $expected = 64 ] && grep -q '###' "$dir/out"; then fail "quire-bench $*: a table besides the error"; fi
}
fails 64
fails 64 nothing
fails 64 linear --what
fails 64 linear -t
fails 64 linear -t x
fails 64 linear --types q9_9
fails 64 linear --shapes 32
fails 64 linear --compute fast
fails 64 attention --shapes gpt-0
fails 64 attention -ctk int5
fails 64 roofline --isa mmx

# $1 = the minimum number of CSV rows, the rest = arguments
prints() {
    local rows=$1
    shift
    "$bench" "$@" --quick -r 1 --csv >"$dir/csv" || fail "quire-bench $*: exit code $?"
    [ "$(grep -c , "$dir/csv")" -gt "$rows" ] || fail "quire-bench $*: $(cat "$dir/csv")"
    if grep -q 'nan' "$dir/csv"; then fail "quire-bench $*: NaN in $(cat "$dir/csv")"; fi
    local columns
    sed -i 's/"[^"]*"/text/g' "$dir/csv" # commas in quotes do not separate cells
    columns=$(grep -c , <(sed -n 1p "$dir/csv" | tr , '\n' | sed 's/$/,/'))
    awk -F, -v n="$columns" 'NR > 1 && NF && NF != n { exit 1 } !NF { exit 0 }' "$dir/csv" ||
        fail "quire-bench $*: rows of different length"
}
level=$("$bench" roofline --quick -r 1 --csv | awk -F, '$1 == "Peak rates" { l = $2 } END { print l }')
[ -n "$level" ] || fail "no ISA level in the output of roofline"
prints 3 roofline --isa "$level" -t 1
prints 4 roofline --isa generic -t 2
prints 8 linear --types q8_0,q4_k,bf16,f32 --shapes 80x512 -M 1,5 -t 1,2
prints 4 linear --types q6_k --shapes 33x256 -M 1,7 --compute native,f32 --isa generic
prints 1 linear --types q4_0 --shapes 64x64 -M 1 --cold 16
fails 64 linear --cold 15
fails 64 linear --cold some
prints 4 attention --shapes llama-1b -p 70 -ctk bf16,fp8,int8
prints 12 attention --shapes llama-1b -d 300 -b 1,3 -ctk bf16,fp8,int8
# prefill and decode at each depth: count of paged rows per "queries/context"
prints 13 attention --shapes llama-1b -p 1,70,600 -d 0,100 -ctk bf16,int8
at=$(awk -F, '$1 == "Attention" && $4 == "paged" { print $6 "/" $7 }' "$dir/csv" | sort | uniq -c | tr -s ' \n' ' ')
[ "$at" = " 2 1/1 2 1/101 2 512/600 2 512/700 2 70/170 2 70/70 " ] || fail "attention at depths: $at"
# windows of 128 and 1,024, ALiBi
prints 2 attention --shapes gpt-oss-20b,mpt-7b -p 200 --compute f32 -ctk f16 --shuffle
prints 1 attention --shapes gemma3-4b -p 1100 --compute f32 -ctk f16 --shuffle
prints 8 overhead -t 2
# with oneDNN if the build has it
if "$bench" linear --onednn --quick -r 1 --types bf16 --shapes 64x64 -M 1 --csv >"$dir/csv" 2>/dev/null; then
    prints 2 linear --onednn --types bf16,f32 --shapes 80x512 -M 1,5
fi

"$bench" linear --quick -r 1 --types f16 --shapes 64x64 -M 1 --json >"$dir/json"
if command -v python3 >/dev/null; then
    python3 -m json.tool "$dir/json" >/dev/null || fail "not JSON: $(cat "$dir/json")"
fi
"$bench" linear --quick -r 1 --types f16 --shapes 64x64 -M 1 | grep -q '^| F16 *| 64 x 64' || fail "no row in Markdown"

if ! "$bench" --help | grep -q synth; then
    echo "built without QUIRE_WITH_TEXT: no commands that open models"
    exit 0
fi
fails 64 synth --arch nothing -o "$dir/x.gguf"
fails 64 synth --arch tiny --type int3 -o "$dir/x.gguf"
fails 64 synth --arch tiny
fails 64 synth --arch gpt-oss-20b --type q4_k -o "$dir/x.gguf" # rows of 2880
fails 69 synth --arch lfm2-1.2b --lora-rank 4 -o "$dir/x.gguf"
fails 73 synth --arch tiny -o "$dir/no/such/folder"
mkdir "$dir/special" "$dir/special/directory"
mkfifo "$dir/special/fifo"
ln -s "$dir/special/target" "$dir/special/link"
for kind in directory fifo link; do # only regular files are overwritten
    fails 73 synth --arch tiny -o "$dir/special/$kind"
done
[ "$(cd "$dir/special" && stat -c '%n %F' -- * | tr '\n' ' ')" = "directory directory fifo fifo link symbolic link " ] ||
    fail "synth replaced a special file: $(ls -l "$dir/special")"
fails 64 model
fails 66 model -m "$dir/missing.gguf"
fails 64 compare -m "$dir/missing.gguf"
types=$("$bench" linear --types all --quick -r 1 --shapes 16x256 -M 1 --csv | sed -n '2,$s/^[^,]*,\([^,]*\),.*/\1/p' | tr A-Z a-z)
[ "$(wc -w <<<"$types")" -ge 18 ] || fail "linear --types all: $types"
for type in $types q4_k_m; do
    "$bench" synth --arch tiny --type $type -o "$dir/$type.gguf" >/dev/null || fail "synth $type"
    prints 2 model -m "$dir/$type.gguf" -p 20 -n 3
done
"$bench" synth --arch tiny --type $type -o "$dir/again.gguf" >/dev/null
cmp "$dir/$type.gguf" "$dir/again.gguf" || fail "the files of one seed differ"
prints 6 model -m "$dir/q4_0.gguf" -p 20 -n 3 -d 0,100 -b 1,3 -ctk bf16,fp8 --compute native,f32
if [ -n "$eval" ]; then
    # the first layers with attention of the hybrids: lfm2 2, qwen3.5 3, granite 5
    for arch in llama-1b:1 qwen2.5-1.5b:1 qwen3-0.6b:1 gemma2-2b:1 lfm2-1.2b:3 granite-4-h-tiny:6 qwen3.5-4b:4; do
        "$bench" synth --arch ${arch%:*} --type q4_0 --layers ${arch#*:} -o "$dir/arch.gguf" >/dev/null
        "$eval" logits -m "$dir/arch.gguf" -p 'the inn' >"$dir/out" || fail "$arch cannot be opened"
        [ "$(wc -l <"$dir/out")" = 10 ] || fail "$arch: $(cat "$dir/out")"
    done
    # a model with states: every test begins with the same ones, else the logits differ
    prints 4 model -m "$dir/arch.gguf" -p 40 -n 3 -d 0,100
fi
fails 66 compare -m "$dir/q4_0.gguf" --peer "$dir/no-such-program"
fails 69 compare -m "$dir/q4_0.gguf" --peer /bin/true --quick -p 20 -n 3
"$bench" compare -m "$dir/q4_0.gguf" --peer "$here/peer.sh" --quick -r 2 -p 20 -n 3 -d 0,50 --csv >"$dir/csv"
awk -F, '/,pp20/ && $6 == 100 { pp++ } /,tg3/ && $6 == 10 { tg++ } END { exit !(pp == 2 && tg == 2) }' "$dir/csv" ||
    fail "compare: $(cat "$dir/csv")"
fails 64 start
fails 69 start -m "$dir/missing.gguf" --quick
fails 66 start -m "$dir/q4_0.gguf" --peer "$dir/no-such-program"
fails 66 first-token -m "$dir/missing.gguf"
"$bench" start -m "$dir/q4_0.gguf" --pack-cache "$dir/cache" --peer "$here/peer.sh" --quick -r 2 --csv >"$dir/csv"
awk -F, '$1 ~ /^From exec/ && $3 == 2 { n++ } END { exit n != 3 }' "$dir/csv" || fail "start: $(cat "$dir/csv")"
[ -s "$dir/cache" ] || fail "start: no pack cache"
prints 2 model -m "$dir/q4_0.gguf" --pack-cache "$dir/cache" -p 20 -n 3
fails 64 contention
"$bench" contention -m "$dir/q4_0.gguf" --pack-cache "$dir/cache" --peer "$here/peer.sh" --quick -r 1 --csv >"$dir/csv"
awk -F, '$3 == 2 || $2 == "peer" { n++ } END { exit !n }' "$dir/csv" || fail "contention: $(cat "$dir/csv")"
"$bench" targets -m "$dir/q4_0.gguf" --pack-cache "$dir/cache" --peer "$here/peer.sh" --quick -r 1 --json >"$dir/json"
for target in "prefill attention" "prefill at 8k" "70 @ d600" "decode attention" GEMM "skinny GEMM" GEMV "prefill, whole" "decode, whole" "batch of 8" \
    "cold start" "CPU contention" '"ratio_to": "peer"' '"ratio_to": "bf16 KV"' '"ratio_to": "not in llama-bench"'; do
    grep -qF "$target" "$dir/json" || fail "targets: no $target"
done
if command -v python3 >/dev/null; then
    python3 -m json.tool "$dir/json" >/dev/null || fail "not JSON: $(cat "$dir/json")"
fi
echo ok
