#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PLaMo 2 and 3 as tiny random models: Mamba layers with decays by head, norms whose weights are stored less an offset.

Writes each as a Hugging Face folder and as a GGUF file, whose norms have their offsets, computes the logits in double
precision with the standard library alone, and checks both with quire-eval, as well as what is refused. GGUF files of
PLaMo 2 say nothing of windows. The tests of steps and schedules, which read reference models, then read that one.

usage: tiny_plamo.py QUIRE_EVAL TEST_RECURRENT_FORWARD TEST_ENGINE_FOLDERS
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
from tiny_models import FFN, GGUF_ARRAY, GGUF_F32, GGUF_STR, GGUF_U32, HEAD, HEADS, HIDDEN, KV_HEADS, add, matvec, pack_f32, silu

VOCAB, LAYERS, MAMBA_HEADS, STATE, TAPS, RANK, EPS, CONTEXT = 320, 4, 3, 6, 4, 64, 1e-6, 300
INNER, QKV = MAMBA_HEADS * HEAD, (HEADS + 2 * KV_HEADS) * HEAD
PROMPTS = (1, 7, 33, 60)
OFFSETS = {"pre_mixer_norm": 1, "post_mixer_norm": 1 / 5, "pre_mlp_norm": 1, "post_mlp_norm": 5 ** -1.5, "q_norm": 1, "k_norm": 1, "norm": 1}
GGUF_NORMS = {"pre_mixer_norm": "attn_norm.weight", "post_mixer_norm": "post_attention_norm", "pre_mlp_norm": "ffn_norm.weight",
              "post_mlp_norm": "post_ffw_norm", "q_norm": "attn_q_norm.weight", "k_norm": "attn_k_norm.weight"}


def rms_norm(x, w):
    r = 1 / math.sqrt(sum(v * v for v in x) / len(x) + EPS)
    return [v * r * g for v, g in zip(x, w)]


