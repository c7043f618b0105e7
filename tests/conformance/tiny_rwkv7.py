#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RWKV-7: a state that removes along another vector than it adds, token shift, low-rank projections.

As tiny_models.py: writes a model as a Hugging Face folder and as a GGUF file, computes its logits in double precision,
and checks both with quire-eval, whole and in chunks. The tests of steps and schedules, which read reference models, then
read this one.

usage: tiny_rwkv7.py QUIRE_EVAL TEST_RECURRENT_FORWARD TEST_ENGINE_FOLDERS
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
from tiny_models import GGUF_F32, GGUF_STR, GGUF_U32

VOCAB, HIDDEN, HEAD, LAYERS, FFN, EPS = 320, 32, 8, 3, 64, 1e-5
HEADS = HIDDEN // HEAD
RANKS = {"w": 12, "a": 10, "v": 6, "g": 14}
MIXES = "rwkvag"
PROMPTS = (7, 33, 70)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


class Rwkv7:
    mixes, head_norm, head_eps = MIXES, True, HEAD * EPS  # without "g": no gate

    def __init__(self, fused):
        """fused: the mixes of token shift are one tensor in the folder, too"""
        self.fused = fused
        self.w = tiny.Weights(17)
        add = self.w.add
        add("model.embeddings.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        add("lm_head.weight", "output.weight", [VOCAB, HIDDEN])
        self.add_norm("model.norm", "output_norm")
        self.add_norm("model.layers.0.pre_norm", "token_embd_norm")
        for i in range(LAYERS):
            self.add_layer(i, f"model.layers.{i}.", f"blk.{i}.")

    def add_norm(self, hf, gguf):
        self.w.add(f"{hf}.weight", f"{gguf}.weight", [HIDDEN], 1, 0.3)
        self.w.add(f"{hf}.bias", f"{gguf}.bias", [HIDDEN], 0, 0.2)

    def add_layer(self, i, hf, blk):
        add, at, mix = self.w.add, f"{hf}attn.", f"{blk}time_mix_"
        for norm, gguf in ("attn_norm", f"{blk}attn_norm"), ("ffn_norm", f"{blk}attn_norm_2"), ("attn.g_norm", f"{mix}ln"):
            self.add_norm(f"{hf}{norm}", gguf)
        for part in MIXES:
            add(f"{at}x_{part}", (f"{mix}lerp_fused.weight", len(MIXES)), [HIDDEN], 0.5, 0.3)
        for part, name in ("r", "receptance"), ("k", "key"), ("v", "value"), ("o", "output"):
            add(f"{at}{part}_proj.weight", f"{mix}{name}.weight", [HIDDEN, HIDDEN])
        for part, rank in RANKS.items():
            if part == "v" and i == 0:
                continue
            add(f"{at}{part}_lora.lora.0.weight", f"{mix}{part}1.weight", [rank, HIDDEN])
            add(f"{at}{part}_lora.lora.2.weight", f"{mix}{part}2.weight", [HIDDEN, rank])
            if part != "g":
                add(f"{at}{part}_lora.lora.2.bias", f"{mix}{part}0.weight", [HIDDEN], 0, 0.5)
        for name, mean in ("k_k", 1), ("k_a", 1), ("r_k", 0):
            add(f"{at}{name}", f"{mix}{name}.weight", [HIDDEN], mean, 0.3)
        add(f"{hf}ffn.x_k", f"{blk}channel_mix_lerp_k.weight", [HIDDEN], 0.5, 0.3)
        add(f"{hf}ffn.key.weight", f"{blk}channel_mix_key.weight", [FFN, HIDDEN])
        add(f"{hf}ffn.value.weight", f"{blk}channel_mix_value.weight", [HIDDEN, FFN])

    # ---- The forward pass

    def apply(self, name, x):
        return tiny.matvec(self.w.matrix(f"{name}.weight"), x)

    def norm(self, name, x):
        return tiny.layer_norm(x, self.w.vector(f"{name}.weight"), self.w.vector(f"{name}.bias"))

    def shifted(self, name, x, before):
        return [a + m * (b - a) for a, b, m in zip(x, before, self.w.vector(name))]

    def low_rank(self, name, x, activation=lambda v: v):
        y = self.apply(f"{name}.lora.2", [activation(v) for v in self.apply(f"{name}.lora.0", x)])
        bias = self.w.vector(f"{name}.lora.2.bias")
        return tiny.add(y, bias) if bias else y

    def token(self, at, x, before, state, first):
        """One token of a layer's time mix: its output before the last projection, and its values."""
        r, w, k, v, a, *g = (self.shifted(f"{at}x_{p}", x, before) for p in self.mixes)
        query, key, value = (self.apply(f"{at}{p}_proj", y) for p, y in (("r", r), ("k", k), ("v", v)))
        decay = [math.exp(-math.exp(-0.5) * sigmoid(y)) for y in self.low_rank(f"{at}w_lora", w, math.tanh)]
        rate = [sigmoid(y) for y in self.low_rank(f"{at}a_lora", a)]
        gate = self.low_rank(f"{at}g_lora", *g, sigmoid) if g else [1.0] * HIDDEN
        if first is not None:
            share = [sigmoid(y) for y in self.low_rank(f"{at}v_lora", v)]
            value = [y + s * (f - y) for y, s, f in zip(value, share, first)]
        read = [y * f for y, f in zip(key, self.w.vector(f"{at}k_k"))]
        key = [y * (1 + (p - 1) * f) for y, p, f in zip(key, rate, self.w.vector(f"{at}k_a"))]
        bonus, out = self.w.vector(f"{at}r_k"), []
        for h in range(HEADS):
            c = slice(h * HEAD, (h + 1) * HEAD)
            length = math.sqrt(sum(y * y for y in read[c]))
            kk = [y / length for y in read[c]]
            s = state[h]
            for j, vj in enumerate(value[c]):
                p = sum(a * b[j] for a, b in zip(kk, s))
                for i in range(HEAD):
                    s[i][j] = decay[c][i] * s[i][j] - kk[i] * rate[c][i] * p + key[c][i] * vj
            o = [sum(q * s[i][j] for i, q in enumerate(query[c])) for j in range(HEAD)]
            weight = sum(q * y * b for q, y, b in zip(query[c], key[c], bonus[c]))
            if self.head_norm:
                mean = sum(o) / HEAD
                size = 1 / math.sqrt(sum((y - mean) ** 2 for y in o) / HEAD + self.head_eps)
                o = [(y - mean) * size * n + b for y, n, b in zip(
                    o, self.w.vector(f"{at}g_norm.weight")[c], self.w.vector(f"{at}g_norm.bias")[c])]
            out += [(y + weight * z) * u for y, z, u in zip(o, value[c], gate[c])]
        return out, value

    def time_mix(self, i, xs, first):
        at, outs, values = f"model.layers.{i}.attn.", [], []
        state = [[[0.0] * HEAD for _ in range(HEAD)] for _ in range(HEADS)]
        for t, x in enumerate(xs):
            out, value = self.token(at, x, xs[t - 1] if t else [0.0] * HIDDEN, state, first[t] if first else None)
            outs.append(self.apply(f"{at}o_proj", out))
            values.append(value)
        return outs, values

    def channel_mix(self, i, xs):
        at, outs = f"model.layers.{i}.ffn.", []
        for t, x in enumerate(xs):
            y = self.apply(f"{at}key", self.shifted(f"{at}x_k", x, xs[t - 1] if t else [0.0] * HIDDEN))
            outs.append(self.apply(f"{at}value", [max(v, 0) ** 2 for v in y]))
        return outs

    def logits(self, ids):
        table, first = self.w.matrix("model.embeddings.weight"), None
        xs = [self.norm("model.layers.0.pre_norm", table[i]) for i in ids]
        for i in range(LAYERS):
            outs, values = self.time_mix(i, [self.norm(f"model.layers.{i}.attn_norm", x) for x in xs], first)
            first = first or values
            xs = [tiny.add(x, y) for x, y in zip(xs, outs)]
            xs = [tiny.add(x, y) for x, y in zip(xs, self.channel_mix(i, [self.norm(f"model.layers.{i}.ffn_norm", x) for x in xs]))]
        return [self.apply("lm_head", self.norm("model.norm", x)) for x in xs]

    # ---- Files

    def write_folder(self, folder):
        config = {"model_type": "rwkv7", "architectures": ["RWKV7ForCausalLM"], "vocab_size": VOCAB, "hidden_size": HIDDEN,
                  "num_hidden_layers": LAYERS, "head_dim": HEAD, "num_heads": HEADS, "intermediate_size": FFN,
                  "hidden_ratio": 4.0, "hidden_act": "sqrelu", "decay_low_rank_dim": RANKS["w"], "a_low_rank_dim": RANKS["a"],
                  "v_low_rank_dim": RANKS["v"], "gate_low_rank_dim": RANKS["g"], "norm_eps": EPS, "norm_first": True,
                  "norm_bias": True, "attn": None, "attn_mode": "chunk", "fuse_norm": True, "fuse_cross_entropy": True,
                  "max_position_embeddings": 2048, "tie_word_embeddings": False, "value_dim": [HIDDEN] * LAYERS}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        tensors = {}
        for name, (_, shape, values) in self.w.tensors.items():
            part = name.rsplit(".", 1)[1]
            if ".attn.x_" in name:
                shape = [1, 1, HIDDEN]
                if self.fused:
                    name = name[:-1] + "x"
                    values, shape = tensors.get(name, ([], 0))[0] + values, [len(MIXES), 1, 1, HIDDEN]
            tensors[name] = (values, [HEADS, HEAD] if part == "r_k" else shape)
        tiny.write_safetensors(f"{folder}/model.safetensors", {
            name: ("F32", shape, tiny.pack_f32(values)) for name, (values, shape) in tensors.items()})

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(tiny.pack_f32(r) for r in self.logits(ids)))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_gguf(self, path):
        keys = [("block_count", GGUF_U32, LAYERS), ("context_length", GGUF_U32, 1048576),
                ("embedding_length", GGUF_U32, HIDDEN), ("feed_forward_length", GGUF_U32, FFN),
                ("attention.head_count", GGUF_U32, 0), ("attention.layer_norm_epsilon", GGUF_F32, EPS),
                ("wkv.head_size", GGUF_U32, HEAD), ("attention.decay_lora_rank", GGUF_U32, RANKS["w"]),
                ("attention.iclr_lora_rank", GGUF_U32, RANKS["a"]), ("attention.gate_lora_rank", GGUF_U32, RANKS["g"]),
                ("attention.value_residual_mix_lora_rank", GGUF_U32, RANKS["v"])]
        tensors = tiny.gguf_tensors(self.w)
        for name, (shape, values) in list(tensors.items()):
            if "lerp_fused" in name:
                tensors[name] = ([len(MIXES), 1, 1, HIDDEN], values)
            if name.startswith("blk.0.time_mix_a"):  # converters copy these to the names that the layer lacks
                tensors[name.replace("_a", "_v")] = (shape, values)
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, "rwkv7")] + [(f"rwkv7.{k}", t, v) for k, t, v in keys],
                             tensors)


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.mkdir(f"{scratch}/goldens")
        for name, fused in ("rwkv7", False), ("rwkv7_fused", True):
            folder, model = f"{scratch}/goldens/{name}", Rwkv7(fused)
            os.mkdir(folder)
            model.write_folder(folder)
            model.write_golden(folder)
            model.write_gguf(f"{folder}/model.gguf")
            for arguments in ([folder], ["--threads", "3", "--chunk", "5", folder], ["--bf16-states", folder],
                              ["--gguf", f"{folder}/model.gguf", folder]):
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", *arguments])
        failed |= tiny.run_unit_tests(scratch, "rwkv7", sys.argv[2:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
