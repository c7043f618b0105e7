#!/usr/bin/env bash
# Runs examples/serve_many.c: every thread gets its answer; bad arguments and a missing model fail.
# usage: serve_many.sh PROGRAM MODEL
set -eu
program=$1 model=$2
[ -s "$model" ] || { echo "skipped: no $model"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }

out=$("$program" "$model" "What is the capital of France?" "Who are you?" "What is two plus two?" "Say hello." \
    "What is the capital of Italy?")
for user in 1 2 3 4 5; do
    grep -q "^\[$user\] ." <<<"$out" || fail "no answer to user $user: $out"
done
[ "$(grep -oE '\((stop|length); [0-9]+ of [0-9]+ prompt tokens from the cache\)' <<<"$out" | wc -l)" = 5 ] || fail "$out"

code=0
"$program" "$model" 2>/dev/null || code=$?
[ $code = 64 ] || fail "without a question: exit code $code"
code=0
"$program" /nonexistent x 2>/dev/null || code=$?
[ $code = 65 ] || fail "without a model: exit code $code"
echo "$out"
