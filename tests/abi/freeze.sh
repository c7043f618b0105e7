#!/usr/bin/env bash
# Stores the interface of a release in tests/abi/VERSION: the public headers, the exported symbols and, where abidw
# (package abigail-tools) is installed, the ABI as XML. Run once per 0.x release.
#   libquire.so        of the release build, for the symbols
#   libquire.so        of the debug build, for the XML; without it no XML is stored
# usage: tests/abi/freeze.sh VERSION [BUILD_DIR] [DEBUG_BUILD_DIR]      default: build build-debug
set -eu
[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 64; }
cd "$(dirname "$0")/../.."
version=$1
library=${2:-build}/libquire.so
debug_library=${3:-build-debug}/libquire.so
out=tests/abi/$version
max_dump_kib=300

exported=$(tests/abi/symbols_of.sh "$library" | sed 's/@.*//')
[ "$exported" = "$(tests/abi/layout.py functions include)" ] ||
    { echo "$library does not export the functions of include/quire: build it first" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$out/quire"
cp include/quire/*.h "$out/quire/"
tests/abi/symbols_of.sh "$library" >"$out/symbols.txt"
echo "$out: $(ls "$out/quire" | wc -l) headers, $(wc -l <"$out/symbols.txt") symbols"
if ! command -v abidw >/dev/null; then
    echo "no $out/libquire.abi: abidw is not installed"
elif [ ! -e "$debug_library" ]; then
    echo "no $out/libquire.abi: there is no $debug_library"
else
    tests/abi/symbols_of.sh "$debug_library" | cmp - "$out/symbols.txt" ||
        { echo "$debug_library exports other symbols than $library: build it first" >&2; exit 1; }
    tests/abi/dump.sh "$debug_library" "$out/libquire.abi"
    kib=$(($(wc -c <"$out/libquire.abi") / 1024))
    echo "$out/libquire.abi: $kib KiB"
    if [ $kib -gt $max_dump_kib ]; then
        echo "removed: larger than $max_dump_kib KiB"
        rm "$out/libquire.abi"
    fi
fi
