#!/bin/sh
# Builds the seed corpora: generated seeds, corpus/NAME, and regressions/NAME, in one folder per target.
# usage: corpora.sh FUZZ_SEEDS SOURCE_FOLDER OUTPUT_FOLDER
set -eu
seeds=$1 source=$2 out=$3
rm -rf "$out"
mkdir -p "$out"
"$seeds" "$out"
for folder in "$source"/corpus/* "$source"/regressions/*; do
    [ -d "$folder" ] || continue
    to=$out/$(basename "$folder")_seed_corpus
    mkdir -p "$to"
    cp "$folder"/* "$to"
done
touch "$out/stamp"
