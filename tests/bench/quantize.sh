#!/usr/bin/env bash
# Runs quire-quantize: every type on the bundled model and on reference files, its errors, what it must not touch.
# usage: quantize.sh QUIRE-QUANTIZE QUIRE-EVAL SOURCE_DIR
set -eu
quantize=$1 eval=$2 root=$3
shared=${QUIRE_SHARED:-$root/../shared}
model=$root/models/quire-tiny/quire-tiny.gguf
[ -s "$model" ] || { echo "skipped: no $model"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

# $1 = expected exit code, the rest = arguments; the output is in $dir/log
run() {
    local expected=$1 got=0
    shift
    "$quantize" "$@" >"$dir/log" 2>&1 || got=$?
    [ $got = "$expected" ] || fail "$*: exit code $got, expected $expected: $(cat "$dir/log")"
}
says() { grep -qF -- "$1" "$dir/log" || fail "no '$1' in $(cat "$dir/log")"; }
# the KL divergence of the last run is at most $1
at_most() {
    local kl
    kl=$(sed -n 's/^KL divergence \([0-9.]*\).*/\1/p' "$dir/log")
    awk "BEGIN { exit !(\"$kl\" != \"\" && $kl <= $1) }" || fail "KL divergence $kl, at most $1 expected"
}
head -c 2500 "$root/LICENSE" >"$dir/text"
out=$dir/out.gguf

# ---- Arguments

run 0 --help
says "--allow-requantize"
run 0 --version
run 64
run 64 "$model"
says "--output is missing"
run 64 "$model" -o "$out"
says "--type is missing"
run 64 "$model" "$model" -o "$out" --type q4_k
run 64 "$model" -o "$out" --type q9_k
says "unknown type 'q9_k'"
run 64 "$model" -o "$out" --type q4_k -t many
run 64 "$model" -o "$out" --type q4_k --nonsense
ln "$model" "$dir/same.gguf" 2>/dev/null || cp "$model" "$dir/same.gguf"
run 64 "$dir/same.gguf" -o "$dir/same.gguf" --type q4_k --allow-requantize
says "is the file to read"
run 66 "$dir/none.gguf" -o "$out" --type q4_k
run 66 "$model" -o /dev/null --type q8_0
[ -c /dev/null ] || fail "/dev/null is gone"
run 66 "$model" -o "$dir/no/such/folder.gguf" --type q8_0
head -c 500000 "$model" >"$dir/short.gguf"
run 65 "$dir/short.gguf" -o "$out" --type q4_k
run 69 "$model" -o "$out" --type q4_k
says "is Q8_0: rounding it again"
[ ! -e "$out" ] || fail "a file was left behind"

# ---- The bundled model: Q8_0

run 0 "$model" -o "$out" --type q8_0 --text "$dir/text"
says "kept"
at_most 0
previous=100000000
for row in q8_0:0 q6_k:0.004 q5_k_m:0.015 q5_k:0.02 q4_k_m:0.17 q4_k:0.21 q4_0:0.31 mxfp4:0.47; do
    run 0 "$model" -o "$out" --type ${row%:*} --allow-requantize -q --text "$dir/text" -t 2
    at_most ${row#*:}
    size=$(stat -c %s "$out")
    [ "$size" -le $previous ] || fail "${row%:*}: $size bytes, more than the type before"
    previous=$size
done
run 0 "$model" -o "$out" --type q4_0 --allow-requantize -t 1
cp "$out" "$dir/one.gguf"
run 0 "$model" -o "$out" --type q4_0 --allow-requantize -t 3
cmp "$out" "$dir/one.gguf" || fail "the result depends on the number of threads"
run 0 "$model" -o "$out" --type bf16 --allow-requantize --pure -q --text "$dir/text"
at_most 0.0001

# ---- Importance matrices: the same for any number of threads, and less loss in a trained model

head -c 12000 "$root/models/quire-tiny/eval/conversations.jsonl" >"$dir/sample"
tail -c 6000 "$root/models/quire-tiny/eval/conversations.jsonl" >"$dir/other"
"$eval" imatrix -m "$model" -f "$dir/sample" --out "$dir/imatrix.gguf" -t 2 >"$dir/log" || fail "imatrix: $(cat "$dir/log")"
says "importance in "
"$eval" imatrix -m "$model" -f "$dir/sample" --out "$dir/again.gguf" -t 1 >/dev/null
cmp "$dir/imatrix.gguf" "$dir/again.gguf" || fail "importance depends on the number of threads"
for type in q4_0 q4_k; do
    run 0 "$model" -o "$out" --type $type --allow-requantize -q --text "$dir/other"
    kl=$(sed -n 's/^KL divergence \([0-9.]*\).*/\1/p' "$dir/log")
    run 0 "$model" -o "$out" --type $type --allow-requantize -q --text "$dir/other" --imatrix "$dir/imatrix.gguf"
    echo "$type: KL divergence $kl, with importance $(sed -n 's/^KL divergence \([0-9.]*\).*/\1/p' "$dir/log")"
    at_most "$(awk "BEGIN { print 0.9 * $kl }")"
done
rm -f "$out"
run 66 "$model" -o "$out" --type q4_0 --allow-requantize --imatrix "$dir/none.gguf"
run 65 "$model" -o "$out" --type q4_0 --allow-requantize --imatrix "$dir/text"
run 65 "$model" -o "$out" --type q4_0 --allow-requantize --imatrix "$model"
says "general.type is 'model', not imatrix"
head -c 30000 "$dir/imatrix.gguf" >"$dir/short.gguf"
run 65 "$model" -o "$out" --type q4_0 --allow-requantize --imatrix "$dir/short.gguf"
if command -v python3 >/dev/null; then
    # numbers lie behind the directory: the last tensor's count, and a column before it
    for at in 32 64; do
        python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = len(data) - int(sys.argv[3])
data[at:at + 4] = b"\x00\x00\xc0\x7f"
open(sys.argv[2], "wb").write(data)' "$dir/imatrix.gguf" "$dir/nan.gguf" $at
        run 65 "$model" -o "$out" --type q4_0 --allow-requantize --imatrix "$dir/nan.gguf"
        says "negative or not finite"
    done
fi
[ ! -e "$out" ] || fail "a file was left behind"
"$eval" imatrix -m "$model" --out "$dir/again.gguf" >/dev/null 2>&1 && fail "imatrix without a text"
"$eval" imatrix -m "$model" -f "$dir/none" --out "$dir/again.gguf" >/dev/null 2>&1 && fail "imatrix of no file"
"$eval" imatrix -m "$model" -f "$dir/other" --out "$dir/no/such/folder" >/dev/null 2>&1 && fail "imatrix to no folder"

# ---- Reference files: no worse than those of the public quantiser, which have the same size. Text this short leaves
# an uncertainty of some per cent.

gguf=$shared/goldens/gguf
if [ ! -e "$gguf/llama_h256-bf16.gguf" ]; then
    echo "no reference data (set QUIRE_SHARED): only the bundled model was tested"
    exit 0
fi
kl_of() { # KL divergence of $1 from the unrounded model
    "$eval" divergence -m "$1" --reference "$gguf/llama_h256-bf16.gguf" -f "$dir/text" |
        sed -n 's/^KL divergence \([0-9.]*\).*/\1/p'
}
for row in q8_0:gguf/llama_h256-q8_0 q6_k:gguf/llama_h256-q6_k q5_k:gguf/llama_h256-q5_k_s \
    q4_k:gguf/llama_h256-q4_k_s q4_0:gguf/llama_h256-q4_0 iq4_nl:gguf/llama_h256-iq4_nl \
    iq4_xs:gguf/llama_h256-iq4_xs mxfp4:gguf_2026/llama_h256-mxfp4; do
    peer=$shared/goldens/${row#*:}.gguf
    run 0 "$gguf/llama_h256-bf16.gguf" -o "$out" --type ${row%:*} --pure -q
    ours=$(kl_of "$out")
    theirs=$(kl_of "$peer")
    echo "${row%:*}: KL divergence $ours, public quantiser $theirs"
    awk "BEGIN { exit !($ours <= 1.05 * $theirs) }" || fail "${row%:*} is worse than the public quantiser"
    [ "$(stat -c %s "$out")" -le $(($(stat -c %s "$peer") + 4096)) ] || fail "${row%:*} is larger"
done

# experts have three dimensions
run 0 "$gguf/mixtral-bf16.gguf" -o "$out" --type q8_0
says "blk.0.ffn_down_exps.weight"
"$eval" divergence -m "$out" --reference "$gguf/mixtral-bf16.gguf" -f "$dir/text" >"$dir/log"
at_most 0.05

# files of all families can be read again: tables of integers and f32 stay (golden: 1 is a large difference)
for file in "$shared"/goldens/gguf_2026/*-bf16.gguf; do
    family=$(basename "$file" -bf16.gguf)
    run 0 "$file" -o "$out" --type q8_0
    "$eval" golden --threads 1 --gguf "$out" "$shared/goldens/$family" >"$dir/log" 2>&1 || [ $? = 1 ] ||
        fail "$family: $(cat "$dir/log")"
done

# experts have an importance each; that of another model is refused
"$eval" imatrix -m "$gguf/mixtral-bf16.gguf" -f "$dir/text" --out "$dir/imatrix.gguf" >/dev/null
run 0 "$gguf/mixtral-bf16.gguf" -o "$out" --type q4_0 -q --imatrix "$dir/imatrix.gguf" --text "$dir/text"
at_most 2
run 65 "$gguf/llama_h256-bf16.gguf" -o "$out" --type q4_0 --imatrix "$dir/imatrix.gguf"
says " has other sizes"
"$eval" imatrix -m "$shared/goldens/llama" -f "$dir/text" --out "$dir/again.gguf" >/dev/null 2>"$dir/log" &&
    fail "imatrix of a folder"
says "is no GGUF file"

# a weight that is not finite is refused by name, and nothing stays behind
python3 - "$gguf/llama-f32.gguf" "$dir/nan.gguf" <<'END' 2>/dev/null || exit 0
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = len(data) // 2 // 32 * 32 # in a matrix
data[at:at + 4] = b"\x00\x00\xc0\x7f"
open(sys.argv[2], "wb").write(data)
END
rm -f "$out"
run 65 "$dir/nan.gguf" -o "$out" --type q8_0
says "a weight is not finite"
[ ! -e "$out" ] || fail "a file was left behind"
