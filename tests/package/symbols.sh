#!/usr/bin/env bash
# The shared library exports only quire_* and imports no function that ends, prints into or reconfigures the host
# process. No object file outside the ISA folders has instructions above the baseline; generic kernels may have been
# built with FMA.
# usage: symbols.sh LIBQUIRE.so OBJECT_DIR [fma]
set -eu
library=$1
objects=$2
fma=${3:-}
failed=0
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v -E '^quire_|^QUIRE_' || true)
if [ -n "$exported" ]; then
    echo "exported besides quire_*:" $exported
    failed=1
fi
forbidden='^(abort|exit|_exit|_Exit|quick_exit|printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|signal|sigaction|setlocale|setenv|putenv|unsetenv|srand|chdir|fork|system|__assert_fail|__printf_chk|__fprintf_chk|__vfprintf_chk|stdout|stderr|stdin)(@.*)?$'
imported=$(nm -D --undefined-only "$library" | awk '{ print $2 }' | grep -E "$forbidden" || true)
if [ -n "$imported" ]; then
    echo "imported but forbidden:" $imported
    failed=1
fi
if [ "$(uname -m)" = x86_64 ]; then
    while IFS= read -r object; do
        case "$object" in
        */src/avx2/* | */src/avx512/*) continue ;;
        */src/generic/*) [ -z "$fma" ] || continue ;;
        esac
        if objdump -d --no-show-raw-insn "$object" | grep -q -E '%[yz]mm[0-9]|\sv[a-z0-9]+ .*%xmm'; then
            echo "vector instructions above the baseline in $object"
            failed=1
        fi
    done < <(find "$objects" -path '*quire_objects*' -name '*.o')
fi
[ $failed = 0 ] && echo "symbols and instructions: ok"
exit $failed
