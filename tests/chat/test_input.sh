#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_input.sh PROGRAM [ARGUMENT...] - standard input without an end is read up to the limit of a turn, not whole.
# The arguments select a chat model.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_STATE_HOME=$folder/state
failures=0

# Copies standard input until the reader has gone, 200 MiB at most, and counts.
mebibytes()
{
    (trap '' PIPE; LC_ALL=C dd bs=1M count=200 iflag=fullblock 2>"$folder/dd")
}

expect()
{
    local what=$1 status=$2
    local taken
    taken=$(sed -n 's/+.* records out$//p' "$folder/dd")
    if [ "$status" != 65 ] || ! grep -q "16 MiB" "$folder/err" || [ "${taken:-200}" -gt 20 ]; then
        failures=$((failures + 1))
        echo "FAILED: $what: exit code $status, ${taken:-all} MiB read"
        head -c 400 "$folder/err"
    fi
}

mebibytes </dev/zero | "$@" -n 1 >"$folder/out" 2>"$folder/err"
expect "a line without end" "${PIPESTATUS[1]}"
mebibytes </dev/zero | "$@" -n 1 -i >"$folder/out" 2>"$folder/err"
expect "a line without end, interactive" "${PIPESTATUS[1]}"
{ echo '"""'; yes "$(printf '%1000s' x)"; } 2>/dev/null | mebibytes | "$@" -n 1 -i >"$folder/out" 2>"$folder/err"
expect "lines without end in quotes" "${PIPESTATUS[2]}"
echo "3 checks, $failures failed"
[ $failures = 0 ]
