#!/usr/bin/env bash
# Builds the sources at two paths of different length and compares every installed file. Takes two full builds.
# usage: reproducible.sh SOURCE_DIR [cmake options...]
set -eu
source_dir=$(cd "$1" && pwd)
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export SOURCE_DATE_EPOCH=0
for place in "$scratch/a" "$scratch/another/and/longer/path"; do
    mkdir -p "$place"
    git -C "$source_dir" ls-files -z | (cd "$source_dir" && xargs -0 cp --parents -t "$place")
    (
        cd "$place"
        cmake --preset release -DQUIRE_BUILD_TESTS=OFF "$@" >/dev/null
        cmake --build build >/dev/null
        cmake --install build --prefix "$place/installed" >/dev/null
    )
done
sums() { (cd "$1/installed" && find . -type f | sort | xargs sha256sum); }
if ! diff <(sums "$scratch/a") <(sums "$scratch/another/and/longer/path"); then
    echo "FAILED: the files above differ between the two builds"
    exit 1
fi
echo "reproducible: $(sums "$scratch/a" | wc -l) installed files are the same bytes"
