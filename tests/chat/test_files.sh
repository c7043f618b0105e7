#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_files.sh PROGRAM MODEL - quire-chat when its files change while it runs: a truncated model, a truncated pack
# cache, a limit on the size of files, a save that was killed.
set -u
program=$1
model=$2
[ -e "$model" ] || { echo "skipped: there is no $model"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset QUIRE_ISA NO_COLOR "${!QUIRE_ARG_@}"
export XDG_STATE_HOME=$folder/state
common="-i --seed 1 --temp 0 -n 8"
failures=0

pass_if()
{
    local what=$1
    shift
    "$@" && return
    failures=$((failures + 1))
    echo "FAILED: $what (status $status)"
    head -c 600 "$folder/out" "$folder/err"
}
status_is() { [ "$status" = "$1" ]; }
err_has() { grep -qF -- "$1" "$folder/err"; }

# Starts the program with the given arguments, asks once, runs $1, asks again; sets status.
ask_around()
{
    local between=$1
    shift
    rm -f "$folder/in" "$folder/out"
    mkfifo "$folder/in"
    "$program" $common --json "$@" <"$folder/in" >"$folder/out" 2>"$folder/err" &
    local pid=$!
    exec 3>"$folder/in"
    printf 'Hello\n' >&3
    for _ in $(seq 400); do
        grep -q '"done"' "$folder/out" && break
        sleep 0.05
    done
    eval "$between"
    { printf 'How are you?\n' >&3; } 2>/dev/null
    exec 3>&-
    wait $pid
    status=$?
}
answers() { grep -o '"event":"done".*"text":"[^"]*"' "$folder/out"; }

# ---- A truncated file

cp "$model" "$folder/model.gguf"
ask_around : -m "$folder/model.gguf"
answers >"$folder/want"
pass_if "two answers" [ "$(wc -l <"$folder/want")" = 2 ]
ask_around 'truncate -s 0 "$folder/model.gguf"' -m "$folder/model.gguf"
answers >"$folder/got"
pass_if "a truncated model file does not matter after the start: it is read, not mapped" status_is 0
pass_if "the answers are the same" cmp "$folder/want" "$folder/got"
cp "$model" "$folder/model.gguf"
truncate -s 100000 "$folder/model.gguf"
"$program" $common -m "$folder/model.gguf" </dev/null >"$folder/out" 2>"$folder/err"
status=$?
pass_if "a truncated model file at the start is an error" [ "$status" = 65 -o "$status" = 66 ]

ask_around : -m "$model" --pack-cache "$folder/cache"
pass_if "the pack cache is written" [ -s "$folder/cache" ]
ask_around 'truncate -s 0 "$folder/cache"' -m "$model" --pack-cache "$folder/cache"
pass_if "a truncated pack cache ends the program with 74" status_is 74
pass_if "and a message" err_has "truncated"
ask_around : -m "$model" --pack-cache "$folder/cache"
answers >"$folder/got"
pass_if "the next start writes the pack cache again" [ -s "$folder/cache" ]
pass_if "with the same answers" cmp "$folder/want" "$folder/got"

# ---- Another file behind the model

cp "$model" "$folder/model.gguf"
printf 'PK\3\4 hidden' >>"$folder/model.gguf"
"$program" $common -m "$folder/model.gguf" </dev/null >"$folder/out" 2>"$folder/err"
status=$?
pass_if "trailing bytes: success" status_is 0
pass_if "and a warning" err_has "after the last tensor"
"$program" $common --strict -m "$folder/model.gguf" </dev/null >"$folder/out" 2>"$folder/err"
status=$?
pass_if "--strict: trailing bytes are an error" status_is 65
pass_if "that says so" err_has "after the last tensor"
"$program" $common --strict -m "$model" </dev/null >"$folder/out" 2>"$folder/err"
status=$?
pass_if "--strict: the model itself opens" status_is 0

# ---- A limit on the size of files

printf 'Hello\n/save %s\n' "$folder/talk.json" >"$folder/commands"
"$program" $common -m "$model" <"$folder/commands" >"$folder/out" 2>"$folder/err"
cp "$folder/talk.json" "$folder/before.json"
{ printf 'Hello\n'; printf 'a long story of many words %.0s' $(seq 150); printf '\n/save %s\n/stats\n' "$folder/talk.json"; } \
    >"$folder/commands"
(ulimit -f 2; exec "$program" $common -m "$model" <"$folder/commands" 2>&1) | cat >"$folder/err"
status=${PIPESTATUS[0]}
pass_if "a save beyond the limit is no signal" [ "$status" -lt 128 ]
pass_if "it is reported" err_has "File too large"
pass_if "the old file is intact" cmp "$folder/before.json" "$folder/talk.json"
pass_if "no temporary file is left" [ ! -e "$folder/talk.json.tmp" ]

# ---- A save that was killed

echo partial >"$folder/talk.json.tmp"
printf '/load %s\n' "$folder/talk.json" >"$folder/commands"
"$program" $common -m "$model" <"$folder/commands" >"$folder/out" 2>"$folder/err"
status=$?
pass_if "the next load succeeds" status_is 0
pass_if "and removes the temporary file" [ ! -e "$folder/talk.json.tmp" ]

[ $failures = 0 ] && echo "files: ok"
[ $failures = 0 ]
