#!/usr/bin/env bash
# Builds the sources at two paths of different length and compares every installed file. Takes two full builds: their
# compile commands differ, so ccache has neither.
# usage: reproducible.sh SOURCE_DIR [cmake options...]
set -euo pipefail
source_dir=$(cd "$1" && pwd)
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export SOURCE_DATE_EPOCH=0

# build PLACE OPTION...: copies the sources to PLACE, builds them and installs to PLACE/installed.
build() {
    local place=$1 log=$scratch/log
    shift
    mkdir -p "$place"
    git -C "$source_dir" ls-files -z | (cd "$source_dir" && xargs -0 cp --parents -t "$place")
    if ! (
        cd "$place"
        cmake --preset release -DQUIRE_BUILD_TESTS=OFF "$@" &&
            cmake --build build &&
            cmake --install build --prefix "$place/installed"
    ) >"$log" 2>&1; then
        echo "FAILED: build at $place" >&2
        tail -n 40 "$log" >&2
        exit 1
    fi
}
sums() { (cd "$1/installed" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

build "$scratch/a" "$@"
build "$scratch/another/and/longer/path" "$@"
if ! diff <(sums "$scratch/a") <(sums "$scratch/another/and/longer/path"); then
    echo "FAILED: the files above differ between the two builds" >&2
    exit 1
fi
echo "reproducible: $(sums "$scratch/a" | wc -l) installed files are the same bytes"
