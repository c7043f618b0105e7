#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NeoBERT as tiny random models: with gate and up in one tensor, in two, and with a masked LM head.

Writes each as a Hugging Face folder and two as GGUF files, computes the hidden states of single sequences and of a batch
in double precision with the standard library alone, and checks them with quire-eval, as well as what is refused.

usage: tiny_neobert.py QUIRE_EVAL
"""
import json
import math
import operator
import os
import struct
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_encoder import EPS, FFN, HEAD, HEADS, HIDDEN, LAYERS, PROMPTS, VOCAB, Encoder
from tiny_models import GGUF_BOOL, GGUF_F32, GGUF_STR, GGUF_U32, add, pack_f32, rms_norm, silu

GIVEN_FFN = 70  # two thirds of it, rounded up to a multiple of 8, are FFN
assert FFN == 48 and EPS == tiny.NORM_EPS


def rotate_pairs(x, position):
    out = []
    for i in range(0, HEAD, 2):
        angle = position * tiny.THETA ** (-i / HEAD)
        c, s = math.cos(angle), math.sin(angle)
        out += [x[i] * c - x[i + 1] * s, x[i] * s + x[i + 1] * c]
    return out


class NeoBert(Encoder):
    def __init__(self, name, packed=True, head=False, labels=0):
        super().__init__(len(name))
        self.name, self.packed, self.head, self.labels = name, packed, head, labels
        self.prefix = "model." if head or labels else ""
        self.w.add(f"{self.prefix}encoder.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        self.w.add(f"{self.prefix}layer_norm.weight", "enc.output_norm.weight", [HIDDEN], 1, 0.3)
        if head:
            self.w.add("decoder.weight", "", [VOCAB, HIDDEN])
            self.w.add("decoder.bias", "", [VOCAB], 0, 0.2)
        if labels:
            for name, gguf, rows in (("dense", "cls", HIDDEN), ("classifier", "cls.output", labels)):
                self.w.add(f"{name}.weight", f"{gguf}.weight", [rows, HIDDEN])
                self.w.add(f"{name}.bias", f"{gguf}.bias", [rows], 0, 0.2)
        for i in range(LAYERS):
            layer, blk = self.layer(i), f"blk.{i}."
            for norm, gguf in (("attention", "attn"), ("ffn", "ffn")):
                self.w.add(f"{layer}{norm}_norm.weight", f"{blk}{gguf}_norm.weight", [HIDDEN], 1, 0.3)
            self.w.add(f"{layer}qkv.weight", f"{blk}attn_qkv.weight", [3 * HIDDEN, HIDDEN])
            self.w.add(f"{layer}wo.weight", f"{blk}attn_output.weight", [HIDDEN, HIDDEN])
            for part, rows in (("w12", 2 * FFN),) if packed else (("w1", FFN), ("w2", FFN)):
                self.w.add(f"{layer}ffn.{part}.weight", f"{blk}ffn_up.weight", [rows, HIDDEN])
            self.w.add(f"{layer}ffn.w3.weight", f"{blk}ffn_down.weight", [HIDDEN, FFN])

    def layer(self, i):
        return f"{self.prefix}transformer_encoder.{i}."

    def attention(self, layer, xs):
        rows = []
        for position, x in enumerate(xs):
            y = self.project(f"{layer}qkv", x)
            heads = [y[h * 3 * HEAD:(h + 1) * 3 * HEAD] for h in range(HEADS)]  # q, k and v of each
            rows.append([[rotate_pairs(v[:HEAD], position) for v in heads],
                         [rotate_pairs(v[HEAD:2 * HEAD], position) for v in heads], [v[2 * HEAD:] for v in heads]])
        out = []
        for queries, _, _ in rows:
            row = []
            for h in range(HEADS):
                scores = [sum(map(operator.mul, queries[h], keys[h])) / math.sqrt(HEAD) for _, keys, _ in rows]
                p = [math.exp(s - max(scores)) for s in scores]
                total = sum(p)
                row += [sum(map(operator.mul, p, column)) / total for column in zip(*(v[h] for _, _, v in rows))]
            out.append(self.project(f"{layer}wo", row))
        return out

    def feed_forward(self, layer, x):
        if self.packed:
            both = self.project(f"{layer}ffn.w12", x)
            gate, up = both[:FFN], both[FFN:]
        else:
            gate, up = (self.project(f"{layer}ffn.{part}", x) for part in ("w1", "w2"))
        return self.project(f"{layer}ffn.w3", [silu(g) * u for g, u in zip(gate, up)])

    def states(self, ids):
        words = self.w.matrix(f"{self.prefix}encoder.weight")
        xs = [words[i] for i in ids]
        for i in range(LAYERS):
            layer = self.layer(i)
            normed = [rms_norm(x, self.w.vector(f"{layer}attention_norm.weight")) for x in xs]
            xs = [add(x, a) for x, a in zip(xs, self.attention(layer, normed))]
            xs = [add(x, self.feed_forward(layer, rms_norm(x, self.w.vector(f"{layer}ffn_norm.weight")))) for x in xs]
        return [rms_norm(x, self.w.vector(f"{self.prefix}layer_norm.weight")) for x in xs]

    def golden(self):
        golden = super().golden()
        for n in PROMPTS:
            states = self.states(struct.unpack(f"<{n}q", golden[f"ids.{n}"][2]))
            if self.head:
                golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(self.project("decoder", x)) for x in states))
            if self.labels:
                scores = self.project("classifier", [math.tanh(v) for v in self.project("dense", states[0])])
                golden[f"scores.{n}"] = ("F32", [self.labels], pack_f32(scores))
        return golden

    def write(self, folder, **changes):
        config = {"model_type": "neobert", "architectures": ["NeoBERTLMHead" if self.head else "NeoBERTForSequenceClassification" if self.labels else "NeoBERT"],
                  "vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": GIVEN_FFN, "dim_head": HEAD,
                  "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "max_length": 128, "norm_eps": EPS,
                  "pad_token_id": 0, "decoder_init_range": 0.02, "embedding_init_range": 0.02,
                  "classifier_init_range": 0.02, "flash_attention": True, "kwargs": {"trust_remote_code": True}}
        if not self.packed:
            config.update(swiglu_packed=False, rms_norm=True, rope=True, hidden_act="swiglu", dropout=0.0)
        if self.labels:
            config["id2label"] = {str(i): str(i) for i in range(self.labels)}
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**config, **changes}, f)
        tiny.write_safetensors(f"{folder}/model.safetensors", {
            name: ("F32", shape, pack_f32(values)) for name, (_, shape, values) in self.w.tensors.items()})

    def write_gguf(self, path, **changes):
        """As the public converter does."""
        keys = {"block_count": (GGUF_U32, LAYERS), "context_length": (GGUF_U32, 128), "embedding_length": (GGUF_U32, HIDDEN),
                "feed_forward_length": (GGUF_U32, FFN), "attention.head_count": (GGUF_U32, HEADS), "attention.causal": (GGUF_BOOL, False),
                "attention.layer_norm_rms_epsilon": (GGUF_F32, EPS), "pooling_type": (GGUF_U32, 2), "rope.freq_base": (GGUF_F32, 10000.0),
                "rope.scaling.type": (GGUF_STR, "none"), **changes}
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, "neo-bert")] + [(f"neo-bert.{k}", *v) for k, v in keys.items()],
                             tiny.gguf_tensors(self.w))


def check_refusals(model, folder):
    ok = True
    for key, value, word in (("rope", False, "rope"), ("rms_norm", False, "rms_norm"), ("hidden_act", "gelu", "hidden_act"),
                             ("dim_head", 4, "q"), ("intermediate_size", 96, "w12"), ("intermediate_size", 0, "feed-forward"),
                             ("norm_eps", -1, "norm epsilon"), ("positions", 7, "positions")):
        model.write(folder, **{key: value})
        ok &= tiny.is_refused([folder], word)
    for key, value, word in (("feed_forward_length", FFN + 8, "ffn_up"), ("rope.scaling.type", "cubic", "rope.scaling"),
                             ("hidden_activation", "tanh", "hidden_activation"), ("attention.head_count", 0, "head_count")):
        model.write_gguf(f"{folder}/model.gguf", **{key: (GGUF_STR if isinstance(value, str) else GGUF_U32, value)})
        ok &= tiny.is_refused(["--gguf", f"{folder}/model.gguf", folder], word)
    return ok


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in NeoBert("packed"), NeoBert("unpacked", packed=False), NeoBert("masked_head", head=True), NeoBert("classifier", labels=3):
            folder = f"{scratch}/{model.name}"
            model.write(folder)
            tiny.write_safetensors(f"{folder}/golden.safetensors", model.golden())
            failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", folder])
            if model.packed and not model.head:
                model.write_gguf(f"{folder}/model.gguf")
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", "--gguf", f"{folder}/model.gguf", folder])
            if model.name == "packed":
                failed |= not check_refusals(model, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
