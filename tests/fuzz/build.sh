#!/bin/bash -eu
# Builds the fuzz targets the way OSS-Fuzz does: CC, CFLAGS, LIB_FUZZING_ENGINE, SRC and OUT come from its image.
# By hand: CC=clang CFLAGS="-O1 -fsanitize=fuzzer-no-link,address" LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=/tmp/out build.sh
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${WORK:-$root/build-oss-fuzz}
cmake -G Ninja -S "$root" -B "$work" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$CFLAGS" \
    -DQUIRE_FUZZING_ENGINE="${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}" -DQUIRE_WITH_OPENMP=OFF -DQUIRE_WITH_ONEDNN=OFF \
    -DQUIRE_BUILD_BENCH=OFF
cmake --build "$work" --target fuzz
for source in "$root"/tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    name=${target#fuzz_}
    cp "$work/bin/$target" "$OUT/"
    (cd "$work/fuzz/${name}_seed_corpus" && rm -f "$OUT/${target}_seed_corpus.zip" &&
        python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
    [ -f "$root/tests/fuzz/$name.dict" ] && cp "$root/tests/fuzz/$name.dict" "$OUT/$target.dict"
    printf '[libfuzzer]\ntimeout = 10\nrss_limit_mb = 2048\n' >"$OUT/$target.options"
done
