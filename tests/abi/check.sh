#!/usr/bin/env bash
# Programs compiled against the headers of every frozen version run with the current library.
#   programs    tests/abi/programs, compiled with the frozen headers only and linked with the library, run
#   types       every function and member of the frozen headers has the same type in the current ones
#   layout      no member or value of the frozen headers moved; sized structs grew at their end only
#   symbols     every frozen symbol is exported with the same version
#   list        the library exports exactly tests/abi/current-symbols.txt, and the headers declare the same functions
# usage: check.sh LIBQUIRE.so               all of the above
#        check.sh --self-test LIBQUIRE.so   every check fails when it should
set -u
export CC=${CC:-cc}
read -ra cc <<<"$CC" # may have arguments
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
self_test=no
[ "${1:-}" = --self-test ] && { self_test=yes; shift; }
[ $# = 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 64; }
library=$(realpath "$1")
model=$root/models/quire-tiny/quire-tiny.gguf
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# the soname link is in the folder of the library
export LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

compile() { # INCLUDE_DIR SOURCE PROGRAM [option...]
    "${cc[@]}" -std=c11 -Wall -Wextra -Werror -I "$1" "$2" -o "$3" "${@:4}" "$library" -lm
}

check_programs() { # FROZEN_DIR
    local source name
    for source in "$here"/programs/*.c; do
        name=$(basename "$source" .c)
        compile "$1" "$source" "$scratch/$name" || return 1
        case $name in
        engine_*) "$scratch/$name" "$model" || return 1 ;;
        *) "$scratch/$name" || return 1 ;;
        esac
    done
}

layout_of() { # INCLUDE_DIR NAME: layout in $scratch/NAME.txt
    "$here/layout.py" layout "$1" >"$scratch/$2.c" && compile "$1" "$scratch/$2.c" "$scratch/$2" &&
        "$scratch/$2" >"$scratch/$2.txt"
}

check_layout() { # FROZEN_DIR [CURRENT_DIR]
    layout_of "$1" frozen && layout_of "${2:-$root/include}" current &&
        "$here/layout.py" compare "$scratch/frozen.txt" "$scratch/current.txt"
}

check_types() { # FROZEN_DIR [CURRENT_DIR]
    "$here/layout.py" types "$1" >"$scratch/types.c" &&
        compile "${2:-$root/include}" "$scratch/types.c" "$scratch/types" -Wno-deprecated-declarations
}

check_symbols() { # FROZEN_DIR
    local gone
    "$here/symbols_of.sh" "$library" >"$scratch/symbols.txt" && [ -s "$1/symbols.txt" ] || return 1
    gone=$(LC_ALL=C comm -23 "$1/symbols.txt" "$scratch/symbols.txt")
    [ -z "$gone" ] || { echo "no longer exported with this version:" $gone; return 1; }
}

check_list() { # LIST [INCLUDE_DIR]
    "$here/symbols_of.sh" "$library" | diff "$1" - >"$scratch/diff" ||
        { echo "$1 differs from the library:"; cat "$scratch/diff"; return 1; }
    "$here/layout.py" functions "${2:-$root/include}" >"$scratch/declared"
    sed 's/@.*//' "$1" | diff "$scratch/declared" - >"$scratch/diff" ||
        { echo "declared (<) and exported (>) functions differ:"; cat "$scratch/diff"; return 1; }
}

# ---- self-test

# A copy of the current headers in $scratch/changed, edited by perl: mutate FILE CODE
mutate() {
    rm -rf "$scratch/changed"
    mkdir -p "$scratch/changed"
    cp -r "$root/include/quire" "$scratch/changed/"
    perl -0777 -pi -e "$2" "$scratch/changed/quire/$1"
    ! diff -q "$root/include/quire/$1" "$scratch/changed/quire/$1" >/dev/null ||
        { echo "self-test: the edit of $1 changed nothing: $2"; failed=1; }
}
must_fail() { # WHAT CHECK...
    if "${@:2}" >"$scratch/log" 2>&1; then
        echo "self-test: $1 passed"
        failed=1
    fi
}
must_pass() {
    "${@:2}" >"$scratch/log" 2>&1 || { echo "self-test: $1 failed:"; cat "$scratch/log"; failed=1; }
}

self_test() {
    local current=$root/include changed=$scratch/changed
    must_pass "the layout of equal headers" check_layout "$current"
    must_pass "the types of equal headers" check_types "$current"
    # frozen are the headers of include/, current an edited copy
    mutate kv_cache.h 's/(struct quire_kv_params \{\n.*\n)/$1    uint64_t inserted;\n/'
    must_fail "a member inserted in the middle" check_layout "$current" "$changed"
    mutate threads.h 's/(struct quire_threads_params \{.*?)(\n\};)/$1\n    uint64_t added;$2/s'
    must_pass "a member added at the end of a sized struct" check_layout "$current" "$changed"
    mutate threads.h 's/(struct quire_threads_params \{.*?)(\n\};)/$1\n    uint32_t added;$2/s'
    must_fail "padding after an added member" check_layout "$current" "$changed"
    mutate mla.h 's/(struct quire_mla_args \{\n    uint32_t struct_size;\n)/$1    uint32_t added;\n/'
    must_fail "a member in the padding of a sized struct" check_layout "$current" "$changed"
    mutate kv_cache.h 's/(struct quire_kv_prefix_group \{.*?)(\n\};)/$1\n    uint32_t added;$2/s'
    must_fail "a member added to a struct without struct_size" check_layout "$current" "$changed"
    mutate engine_request.h 's/\n    uint32_t stream;//'
    must_fail "a member removed" check_layout "$current" "$changed"
    mutate attention.h 's/int32_t window_left, window_right;/int32_t window_right, window_left;/'
    must_fail "two members swapped" check_layout "$current" "$changed"
    mutate attention.h 's/int32_t window_left, window_right;/int64_t window_left, window_right;/'
    must_fail "a wider member" check_layout "$current" "$changed"
    mutate kv_cache.h 's/QUIRE_KV_BF16,\n    QUIRE_KV_F16,/QUIRE_KV_F16,\n    QUIRE_KV_BF16,/'
    must_fail "enumerators swapped" check_layout "$current" "$changed"
    mutate engine_request.h 's/QUIRE_REQUEST_SHOW_SPECIAL = 1u << 2/QUIRE_REQUEST_SHOW_SPECIAL = 1u << 3/'
    must_fail "another value of a flag" check_layout "$current" "$changed"
    mutate kv_cache.h 's/#define QUIRE_SLOT_PAD +\(\(int64_t\)-1\)/#define QUIRE_SLOT_PAD ((int64_t)-2)/'
    must_fail "another value of a macro" check_layout "$current" "$changed"
    mutate tokenizer.h 's/\n    QUIRE_N_SPECIAL/\n    QUIRE_SPECIAL_ADDED,\n    QUIRE_N_SPECIAL/'
    must_pass "an enumerator appended" check_layout "$current" "$changed"
    mutate kv_cache.h 's/uint32_t quire_kv_block_size\(const/uint64_t quire_kv_block_size(const/'
    must_fail "another result type" check_types "$current" "$changed"
    mutate kv_cache.h 's/(quire_kv_first_block\(uint32_t block_size, uint32_t) window/$1 window, uint32_t added/'
    must_fail "another parameter" check_types "$current" "$changed"
    mutate sampling.h 's/int32_t penalty_last_n;/uint32_t penalty_last_n;/'
    must_fail "another sign of a member" check_types "$current" "$changed"
    mutate sampling.h 's/float min_p;/uint32_t min_p;/'
    must_fail "another type of a member" check_types "$current" "$changed"
    mutate model.h 's/enum quire_compute compute;/enum quire_pooling compute;/'
    must_fail "another enum of a member" check_types "$current" "$changed"
    mutate threads.h 's/QUIRE_API uint32_t quire_team_rank\([^\n]*\n//'
    must_fail "a function removed from the headers" check_types "$current" "$changed"

    mkdir -p "$scratch/old"
    "$here/symbols_of.sh" "$library" >"$scratch/all"
    { cat "$scratch/all"; echo "quire_removed@@QUIRE_0.2"; } | LC_ALL=C sort >"$scratch/old/symbols.txt"
    must_fail "a symbol removed" check_symbols "$scratch/old"
    must_fail "a symbol of the list that is not exported" check_list "$scratch/old/symbols.txt"
    sed 's/quire_version@@QUIRE_0.2/quire_version@@QUIRE_0.1/' "$scratch/all" >"$scratch/old/symbols.txt"
    must_fail "a symbol in another node" check_symbols "$scratch/old"
    grep -v quire_version "$scratch/all" >"$scratch/old/symbols.txt"
    must_pass "a symbol added" check_symbols "$scratch/old"
    must_fail "an exported symbol that is not in the list" check_list "$scratch/old/symbols.txt"
    mutate status.h 's/QUIRE_API const char \*quire_version\(void\);//'
    must_fail "an exported function that no header declares" check_list "$scratch/all" "$changed"

    # a program whose headers are wrong for this library
    mutate attention.h 's/(struct quire_attention_batch \{\n    uint32_t struct_size;)/$1\n    uint64_t inserted;/'
    must_fail "programs of a shifted struct" check_programs "$changed"
}

failed=0
if [ $self_test = yes ]; then
    self_test
    [ $failed = 0 ] && echo "self-test: ok"
    exit $failed
fi

n=0
for frozen in "$here"/*/quire; do
    frozen=$(dirname "$frozen")
    [ -d "$frozen/quire" ] || continue
    for check in programs types layout symbols; do
        check_$check "$frozen" || { echo "FAILED: $check of $(basename "$frozen")"; failed=1; }
    done
    n=$((n + 1))
done
check_list "$here/current-symbols.txt" || { echo "FAILED: list"; failed=1; }
soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libquire.so.0 ] || { echo "FAILED: the soname is $soname"; failed=1; }
[ $n -gt 0 ] || { echo "FAILED: no frozen version"; failed=1; }
[ $failed = 0 ] && echo "abi: $n frozen versions, ok"
exit $failed
