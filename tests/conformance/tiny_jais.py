#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jais 1 and a model of the Jais family as tiny random models: ALiBi, a gated network, muP.

Writes each as a Hugging Face folder and as a GGUF file, where embeddings and LM head have their factors, computes the
logits in double precision with the standard library alone, and checks both with quire-eval, as well as what is refused.

usage: tiny_jais.py QUIRE_EVAL
"""
import json
import math
import operator
import os
import random
import struct
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_models import GGUF_F32, GGUF_U32, add, layer_norm, matvec, pack_f32, silu

VOCAB, HIDDEN, FFN, HEADS, HEAD, LAYERS, EPS = 48, 32, 48, 4, 8, 3, 1e-5
PROMPTS = (1, 7, 33, 60)


class Jais:
    def __init__(self, name, config, by_dim, embedding, logit, tied):
        self.name, self.config, self.by_dim, self.embedding, self.logit = name, config, by_dim, embedding, logit
        self.w, self.tied = tiny.Weights(len(name)), tied
        self.w.add("transformer.wte.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        if not tied:
            self.w.add("lm_head.weight", "output.weight", [VOCAB, HIDDEN])
        self.add_norm("transformer.ln_f", "output_norm")
        for i in range(LAYERS):
            hf, blk = f"transformer.h.{i}.", f"blk.{i}."
            self.add_norm(f"{hf}ln_1", f"{blk}attn_norm")
            self.add_norm(f"{hf}ln_2", f"{blk}ffn_norm")
            for part, gguf, rows, cols in (("attn.c_attn", "attn_qkv", 3 * HIDDEN, HIDDEN),
                                           ("attn.c_proj", "attn_output", HIDDEN, HIDDEN),
                                           ("mlp.c_fc", "ffn_up", FFN, HIDDEN), ("mlp.c_fc2", "ffn_gate", FFN, HIDDEN),
                                           ("mlp.c_proj", "ffn_down", HIDDEN, FFN)):
                self.w.add(f"{hf}{part}.weight", f"{blk}{gguf}.weight", [rows, cols])
                self.w.add(f"{hf}{part}.bias", f"{blk}{gguf}.bias", [rows], 0, 0.3)

    def add_norm(self, hf, gguf):
        self.w.add(f"{hf}.weight", f"{gguf}.weight", [HIDDEN], 1, 0.3)
        self.w.add(f"{hf}.bias", f"{gguf}.bias", [HIDDEN], 0, 0.2)

    # ---- The forward pass

    def normed(self, x, name):
        return layer_norm(x, self.w.vector(f"{name}.weight"), self.w.vector(f"{name}.bias"))

    def project(self, name, x):
        return add(matvec(self.w.matrix(f"{name}.weight"), x), self.w.vector(f"{name}.bias"))

    def attention(self, hf, xs):
        divisor, out = HEAD if self.by_dim else math.sqrt(HEAD), []
        rows = [self.project(f"{hf}attn.c_attn", x) for x in xs]
        for i, query in enumerate(rows):
            y = []
            for h in range(HEADS):
                part = lambda row, which: row[which * HIDDEN + h * HEAD:which * HIDDEN + (h + 1) * HEAD]
                scores = [sum(map(operator.mul, part(query, 0), part(row, 1))) / divisor
                          - 2 ** (-8 * (h + 1) / HEADS) * (i - j) for j, row in enumerate(rows[:i + 1])]
                p = [math.exp(s - max(scores)) for s in scores]
                total = sum(p)
                y += [sum(map(operator.mul, p, column)) / total for column in zip(*(part(row, 2) for row in rows[:i + 1]))]
            out.append(self.project(f"{hf}attn.c_proj", y))
        return out

    def feed_forward(self, hf, x):
        up, gate = self.project(f"{hf}mlp.c_fc", x), self.project(f"{hf}mlp.c_fc2", x)
        return self.project(f"{hf}mlp.c_proj", [u * silu(g) for u, g in zip(up, gate)])

    def logits(self, ids):
        words = self.w.matrix("transformer.wte.weight")
        xs = [[self.embedding * v for v in words[i]] for i in ids]
        for i in range(LAYERS):
            hf = f"transformer.h.{i}."
            xs = [add(x, a) for x, a in zip(xs, self.attention(hf, [self.normed(x, f"{hf}ln_1") for x in xs]))]
            xs = [add(x, self.feed_forward(hf, self.normed(x, f"{hf}ln_2"))) for x in xs]
        head = words if self.tied else self.w.matrix("lm_head.weight")
        return [[self.logit * y for y in matvec(head, self.normed(x, "transformer.ln_f"))] for x in xs]

    # ---- Files

    def write(self, folder, **changes):
        config = {"model_type": "jais", "architectures": ["JAISLMHeadModel"], "activation_function": "swiglu",
                  "position_embedding_type": "alibi", "vocab_size": VOCAB, "n_embd": HIDDEN, "n_inner": FFN,
                  "n_head": HEADS, "n_layer": LAYERS, "n_positions": 128, "layer_norm_epsilon": EPS, "attn_pdrop": 0.0,
                  "embd_pdrop": 0.0, "resid_pdrop": 0.0, "initializer_range": 0.02, "reorder_and_upcast_attn": False,
                  "scale_attn_by_inverse_layer_idx": False, "scale_attn_weights": True, "use_cache": True,
                  "tie_word_embeddings": self.tied, **self.config}
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**config, **changes}, f)
        tensors = {"transformer.relative_pe.slopes": ("F32", [HEADS], pack_f32([2 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)]))}
        for name, (_, shape, values) in self.w.tensors.items():
            if len(shape) == 2 and ".h." in name:  # [in][out]
                rows, cols = shape
                shape, values = [cols, rows], [values[r * cols + c] for c in range(cols) for r in range(rows)]
            tensors[name] = ("F32", shape, pack_f32(values))
        tiny.write_safetensors(f"{folder}/model.safetensors", tensors)

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in self.logits(ids)))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_gguf(self, path):
        """As the public converter does for models whose scores are divided by the head dimension."""
        keys = [("block_count", GGUF_U32, LAYERS), ("context_length", GGUF_U32, 128), ("embedding_length", GGUF_U32, HIDDEN),
                ("feed_forward_length", GGUF_U32, FFN), ("attention.head_count", GGUF_U32, HEADS),
                ("attention.layer_norm_epsilon", GGUF_F32, EPS), ("attention.max_alibi_bias", GGUF_F32, 8.0)]
        stored = tiny.Weights(0)
        stored.tensors = dict(self.w.tensors)
        _, shape, words = self.w.tensors["transformer.wte.weight"]
        head = words if self.tied else self.w.tensors["lm_head.weight"][2]
        stored.tensors["transformer.wte.weight"] = ("token_embd.weight", shape, [self.embedding * v for v in words])
        stored.tensors["lm_head.weight"] = ("output.weight", shape, [self.logit * v for v in head])
        tiny.write_gguf_file(path, [("general.architecture", tiny.GGUF_STR, "jais")] + [(f"jais.{k}", t, v) for k, t, v in keys],
                             tiny.gguf_tensors(stored))


def first():
    return Jais("first", {"embeddings_scale": 3.5, "width_scale": 0.25, "scale_qk_dot_by_d": True}, True, 3.5, 0.25, True)


def family():
    return Jais("family", {"mup_embeddings_scale": 2.25, "mup_output_alpha": 1.5, "mup_width_scale": 0.5,
                           "mup_scale_qk_dot_by_d": True, "alibi_scaling": None}, True, 2.25, 0.75, False)


def by_root():
    return Jais("by_root", {"embeddings_scale": 1.0, "width_scale": 1.0, "scale_qk_dot_by_d": False}, False, 1, 1, False)


def check_refusals(model, folder):
    failed = False
    for key, value, word in (("position_embedding_type", "learned", "position_embedding_type"), ("activation_function", "gelu", "gelu"),
                             ("alibi_scaling", {"type": "linear", "factor": 2.0}, "alibi_scaling"),
                             ("scale_attn_by_inverse_layer_idx", True, "scale_attn_by_inverse_layer_idx"),
                             ("mup_scale_qk_dot_by_d", 1, "scale_qk_dot_by_d"), ("mup_width_scale", "x", "mup_width_scale"),
                             ("mup_output_alpha", 1e9, "logit scale"), ("n_head", 5, "c_attn")):
        model.write(folder, **{key: value})
        failed |= not tiny.is_refused([folder], word)
    return failed


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in first(), family(), by_root():
            folder = f"{scratch}/{model.name}"
            model.write(folder)
            model.write_golden(folder)
            failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", folder])
            if model.by_dim:
                model.write_gguf(f"{folder}/model.gguf")
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", "--gguf", f"{folder}/model.gguf", folder])
        failed |= check_refusals(family(), f"{scratch}/family")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
