#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Blocks of Qwen 2 with recurrent layers of RWKV: QRWKV6 (rwkv6qwen2) and ARWKV (arwkv7), as GGUF files.

QRWKV6: gated linear attention, heads of queries share those of keys and values, with and without biases. ARWKV: with and
without output norm and gate. Logits are computed in double precision; quire-eval checks the files whole and in chunks, and
refuses those with tensors of wrong shapes. The tests of steps and schedules, which read reference models, then read the
files.

usage: tiny_rwkv_qwen2.py QUIRE_EVAL TEST_RECURRENT_FORWARD TEST_ENGINE_FOLDERS
"""
import math
import os
import random
import struct
import sys
import tempfile

import tiny_models as tiny
import tiny_rwkv6 as rwkv6
import tiny_rwkv7 as rwkv7
from tiny_models import GGUF_ARRAY, GGUF_F32, GGUF_STR, GGUF_U32

VOCAB, HIDDEN, HEAD, LAYERS, FFN, EPS = 320, 32, 8, 3, 80, 1e-5
HEADS, KV_HEADS = HIDDEN // HEAD, 2
MIX_RANK, DECAY_RANK = 10, 12
PROMPTS = (7, 33, 70)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def add_ends(w):
    w.add("embd", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
    w.add("head", "output.weight", [VOCAB, HIDDEN])
    w.add("norm", "output_norm.weight", [HIDDEN], 1, 0.3)


def add_block(w, i):
    """The parts of a layer that are those of Qwen 2."""
    for norm in "attn_norm", "ffn_norm":
        w.add(f"{i}.{norm}", f"blk.{i}.{norm}.weight", [HIDDEN], 1, 0.3)
    for part, shape in ("gate", [FFN, HIDDEN]), ("up", [FFN, HIDDEN]), ("down", [HIDDEN, FFN]):
        w.add(f"{i}.ffn_{part}", f"blk.{i}.ffn_{part}.weight", shape)


def logits(w, ids, time_mix):
    """time_mix(layer, normed rows): the outputs of the recurrent sublayer."""
    table = w.matrix("embd")
    xs = [table[i] for i in ids]
    for i in range(LAYERS):
        outs = time_mix(i, [tiny.rms_norm(x, w.vector(f"{i}.attn_norm")) for x in xs])
        xs = [tiny.add(x, y) for x, y in zip(xs, outs)]
        for t, x in enumerate(xs):
            h = tiny.rms_norm(x, w.vector(f"{i}.ffn_norm"))
            gate, up = (tiny.matvec(w.matrix(f"{i}.ffn_{p}"), h) for p in ("gate", "up"))
            xs[t] = tiny.add(x, tiny.matvec(w.matrix(f"{i}.ffn_down"), [tiny.silu(a) * b for a, b in zip(gate, up)]))
    return [tiny.matvec(w.matrix("head"), tiny.rms_norm(x, w.vector("norm"))) for x in xs]


class Rwkv6Qwen2(rwkv6.Rwkv6):
    arch, mix_rank = "rwkv6qwen2", MIX_RANK

    def __init__(self, bias):
        self.w, self.bias = tiny.Weights(29), bias
        add_ends(self.w)
        for i in range(LAYERS):
            add_block(self.w, i)
            self.add_mixer(i, f"{i}.", f"blk.{i}.time_mix_")

    def add_mixer(self, i, at, mix):
        add, n, keys = self.w.add, len(rwkv6.MIXES), KV_HEADS * HEAD
        add(f"{at}time_maa_x", f"{mix}lerp_x.weight", [HIDDEN], 0.5, 0.3)
        for part in rwkv6.MIXES:
            add(f"{at}time_maa_{part}", (f"{mix}lerp_fused.weight", n), [HIDDEN], 0.5, 0.3)
        add(f"{at}time_maa_w1", f"{mix}w1.weight", [n * MIX_RANK, HIDDEN])
        add(f"{at}time_maa_w2", f"{mix}w2.weight", [n * HIDDEN, MIX_RANK], 0, 0.1)
        add(f"{at}time_decay", f"{mix}decay.weight", [HIDDEN], -1.5, 1)
        add(f"{at}time_decay_w1", f"{mix}decay_w1.weight", [DECAY_RANK, HIDDEN])
        add(f"{at}time_decay_w2", f"{mix}decay_w2.weight", [HIDDEN, DECAY_RANK], 0, 0.1)
        for name, rows in ("receptance", HIDDEN), ("key", keys), ("value", keys), ("gate", HIDDEN), ("output", HIDDEN):
            add(f"{at}{name}", f"{mix}{name}.weight", [rows, HIDDEN])
            if self.bias and name not in ("gate", "output"):
                add(f"{at}{name}.bias", f"{mix}{name}.bias", [rows], 0, 0.5)

    def project(self, name, x):
        y, bias = self.apply(name, x), self.w.vector(f"{name}.bias")
        return tiny.add(y, bias) if bias else y

    def token(self, at, x, before, state):
        w, k, v, r, g = self.inputs(at, x, before)
        query, key, value, gate = (self.project(f"{at}{n}", y) for n, y in (
            ("receptance", r), ("key", k), ("value", v), ("gate", g)))
        decay, out = self.decays(at, w), []
        for h, s in enumerate(state):
            c, kv = h * HEAD, h // (HEADS // KV_HEADS) * HEAD
            for j in range(HEAD):
                for i in range(HEAD):
                    s[i][j] = decay[c + i] * s[i][j] + key[kv + i] * (1 - decay[c + i]) * value[kv + j]
                out.append(sum(query[c + i] * s[i][j] for i in range(HEAD)) / math.sqrt(HEAD))
        return self.apply(f"{at}output", [y * sigmoid(z) for y, z in zip(out, gate)])

    def logits(self, ids):
        return logits(self.w, ids, lambda i, xs: self.time_mix(f"{i}.", xs))

    def metadata(self):
        return [("attention.head_count_kv", GGUF_U32, KV_HEADS), ("time_mix_extra_dim", GGUF_U32, MIX_RANK),
                ("time_decay_extra_dim", GGUF_U32, DECAY_RANK)]

    def gguf_tensors(self):
        tensors = tiny.gguf_tensors(self.w)
        for i in range(LAYERS):
            _, values = tensors[f"blk.{i}.time_mix_w2.weight"]
            tensors[f"blk.{i}.time_mix_w2.weight"] = [len(rwkv6.MIXES), HIDDEN, MIX_RANK], values
        return tensors


class Arwkv7(rwkv7.Rwkv7):
    arch, head_eps = "arwkv7", 64e-5

    def __init__(self, gate, norm):
        self.w, self.head_norm, self.mixes = tiny.Weights(31), norm, rwkv7.MIXES if gate else rwkv7.MIXES[:-1]
        self.ranks = {part: rank for part, rank in rwkv7.RANKS.items() if gate or part != "g"}
        add_ends(self.w)
        for i in range(LAYERS):
            add_block(self.w, i)
            self.add_mixer(i, f"model.layers.{i}.attn.", f"blk.{i}.time_mix_")

    def add_mixer(self, i, at, mix):
        add = self.w.add
        if self.head_norm:
            self.add_norm(f"{at}g_norm", f"{mix}ln")
        for part in self.mixes:
            add(f"{at}x_{part}", (f"{mix}lerp_fused.weight", len(self.mixes)), [HIDDEN], 0.5, 0.3)
        for part, name in ("r", "receptance"), ("k", "key"), ("v", "value"), ("o", "output"):
            add(f"{at}{part}_proj.weight", f"{mix}{name}.weight", [HIDDEN, HIDDEN])
        for part, rank in self.ranks.items():
            if part != "v" or i:
                add(f"{at}{part}_lora.lora.0.weight", f"{mix}{part}1.weight", [rank, HIDDEN])
                add(f"{at}{part}_lora.lora.2.weight", f"{mix}{part}2.weight", [HIDDEN, rank])
                if part != "g":
                    add(f"{at}{part}_lora.lora.2.bias", f"{mix}{part}0.weight", [HIDDEN], 0, 0.5)
        for name, mean in ("k_k", 1), ("k_a", 1), ("r_k", 0):
            add(f"{at}{name}", f"{mix}{name}.weight", [HIDDEN], mean, 0.3)

    def logits(self, ids):
        first = None

        def mix(i, xs):
            nonlocal first
            outs, values = self.time_mix(i, xs, first)
            first = first or values
            return outs
        return logits(self.w, ids, mix)

    def metadata(self):
        names = {"w": "decay", "a": "iclr", "v": "value_residual_mix", "g": "gate"}
        return [(f"attention.{name}_lora_rank", GGUF_U32, self.ranks.get(part, 0)) for part, name in names.items()]

    def gguf_tensors(self):
        tensors = tiny.gguf_tensors(self.w)
        for name, (shape, values) in list(tensors.items()):
            if "lerp_fused" in name:
                tensors[name] = ([len(self.mixes), 1, 1, HIDDEN], values)
            if name.startswith("blk.0.time_mix_a"):  # converters copy these to the names that the layer lacks
                tensors[name.replace("_a", "_v")] = (shape, values)
        return tensors


def vocabulary():
    """Keys of a tokenizer: a control token, bytes, and pairs of letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = ["<s>"] + [f"\\x{b:02x}" for b in range(256)] + [a + b for a in letters for b in letters]
    return [("tokenizer.ggml.model", GGUF_STR, "rwkv"), ("tokenizer.ggml.tokens", GGUF_ARRAY, tokens[:VOCAB]),
            ("tokenizer.ggml.token_type", GGUF_ARRAY, [3] + [1] * (VOCAB - 1)),
            ("tokenizer.ggml.bos_token_id", GGUF_U32, 0), ("tokenizer.ggml.eos_token_id", GGUF_U32, 0)]


