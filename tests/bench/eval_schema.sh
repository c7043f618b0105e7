#!/usr/bin/env bash
# Runs quire-eval schema on files of our own: counts, exit codes, spellings, numbers as written, folders, malformed input.
# usage: eval_schema.sh QUIRE-EVAL TOKENIZER
set -eu
eval=$1 tokenizer=$2
[ -s "$tokenizer" ] || { echo "skipped: no $tokenizer"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

# $1 = expected exit code, the rest = arguments; the output is in $dir/out and $dir/err
run() {
    local expected=$1 got=0
    shift
    "$eval" schema -m "$tokenizer" "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ $got = "$expected" ] || fail "schema $*: exit code $got, expected $expected: $(cat "$dir/out" "$dir/err")"
}
says() { grep -qF -- "$1" "$dir/${2:-out}" || fail "no '$1' in $(cat "$dir/${2:-out}")"; }

# 5.0 reaches the grammar as it is written: docs/structured-output.md says that integers have no point
cat >"$dir/good.jsonl" <<'END'
{"name":"age","schema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"],"additionalProperties":false},"tests":[{"valid":true,"data":{"age":5}},{"valid":true,"data": {"age" : 50}},{"valid":false,"data":{"age":5.5}},{"valid":false,"data":{}},{"data":{"age":1,"more":[1,2]},"valid":false}]}

{"name":"numbers as written","schema":{"anyOf":[{"type":"integer"},{"enum":[1.5,{"a":[]}]}]},"tests":[{"valid":false,"data":5.0},{"valid":true,"data":1.5},{"valid":false,"data":1.51},{"valid":true,"data":{"a":[]}}]}
{"name":"text","schema":{"type":"string","maxLength":3},"tests":[{"valid":true,"data":"\u00e9\ud83d\ude00\n"},{"valid":true,"data":"\"\\\/"},{"valid":false,"data":"abcd"}]}
{"name":"large","schema":{"type":"number","maximum":10},"tests":[{"valid":false,"data":1e400},{"valid":true,"data":9.999999999}]}
{"name":"refused","schema":{"type":"object","$ref":"https://example.org/other.json"},"tests":[{"valid":true,"data":{}}]}
END
run 0 "$dir/good.jsonl"
says "schemas 5, instances 14"
says "passing 4 (80.0 %), not compiled 1 (20.0 %)"
says "valid instance rejected: 0 schemas"
says "invalid instance accepted: 0 schemas"
says "1 not compiled: "
for row in compile mask commit; do grep -qE "^$row +us: mean [0-9.]+, p50 .*p99\.9 .*max" "$dir/out" || fail "no times of $row"; done
run 0 "$dir/good.jsonl" --spelling compact --clock cpu
says "passing 4 "
run 0 "$dir/good.jsonl" --filter as -v
says "schemas 1, instances 4"
says "rejected at token"
run 0 "$dir/good.jsonl" --limit 2
says "schemas 2, instances 9"
run 0 "$dir/good.jsonl" --json -v
python3 - "$dir/out" <<'END' || fail "the report is no JSON: $(cat "$dir/out")"
import json, sys
r = json.load(open(sys.argv[1]))
assert (r["schemas"], r["instances"], r["passing"], r["not_compiled"]) == (5, 14, 4, 1), r
assert r["reasons"][0]["count"] == 1 and r["mask_us"]["p50"] <= r["mask_us"]["max"], r
END
if command -v xz >/dev/null; then
    xz -k "$dir/good.jsonl"
    run 0 "$dir/good.jsonl.xz"
    says "schemas 5, instances 14"
    head -c 100 "$dir/good.jsonl.xz" >"$dir/cut.xz"
    run 66 "$dir/cut.xz"
    says "cannot read" err
fi

# labels that contradict the schema: both kinds are counted, and accepted invalid instances fail
echo '{"name":"reject","schema":{"type":"null"},"tests":[{"valid":true,"data":[]},{"valid":true,"data":nul}]}' >"$dir/reject.jsonl"
run 0 "$dir/reject.jsonl" -v
says "reject: 2 valid instances rejected"
says "valid instance rejected: 1 schemas (100.00 %)"
echo '{"name":"accept","schema":{},"tests":[{"valid":false,"data":[]}]}' >"$dir/accept.jsonl"
run 1 "$dir/accept.jsonl"
says "accept: 1 invalid instances accepted"

# folders of the official test suite
mkdir -p "$dir/suite/optional"
echo '[{"description":"a","schema":{"const":1},"tests":[{"description":"x","data":1,"valid":true}]},
 {"description":"b","schema":false,"tests":[]}]' >"$dir/suite/const.json"
echo '[{"description":"c","schema":{"minimum":2,"type":"integer"},"tests":[{"data":1,"valid":false}]}]' >"$dir/suite/optional/m.json"
echo 'no JSON' >"$dir/suite/readme.md"
run 0 "$dir/suite" -v
says "schemas 3, instances 2"
says "const.json: a"
says "m.json: c"

# malformed files name their place
bad() { printf '%s\n' "$1" >"$dir/bad.jsonl"; run 65 "$dir/bad.jsonl"; says "$2" err; }
bad '' "no schema"
bad '{"name":"x"}' "line 1: no object with \"schema\" and \"tests\""
bad '{"schema":{},"tests":{}}' 'line 1: "tests" is no array'
bad '{"schema":{},"tests":[]}
{"schema":{},"tests":[{"data":1}]}' 'line 2: a test without "data" and "valid"'
bad '{"schema":{},"tests":[' "line 1: no JSON value"
bad '[{"schema":{},"tests":[]},{"schema":{}}]' "element 2: no object"
run 65 "$dir/good.jsonl" --filter nothing
run 66 "$dir/absent.jsonl"
run 64
run 64 "$dir/good.jsonl" --limit 0
run 64 "$dir/good.jsonl" --spelling wide
run 64 "$dir/good.jsonl" --clock sun
got=0
"$eval" schema "$dir/good.jsonl" 2>/dev/null || got=$?
[ $got = 64 ] || fail "without a tokenizer: exit code $got"
echo "quire-eval schema: passed"
