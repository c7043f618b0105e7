#!/usr/bin/env bash
# quire-bench serve: streams against the engine and against a server, and every bad option. Does not check times.
# usage: serve.sh QUIRE-BENCH
set -eu
bench=$1
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

# $1 = expected exit code, $2 = part of the message, the rest = arguments
fails() {
    local expected=$1 message=$2 got=0
    shift 2
    "$bench" serve "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ $got = "$expected" ] || fail "serve $*: exit code $got, expected $expected: $(cat "$dir/err")"
    grep -qF -e "$message" "$dir/err" || fail "serve $*: no '$message' in $(cat "$dir/err")"
}
# Runs serve; $dir/csv has the tables.
serves() { "$bench" serve "$@" --csv >"$dir/csv" 2>"$dir/err" || fail "serve $*: $(cat "$dir/err")"; }
# Prints column $2 of the row whose table is $1; $3 = text in the second column, if given.
cell() {
    awk -F, -v table="$1" -v key="$2" -v second="${3:-}" '$1 == "table" { for (i = 1; i <= NF; i++) at[$i] = i }
        $1 == table && (second == "" || $2 == second) { print $(at[key]); exit }' "$dir/csv"
}
# $1 = expected value, the rest as in cell
has() {
    local expected=$1
    shift
    [ "$(cell "$@")" = "$expected" ] || fail "$* is '$(cell "$@")', expected $expected: $(cat "$dir/csv")"
}

if ! "$bench" --help | grep -q 'serve '; then
    echo "built without QUIRE_WITH_TEXT: no commands that open models"
    exit 0
fi
"$bench" synth --arch tiny --type q4_0 -o "$dir/tiny.gguf" >/dev/null
m="-m $dir/tiny.gguf"

# ---- bad options
fails 64 'is missing'
fails 64 'excludes -m' $m --synth tiny
fails 64 'excludes -m' --synth tiny --url http://localhost:1
fails 64 'unknown' --synth nothing
fails 64 '--scenario fast' $m --scenario fast
for option in --requests --rate --concurrency --prompt-len --shared-prefix --groups --trace --seed --max-seqs \
    --cache-tokens --target-itl --slo-ttft --slo-itl --url --vocab --synth --scenario \
    --draft-model --json-schema; do
    fails 64 "bad option $option" $m $option
done
for option in --requests --rate --concurrency --shared-prefix --groups --max-seqs --cache-tokens --target-itl \
    --slo-ttft --slo-itl --vocab; do
    for value in -1 x 1x nan; do
        fails 64 "bad option $option $value" $m $option $value
    done
done
fails 64 'more than 65536' $m --requests 65537
for value in 0 -3 5-4 x 3- 3,x 1.5-3 9999999; do
    fails 64 "--prompt-len $value" $m --prompt-len $value
    fails 64 "--answer-len $value" $m --answer-len $value
done
fails 64 '--shared-prefix 9999999' $m --shared-prefix 9999999
fails 64 '--rate excludes' $m --rate 3 --concurrency 2
fails 64 'needs --shared-prefix' $m --groups 2
fails 64 'long-arrival excludes' $m --scenario long-arrival --concurrency 2
fails 64 'is an option of --url' $m --vocab 100
fails 64 'is an option of --url' $m --text-prompts
fails 64 'one number of threads' $m -t 1,2
fails 64 'unknown' $m -ctk int5
fails 64 '--compute fast' $m --compute fast
fails 64 'excludes the options of the engine' --url http://localhost:1 --max-seqs 2
fails 64 'batch1 needs a model' --url http://localhost:1 --scenario batch1
fails 64 'max_seqs 300 is above max_step_tokens 100' $m --requests 2 --max-seqs 300 --chunk 100
fails 64 'cache_tokens 10 is below' $m --requests 2 --cache-tokens 10
[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'quire-serve-*' -newer "$dir/tiny.gguf" -user "$(id -u)")" ] ||
    fail "a temporary model is left"

# ---- streams
serves $m --requests 12 --prompt-len 20-90 --answer-len 3-9 --max-seqs 4 --seed 3
has 12 Serving requests
has 0 Serving failed
has 1 Serving within_limits
has 4 Serving max_seqs
has 12 Latencies samples "time to first token"
has 12 Latencies samples queue
serves $m --requests 6 --rate 200 --prompt-len 40,10 --answer-len 5 --slo-ttft 0.000001
has 0 Serving goodput_per_s
has 0 Serving within_limits
has 24 Latencies samples "between tokens"
# requests of two groups one after the other: all but the first of each find 2 whole blocks
serves $m --requests 6 --concurrency 1 --shared-prefix 128 --groups 2 --prompt-len 10 --answer-len 2
has 512 Serving cached_tokens
# a pool of two sequences for eight: requests are preempted and none is lost
serves $m --requests 8 --prompt-len 40 --answer-len 250 --max-seqs 8 --cache-tokens 640
has 0 Serving failed
[ "$(cell Serving preemptions)" -gt 0 ] || fail "no preemption: $(cat "$dir/csv")"
# a draft model: every draft of the model itself is accepted
serves $m --requests 3 --prompt-len 40 --answer-len 60 --draft-model "$dir/tiny.gguf"
has 0 Serving failed
[ "$(cell Serving accepted_tokens)" -le "$(cell Serving drafted_tokens)" ] || fail "drafts: $(cat "$dir/csv")"
fails 66 'draft_model_path' $m --requests 1 --draft-model "$dir/missing"
fails 64 'excludes the options of the engine' --url http://localhost:1 --draft-model "$dir/tiny.gguf"
# answers that follow a schema; those of a constant end before their 20 tokens
echo '{"type": "array", "items": {"type": "integer"}, "minItems": 2}' >"$dir/list.json"
echo '{"const": 7}' >"$dir/constant.json"
serves $m --requests 3 --prompt-len 40 --answer-len 20 --json-schema "$dir/list.json"
has 0 Serving failed
serves $m --requests 3 --prompt-len 40 --answer-len 20 --json-schema "$dir/constant.json"
has 0 Serving failed
[ "$(cell Latencies samples "between tokens")" -lt 57 ] || fail "no answer ended early: $(cat "$dir/csv")"
echo '{"type": "unheard-of"}' >"$dir/bad.json"
fails 1 'unheard-of' $m --requests 1 --json-schema "$dir/bad.json"
fails 66 'cannot be read' $m --requests 1 --json-schema "$dir/missing"
fails 64 'excludes the options of the engine' --url http://localhost:1 --json-schema "$dir/list.json"
printf '%s\n' '{"arrival": 0, "prompt_tokens": 100, "answer_tokens": 4, "prefix_group": 0}' '' \
    '{"arrival": 0.2, "prompt_tokens": 100, "answer_tokens": 5, "prefix_group": 0}' \
    '{"arrival": 0.2, "prompt_tokens": 30, "answer_tokens": 6}' >"$dir/trace"