def write_gguf(model, path, broken=None, extra=0):
    """broken: a tensor that is missing or, with `extra`, has that much more in its slowest dimension."""
    keys = [("block_count", GGUF_U32, LAYERS), ("context_length", GGUF_U32, 1048576), ("embedding_length", GGUF_U32, HIDDEN),
            ("feed_forward_length", GGUF_U32, FFN), ("attention.head_count", GGUF_U32, 0),
            ("attention.layer_norm_rms_epsilon", GGUF_F32, EPS), ("wkv.head_size", GGUF_U32, HEAD),
            ("token_shift_count", GGUF_U32, 1)] + model.metadata()
    tensors = model.gguf_tensors()
    if broken:
        (n, *rest), values = tensors.pop(broken)
        if extra:
            tensors[broken] = ([n + extra] + rest, values + values[:extra * math.prod(rest)])
    tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, model.arch)] +
                         [(f"{model.arch}.{k}", t, v) for k, t, v in keys] + vocabulary(), tensors)


def write_golden(model, folder):
    rng, golden = random.Random(1), {}
    for n in PROMPTS:
        ids = [rng.randrange(VOCAB) for _ in range(n)]
        golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
        golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(tiny.pack_f32(r) for r in model.logits(ids)))
    tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


def check_refusals(model, folder):
    """Whether a file with a wrong or missing tensor is refused with its name."""
    passed = True
    for part in "time_mix_lerp_fused", "time_mix_key", "time_mix_value", "time_mix_w2", "ffn_gate":
        for extra in 0, 1:
            name, path = f"blk.2.{part}.weight", f"{folder}/broken.gguf"
            write_gguf(model, path, name, extra)
            passed &= tiny.is_refused(["--gguf", path, folder], name)
    return passed


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, model in (("qrwkv6", Rwkv6Qwen2(True)), ("qrwkv6_no_bias", Rwkv6Qwen2(False)),
                            ("arwkv7", Arwkv7(True, True)), ("arwkv7_plain", Arwkv7(False, False))):
            folder = f"{scratch}/{name}/goldens/{name}"
            file = f"{folder}/model.gguf"
            os.makedirs(folder)
            write_gguf(model, file)
            write_golden(model, folder)
            for runs in ([["--gguf", file, folder], ["--threads", "3", "--chunk", "5", "--gguf", file, folder]],
                         [["--bf16-states", "--gguf", file, folder]]):
                failed |= not tiny.same_bits(runs)
            failed |= not check_refusals(model, folder)
            failed |= tiny.run_unit_tests(f"{scratch}/{name}", f"{name}/model.gguf", sys.argv[2:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
