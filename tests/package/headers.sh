#!/usr/bin/env bash
# Every public header compiles alone, without warnings: as C11 and C17 by gcc and clang, as C++17 and C++20 by g++ and
# clang++. A compiler that is not installed is skipped. usage: headers.sh INCLUDE_DIR
set -u
export LC_ALL=C
include=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags="-Wall -Wextra -Wshadow -pedantic -Werror -fsyntax-only"
# g++ -Wshadow warns of a function with the name of a struct, as stat(2) has: these four, and no others
same_name="hides constructor for 'struct quire_(attention_caps|plan_info|model_info|engine_info)'"
failed=0
compiled=0

try() { # COMPILER LANGUAGE STANDARD OPTION
    local header name
    for header in "$include"/quire/*.h; do
        name=$(basename "$header")
        # twice: the second inclusion is empty
        printf '#include <quire/%s>\n#include <quire/%s>\nextern int not_empty;\n' "$name" "$name" >"$scratch/alone.$2"
        if ! "$1" -std="$3" $flags $4 -I "$include" "$scratch/alone.$2" >"$scratch/log" 2>&1 ||
            grep 'warning:' "$scratch/log" | grep -qvE "$same_name"; then
            echo "FAILED: $name as $3 by $1"
            cat "$scratch/log"
            failed=1
        fi
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
    option=
    [ $compiler = g++ ] && option=-Wno-error=shadow
    for standard in $standards; do try $compiler $language $standard "$option"; done
done
[ $compiled -gt 0 ] || { echo "FAILED: no compiler, or no headers in $include/quire"; failed=1; }
[ $failed = 0 ] && echo "headers: $compiled compilations, ok"
exit $failed
