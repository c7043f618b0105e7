#!/usr/bin/env bash
# Fails if a hot loop spills more vectors than its known limit. Spills have cost half of the speed of a register tile,
# and no result reveals them.
# usage: check.sh OBJECT_DIR COMPILER_ID COMPILER_VERSION [FLAGS]
set -eu
objects=$1
here=$(dirname "$0")

skip() {
    echo "skipped: $1"
    exit 77
}
[ "$2" = GNU ] && [ "${3%%.*}" = 12 ] || skip "the limits are those of gcc 12, this is $2 $3"
case "${4:-}" in *-O[012gs]* | *sanitize* | *coverage* | *-march=*) skip "built with $4" ;; esac
[ "$(uname -m)" = x86_64 ] || skip "loops.awk parses x86-64 disassembly only"
command -v objdump >/dev/null || skip "no objdump"

# Self-test of loops.awk: a loop of ten products that stores one sum.
seen=$({
    printf '0000000000000000 <f>:\n   0:\tmov    %%rsp,%%rbp\n'
    for i in 1 2 3 4 5 6 7 8 9 a; do printf '  1%s:\tvfmadd231ps 0x40(%%rsp),%%ymm1,%%ymm2\n' $i; done
    printf '  20:\tvmovaps %%ymm2,-0x40(%%rbp)\n  28:\tjne    11 <f+0x11>\n'
} | awk -f "$here/loops.awk")
[ "$seen" = "f 11 10 1" ] || { echo "a listing with one spill gave '$seen'" && exit 1; }

failed=0
# OBJECT LIMIT: spills per 100 multiplications of its worst loop
check() {
    local loops
    [ -f "$objects/$1.c.o" ] || { echo "no object $1" && failed=1 && return; }
    loops=$(objdump -d --no-show-raw-insn "$objects/$1.c.o" | awk -f "$here/loops.awk")
    [ -n "$loops" ] || { echo "no hot loop found in $1" && failed=1 && return; }
    awk -v object="$1" -v limit="$2" '
        100 * $4 > limit * $3 { printf "%s: %s spills %d vectors for %d products in the loop at %s\n", object, $1, $4, $3, $2; bad = 1 }
        { if (100 * $4 / $3 > worst) worst = 100 * $4 / $3 }
        END { printf "%-28s %3d loops, at worst %d spills per 100 products\n", object, NR, worst; exit bad }' <<<"$loops" || failed=1
}
check avx512/bf16/attn 0
check avx512/bf16/attn_codes 4 # sixteen sums, eight vectors of codes, and the byte tables
check avx512/bf16/linear_native 0
check avx512/attn_tile 0
check avx512/vnni/linear_q8 0
check avx512/amx/linear_q8 0
check avx512/linear_q8 5    # 16-bit products need a second set of sums
check avx512/linear_float 7 # 24 sums, and bf16 pairs split into values
check avx512/recurrent 0
check avx2/recurrent 0
check avx2/attn_tile 0
check avx2/linear_float 0
check avx2/vnni/linear_q8 17 # eight sums, codes of up to six bits combined from planes, two scales per block in IQ1_M
check avx2/linear_q8 21      # the same, and 16-bit products
exit $failed
