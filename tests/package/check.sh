#!/usr/bin/env bash
# Installs the build into a scratch prefix that is moved afterwards, and compiles every example against it, through
# pkg-config and find_package, shared and static. Runs the commands that README prints below its C program as printed.
# usage: check.sh SOURCE_DIR BUILD_DIR
set -eu
source_dir=$1
build_dir=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
cmake --install "$build_dir" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$prefix"
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name quire.pc)")
library_dir=$(dirname "$PKG_CONFIG_PATH")
pc() { pkg-config "$@"; }
export LD_LIBRARY_PATH=$library_dir

n=0
for program in "$source_dir"/examples/*.c; do
    name=$(basename "$program" .c)
    cc -std=c11 -Wall -Wextra -Werror "$program" -o "$scratch/$name" $(pc --cflags --libs quire) -lm
    n=$((n + 1))
done
cc -std=c11 "$source_dir/examples/paged_decode.c" -o "$scratch/static" $(pc --cflags quire) -L"$library_dir" \
    -Wl,-Bstatic -lquire -Wl,-Bdynamic $(pc --static --libs-only-l quire | sed 's/-lquire//') -lm
"$scratch/static" >/dev/null
echo "compiled $n programs with pkg-config"

for file in "$prefix"/bin/* "$library_dir"/libquire.so; do
    [ -e "$file" ] || continue
    if readelf -S --wide "$file" | grep -q -E '\.symtab|\.debug_'; then
        case $(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build_dir/CMakeCache.txt") in
        Release) echo "not stripped: $file"; exit 1 ;;
        esac
    fi
done
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

# the bill of materials names every library that is linked, but for those of the C library
sbom=$(find "$prefix" -name quire.spdx.json)
for library in $(readelf -d --wide "$library_dir/libquire.so" | sed -n 's/.*NEEDED.*\[lib\(.*\)\.so.*/\1/p'); do
    case $library in c | m | pthread) continue ;; esac
    grep -q "\"name\": \"$library\", \"versionInfo\": \"[0-9]" "$sbom" ||
        { echo "the bill of materials lacks $library or its version"; exit 1; }
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

# README's commands, with a scratch home folder; the first line runs in the source folder. They use the folder "build".
if [ "$build_dir" != "$source_dir/build" ]; then
    echo "skipped: README's commands need the build folder $source_dir/build"
    exit 0
fi
mkdir "$scratch/home" "$scratch/work"
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$source_dir/README.md" >"$scratch/work/hello.c"
ln -s "$source_dir/models/quire-tiny/quire-tiny.gguf" "$scratch/work/model.gguf"
awk '/^```c$/ { seen = 1 } seen && /^    script\/build/ { on = 1 } on && !/^    / { exit } on' "$source_dir/README.md" |
    sed 's/^    //' >"$scratch/commands"
grep -q 'cmake --install' "$scratch/commands"
(
    unset LD_LIBRARY_PATH PKG_CONFIG_PATH
    export HOME=$scratch/home
    cd "$source_dir"
    first=$(head -n 1 "$scratch/commands")
    eval "$first" >/dev/null
    cd "$scratch/work"
    eval "$(sed 1d "$scratch/commands")" >"$scratch/said"
)
[ -s "$scratch/said" ] || { echo "README's program printed nothing"; exit 1; }
echo "README's commands: $(head -c 60 "$scratch/said")"
