#!/usr/bin/env bash
# Reads the exploit mitigations from ELF files: RELRO with immediate binding, no executable stack, no writable code, no
# search path of libraries, position independence, stack protector, checked libc calls, branch targets (CET or BTI), and
# no absolute path of the build. usage: hardening.sh FILE...    the first file is the shared library
set -u
failed=0
complain() { echo "FAILED: $1: $2"; failed=1; }

check_layout() {
    local file=$1 dynamic segments
    dynamic=$(readelf -d --wide "$file")
    segments=$(readelf -l --wide "$file")
    grep -q 'GNU_RELRO' <<<"$segments" || complain "$file" "no RELRO"
    grep -q -E 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic" || complain "$file" "symbols are bound lazily"
    grep -E 'GNU_STACK' <<<"$segments" | grep -q 'RW ' || complain "$file" "executable stack"
    grep -E '^ *LOAD' <<<"$segments" | grep -q 'RWE' && complain "$file" "a segment is writable and executable"
    grep -q 'TEXTREL' <<<"$dynamic" && complain "$file" "relocations in code"
    grep -q -E 'RPATH|RUNPATH' <<<"$dynamic" && complain "$file" "a search path of libraries"
    readelf -h "$file" | grep -q 'DYN' || complain "$file" "not position independent"
}

check_calls() {
    local file=$1 imported
    imported=$(nm -D --undefined-only "$file" | awk '{ sub(/@.*/, "", $2); print $2 }')
    grep -qx '__stack_chk_fail' <<<"$imported" || complain "$file" "no stack protector"
    grep -q -E '^__(memcpy|snprintf|vsnprintf|strcpy|read|memmove|memset)_chk$' <<<"$imported" ||
        complain "$file" "no checked libc calls (_FORTIFY_SOURCE)"
}

# Every exported function begins with a landing pad for indirect branches.
check_landing_pads() {
    local file=$1 pad bad
    case $(uname -m) in
    x86_64) pad='endbr64' ;;
    aarch64) pad='(bti|paciasp)' ;;
    *) return ;;
    esac
    bad=$(objdump -d --no-show-raw-insn "$file" | awk -v pad="$pad" '
        /^[0-9a-f]+ <quire_[a-z0-9_]*>:$/ { name = $2; next }
        name { if ($0 !~ pad) print name; name = "" }')
    [ -z "$bad" ] || complain "$file" "no landing pad in $(head -n 3 <<<"$bad" | tr "\n" " ")"
}

check_paths() {
    local file=$1 root
    root=$(cd "$(dirname "$0")/../.." && pwd)
    grep -q -a -F "$root/" "$file" && complain "$file" "the build's path $root"
}

for file in "$@"; do
    check_layout "$file"
    check_calls "$file"
    check_paths "$file"
done
check_landing_pads "$1"
[ $failed = 0 ] && echo "hardening of $# files: ok"
exit $failed