def frequencies(theta, factor=1):
    """factor: of YaRN over CONTEXT tokens, whose range is not rounded"""
    plain = [theta ** (-2 * i / HEAD) for i in range(HEAD // 2)]
    if factor == 1:
        return plain, 1.0
    turns = lambda rotations: HEAD * math.log(CONTEXT / (rotations * 2 * math.pi)) / (2 * math.log(theta))
    low, high = max(turns(32), 0), min(turns(1), HEAD - 1)
    ramp = [min(max((i - low) / (high - low), 0), 1) for i in range(HEAD // 2)]
    return [f / factor * r + f * (1 - r) for f, r in zip(plain, ramp)], 0.1 * math.log(factor) + 1


class Plamo:
    """attends: layers with attention; windows: visible keys by layer, 0: all; thetas: of RoPE by layer; factor: of YaRN
    in layers without a window"""

    def __init__(self, arch, attends, windows, thetas, tied, factor=1):
        self.arch, self.attends, self.windows, self.thetas, self.tied, self.factor = arch, attends, windows, thetas, tied, factor
        self.w = tiny.Weights(len(arch) + sum(windows) + tied)
        self.w.add("model.embed_tokens.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        if not tied:
            self.w.add("lm_head.weight", "output.weight", [VOCAB, HIDDEN])
        self.w.add("model.norm.weight", "output_norm.weight", [HIDDEN], 0, 0.3)
        for i in range(LAYERS):
            self.add_layer(i, f"model.layers.layers.{i}.", f"blk.{i}.")

    def add_layer(self, i, hf, blk):
        norms = ["pre_mixer_norm", "post_mixer_norm", "pre_mlp_norm", "post_mlp_norm"]
        for name in norms:
            self.w.add(f"{hf}{name}.weight", blk + GGUF_NORMS[name], [HIDDEN], 0, 0.3)
        self.w.add(f"{hf}mlp.gate_up_proj.weight", f"{blk}ffn_up.weight", [2 * FFN, HIDDEN])
        self.w.add(f"{hf}mlp.down_proj.weight", f"{blk}ffn_down.weight", [HIDDEN, FFN])
        if i in self.attends:
            self.w.add(f"{hf}mixer.qkv_proj.weight", f"{blk}attn_qkv.weight", [QKV, HIDDEN])
            self.w.add(f"{hf}mixer.o_proj.weight", f"{blk}attn_output.weight", [HIDDEN, HEADS * HEAD])
            for part, heads in (("q", HEADS), ("k", KV_HEADS)):
                if self.arch == "plamo2":
                    self.w.add(f"{hf}mixer.{part}_weight", f"{blk}attn_{part}_norm.weight", [heads, HEAD], 1, 0.3)
                else:
                    self.w.add(f"{hf}mixer.{part}_norm.weight", f"{blk}attn_{part}_norm.weight", [HEAD], 0, 0.3)
            return
        for name, gguf, shape, mean, sd in (
                ("in_proj.weight", "ssm_in.weight", [2 * INNER, HIDDEN], 0, None), ("conv1d.weight", "ssm_conv1d.weight", [INNER, TAPS], 0, 0.5),
                ("bcdt_proj.weight", "ssm_x.weight", [2 * STATE + RANK, INNER], 0, None), ("dt_proj.weight", "ssm_dt.weight", [MAMBA_HEADS, RANK], 0, None),
                ("dt_bias", "ssm_dt.bias", [MAMBA_HEADS], 0, 0.5), ("A_log", "ssm_a", [MAMBA_HEADS], 0, 0.7), ("D", "ssm_d", [MAMBA_HEADS], 1, 0.3),
                ("dt_norm_weight", "ssm_dt_norm", [RANK], 1, 0.3), ("B_norm_weight", "ssm_b_norm", [STATE], 1, 0.3),
                ("C_norm_weight", "ssm_c_norm", [STATE], 1, 0.3), ("out_proj.weight", "ssm_out.weight", [HIDDEN, INNER], 0, None)):
            self.w.add(f"{hf}mixer.{name}", blk + gguf, shape, mean, sd)

    # ---- The forward pass

    def norm(self, x, prefix, name):
        return rms_norm(x, [OFFSETS[name] + v for v in self.w.vector(f"{prefix}{name}.weight")])

    def attention(self, i, mixer, xs):
        rotation = frequencies(self.thetas[i], 1 if self.windows[i] else self.factor)
        rows = [matvec(self.w.matrix(f"{mixer}qkv_proj.weight"), x) for x in xs]
        queries, keys, values = [], [], []
        for t, row in enumerate(rows):
            heads = tiny.heads_of(row)
            for part, out, own in (("q", queries, heads[:HEADS]), ("k", keys, heads[HEADS:HEADS + KV_HEADS])):
                if self.arch == "plamo2":
                    own = [rms_norm(x, w) for x, w in zip(own, self.w.matrix(f"{mixer}{part}_weight"))]
                else:
                    own = [self.norm(x, mixer, f"{part}_norm") for x in own]
                out.append([tiny.rotate(x, t, rotation) for x in own])
            values.append(heads[HEADS + KV_HEADS:])
        return [matvec(self.w.matrix(f"{mixer}o_proj.weight"), tiny.attend(q, keys, values, t, self.windows[i]))
                for t, q in enumerate(queries)]

    def mamba(self, mixer, xs):
        v = self.w.vector
        taps, projection, steps = (self.w.matrix(f"{mixer}{n}.weight") for n in ("conv1d", "bcdt_proj", "dt_proj"))
        zx = [matvec(self.w.matrix(f"{mixer}in_proj.weight"), x) for x in xs]
        z = [[row[2 * HEAD * h + c] for h in range(MAMBA_HEADS) for c in range(HEAD)] for row in zx]
        x = [[0.0] * INNER] * (TAPS - 1) + [[row[2 * HEAD * h + HEAD + c] for h in range(MAMBA_HEADS) for c in range(HEAD)] for row in zx]
        state, out = [[0.0] * STATE for _ in range(INNER)], []
        for t in range(len(xs)):
            u = [silu(sum(w * x[t + k][c] for k, w in enumerate(taps[c]))) for c in range(INNER)]
            mixed = matvec(projection, u)
            key, query = (rms_norm(mixed[n * STATE:(n + 1) * STATE], v(f"{mixer}{name}_norm_weight")) for n, name in enumerate("BC"))
            dt = add(matvec(steps, rms_norm(mixed[2 * STATE:], v(f"{mixer}dt_norm_weight"))), v(f"{mixer}dt_bias"))
            y = []
            for c in range(INNER):
                h = c // HEAD
                step = math.log1p(math.exp(dt[h]))
                decay = math.exp(-step * math.exp(v(f"{mixer}A_log")[h]))
                state[c] = [s * decay + step * b * u[c] for s, b in zip(state[c], key)]
                y.append((sum(map(operator.mul, state[c], query)) + v(f"{mixer}D")[h] * u[c]) * silu(z[t][c]))
            out.append(matvec(self.w.matrix(f"{mixer}out_proj.weight"), y))
        return out

    def feed_forward(self, layer, x):
        y = matvec(self.w.matrix(f"{layer}mlp.gate_up_proj.weight"), x)
        return matvec(self.w.matrix(f"{layer}mlp.down_proj.weight"), [silu(g) * u for g, u in zip(y[:FFN], y[FFN:])])

    def logits(self, ids):
        words = self.w.matrix("model.embed_tokens.weight")
        xs = [words[i] for i in ids]
        for i in range(LAYERS):
            layer = f"model.layers.layers.{i}."
            inputs = [self.norm(x, layer, "pre_mixer_norm") for x in xs]
            mixed = self.attention(i, f"{layer}mixer.", inputs) if i in self.attends else self.mamba(f"{layer}mixer.", inputs)
            xs = [add(x, self.norm(m, layer, "post_mixer_norm")) for x, m in zip(xs, mixed)]
            xs = [add(x, self.norm(self.feed_forward(layer, self.norm(x, layer, "pre_mlp_norm")), layer, "post_mlp_norm")) for x in xs]
        head = words if self.tied else self.w.matrix("lm_head.weight")
        return [matvec(head, self.norm(x, "model.", "norm")) for x in xs]

    # ---- Files

    def config(self):
        common = {"model_type": self.arch, "vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": FFN, "num_hidden_layers": LAYERS,
                  "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "rms_norm_eps": EPS, "use_cache": True,
                  "tie_word_embeddings": self.tied, "tokenizer_class": "Plamo2Tokenizer"}
        if self.arch == "plamo3":
            return {**common, "architectures": ["Plamo3ForCausalLM"], "head_dim": HEAD, "max_position_embeddings": 256, "window_size": max(self.windows),
                    "sliding_window_pattern": 2, "rope_theta": self.thetas[1], "rope_local_theta": self.thetas[0], "rope_scaling_factor": self.factor,
                    "initial_context_length": CONTEXT if self.factor != 1 else None, "attention_bias": False, "hidden_activation": "swiglu"}
        full = [i for i in self.attends if not self.windows[i]]
        return {**common, "architectures": ["PLaMo2ForCausalLM"], "hidden_size_per_head": HEAD, "max_position_embeddings": 10485760,
                "attention_window_size": max(self.windows) - 1, "sliding_window": 7, "full_attention_idx": full or None, "mamba_step": 2,
                "mamba_d_state": STATE, "mamba_d_conv": TAPS, "mamba_num_heads": MAMBA_HEADS, "mamba_chunk_size": 256, "mamba_enabled": True,
                "linear_type": "normal", "fp8_accum_dtype": None, "eval_attention_n_bit": None, "eval_mlp_n_bit": None,
                "rope_theta": self.thetas[3], "rope_local_theta": self.thetas[1]}

    def write(self, folder, **changes):
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**self.config(), **changes}, f)
        tensors = {}
        for name, (_, shape, values) in self.w.tensors.items():
            tensors[name] = ("F32", [shape[0], 1, shape[1]] if "conv1d" in name else shape, pack_f32(values))
        tiny.write_safetensors(f"{folder}/model.safetensors", tensors)

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in self.logits(ids)))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_gguf(self, path, **changes):
        """As the public converter does."""
        keys = {"block_count": (GGUF_U32, LAYERS), "context_length": (GGUF_U32, 256), "embedding_length": (GGUF_U32, HIDDEN),
                "feed_forward_length": (GGUF_U32, FFN), "attention.layer_norm_rms_epsilon": (GGUF_F32, EPS), "vocab_size": (GGUF_U32, VOCAB),
                "attention.key_length": (GGUF_U32, HEAD), "attention.value_length": (GGUF_U32, HEAD), "rope.freq_base": (GGUF_F32, self.thetas[3])}
        if self.arch == "plamo3":
            keys.update({"attention.head_count": (GGUF_U32, HEADS), "attention.head_count_kv": (GGUF_U32, KV_HEADS),
                         "attention.sliding_window": (GGUF_U32, max(self.windows)), "attention.sliding_window_pattern": (GGUF_U32, 2),
                         "rope.freq_base_swa": (GGUF_F32, self.thetas[0])})
        else:
            keys.update({"attention.head_count": (GGUF_ARRAY, [HEADS if i in self.attends else 0 for i in range(LAYERS)]),
                         "attention.head_count_kv": (GGUF_ARRAY, [KV_HEADS if i in self.attends else 0 for i in range(LAYERS)]),
                         "ssm.state_size": (GGUF_U32, STATE), "ssm.conv_kernel": (GGUF_U32, TAPS), "ssm.time_step_rank": (GGUF_U32, MAMBA_HEADS),
                         "ssm.inner_size": (GGUF_U32, INNER), "ssm.group_count": (GGUF_U32, 0)})
        keys.update(changes)
        stored = tiny.Weights(0)
        for name, (gguf, shape, values) in self.w.tensors.items():
            norm = name.split(".")[-2] if name.endswith(".weight") else ""
            if name.endswith("A_log"):
                values = [-math.exp(v) for v in values]
            stored.tensors[name] = (gguf, shape, [v + OFFSETS.get(norm, 0) for v in values])
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, self.arch)] + [(f"{self.arch}.{k}", *v) for k, v in keys.items()],
                             tiny.gguf_tensors(stored))


