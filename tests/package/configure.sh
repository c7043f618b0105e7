#!/usr/bin/env bash
# Configures without what a user may lack or leave out: every target that a test or an install rule names must exist.
# usage: configure.sh SOURCE_DIR
set -u
source_dir=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
# To CMake an empty path of a library or program is one that was searched for and not found.
for option in QUIRE_cmocka_LIBRARY= QUIRE_WITH_TEXT=OFF QUIRE_BUILD_BENCH=OFF; do
    rm -rf "$scratch/build"
    if ! cmake -G Ninja -S "$source_dir" -B "$scratch/build" -DCMAKE_BUILD_TYPE=Release "-D$option" >"$scratch/log" 2>&1; then
        cat "$scratch/log"
        echo "FAILED: cmake -D$option"
        failed=1
    fi
done
exit $failed
