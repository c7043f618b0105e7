#!/usr/bin/env bash
# Installs the build into a scratch prefix and compiles the README's program and every example against it, through
# pkg-config (shared and static) and through find_package. usage: check.sh SOURCE_DIR BUILD_DIR
set -eu
source_dir=$1
build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
cmake --install "$build_dir" --prefix "$prefix" >/dev/null
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name quire.pc)")
library_dir=$(dirname "$PKG_CONFIG_PATH")
# the file names the prefix the build was configured for, not the scratch one
pc() { pkg-config --define-variable=prefix="$prefix" "$@"; }
export LD_LIBRARY_PATH=$library_dir

awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$source_dir/README.md" >"$scratch/readme.c"
n=0
for program in "$scratch/readme.c" "$source_dir"/examples/*.c; do
    name=$(basename "$program" .c)
    cc -std=c11 -Wall -Wextra -Werror "$program" -o "$scratch/$name" $(pc --cflags --libs quire) -lm
    n=$((n + 1))
done
echo "compiled $n programs with pkg-config"
# every header compiles alone, as C11 and, if a C++ compiler is installed, as C++
for header in "$prefix"/include/quire/*.h; do
    echo "#include <quire/$(basename "$header")>" >"$scratch/one.c"
    cc -std=c11 -Wall -Wextra -Werror -fsyntax-only $(pc --cflags quire) "$scratch/one.c"
    if command -v c++ >/dev/null; then
        c++ -x c++ -std=c++17 -Wall -Wextra -fsyntax-only $(pc --cflags quire) "$scratch/one.c"
    fi
done
for example in paged_decode mixed_batch cross_attention mla_decode cascade; do
    echo "$example:"
    "$scratch/$example"
done

mkdir "$scratch/project"
cat >"$scratch/project/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(quire 0.2 REQUIRED CONFIG)
add_executable(shared $source_dir/examples/paged_decode.c)
target_link_libraries(shared PRIVATE quire::quire)
add_executable(static $source_dir/examples/paged_decode.c)
target_link_libraries(static PRIVATE quire::quire_static)
CMAKE
cmake -G Ninja -S "$scratch/project" -B "$scratch/project/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$scratch/project/build" >/dev/null
"$scratch/project/build/shared" >/dev/null
"$scratch/project/build/static" >/dev/null
echo "find_package: shared and static programs run"
