#!/usr/bin/env bash
# Every public header compiles alone, without warnings: as C11 and C17 by gcc and clang, as C++17 and C++20 by g++ and
# clang++. A compiler that is not installed is skipped. usage: headers.sh INCLUDE_DIR
set -u
include=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags="-Wall -Wextra -Wshadow -pedantic -Werror -fsyntax-only"
failed=0
compiled=0

try() { # COMPILER LANGUAGE STANDARD
    local header name
    for header in "$include"/quire/*.h; do
        name=$(basename "$header")
        # twice: the second inclusion is empty
        printf '#include <quire/%s>\n#include <quire/%s>\nextern int not_empty;\n' "$name" "$name" >"$scratch/alone.$2"
        "$1" -std="$3" $flags -I "$include" "$scratch/alone.$2" || { echo "FAILED: $name as $3 by $1"; failed=1; }
        compiled=$((compiled + 1))
    done
}

for compiler in gcc clang g++ clang++; do
    case $compiler in
    *++) language=cpp standards="c++17 c++20" ;;
    *) language=c standards="c11 c17" ;;
    esac
    if ! command -v $compiler >/dev/null; then
        echo "skipped: $compiler is not installed"
        continue
    fi
    for standard in $standards; do try $compiler $language $standard; done
done
[ $compiled -gt 0 ] || { echo "FAILED: no compiler, or no headers in $include/quire"; failed=1; }
[ $failed = 0 ] && echo "headers: $compiled compilations, ok"
exit $failed
