#!/usr/bin/env bash
# Compares the stored ABI of every frozen version with that of a library compiled with -g, by abidiff: fails on any
# change but added functions, appended enumerators and growth of sized structs (whose old members tests/abi/check.sh
# compares). Exit status 77 without abidiff or a stored ABI.
# usage: abidiff.sh LIBQUIRE.so
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# = 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 64; }
command -v abidiff >/dev/null || { echo "skipped: abidiff (package abigail-tools) is not installed"; exit 77; }
stored=$(ls "$here"/*/libquire.abi 2>/dev/null || true)
[ -n "$stored" ] || { echo "skipped: no tests/abi/*/libquire.abi is stored"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
read -ra cc <<<"${CC:-cc}" # may have arguments
layout_of() { # INCLUDE_DIR NAME
    "$here/layout.py" layout "$1" >"$scratch/$2.c"
    "${cc[@]}" -std=c11 -I "$1" "$scratch/$2.c" -o "$scratch/$2"
    "$scratch/$2" >"$scratch/$2.txt"
}
"$here/dump.sh" "$1" "$scratch/current.abi"
layout_of "$root/include" current
failed=0
for old in $stored; do
    frozen=$(dirname "$old")
    layout_of "$frozen" frozen
    grown=$("$here/layout.py" grown "$scratch/frozen.txt" "$scratch/current.txt" | paste -sd '|')
    : >"$scratch/suppr"
    [ -z "$grown" ] || printf '[suppress_type]\n  name_regexp = ^(%s)$\n' "$grown" >"$scratch/suppr"
    if abidiff --no-added-syms --suppr "$scratch/suppr" "$old" "$scratch/current.abi"; then
        echo "abidiff: $(basename "$frozen") is compatible${grown:+, grown: $grown}"
    else
        echo "FAILED: abidiff of $(basename "$frozen")"
        failed=1
    fi
done
exit $failed
