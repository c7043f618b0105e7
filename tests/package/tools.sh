#!/usr/bin/env bash
# Runs examples/tools.c: the call follows the schema and is answered; bad arguments and a missing model fail.
# usage: tools.sh PROGRAM MODEL
set -eu
program=$1 model=$2
[ -s "$model" ] || { echo "skipped: no $model"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }

out=$("$program" "$model" "Shout yes.")
# the JSON may have line ends; the answer follows
tr -d '[:space:]' <<<"$out" | grep -qE '^shout\{"word":"(yes"\}->YES|no"\}->NO).' || fail "$out"

# $1 = expected exit code, $2 = part of the message, the rest = arguments
fails() {
    local expected=$1 message=$2 code=0 said
    shift 2
    said=$("$program" "$@" 2>&1 >/dev/null) || code=$?
    [ $code = "$expected" ] || fail "tools $*: exit code $code"
    grep -qF -- "$message" <<<"$said" || fail "tools $*: $said"
}
fails 64 usage: "$model"
fails 65 nonexistent /nonexistent x
fails 1 "tokens, the context is" "$model" "$(seq 4000)"
echo "$out"
