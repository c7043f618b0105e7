#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains quire-tiny from nothing: corpus, tokenizer, network, GGUF file. Needs one GPU and PyTorch.
#   train.sh --smoke                 every step at a tiny scale, about a minute
#   train.sh --train-seconds 400     the real run
# The results go to $OUT (default: build/quire-tiny), further options to train.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-$here/../../build/quire-tiny}
mkdir -p "$OUT"
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
cd "$here"
python3 make_eval.py --check
python3 make_tools_eval.py --check
status=0
{ python3 train.py --out "$OUT" "$@" 2>&1 || echo "failed with $?"; } | tee "$OUT/train.log"
if grep -q '^failed with' "$OUT/train.log"; then
    status=1
fi
exit $status
