# SPDX-License-Identifier: Apache-2.0
# checks.sh - sourced by the tests of quire-chat: makes $folder, runs $program and checks its streams in $folder/out
# and $folder/err. $checker is check_events.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset QUIRE_ISA NO_COLOR "${!QUIRE_ARG_@}"
failures=0
tests=0
status=0

# Runs the program; sets status, $folder/out and $folder/err.
run()
{
    "$program" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
}

pass_if()
{
    local what=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        return
    fi
    failures=$((failures + 1))
    echo "FAILED: $what (status $status)"
    echo "  stdout: $(head -c 400 "$folder/out")"
    echo "  stderr: $(head -c 400 "$folder/err")"
}

status_is() { [ "$status" = "$1" ]; }
out_has() { grep -qF -- "$1" "$folder/out"; }
err_has() { grep -qF -- "$1" "$folder/err"; }
out_empty() { [ ! -s "$folder/out" ]; }

skip()
{
    echo "skipped: $*"
}

# The events of the last --json run are well-formed, and every pattern matches a line of their summary.
events_have()
{
    "$checker" "$folder/out" >"$folder/events" || { cat "$folder/events"; return 1; }
    local pattern
    for pattern; do
        grep -qE -- "$pattern" "$folder/events" || return 1
    done
}
answers_are() { [ "$(grep -c '"event":"done"' "$folder/out")" = "$1" ]; }

finish()
{
    echo "$tests checks, $failures failed"
    [ $failures = 0 ]
    exit
}
