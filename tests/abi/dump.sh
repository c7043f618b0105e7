#!/usr/bin/env bash
# Writes the ABI of a shared library as XML of libabigail: exported functions and the types that the public headers
# define, without paths and lines. The library is compiled with -g. usage: dump.sh LIBQUIRE.so OUT
set -eu
abidw --suppr "$(dirname "$0")/private.suppr" --exported-interfaces-only --no-corpus-path --no-comp-dir-path \
    --no-show-locs --no-parameter-names --no-elf-needed --no-write-default-sizes --out-file "$2" "$1"
