#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Zamba2 with several shared blocks, as tiny random models.

The reference data has one block with updates of its feed-forward network. Here two blocks are used by three
layers, q, k and v have updates too, and the tensors of a block stand under the names of its first layer, its
last layer, or all of them. A LoRA adapter updates the matrices of the blocks, other ones in each layer, and the
projection behind them. Computes the logits in double precision with the standard library alone and checks
each folder with quire-eval.

usage: tiny_zamba2.py QUIRE_EVAL
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

from tiny_models import Weights, add, f32, matvec, pack_f32, plain_frequencies, rms_norm, rotate, silu, write_safetensors

VOCAB, HIDDEN, FFN, HEADS, HEAD, RANK = 48, 32, 48, 4, 16, 6
MAMBA_HEADS, MAMBA_HEAD, STATE, TAPS = 8, 8, 8, 4
LORA_RANK, LORA_SCALE = 3, 2
INNER = MAMBA_HEADS * MAMBA_HEAD
PROMPTS = (7, 33, 100)


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


class Zamba2:
    """stored: "first", "last" or "all" of the layers with a block name its tensors."""

    def __init__(self, name, kinds, n_blocks, groups, rope, attention_updates, stored):
        self.name, self.kinds, self.n_blocks, self.groups = name, kinds, n_blocks, groups
        self.rope, self.attention_updates, self.stored = rope, attention_updates, stored
        self.hybrid = [i for i, k in enumerate(kinds) if k == "hybrid"]
        self.lora = {}  # module -> (A [LORA_RANK][columns], B [rows][LORA_RANK])
        w = self.w = Weights(len(name))
        w.add("model.embed_tokens.weight", None, [VOCAB, HIDDEN], 0, 1)
        w.add("model.final_layernorm.weight", None, [HIDDEN], 1, 0.2)
        for i, kind in enumerate(kinds):
            self.add_mamba(i, kind)
        for b in range(n_blocks):
            self.add_block(b)

    def add_matrix(self, name, shape):
        """Small enough that rounding errors of f32 do not grow from layer to layer."""
        self.w.add(name, None, shape, 0, 0.7 / math.sqrt(shape[-1]))

    def mamba(self, i):
        return f"model.layers.{i}." + ("mamba_decoder." if self.kinds[i] == "hybrid" else "")

    def add_mamba(self, i, kind):
        w, at, channels = self.w, self.mamba(i), INNER + 2 * self.groups * STATE
        w.add(f"{at}input_layernorm.weight", None, [HIDDEN], 1, 0.2)
        self.add_matrix(f"{at}mamba.in_proj.weight", [INNER + channels + MAMBA_HEADS, HIDDEN])
        w.add(f"{at}mamba.conv1d.weight", None, [channels, 1, TAPS], 0, 0.5)
        w.add(f"{at}mamba.conv1d.bias", None, [channels], 0, 0.2)
        w.add(f"{at}mamba.A_log", None, [MAMBA_HEADS], 0, 0.5)
        w.add(f"{at}mamba.D", None, [MAMBA_HEADS], 1, 0.3)
        w.add(f"{at}mamba.dt_bias", None, [MAMBA_HEADS], -1, 0.5)
        w.add(f"{at}mamba.norm.weight", None, [INNER], 1, 0.2)
        self.add_matrix(f"{at}mamba.out_proj.weight", [HIDDEN, INNER])
        if kind == "hybrid":
            self.add_matrix(f"model.layers.{i}.linear.weight", [HIDDEN, HIDDEN])

    def add_block(self, b):
        """Under the name block.B, which write() replaces."""
        w, at = self.w, f"block.{b}."
        w.add(f"{at}input_layernorm.weight", None, [2 * HIDDEN], 1, 0.2)
        w.add(f"{at}pre_ff_layernorm.weight", None, [HIDDEN], 1, 0.2)
        for part in "qkv":
            self.add_matrix(f"{at}self_attn.{part}_proj.weight", [HEADS * HEAD, 2 * HIDDEN])
        self.add_matrix(f"{at}self_attn.o_proj.weight", [HIDDEN, HEADS * HEAD])
        self.add_matrix(f"{at}feed_forward.gate_up_proj.weight", [2 * FFN, HIDDEN])
        self.add_matrix(f"{at}feed_forward.down_proj.weight", [HIDDEN, FFN])
        for use in range(b, len(self.hybrid), self.n_blocks):
            self.add_update(f"{at}feed_forward.gate_up_proj_adapter_list.{use}", 2 * FFN, HIDDEN)
            for part in "qkv" if self.attention_updates else "":
                self.add_update(f"{at}self_attn.linear_{part}_adapter_list.{use}", HEADS * HEAD, 2 * HIDDEN)

    def add_update(self, at, rows, cols):
        self.add_matrix(f"{at}.0.weight", [RANK, cols])
        self.add_matrix(f"{at}.1.weight", [rows, RANK])

    def add_lora(self):
        """An adapter of all matrices that layers with a block use, its values rounded as f32."""
        rng = random.Random(3)
        for i in self.hybrid:
            block = f"model.layers.{i}.shared_transformer."
            shapes = {f"{block}self_attn.{part}_proj": (HEADS * HEAD, 2 * HIDDEN) for part in "qkv"}
            shapes |= {f"{block}self_attn.o_proj": (HIDDEN, HEADS * HEAD),
                       f"{block}feed_forward.gate_up_proj": (2 * FFN, HIDDEN),
                       f"{block}feed_forward.down_proj": (HIDDEN, FFN), f"model.layers.{i}.linear": (HIDDEN, HIDDEN)}
            for module, (rows, columns) in shapes.items():
                self.lora[module] = ([[f32(rng.gauss(0, 0.1)) for _ in range(columns)] for _ in range(LORA_RANK)],
                                     [[f32(rng.gauss(0, 0.1)) for _ in range(LORA_RANK)] for _ in range(rows)])

    # ---- The forward pass

    def projected(self, weight, module, x, update=""):
        """By a matrix, its update that is part of the model, and that of the adapter."""
        y = matvec(self.w.matrix(f"{weight}.weight"), x)
        if f"{update}.0.weight" in self.w.tensors:
            low = matvec(self.w.matrix(f"{update}.0.weight"), x)
            y = add(y, matvec(self.w.matrix(f"{update}.1.weight"), low))
        if module in self.lora:
            a, b = self.lora[module]
            y = add(y, [LORA_SCALE * v for v in matvec(b, matvec(a, x))])
        return y

    def block(self, i, xs, embeddings):
        use = self.hybrid.index(i)
        at, layer = f"block.{use % self.n_blocks}.", f"model.layers.{i}.shared_transformer."
        norm, rows = self.w.vector(f"{at}input_layernorm.weight"), {"q": [], "k": [], "v": []}
        for position, (x, e) in enumerate(zip(xs, embeddings)):
            h = rms_norm(x + e, norm)
            for part in "qkv":
                y = self.projected(f"{at}self_attn.{part}_proj", f"{layer}self_attn.{part}_proj", h,
                                   f"{at}self_attn.linear_{part}_adapter_list.{use}")
                heads = [y[j:j + HEAD] for j in range(0, len(y), HEAD)]
                if part != "v" and self.rope:
                    heads = [rotate(q, position, plain_frequencies(HEAD)) for q in heads]
                rows[part].append(heads)
        out = []
        for position in range(len(xs)):
            att = []
            for h, q in enumerate(rows["q"][position]):
                scores = [sum(a * b for a, b in zip(q, k[h])) / math.sqrt(HEAD / 2)
                          for k in rows["k"][:position + 1]]
                p = [math.exp(s - max(scores)) for s in scores]
                att += [sum(a * v[h][d] for a, v in zip(p, rows["v"])) / sum(p) for d in range(HEAD)]
            h = self.projected(f"{at}self_attn.o_proj", f"{layer}self_attn.o_proj", att)
            h = rms_norm(h, self.w.vector(f"{at}pre_ff_layernorm.weight"))
            y = self.projected(f"{at}feed_forward.gate_up_proj", f"{layer}feed_forward.gate_up_proj", h,
                               f"{at}feed_forward.gate_up_proj_adapter_list.{use}")
            h = self.projected(f"{at}feed_forward.down_proj", f"{layer}feed_forward.down_proj",
                               [gelu(g) * u for g, u in zip(y[:FFN], y[FFN:])])
            out.append(self.projected(f"model.layers.{i}.linear", f"model.layers.{i}.linear", h))
        return out

    def mixer(self, i, xs):
        w, at = self.w, f"{self.mamba(i)}mamba."
        n, channels = self.groups * STATE, INNER + 2 * self.groups * STATE
        taps, conv_bias = w.vector(f"{at}conv1d.weight"), w.vector(f"{at}conv1d.bias")
        decay = [-math.exp(a) for a in w.vector(f"{at}A_log")]
        skip, dt_bias, norm = (w.vector(f"{at}{p}") for p in ("D", "dt_bias", "norm.weight"))
        last = [[0.0] * channels for _ in range(TAPS - 1)]
        states = [[[0.0] * STATE for _ in range(MAMBA_HEAD)] for _ in range(MAMBA_HEADS)]
        out = []
        for x in xs:
            y = matvec(w.matrix(f"{at}in_proj.weight"), x)
            z, dt = y[:INNER], y[INNER + channels:]
            last.append(y[INNER:INNER + channels])
            mixed = [silu(conv_bias[c] + sum(taps[c * TAPS + j] * last[j][c] for j in range(TAPS)))
                     for c in range(channels)]
            last.pop(0)
            row = []
            for h in range(MAMBA_HEADS):
                g = h // (MAMBA_HEADS // self.groups) * STATE
                b, c = mixed[INNER + g:INNER + g + STATE], mixed[INNER + n + g:INNER + n + g + STATE]
                step = math.log1p(math.exp(dt[h] + dt_bias[h]))
                for p, s in enumerate(states[h]):
                    v = mixed[h * MAMBA_HEAD + p]
                    s[:] = [math.exp(decay[h] * step) * a + step * v * k for a, k in zip(s, b)]
                    row.append(sum(a * q for a, q in zip(s, c)) + skip[h] * v)
            row, width, normed = [a * silu(b) for a, b in zip(row, z)], INNER // self.groups, []
            for g in range(0, INNER, width):
                normed += rms_norm(row[g:g + width], norm[g:g + width])
            out.append(matvec(w.matrix(f"{at}out_proj.weight"), normed))
        return out

    def logits(self, ids):
        table = self.w.matrix("model.embed_tokens.weight")
        embeddings = xs = [table[i] for i in ids]
        for i, kind in enumerate(self.kinds):
            ins = [add(x, b) for x, b in zip(xs, self.block(i, xs, embeddings))] if kind == "hybrid" else xs
            norm = self.w.vector(f"{self.mamba(i)}input_layernorm.weight")
            xs = [add(x, m) for x, m in zip(xs, self.mixer(i, [rms_norm(x, norm) for x in ins]))]
        return [matvec(table, rms_norm(x, self.w.vector("model.final_layernorm.weight"))) for x in xs]

    # ---- Files

    def names(self, name):
        """The names of a tensor in the file."""
        if not name.startswith("block."):
            return [name]
        _, block, rest = name.split(".", 2)
        users = self.hybrid[int(block)::self.n_blocks]
        users = {"first": users[:1], "last": users[-1:], "all": users}[self.stored]
        return [f"model.layers.{i}.shared_transformer.{rest}" for i in users]

    def write(self, folder):
        os.mkdir(folder)
        config = {"model_type": "zamba2", "vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": FFN,
                  "num_hidden_layers": len(self.kinds), "layers_block_type": self.kinds, "hidden_act": "gelu",
                  "num_attention_heads": HEADS, "num_mem_blocks": self.n_blocks, "adapter_rank": RANK,
                  "use_shared_attention_adapter": self.attention_updates, "use_mem_rope": self.rope,
                  "n_mamba_heads": MAMBA_HEADS, "mamba_ngroups": self.groups, "mamba_d_state": STATE,
                  "mamba_d_conv": TAPS, "max_position_embeddings": 256}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        write_safetensors(f"{folder}/model.safetensors",
                          {n: ("F32", shape, pack_f32(v)) for name, (_, shape, v) in self.w.tensors.items()
                           for n in self.names(name)})
        self.write_golden(folder)

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in self.logits(ids)))
        write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_lora(self, folder):
        """The adapter, with the logits of the model with it."""
        os.mkdir(folder)
        config = {"peft_type": "LORA", "r": LORA_RANK, "lora_alpha": LORA_SCALE * LORA_RANK}
        with open(f"{folder}/adapter_config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        write_safetensors(f"{folder}/adapter_model.safetensors",
                          {f"base_model.model.{module}.lora_{part}.weight":
                           ("F32", [len(m), len(m[0])], b"".join(pack_f32(row) for row in m))
                           for module, pair in self.lora.items() for part, m in zip("AB", pair)})
        self.write_golden(folder)


def main():
    failed = 0
    two = ["mamba", "hybrid", "hybrid", "mamba", "hybrid"]
    models = [Zamba2("two_blocks", two, 2, 2, False, False, "last"),
              Zamba2("attention_updates", two, 2, 1, True, True, "all"),
              Zamba2("one_block", ["hybrid", "mamba", "hybrid"], 1, 1, True, True, "first")]
    with tempfile.TemporaryDirectory() as scratch:
        for model in models:
            folder = f"{scratch}/{model.name}"
            model.write(folder)
            failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", folder])
            failed |= subprocess.call([sys.argv[1], "golden", "--chunk", "1", "--threads", "2", folder])
            model.add_lora()
            model.write_lora(f"{folder}-lora")
            for options in ("--threads", "1"), ("--chunk", "1", "--threads", "2"), ("--chunk", "7", "--threads", "3"):
                failed |= subprocess.call([sys.argv[1], "golden", "-m", folder, "--lora", f"{folder}-lora", *options])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
