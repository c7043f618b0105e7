#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An adapter of a looped transformer, whose layers run several times: what the adapter adds is subtracted from the
weights, so that the model with the adapter has the logits of the one that it was made from. Equal bits in chunks and
with several threads. An adapter of a layer beyond those of the file is refused.

usage: tiny_loops.py QUIRE_EVAL
"""
import random
import sys
import tempfile

import lora_recurrent as lora
import tiny_models as tiny
from tiny_decoder import HEAD, Model

LAYERS, LOOPS = 2, 2


def random_update(rng, rows, columns):
    return (rows, columns, *([rng.gauss(0, 0.1) for _ in range(n * lora.RANK)] for n in (columns, rows)))


def subtract(weight, update):
    """The scale of an adapter is 2."""
    rows, columns, a, b = update
    a, b, rank = lora.unpack(tiny.pack_f32(a)), lora.unpack(tiny.pack_f32(b)), lora.RANK
    return [weight[i * columns + j] - 2 * sum(b[i * rank + r] * a[r * columns + j] for r in range(rank))
            for i in range(rows) for j in range(columns)]


def check(name, passed, said):
    print("ok  " if passed else "FAIL", name)
    if not passed:
        print(said)
    return passed


def main():
    command, rng, updates = sys.argv[1], random.Random(1), {}
    model = Model("nanbeige", loops=LOOPS, layers=LAYERS, config={"num_loops": LOOPS, "head_dim": HEAD})
    with tempfile.TemporaryDirectory() as work:
        whole = f"{work}/whole"
        model.write_folder(whole)
        tensors = lora.read_safetensors(f"{whole}/model.safetensors")
        for tensor in [t for t in tensors if t.endswith("_proj.weight")]:
            dtype, (rows, columns), data = tensors[tensor]
            update = updates[tensor.removesuffix(".weight")] = random_update(rng, rows, columns)
            tensors[tensor] = (dtype, [rows, columns], tiny.pack_f32(subtract(lora.unpack(data), update)))
        lora.write_adapter(f"{work}/adapter", updates)
        arguments = ("--lora", f"{work}/adapter", "-m", lora.write_folder(whole, work, tensors))
        code, largest, said = lora.golden(command, *arguments, whole)
        passed = check(f"{len(updates)} modules, max {largest:.3g}", code == 0 and largest <= lora.GATE, said)
        chunked = lora.golden(command, *arguments, "--threads", "3", "--chunk", "7", whole)[2]
        passed &= check("the same bits in chunks of 7 with 3 threads", chunked == said, chunked)  # with a digest
        module = f"model.layers.{LAYERS}.mlp.up_proj"
        lora.write_adapter(f"{work}/beyond", {module: updates[module.replace(str(LAYERS), "0")]})
        code, _, said = lora.golden(command, "--lora", f"{work}/beyond", "-m", whole, whole)
        passed &= check("a layer beyond those of the file is refused", code != 0 and module in said, said)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