serves $m --trace "$dir/trace" --shared-prefix 64
has 3 Serving requests
has 64 Serving cached_tokens
has 12 Latencies samples "between tokens"
fails 66 'No such file' $m --trace "$dir/missing"
fails 64 '--trace excludes' $m --trace "$dir/trace" --rate 3
# $1 = line of the trace, $2 = message
bad_trace() {
    printf '%s\n' '{"arrival": 1, "prompt_tokens": 1, "answer_tokens": 1}' "$1" >"$dir/bad"
    fails 65 "line 2: $2" $m --trace "$dir/bad"
}
bad_trace '{"arrival": 0, "prompt_tokens": 1, "answer_tokens": 1}' 'arrival is before'
bad_trace '{"arrival": 1, "prompt_tokens": 1}' 'answer_tokens is missing'
bad_trace '{"arrival": 1, "prompt_tokens": 0, "answer_tokens": 1}' 'prompt_tokens is no number, or out of range'
bad_trace '{"arrival": "1", "prompt_tokens": 1, "answer_tokens": 1}' 'arrival is no number'
bad_trace '{"arrival": 1, "prompt_tokens": 1, "answer_tokens": 1, "x": 1}' 'unknown member x'
bad_trace '[1]' 'no JSON object'
bad_trace '{' ''
: >"$dir/bad"
fails 65 'no requests' $m --trace "$dir/bad"

for scenario in mixed shared-prefix long-arrival batch1; do
    serves --synth tiny --type q4_0 --scenario $scenario --quick
    has 0 Serving failed
    if grep -q nan "$dir/csv"; then fail "$scenario: $(cat "$dir/csv")"; fi
done
[ -n "$(cell "Batch of 1" ratio)" ] || fail "batch1: $(cat "$dir/csv")"
serves $m --scenario shared-prefix --quick
has 128 "Shared prefix" prefix_tokens
serves $m --scenario long-arrival --quick
has 8 "A long prompt arrives" streams
"$bench" serve $m --requests 2 --prompt-len 5 --answer-len 2 --json >"$dir/json"

# ---- a server
fails 64 'not http://' --url https://localhost
fails 64 'not http://' --url http://localhost:99999
fails 64 'not http://' --url 'http://local host'
fails 64 'not http://' --url 'http://[::1'
fails 69 '--url' --url http://host.invalid --requests 1
if ! command -v python3 >/dev/null; then
    echo "ok, without a server: python3 is missing"
    exit 0
fi
python3 -m json.tool "$dir/json" >/dev/null || fail "not JSON: $(cat "$dir/json")"
python3 "$here/completion_server.py" "$dir/port" "$dir/log" &
server=$!
for _ in $(seq 300); do
    [ ! -s "$dir/port" ] || break
    sleep 0.1
done
url=http://127.0.0.1:$(cat "$dir/port")
stream="--requests 5 --concurrency 2 --prompt-len 20-30 --answer-len 4"
for mode in chunked plain; do
    serves --url $url/$mode/ $stream -m '"name"' --shared-prefix 8
    has 5 Serving requests
    has 0 Serving failed
    has 15 Serving cached_tokens
    has 15 Latencies samples "between tokens"
done
serves --url $url/chunked $stream --text-prompts
python3 - "$dir/log" <<'END' || fail "the requests: $(cat "$dir/log")"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1], encoding="utf-8")]
assert len(lines) == 15
for l in lines:
    assert l["stream"] and l["max_tokens"] == 4 and l["temperature"] == 0
tokens = [l["prompt"] for l in lines[:5]]
assert all(l["model"] == '"name"' for l in lines[:10])
assert all(28 <= len(t) <= 38 and t[:8] == tokens[0][:8] for t in tokens)
assert len({tuple(t[8:]) for t in tokens}) == 5 and all(300 <= x < 32000 for t in tokens for x in t)
assert sorted(map(str, tokens)) == sorted(str(l["prompt"]) for l in lines[5:10])
assert all(isinstance(l["prompt"], str) for l in lines[10:])
END
fails 1 'HTTP status 503' --url $url/status $stream
fails 1 '5 of 5 requests failed' --url $url/garbage $stream
fails 1 'the connection ended before the reply' --url $url/nothing $stream
fails 1 'out of blocks' --url $url/error $stream
fails 1 'not a JSON object' --url $url/json $stream
fails 1 'the server sent no text' --url $url/empty $stream
fails 1 'the connection ended within the reply' --url $url/truncated $stream
kill "$server"
wait "$server" || true
server=
fails 1 'cannot connect' --url $url $stream
echo ok
