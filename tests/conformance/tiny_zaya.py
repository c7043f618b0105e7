#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ZAYA with other sizes than the reference data has, as tiny random models.

The reference data has two taps in both convolutions, two key heads, and no biases of projections. Here the
numbers of taps differ, one key head has both halves of the values, projections and the output matrix have
biases, and many tokens skip the experts. Computes the logits in double precision with the standard library
alone and checks each folder with quire-eval.

usage: tiny_zaya.py QUIRE_EVAL
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

from tiny_models import THETA, Weights, add, matvec, pack_f32, rms_norm, rotate, silu, write_safetensors

VOCAB, HIDDEN, HEAD, EXPERTS, EXPERT_FFN, ROUTER = 48, 32, 8, 3, 24, 16
WINDOW, LOCAL_THETA = 12, 500.0
PROMPTS = (7, 33, 100)


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def unit(x, factor):
    r = factor / math.sqrt(sum(v * v for v in x) / len(x))
    return [v * r for v in x]


class Zaya:
    """kinds: "hybrid" or "hybrid_sliding" of each layer; taps of both convolutions."""

    def __init__(self, name, kinds, heads, kv_heads, taps, bias, partial, skip_bias):
        self.name, self.kinds, self.heads, self.kv_heads, self.taps = name, kinds, heads, kv_heads, taps
        self.bias, self.partial, self.skips = bias, partial, 0
        w = self.w = Weights(len(name))
        w.add("model.embed_tokens.weight", None, [VOCAB, HIDDEN], 0, 1)
        w.add("model.norm.weight", None, [HIDDEN], 1, 0.2)
        w.add("model.input_hidden_states_bias", None, [HIDDEN], 0, 0.2)
        w.add("model.input_hidden_states_scale", None, [HIDDEN], 1, 0.2)
        if bias:
            w.add("lm_head.bias", None, [VOCAB], 0, 0.5)
        for i in range(len(kinds)):
            self.add_attention(f"model.layers.{i}.")
            self.add_experts(f"model.layers.{i}.", i > 0, skip_bias)

    def add_matrix(self, name, rows, cols, bias):
        self.w.add(f"{name}.weight", None, [rows, cols], 0, 0.7 / math.sqrt(cols))
        if bias:
            self.w.add(f"{name}.bias", None, [rows], 0, 0.3)

    def add_scaling(self, at):
        for part, mean in (("residual_scale", 1), ("residual_bias", 0), ("hidden_states_scale", 1),
                           ("hidden_states_bias", 0)):
            self.w.add(f"{at}.{part}", None, [HIDDEN], mean, 0.2)

    def add_attention(self, at):
        w, p, half = self.w, f"{at}self_attn.qkv_proj.", self.kv_heads * HEAD // 2
        channels = (self.heads + self.kv_heads) * HEAD
        w.add(f"{at}input_layernorm.weight", None, [HIDDEN], 1, 0.2)
        for part, rows in (("q_proj", self.heads * HEAD), ("k_proj", 2 * half), ("v_proj_current", half),
                           ("v_proj_delayed", half)):
            self.add_matrix(p + part, rows, HIDDEN, self.bias)
        w.add(f"{p}conv_qk_depthwise.weight", None, [channels, 1, self.taps[0]], 0, 0.5)
        w.add(f"{p}conv_qk_depthwise.bias", None, [channels], 0, 0.3)
        w.add(f"{p}conv_qk_grouped.weight", None, [channels, HEAD, self.taps[1]], 0, 0.3)
        w.add(f"{p}conv_qk_grouped.bias", None, [channels], 0, 0.3)
        w.add(f"{at}self_attn.qk_norm.temp", None, [self.kv_heads], 1, 0.2)
        self.add_matrix(f"{at}self_attn.o_proj", HIDDEN, self.heads * HEAD, self.bias)
        self.add_scaling(f"{at}post_attention_residual_scale")

    def add_experts(self, at, carries, skip_bias):
        w, g = self.w, f"{at}mlp.gate."
        w.add(f"{at}post_attention_layernorm.weight", None, [HIDDEN], 1, 0.2)
        self.add_matrix(f"{g}down_proj", ROUTER, HIDDEN, True)
        if carries:
            w.add(f"{g}router_states_scale", None, [ROUTER], 0.8, 0.2)
        w.add(f"{g}router_mlp.norm.weight", None, [ROUTER], 1, 0.2)
        self.add_matrix(f"{g}router_mlp.fc1", ROUTER, ROUTER, True)
        self.add_matrix(f"{g}router_mlp.fc2", ROUTER, ROUTER, True)
        w.add(f"{g}router_mlp.out_proj.weight", None, [EXPERTS + 1, ROUTER], 0, 1.5)
        w.add(f"{g}balancing_biases", None, [EXPERTS + 1], 0, 0.05)
        w.tensors[f"{g}balancing_biases"][2][-1] = skip_bias
        w.add(f"{at}mlp.experts.gate_up_proj", None, [EXPERTS, 2 * EXPERT_FFN, HIDDEN], 0, 0.2)
        w.add(f"{at}mlp.experts.down_proj", None, [EXPERTS, HIDDEN, EXPERT_FFN], 0, 0.2)
        self.add_scaling(f"{at}post_mlp_residual_scale")

    # ---- The forward pass

    def linear(self, name, x):
        y, b = matvec(self.w.matrix(f"{name}.weight"), x), self.w.vector(f"{name}.bias")
        return add(y, b) if b else y

    def convolved(self, p, rows):
        """Both convolutions over all rows; zeros before the first one enter the first convolution."""
        w, (a, b) = self.w, self.taps
        w0, b0 = w.vector(f"{p}conv_qk_depthwise.weight"), w.vector(f"{p}conv_qk_depthwise.bias")
        w1, b1 = w.vector(f"{p}conv_qk_grouped.weight"), w.vector(f"{p}conv_qk_grouped.bias")
        width = len(b0)
        padded = [[0.0] * width] * (a + b - 2) + rows
        mid = [[b0[c] + sum(w0[c * a + j] * padded[t + j][c] for j in range(a)) for c in range(width)]
               for t in range(len(padded) - a + 1)]
        return [[b1[c] + sum(w1[(c * HEAD + i) * b + j] * mid[t + j][c // HEAD * HEAD + i]
                             for i in range(HEAD) for j in range(b)) for c in range(width)]
                for t in range(len(rows))]

    def heads_of(self, at, hs):
        """Queries, keys and values of all rows, by head."""
        p, n = f"{at}self_attn.qkv_proj.", self.heads * HEAD
        raw = [self.linear(f"{p}q_proj", h) + self.linear(f"{p}k_proj", h) for h in hs]
        delayed = [self.linear(f"{p}v_proj_delayed", h) for h in [[0.0] * HIDDEN] + hs[:-1]]
        shared, out = self.heads // self.kv_heads, []
        temp = self.w.vector(f"{at}self_attn.qk_norm.temp")
        for h, row, y, late in zip(hs, raw, self.convolved(p, raw), delayed):
            mean = [0.5 * (row[c] + row[n + c // HEAD // shared * HEAD + c % HEAD]) for c in range(n)]
            q = [y[c] + mean[c] for c in range(n)]
            k = [y[n + g * HEAD + i] + sum(mean[(g * shared + j) * HEAD + i] for j in range(shared)) / shared
                 for g in range(self.kv_heads) for i in range(HEAD)]
            v = self.linear(f"{p}v_proj_current", h) + late
            out.append(([unit(q[c:c + HEAD], 1) for c in range(0, n, HEAD)],
                        [unit(k[c:c + HEAD], temp[c // HEAD]) for c in range(0, len(k), HEAD)],
                        [v[c:c + HEAD] for c in range(0, len(v), HEAD)]))
        return out

    def attention(self, i, hs):
        at, local = f"model.layers.{i}.", self.kinds[i] == "hybrid_sliding"
        dim = int(HEAD * self.partial)
        frequencies = [(LOCAL_THETA if local else THETA) ** (-2 * j / dim) for j in range(dim // 2)], 1.0
        rows = [([rotate(x, t, frequencies) for x in q], [rotate(x, t, frequencies) for x in k], v)
                for t, (q, k, v) in enumerate(self.heads_of(at, hs))]
        out = []
        for t, (queries, _, _) in enumerate(rows):
            seen, att = rows[max(0, t + 1 - WINDOW) if local else 0:t + 1], []
            for h, q in enumerate(queries):
                g = h // (self.heads // self.kv_heads)
                scores = [sum(a * b for a, b in zip(q, k[g])) / math.sqrt(HEAD) for _, k, _ in seen]
                p = [math.exp(s - max(scores)) for s in scores]
                att += [sum(a * v[g][d] for a, (_, _, v) in zip(p, seen)) / sum(p) for d in range(HEAD)]
            out.append(self.linear(f"{at}self_attn.o_proj", att))
        return out

    def expert(self, at, e, h):
        up, down = self.w.vector(f"{at}mlp.experts.gate_up_proj"), self.w.vector(f"{at}mlp.experts.down_proj")
        rows = [up[(e * 2 * EXPERT_FFN + r) * HIDDEN:][:HIDDEN] for r in range(2 * EXPERT_FFN)]
        y = matvec(rows, h)
        y = [silu(g) * u for g, u in zip(y[:EXPERT_FFN], y[EXPERT_FFN:])]
        return matvec([down[(e * HIDDEN + r) * EXPERT_FFN:][:EXPERT_FFN] for r in range(HIDDEN)], y)

    def experts(self, i, h, before):
        """The output, and the state of the router for the next layer."""
        at, g = f"model.layers.{i}.", f"model.layers.{i}.mlp.gate."
        state = self.linear(f"{g}down_proj", h)
        if before:
            carry = self.w.vector(f"{g}router_states_scale")
            state = [a + b * c for a, b, c in zip(state, before, carry)]
        x = rms_norm(state, self.w.vector(f"{g}router_mlp.norm.weight"))
        for part in ("fc1", "fc2"):
            x = [gelu(a) for a in self.linear(f"{g}router_mlp.{part}", x)]
        scores = matvec(self.w.matrix(f"{g}router_mlp.out_proj.weight"), x)
        p = [math.exp(s - max(scores)) for s in scores]
        p = [a / sum(p) for a in p]
        biased = add(p, self.w.vector(f"{g}balancing_biases"))
        best = biased.index(max(biased))
        self.skips += best == EXPERTS
        return [p[best] * a for a in self.expert(at, best, h)] if best < EXPERTS else [0.0] * HIDDEN, state

    def joined(self, at, xs, ys):
        rs, rb, hs, hb = (self.w.vector(f"{at}.{p}") for p in ("residual_scale", "residual_bias",
                                                              "hidden_states_scale", "hidden_states_bias"))
        return [[(a + rb[c]) * rs[c] + (b + hb[c]) * hs[c] for c, (a, b) in enumerate(zip(x, y))]
                for x, y in zip(xs, ys)]

    def logits(self, ids):
        w, table = self.w, self.w.matrix("model.embed_tokens.weight")
        shift, scale = (w.vector(f"model.input_hidden_states_{p}") for p in ("bias", "scale"))
        xs = [[(a + b) * c for a, b, c in zip(table[i], shift, scale)] for i in ids]
        states = [None] * len(ids)
        for i in range(len(self.kinds)):
            at = f"model.layers.{i}."
            norm = w.vector(f"{at}input_layernorm.weight")
            xs = self.joined(f"{at}post_attention_residual_scale", xs,
                             self.attention(i, [rms_norm(x, norm) for x in xs]))
            norm = w.vector(f"{at}post_attention_layernorm.weight")
            both = [self.experts(i, rms_norm(x, norm), s) for x, s in zip(xs, states)]
            states = [s for _, s in both]
            xs = self.joined(f"{at}post_mlp_residual_scale", xs, [y for y, _ in both])
        rows = [matvec(table, rms_norm(x, w.vector("model.norm.weight"))) for x in xs]
        return [add(r, w.vector("lm_head.bias")) for r in rows] if self.bias else rows

    # ---- Files

    def write(self, folder):
        os.mkdir(folder)
        rope = {k: {"rope_type": "default", "rope_theta": t, "partial_rotary_factor": self.partial}
                for k, t in (("hybrid", THETA), ("hybrid_sliding", LOCAL_THETA))}
        config = {"model_type": "zaya", "vocab_size": VOCAB, "hidden_size": HIDDEN, "hidden_act": "silu",
                  "num_hidden_layers": len(self.kinds), "num_attention_heads": self.heads,
                  "num_key_value_heads": self.kv_heads, "head_dim": HEAD, "rope_parameters": rope,
                  "layer_types": self.kinds, "sliding_window": WINDOW, "attention_bias": self.bias,
                  "lm_head_bias": self.bias, "cca_time0": self.taps[0], "cca_time1": self.taps[1],
                  "num_experts": EXPERTS, "num_experts_per_tok": 1, "moe_intermediate_size": EXPERT_FFN,
                  "router_hidden_size": ROUTER, "rms_norm_eps": 1e-5, "max_position_embeddings": 256}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        write_safetensors(f"{folder}/model.safetensors",
                          {n: ("F32", shape, pack_f32(v)) for n, (_, shape, v) in self.w.tensors.items()})
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in self.logits(ids)))
        write_safetensors(f"{folder}/golden.safetensors", golden)


def main():
    failed = 0
    kinds = ["hybrid_sliding", "hybrid", "hybrid_sliding"]
    models = [Zaya("taps_and_biases", kinds, 4, 2, (3, 4), True, 0.5, 0.25),
              Zaya("one_key_head", kinds[:2], 3, 1, (4, 1), False, 1.0, 0.3),
              Zaya("one_tap", kinds[1:], 2, 2, (1, 3), True, 0.25, -1.0)]
    with tempfile.TemporaryDirectory() as scratch:
        for model in models:
            folder = f"{scratch}/{model.name}"
            model.write(folder)
            print(f"{model.name}: {model.skips} of {sum(PROMPTS) * len(model.kinds)} skip the experts")
            failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", folder])
            for chunk in ("1", "2", "7"):
                failed |= subprocess.call([sys.argv[1], "golden", "--chunk", chunk, "--threads", "2", folder])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
