#!/usr/bin/env bash
# Prints the exported symbols of a shared library with their version nodes, sorted.
# usage: symbols_of.sh LIBQUIRE.so
set -eu
nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort
