#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_adapter.sh PROGRAM SOURCE_DIR - quire-chat --lora with an adapter of the reference data. Exit code 77: skipped.
set -u
program=$1
shared=${QUIRE_SHARED:-$2/../shared}
model=$shared/goldens/gguf/llama-q8_0.gguf
adapter=$shared/goldens/lora/lora_llama_r4
if [ ! -e "$model" ] || [ ! -d "$adapter" ]; then
    echo "skipped: no reference data at $shared (set QUIRE_SHARED)"
    exit 77
fi
. "$(dirname "$0")/checks.sh"

answer()
{
    run -m "$model" --no-cnv --temp 0 -n 12 --ignore-eos -q -p "Once upon a time" "$@"
    cp "$folder/out" "$folder/last"
}
answer
pass_if "without an adapter" status_is 0
cp "$folder/last" "$folder/base"
answer --lora "$adapter"
pass_if "--lora" status_is 0
cp "$folder/last" "$folder/full"
pass_if "--lora changes the answer" eval '! cmp -s "$folder/base" "$folder/full"'
answer --lora "$adapter=1"
pass_if "--lora FILE=1 is the same" cmp -s "$folder/last" "$folder/full"
answer --lora "$adapter=0"
pass_if "--lora FILE=0 is the model alone" cmp -s "$folder/last" "$folder/base"
answer --lora "$adapter=0.25"
pass_if "--lora FILE=0.25 is another answer" eval '! cmp -s "$folder/last" "$folder/full"'
answer --lora "$adapter=much"
pass_if "a bad scale is part of the path: exit code 66" status_is 66
answer --lora "$shared/goldens/lora/lora_mixtral_r4"
pass_if "an adapter of another model exits with 65" status_is 65
pass_if "the message names the tensor" err_has "block_sparse_moe"
answer --lora "$folder"
pass_if "an empty folder exits with 66" status_is 66
finish
