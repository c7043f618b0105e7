#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refact as tiny random models: one KV head, ALiBi, LayerNorm without biases, k and v as one tensor.

Writes each as a Hugging Face folder and as a GGUF file, computes the logits in double precision with the standard library
alone, and checks both with quire-eval, as well as what is refused.

usage: tiny_refact.py QUIRE_EVAL
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_models import GGUF_F32, GGUF_STR, GGUF_U32, HEAD, NORM_EPS, VOCAB, add, layer_norm, matvec, pack_f32, silu

LAYERS, PROMPTS = 3, (1, 7, 33, 60)
SLOPES = {4: [2 ** -2, 2 ** -4, 2 ** -6, 2 ** -8],
          6: [2 ** -2, 2 ** -4, 2 ** -6, 2 ** -8, 2 ** -1, 2 ** -3]}  # four heads, and every other one of eight


class Refact:
    """heads: 4 or 6; inner: n_inner of the file, two thirds of which, rounded up to a multiple of 256, are the width"""

    def __init__(self, heads, inner, width):
        self.heads, self.hidden, self.inner, self.width = heads, heads * HEAD, inner, width
        self.w = tiny.Weights(heads)
        self.w.add("transformer.wte.weight", "token_embd.weight", [VOCAB, self.hidden], 0, 1)
        self.w.add("lm_head.weight", "output.weight", [VOCAB, self.hidden])
        self.w.add("ln_f.weight", "output_norm.weight", [self.hidden], 1, 0.3)
        for i in range(LAYERS):
            hf, blk = f"transformer.h.{i}.", f"blk.{i}."
            self.w.add(f"{hf}ln_1.weight", f"{blk}attn_norm.weight", [self.hidden], 1, 0.3)
            self.w.add(f"{hf}ln_2.weight", f"{blk}ffn_norm.weight", [self.hidden], 1, 0.3)
            for part, gguf, rows, cols in (("attn.q", "attn_q", self.hidden, self.hidden), ("attn.k", "attn_k", HEAD, self.hidden),
                                           ("attn.v", "attn_v", HEAD, self.hidden), ("attn.c_proj", "attn_output", self.hidden, self.hidden),
                                           ("mlp.gate", "ffn_gate", width, self.hidden), ("mlp.up", "ffn_up", width, self.hidden),
                                           ("mlp.c_proj", "ffn_down", self.hidden, width)):
                self.w.add(f"{hf}{part}.weight", f"{blk}{gguf}.weight", [rows, cols])

    # ---- The forward pass

    def project(self, name, x):
        return matvec(self.w.matrix(f"{name}.weight"), x)

    def norm(self, name, x):
        return layer_norm(x, self.w.vector(f"{name}.weight"))

    def layer(self, hf, xs):
        inputs = [self.norm(f"{hf}ln_1", x) for x in xs]
        q = [tiny.heads_of(self.project(f"{hf}attn.q", x)) for x in inputs]
        k, v = ([[self.project(f"{hf}attn.{p}", x)] for x in inputs] for p in "kv")
        outs = [tiny.attend(q[t], k, v, t, 0, SLOPES[self.heads]) for t in range(len(xs))]
        xs = [add(x, self.project(f"{hf}attn.c_proj", y)) for x, y in zip(xs, outs)]
        for t, x in enumerate(xs):
            y = self.norm(f"{hf}ln_2", x)
            gated = [silu(g) * u for g, u in zip(self.project(f"{hf}mlp.gate", y), self.project(f"{hf}mlp.up", y))]
            xs[t] = add(x, self.project(f"{hf}mlp.c_proj", gated))
        return xs

    def logits(self, ids):
        words = self.w.matrix("transformer.wte.weight")
        xs = [words[i] for i in ids]
        for i in range(LAYERS):
            xs = self.layer(f"transformer.h.{i}.", xs)
        return [self.project("lm_head", self.norm("ln_f", x)) for x in xs]

    # ---- Files

    def write(self, folder, **changes):
        config = {"model_type": "gpt_refact", "architectures": ["GPTRefactForCausalLM"], "vocab_size": VOCAB, "n_embd": self.hidden,
                  "n_inner": self.inner, "n_head": self.heads, "n_layer": LAYERS, "n_positions": 256, "layer_norm_epsilon": NORM_EPS,
                  "multi_query": True, "attention_bias_in_fp32": True, "attention_softmax_in_fp32": True,
                  "scale_attention_softmax_in_fp32": True, "do_sample": True, "initializer_range": 0.02, "use_cache": True}
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**config, **changes}, f)
        plain = {name: (shape, values) for name, (_, shape, values) in self.w.tensors.items()}
        for i in range(LAYERS):
            for first, second, both in (("attn.k", "attn.v", "attn.kv"), ("mlp.gate", "mlp.up", "mlp.gate_up_proj")):
                (shape, a), (_, b) = (plain.pop(f"transformer.h.{i}.{part}.weight") for part in (first, second))
                plain[f"transformer.h.{i}.{both}.weight"] = ([2 * shape[0], shape[1]], a + b)
        tiny.write_safetensors(f"{folder}/model.safetensors", {n: ("F32", s, pack_f32(v)) for n, (s, v) in plain.items()})

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in self.logits(ids)))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_gguf(self, path, **changes):
        """As the public converter does."""
        keys = {"block_count": (GGUF_U32, LAYERS), "context_length": (GGUF_U32, 256), "embedding_length": (GGUF_U32, self.hidden),
                "feed_forward_length": (GGUF_U32, self.width), "attention.head_count": (GGUF_U32, self.heads),
                "attention.head_count_kv": (GGUF_U32, 1), "attention.layer_norm_rms_epsilon": (GGUF_F32, NORM_EPS), **changes}
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, "refact")] + [(f"refact.{k}", *v) for k, v in keys.items()],
                             tiny.gguf_tensors(self.w))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in Refact(4, None, 256), Refact(6, 400, 512):
            folder = f"{scratch}/{model.heads}"
            model.write(folder)
            model.write_golden(folder)
            model.write_gguf(f"{folder}/model.gguf")
            for arguments in [[folder], ["--gguf", f"{folder}/model.gguf", folder]]:
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", *arguments])
        for key, value, word in (("multi_query", False, "multi_query"), ("n_inner", 4096, "mlp.gate_up_proj"), ("n_head", 3, "attn."),
                                 ("scale_attn_weights", 2, "scale_attn_weights"), ("layer_norm_epsilon", -1, "norm epsilon")):
            model.write(folder, **{key: value})
            failed |= not tiny.is_refused([folder], word)
        model.write_gguf(f"{folder}/model.gguf", **{"attention.head_count_kv": (GGUF_U32, 2)})
        failed |= not tiny.is_refused(["--gguf", f"{folder}/model.gguf", folder], "attn_k")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
