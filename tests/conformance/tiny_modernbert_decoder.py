#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoders of ModernBERT as tiny random models: windows, a RoPE base for each kind of layer, a dense layer in the head.

Writes each as a Hugging Face folder in the styles of both releases, computes the logits in double precision with the
standard library alone, and checks them with quire-eval, as well as what is refused.

usage: tiny_modernbert_decoder.py QUIRE_EVAL
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_models import FFN, HEAD, HEADS, HIDDEN, NORM_EPS, VOCAB, add, layer_norm, matvec, pack_f32

LAYERS, WINDOW = 5, 8  # visible keys; the key of the file is twice as large
PROMPTS = (1, 7, 33, 60)
GLOBAL, LOCAL = 5000.0, 100.0


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


class ModernBertDecoder:
    """full: layers without a window; local: RoPE base of the others; biases: every layer and norm has them"""

    def __init__(self, name, full=(0, 3), local=LOCAL, biases=False, tied=True):
        self.name, self.full, self.local, self.biases, self.tied = name, full, local, biases, tied
        self.w = tiny.Weights(len(name))
        self.w.add("model.embeddings.tok_embeddings.weight", "", [VOCAB, HIDDEN], 0, 1)
        if not tied:
            self.w.add("decoder.weight", "", [VOCAB, HIDDEN])
        self.w.add("decoder.bias", "", [VOCAB], 0, 0.3)
        self.add_matrix("lm_head.dense", HIDDEN, HIDDEN)
        for norm in ("model.embeddings.norm", "model.final_norm", "lm_head.norm"):
            self.add_norm(norm)
        for i in range(LAYERS):
            for norm in ("attn_norm", "mlp_norm")[i == 0:]:
                self.add_norm(f"model.layers.{i}.{norm}")
            for part in ("attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.Wo"):
                self.add_matrix(f"model.layers.{i}.{part}", HIDDEN, HIDDEN)
            self.add_matrix(f"model.layers.{i}.mlp.Wi", 2 * FFN, HIDDEN)
            self.add_matrix(f"model.layers.{i}.mlp.Wo", HIDDEN, FFN)

    def add_norm(self, name):
        self.w.add(f"{name}.weight", "", [HIDDEN], 1, 0.3)
        if self.biases:
            self.w.add(f"{name}.bias", "", [HIDDEN], 0, 0.2)

    def add_matrix(self, name, rows, cols):
        self.w.add(f"{name}.weight", "", [rows, cols])
        if self.biases:
            self.w.add(f"{name}.bias", "", [rows], 0, 0.2)

    # ---- The forward pass

    def norm(self, x, name):
        return layer_norm(x, self.w.vector(f"{name}.weight"), self.w.vector(f"{name}.bias"))

    def project(self, name, x):
        y, bias = matvec(self.w.matrix(f"{name}.weight"), x), self.w.vector(f"{name}.bias")
        return add(y, bias) if bias else y

    def attention(self, i, xs):
        theta, window = (GLOBAL, 0) if i in self.full else (self.local, WINDOW)
        rotation = [theta ** (-2 * k / HEAD) for k in range(HEAD // 2)], 1.0
        q, k, v = ([tiny.heads_of(self.project(f"model.layers.{i}.attn.{p}_proj", x)) for x in xs] for p in "qkv")
        q, k = ([[tiny.rotate(h, t, rotation) for h in row] for t, row in enumerate(rows)] for rows in (q, k))
        return [self.project(f"model.layers.{i}.attn.Wo", tiny.attend(q[t], k, v, t, window)) for t in range(len(xs))]

    def feed_forward(self, i, x):
        y = self.project(f"model.layers.{i}.mlp.Wi", x)
        return self.project(f"model.layers.{i}.mlp.Wo", [gelu(g) * u for g, u in zip(y[:FFN], y[FFN:])])

    def logits(self, ids):
        words = self.w.matrix("model.embeddings.tok_embeddings.weight")
        xs = [self.norm(words[i], "model.embeddings.norm") for i in ids]
        for i in range(LAYERS):
            inputs = [self.norm(x, f"model.layers.{i}.attn_norm") if i else x for x in xs]
            xs = [add(x, a) for x, a in zip(xs, self.attention(i, inputs))]
            xs = [add(x, self.feed_forward(i, self.norm(x, f"model.layers.{i}.mlp_norm"))) for x in xs]
        head, bias = words if self.tied else self.w.matrix("decoder.weight"), self.w.vector("decoder.bias")
        xs = [self.project("lm_head.dense", self.norm(x, "model.final_norm")) for x in xs]
        return [add(matvec(head, self.norm([gelu(v) for v in x], "lm_head.norm")), bias) for x in xs]

    # ---- Files

    def write(self, folder, keys, **changes):
        config = {"model_type": "modernbert-decoder", "architectures": ["ModernBertDecoderForCausalLM"], "vocab_size": VOCAB,
                  "hidden_size": HIDDEN, "intermediate_size": FFN, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
                  "max_position_embeddings": 256, "norm_eps": NORM_EPS, "hidden_activation": "gelu", "attention_bias": self.biases,
                  "mlp_bias": self.biases, "norm_bias": self.biases, "classifier_bias": self.biases, "decoder_bias": True,
                  "classifier_activation": "gelu", "local_attention": 2 * WINDOW, **keys}
        if not self.tied:
            config["tie_word_embeddings"] = False
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**config, **changes}, f)
        tiny.write_safetensors(f"{folder}/model.safetensors", {
            name: ("F32", shape, pack_f32(values)) for name, (_, shape, values) in self.w.tensors.items()})

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in self.logits(ids)))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


TYPES = ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention", "full_attention"]
OLD = {"global_rope_theta": GLOBAL, "local_rope_theta": LOCAL, "global_attn_every_n_layers": 3}
NEW = {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": GLOBAL},
                           "sliding_attention": {"rope_type": "default", "rope_theta": LOCAL}}}
MODELS = (
    # published files; the release that wrote the second rotates all layers alike, as it did that of the first
    (ModernBertDecoder("old"), {**OLD, "sliding_window": WINDOW, "position_embedding_type": "sans_pos", "is_causal": True}),
    (ModernBertDecoder("first", local=GLOBAL), {**OLD, "transformers_version": "4.54.0.dev0"}),
    (ModernBertDecoder("types", full=(1, 4), biases=True), {**NEW, "layer_types": TYPES, "sliding_window": WINDOW,
                                                            "transformers_version": "5.2.0"}),
    (ModernBertDecoder("own head", tied=False), NEW),
)
REFUSED = (("local_attention", 1, "local_attention"), ("local_attention", None, "local_attention"),
           ("sliding_window", 2 * WINDOW, "sliding_window"), ("hidden_activation", "silu", "hidden_activation"),
           ("classifier_activation", "relu", "classifier_activation"), ("is_causal", 2, "is_causal"),
           ("local_rope_theta", None, "local_rope_theta"), ("layer_types", ["full_attention"], "layer_types"),
           ("decoder_bias", False, "decoder.bias"), ("architectures", ["ModernBertDecoderForSequenceClassification"], "score"))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model, keys in MODELS:
            folder = f"{scratch}/{model.name}"
            model.write(folder, keys)
            model.write_golden(folder)
            for options in ([], ["--chunk", "5"]):
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", *options, folder])
        model, keys = MODELS[0]
        for key, value, word in REFUSED:
            model.write(f"{scratch}/{model.name}", keys, **{key: value})
            failed |= not tiny.is_refused([f"{scratch}/{model.name}"], word)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
