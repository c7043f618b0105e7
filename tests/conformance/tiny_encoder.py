# SPDX-License-Identifier: Apache-2.0
"""What the encoders of tiny_jina.py and tiny_nomic_moe.py have in common: sizes, layers with biases, and goldens of
single sequences and of a batch. A subclass has states(ids), the hidden states in double precision."""
import math
import random
import struct

from tiny_models import Weights, add, matvec, pack_f32

VOCAB, HIDDEN, FFN, HEADS, HEAD, LAYERS, EPS = 48, 32, 48, 4, 8, 3, 1e-5
PROMPTS, BATCH = (1, 7, 33, 100), (5, 40, 23)


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


class Encoder:
    eps = EPS

    def __init__(self, seed):
        self.w = Weights(seed)

    def add_norm(self, hf, gguf):
        self.w.add(f"{hf}.weight", f"{gguf}.weight", [HIDDEN], 1, 0.3)
        self.w.add(f"{hf}.bias", f"{gguf}.bias", [HIDDEN], 0, 0.2)

    def add_matrix(self, hf, gguf, rows, cols, bias):
        self.w.add(f"{hf}.weight", f"{gguf}.weight", [rows, cols])
        if bias:
            self.w.add(f"{hf}.bias", f"{gguf}.bias", [rows], 0, 0.2)

    def norm(self, x, name):
        mean = sum(x) / len(x)
        scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in x) / len(x) + self.eps)
        return add([(v - mean) * scale * w for v, w in zip(x, self.w.vector(f"{name}.weight"))],
                   self.w.vector(f"{name}.bias"))

    def project(self, name, x):
        y, bias = matvec(self.w.matrix(f"{name}.weight"), x), self.w.vector(f"{name}.bias")
        return add(y, bias) if bias else y

    def golden(self):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"last_hidden.{n}"] = ("F32", [n, HIDDEN], b"".join(pack_f32(x) for x in self.states(ids)))
        length, shape = max(BATCH), [len(BATCH), max(BATCH)]
        ids = [[rng.randrange(VOCAB) for _ in range(n)] for n in BATCH]
        padded = [x for row in ids for x in row + [0] * (length - len(row))]
        mask = [int(i < n) for n in BATCH for i in range(length)]
        golden["batch.ids"] = ("I64", shape, struct.pack(f"<{len(padded)}q", *padded))
        golden["batch.mask"] = ("I64", shape, struct.pack(f"<{len(mask)}q", *mask))
        golden["batch.last_hidden"] = ("F32", shape + [HIDDEN], b"".join(
            b"".join(pack_f32(x) for x in self.states(row)) + bytes(4 * HIDDEN * (length - len(row))) for row in ids))
        return golden
