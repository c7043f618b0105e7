#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RWKV-6: decays of each key element and token, mixes of token shift that depend on the token.

As tiny_models.py: writes a model as a Hugging Face folder and as GGUF files, computes its logits in double precision,
and checks them with quire-eval, whole and in chunks. One GGUF file is as newer converters write it, with the mixes in one
tensor and output matrices divided by powers of two; one as older ones do; the bits are the same. Files with tensors of
wrong shapes and adapters of the other format are refused. The tests of steps and schedules, which read reference models,
then read this one.

usage: tiny_rwkv6.py QUIRE_EVAL TEST_RECURRENT_FORWARD TEST_ENGINE_FOLDERS
"""
import json
import math
import os
import random
import struct
import sys
import tempfile

import lora_recurrent as lora
import tiny_models as tiny
from tiny_models import GGUF_F32, GGUF_STR, GGUF_U32

VOCAB, HIDDEN, HEAD, LAYERS, FFN, EPS, RESCALE = 320, 32, 8, 5, 96, 1e-5, 2
HEADS = HIDDEN // HEAD
MIX_RANK, DECAY_RANK = 32, 64  # what hidden sizes other than 4096 have
NORM_EPS = 64e-5
MIXES = "wkvrg"
PROMPTS = (7, 33, 70)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def transposed(values, rows, cols):
    """Of a matrix [rows][cols], by rows."""
    return [values[r * cols + c] for c in range(cols) for r in range(rows)]


class Rwkv6:
    mix_rank = MIX_RANK

    def __init__(self):
        self.w = tiny.Weights(23)
        add = self.w.add
        add("rwkv.embeddings.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        add("head.weight", "output.weight", [VOCAB, HIDDEN])
        self.add_norm("rwkv.ln_out", "output_norm")
        self.add_norm("rwkv.blocks.0.pre_ln", "token_embd_norm")
        for i in range(LAYERS):
            self.add_layer(f"rwkv.blocks.{i}.", f"blk.{i}.")

    def add_norm(self, hf, gguf):
        self.w.add(f"{hf}.weight", f"{gguf}.weight", [HIDDEN], 1, 0.3)
        self.w.add(f"{hf}.bias", f"{gguf}.bias", [HIDDEN], 0, 0.2)

    def add_layer(self, hf, blk):
        """Matrices are [out][in] here; both kinds of files have some of them transposed."""
        add, at, mix = self.w.add, f"{hf}attention.", f"{blk}time_mix_"
        for norm, gguf in ("ln1", f"{blk}attn_norm"), ("ln2", f"{blk}attn_norm_2"), ("attention.ln_x", f"{mix}ln"):
            self.add_norm(f"{hf}{norm}", gguf)
        add(f"{at}time_maa_x", f"{mix}lerp_x.weight", [HIDDEN], 0.5, 0.3)
        for part in MIXES:
            add(f"{at}time_maa_{part}", f"{mix}lerp_{part}.weight", [HIDDEN], 0.5, 0.3)
        add(f"{at}time_maa_w1", f"{mix}w1.weight", [len(MIXES) * MIX_RANK, HIDDEN])
        add(f"{at}time_maa_w2", f"{mix}w2.weight", [len(MIXES) * HIDDEN, MIX_RANK], 0, 0.1)
        add(f"{at}time_decay", f"{mix}decay.weight", [HIDDEN], -1.5, 1)
        add(f"{at}time_decay_w1", f"{mix}decay_w1.weight", [DECAY_RANK, HIDDEN])
        add(f"{at}time_decay_w2", f"{mix}decay_w2.weight", [HIDDEN, DECAY_RANK], 0, 0.1)
        add(f"{at}time_faaaa", f"{mix}first.weight", [HEADS, HEAD], 0, 0.7)
        for name in "receptance", "key", "value", "gate", "output":
            add(f"{at}{name}.weight", f"{mix}{name}.weight", [HIDDEN, HIDDEN])
        ffn, channel = f"{hf}feed_forward.", f"{blk}channel_mix_"
        for part in "kr":
            add(f"{ffn}time_maa_{part}", f"{channel}lerp_{part}.weight", [HIDDEN], 0.5, 0.3)
        add(f"{ffn}key.weight", f"{channel}key.weight", [FFN, HIDDEN])
        add(f"{ffn}value.weight", f"{channel}value.weight", [HIDDEN, FFN])
        add(f"{ffn}receptance.weight", f"{channel}receptance.weight", [HIDDEN, HIDDEN])

    # ---- The forward pass

    def apply(self, name, x):
        return tiny.matvec(self.w.matrix(name), x)

    def norm(self, name, x):
        return tiny.layer_norm(x, self.w.vector(f"{name}.weight"), self.w.vector(f"{name}.bias"))

    def inputs(self, at, x, before):
        """Shifted inputs of the parts: the mixes have corrections, which an input of their own gives."""
        shift = [b - a for a, b in zip(x, before)]
        low = [math.tanh(y) for y in self.apply(
            f"{at}time_maa_w1", [a + m * d for a, d, m in zip(x, shift, self.w.vector(f"{at}time_maa_x"))])]
        second = self.w.matrix(f"{at}time_maa_w2")
        for p, part in enumerate(MIXES):
            correction = tiny.matvec(second[p * HIDDEN:(p + 1) * HIDDEN],
                                     low[p * self.mix_rank:(p + 1) * self.mix_rank])
            yield [a + (m + c) * d for a, d, m, c in zip(x, shift, self.w.vector(f"{at}time_maa_{part}"), correction)]

    def decays(self, at, w):
        low = [math.tanh(y) for y in self.apply(f"{at}time_decay_w1", w)]
        return [math.exp(-math.exp(y + b)) for y, b in zip(
            self.apply(f"{at}time_decay_w2", low), self.w.vector(f"{at}time_decay"))]

    def token(self, at, x, before, state):
        """One token of a layer's time mix."""
        w, k, v, r, g = self.inputs(at, x, before)
        query, key, value, gate = (self.apply(f"{at}{n}.weight", y) for n, y in (
            ("receptance", r), ("key", k), ("value", v), ("gate", g)))
        decay, bonus, out = self.decays(at, w), self.w.vector(f"{at}time_faaaa"), []
        for h in range(HEADS):
            c = slice(h * HEAD, (h + 1) * HEAD)
            s, o = state[h], []
            for j, vj in enumerate(value[c]):
                o.append(sum(q * (u * y * vj + row[j]) for q, u, y, row in zip(query[c], bonus[c], key[c], s)))
                for row, a, y in zip(s, decay[c], key[c]):
                    row[j] = a * row[j] + y * vj
            mean = sum(o) / HEAD
            size = 1 / math.sqrt(sum((y - mean) ** 2 for y in o) / HEAD + NORM_EPS)
            out += [(y - mean) * size * n + b for y, n, b in zip(
                o, self.w.vector(f"{at}ln_x.weight")[c], self.w.vector(f"{at}ln_x.bias")[c])]
        return self.apply(f"{at}output.weight", [y * tiny.silu(z) for y, z in zip(out, gate)])

    def time_mix(self, at, xs):
        state = [[[0.0] * HEAD for _ in range(HEAD)] for _ in range(HEADS)]
        return [self.token(at, x, xs[t - 1] if t else [0.0] * HIDDEN, state) for t, x in enumerate(xs)]

    def channel_mix(self, at, xs):
        outs = []
        for t, x in enumerate(xs):
            before = xs[t - 1] if t else [0.0] * HIDDEN
            k, r = ([a + m * (b - a) for a, b, m in zip(x, before, self.w.vector(f"{at}time_maa_{p}"))] for p in "kr")
            y = self.apply(f"{at}value.weight", [max(v, 0) ** 2 for v in self.apply(f"{at}key.weight", k)])
            outs.append([a * sigmoid(b) for a, b in zip(y, self.apply(f"{at}receptance.weight", r))])
        return outs

    def logits(self, ids):
        table = self.w.matrix("rwkv.embeddings.weight")
        xs = [self.norm("rwkv.blocks.0.pre_ln", table[i]) for i in ids]
        for i in range(LAYERS):
            at = f"rwkv.blocks.{i}."
            for norm, mix, name in ("ln1", self.time_mix, "attention."), ("ln2", self.channel_mix, "feed_forward."):
                ys = mix(at + name, [self.norm(at + norm, x) for x in xs])
                xs = [tiny.add(x, y) for x, y in zip(xs, ys)]
        return [self.apply("head.weight", self.norm("rwkv.ln_out", x)) for x in xs]

    # ---- Files

    def write_folder(self, folder):
        config = {"model_type": "rwkv6", "architectures": ["Rwkv6ForCausalLM"], "vocab_size": VOCAB, "hidden_size": HIDDEN,
                  "attention_hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": 64, "head_size": HEAD,
                  "head_size_divisor": 8, "intermediate_size": None if FFN == HIDDEN * 7 // 2 // 32 * 32 else FFN,
                  "layer_norm_epsilon": EPS, "rescale_every": RESCALE, "tie_word_embeddings": False, "use_cache": True,
                  "model_version": "6_0", "bos_token_id": 0, "eos_token_id": 0}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        tensors = {}
        for name, (_, shape, values) in self.w.tensors.items():
            part = name.rsplit(".", 1)[1]
            if part == "time_maa_w2":
                n = HIDDEN * MIX_RANK
                values = sum((transposed(values[p * n:(p + 1) * n], HIDDEN, MIX_RANK) for p in range(len(MIXES))), [])
                shape = [len(MIXES), MIX_RANK, HIDDEN]
            elif part in ("time_maa_w1", "time_decay_w1", "time_decay_w2"):
                values, shape = transposed(values, *shape), shape[::-1]
            elif len(shape) == 1 and part.startswith("time_"):
                shape = [1, 1] + shape
            tensors[name] = ("F32", shape, tiny.pack_f32(values))
        tiny.write_safetensors(f"{folder}/model.safetensors", tensors)

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(tiny.pack_f32(r) for r in self.logits(ids)))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_gguf(self, path, newer, broken=None, extra=0):
        """newer: the mixes are one tensor, and output matrices are divided by 2^(layer / RESCALE).
        broken: a tensor that is missing or, with `extra`, has that much more in its slowest dimension."""
        keys = [("block_count", GGUF_U32, LAYERS), ("context_length", GGUF_U32, 1048576),
                ("embedding_length", GGUF_U32, HIDDEN), ("feed_forward_length", GGUF_U32, FFN),
                ("attention.head_count", GGUF_U32, 0), ("attention.layer_norm_epsilon", GGUF_F32, EPS),
                ("wkv.head_size", GGUF_U32, HEAD), ("time_mix_extra_dim", GGUF_U32, MIX_RANK),
                ("time_decay_extra_dim", GGUF_U32, DECAY_RANK),
                ("rescale_every_n_layers", GGUF_U32, RESCALE if newer else 0)]
        tensors = {}
        for name, (shape, values) in tiny.gguf_tensors(self.w).items():
            part = name.split(".")[-2]
            if part == "time_mix_w2":
                shape = [len(MIXES), HIDDEN, MIX_RANK]
            elif newer and part in ("time_mix_output", "channel_mix_value"):
                values = [v / 2 ** (int(name.split(".")[1]) // RESCALE) for v in values]
            elif newer and part[:-1] == "time_mix_lerp_" and part[-1] != "x":
                name = name.replace(part, "time_mix_lerp_fused")
                values, shape = tensors.get(name, (0, []))[1] + values, [len(MIXES), 1, 1, HIDDEN]
            tensors[name] = (shape, values)
        if broken:
            (n, *rest), values = tensors.pop(broken)
            if extra:
                tensors[broken] = ([n + extra] + rest, values + values[:extra * math.prod(rest)])
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, "rwkv6")] + [(f"rwkv6.{k}", t, v) for k, t, v in keys],
                             tensors)


