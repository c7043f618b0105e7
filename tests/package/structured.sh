#!/usr/bin/env bash
# Runs examples/structured.c: the answer follows the schema; a wrong schema, bad arguments and a missing model fail.
# usage: structured.sh PROGRAM MODEL
set -eu
program=$1 model=$2
[ -s "$model" ] || { echo "skipped: no $model"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }

schema='{"type":"object","properties":{"city":{"enum":["Paris","Rome"]},"sure":{"type":"boolean"}},
    "required":["city","sure"],"additionalProperties":false}'
out=$("$program" "$model" "What is the capital of France?" "$schema")
python3 - "$out" <<'END' || fail "$out"
import json, sys
answer = json.loads(sys.argv[1])
assert set(answer) == {"city", "sure"} and answer["city"] in ("Paris", "Rome") and answer["sure"] in (True, False)
END

# $1 = expected exit code, $2 = part of the message, the rest = arguments
fails() {
    local expected=$1 message=$2 code=0 said
    shift 2
    said=$("$program" "$@" 2>&1 >/dev/null) || code=$?
    [ $code = "$expected" ] || fail "structured $*: exit code $code"
    grep -qF -- "$message" <<<"$said" || fail "structured $*: $said"
}
fails 64 usage: "$model" x
fails 65 nonexistent /nonexistent x "$schema"
fails 1 "/properties/a/type" "$model" x '{"properties":{"a":{"type":"text"}}}'
echo "$out"
