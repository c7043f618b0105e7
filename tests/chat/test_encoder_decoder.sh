#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_encoder_decoder.sh PROGRAM SOURCE_DIR - quire-chat with an encoder-decoder of the reference data and a Unigram
# vocabulary. Exit code 77: skipped.
set -u
program=$1
source=$2
shared=${QUIRE_SHARED:-$2/../shared}
if [ ! -d "$shared/goldens/t5" ]; then
    echo "skipped: no reference data at $shared (set QUIRE_SHARED)"
    exit 77
fi
. "$(dirname "$0")/checks.sh"

mkdir "$folder/t5"
cp "$shared/goldens/t5/config.json" "$shared/goldens/t5/model.safetensors" "$folder/t5"
cp "$source/tests/fuzz/corpus/tokenizer_json/unigram.json" "$folder/t5/tokenizer.json"

answer()
{
    run -m "$folder/t5" --temp 0 -n 6 --ignore-eos --json "$@"
    cp "$folder/out" "$folder/last"
}
answer -p "the the e"
pass_if "a prompt without a chat template" status_is 0
pass_if "the tokens of the source are counted" grep -q '"prompt_tokens": *5' "$folder/last"
answer -p "  the   the e "
pass_if "spaces are normalized" grep -q '"prompt_tokens": *5' "$folder/last"
answer -sys "Be brief" -p "the the e"
pass_if "a system message has no effect" err_has "no effect with an encoder-decoder"

echo '[{"type":"function","function":{"name":"f"}}]' >"$folder/tools.json"
run -m "$folder/t5" --tools "$folder/tools.json" -p "the"
pass_if "tools are refused" err_has "encoder-decoder"
finish