def check_refusals(model, folder):
    """Whether a file with a wrong or missing tensor is refused with its name."""
    passed = True
    parts = ["time_mix_" + p for p in ("lerp_fused", "lerp_x", "w1", "w2", "decay", "decay_w1", "decay_w2", "first", "ln")]
    for part, extra in [(p, e) for p in parts + ["channel_mix_lerp_r", "channel_mix_receptance"] for e in (0, 1)]:
        name, path = f"blk.2.{part}.weight", f"{folder}/broken.gguf"
        model.write_gguf(path, True, name, extra)
        passed &= tiny.is_refused(["--gguf", path, folder], name)
    return passed


def adapters(command, folder):
    """An adapter of the folder; adapters of the other format are refused."""
    passed, rng = True, random.Random(1)
    for check, path in ((lora.check_folder, []), (lora.refused(lora.check_peft), [f"{folder}/newer.gguf"]),
                        (lora.refused(lora.check_gguf), [f"{folder}/newer.gguf"])):
        with tempfile.TemporaryDirectory() as work:
            good, result, said = check(command, folder, work, rng, *path)
        print("ok  " if good else "FAIL", "rwkv6", result)
        if not good:
            print(said)
            passed = False
    return passed


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder, model = f"{scratch}/goldens/rwkv6", Rwkv6()
        os.makedirs(folder)
        model.write_folder(folder)
        model.write_golden(folder)
        for newer in True, False:
            model.write_gguf(f"{folder}/{'newer' if newer else 'older'}.gguf", newer)
        for runs in ([[folder], ["--threads", "3", "--chunk", "5", folder], ["--gguf", f"{folder}/newer.gguf", folder],
                      ["--gguf", f"{folder}/older.gguf", folder]],
                     [["--bf16-states", folder], ["--bf16-states", "--threads", "3", "--chunk", "5", folder]]):
            failed |= not tiny.same_bits(runs)
        failed |= not check_refusals(model, folder)
        failed |= not adapters(sys.argv[1], folder)
        failed |= tiny.run_unit_tests(scratch, "rwkv6", sys.argv[2:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