def plamo2(windows, local, tied):
    return Plamo("plamo2", (1, 3), windows, [0, local, 0, 10000.0], tied)


def plamo3(tied, factor=1):
    return Plamo("plamo3", (0, 1, 2, 3), [8, 0, 8, 0], [100.0, 10000.0, 100.0, 10000.0], tied, factor)


def check_refusals(folder):
    passed = True
    for model, key, value, word in (
            (plamo2([0, 9, 0, 9], 10000.0, True), "mamba_enabled", False, "mamba_enabled"), (plamo2([0, 9, 0, 9], 10000.0, True), "mamba_step", 0, "mamba_step"),
            (plamo2([0, 9, 0, 9], 10000.0, True), "full_attention_idx", [4], "full_attention_idx[0]"),
            (plamo2([0, 9, 0, 9], 10000.0, True), "full_attention_idx", 4, "full_attention_idx"),
            (plamo2([0, 9, 0, 9], 10000.0, True), "linear_type", "fp8", "linear_type"),
            (plamo2([0, 9, 0, 9], 10000.0, True), "use_predefined_initial_state", True, "use_predefined_initial_state"),
            (plamo2([0, 9, 0, 9], 10000.0, True), "mamba_num_heads", None, "mamba_num_heads"),
            (plamo2([0, 9, 0, 9], 10000.0, True), "mamba_d_conv", 0, "taps"), (plamo2([0, 9, 0, 9], 10000.0, True), "mamba_d_state", 0, "state size"),
            (plamo2([0, 9, 0, 9], 10000.0, True), "hidden_size_per_head", 6, "in_proj"),
            (plamo3(True), "attention_bias", True, "attention_bias"), (plamo3(True), "scale_embedding", True, "scale_embedding"),
            (plamo3(True), "rope_scaling_factor", 8, "initial_context_length"), (plamo3(True), "rope_scaling_factor", "8", "rope_scaling_factor"),
            (plamo3(True, 4.0), "rope_scaling_factor", -1, "factor"), (plamo3(True, 4.0), "initial_context_length", 0, "original context"),
            (plamo3(True, 4.0), "rope_scaling", {"rope_type": "linear", "factor": 2}, "other RoPE scaling"), (plamo3(True), "hidden_activation", "gelu", "hidden_activation"),
            (plamo3(True), "sliding_window_pattern", 0, "sliding_window_pattern"), (plamo3(True), "rope_theta", None, "rope_theta")):
        model.write(folder, **{key: value})
        passed &= tiny.is_refused([folder], word)
    model = plamo2([0, 60, 0, 60], 10000.0, True)
    for key, value, word in (("ssm.group_count", 1, "ssm.group_count"), ("ssm.inner_size", INNER + 1, "ssm.inner_size"), ("ssm.time_step_rank", 0, "time_step_rank")):
        model.write_gguf(f"{folder}/model.gguf", **{key: (GGUF_U32, value)})
        passed &= tiny.is_refused(["--gguf", f"{folder}/model.gguf", folder], word)
    return not passed


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.mkdir(f"{scratch}/goldens")
        for name, model, gguf in (("plamo2", plamo2([0, 9, 0, 0], 100.0, False), False), ("full", plamo2([0, 61, 0, 61], 10000.0, True), True),
                                  ("plamo3", plamo3(False), True), ("yarn", plamo3(False, 4.0), False), ("tied", plamo3(True), True)):
            folder = f"{scratch}/goldens/{name}"
            model.write(folder)
            model.write_golden(folder)
            runs = [[folder], ["--chunk", "5", folder], ["--bf16-states", folder]]
            if gguf:
                model.write_gguf(f"{folder}/model.gguf")
                runs.append(["--gguf", f"{folder}/model.gguf", folder])
            for arguments in runs:
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", *arguments])
        failed |= check_refusals(f"{scratch}/goldens/tied")
        failed |= tiny.run_unit_tests(scratch, "plamo2", sys.argv[2:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
