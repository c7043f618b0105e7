#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A head of multi-token prediction in the files of Qwen3.5 (tensors mtp.*).

Adds random tensors of a head to the reference model, computes the head's logits from the model's final hidden
states in double precision with the standard library alone, and checks them with quire-eval. The heads of other
families are checked by tiny_families.py.

usage: tiny_mtp.py QUIRE_EVAL        exit 77: no reference data
"""
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

from tiny_models import Weights, add, matvec, pack_f32, silu, write_safetensors

HIDDEN, HEADS, KV_HEADS, HEAD, FFN, PROMPT = 64, 4, 2, 32, 128, 7


def read_safetensors(path):
    """name -> (dtype, shape, bytes)"""
    with open(path, "rb") as f:
        data = f.read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {k: (t["dtype"], t["shape"], data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]])
            for k, t in header.items()}


def floats(tensor):
    return struct.unpack(f"<{len(tensor[2]) // 4}f", tensor[2])


def make_head():
    w, layer = Weights(11), "mtp.layers.0."
    for name in ("mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden", "mtp.norm", f"{layer}input_layernorm",
                 f"{layer}post_attention_layernorm"):
        w.add(f"{name}.weight", None, [HIDDEN], 0, 0.3)
    for name, shape in (("mtp.fc", [HIDDEN, 2 * HIDDEN]), (f"{layer}self_attn.q_proj", [2 * HEADS * HEAD, HIDDEN]),
                        (f"{layer}self_attn.k_proj", [KV_HEADS * HEAD, HIDDEN]),
                        (f"{layer}self_attn.v_proj", [KV_HEADS * HEAD, HIDDEN]),
                        (f"{layer}self_attn.o_proj", [HIDDEN, HEADS * HEAD]),
                        (f"{layer}mlp.gate_proj", [FFN, HIDDEN]), (f"{layer}mlp.up_proj", [FFN, HIDDEN]),
                        (f"{layer}mlp.down_proj", [HIDDEN, FFN])):
        w.add(f"{name}.weight", None, shape, 0, 1 / math.sqrt(shape[1]))
    for part in "qk":
        w.add(f"{layer}self_attn.{part}_norm.weight", None, [HEAD], 0, 0.3)
    return w


class Head:
    def __init__(self, weights, config):
        self.w, self.eps = weights, config["rms_norm_eps"]
        self.theta = config["rope_parameters"]["rope_theta"]
        self.rotary = int(HEAD * config["rope_parameters"]["partial_rotary_factor"])

    def norm(self, x, name):
        r = 1 / math.sqrt(sum(v * v for v in x) / len(x) + self.eps)
        return [v * r * (1 + g) for v, g in zip(x, self.w.vector(f"{name}.weight"))]

    def times(self, name, x):
        return matvec(self.w.matrix(f"{name}.weight"), x)

    def rotate(self, x, position):
        out, half = list(x), self.rotary // 2
        for i in range(half):
            angle = position * self.theta ** (-2 * i / self.rotary)
            c, s = math.cos(angle), math.sin(angle)
            out[i], out[i + half] = x[i] * c - x[i + half] * s, x[i + half] * c + x[i] * s
        return out

    def attention(self, xs):
        at, queries, gates, keys, values, out = "mtp.layers.0.self_attn.", [], [], [], [], []
        for position, x in enumerate(xs):
            q, k, v = (self.times(f"{at}{p}_proj", x) for p in "qkv")
            both = [q[h * 2 * HEAD:(h + 1) * 2 * HEAD] for h in range(HEADS)]  # query and gate of each head
            queries.append([self.rotate(self.norm(b[:HEAD], f"{at}q_norm"), position) for b in both])
            gates.append([1 / (1 + math.exp(-g)) for b in both for g in b[HEAD:]])
            heads = [k[h * HEAD:(h + 1) * HEAD] for h in range(KV_HEADS)]
            keys.append([self.rotate(self.norm(h, f"{at}k_norm"), position) for h in heads])
            values.append([v[h * HEAD:(h + 1) * HEAD] for h in range(KV_HEADS)])
        for position, heads in enumerate(queries):
            row = []
            for h, q in enumerate(heads):
                g = h // (HEADS // KV_HEADS)
                scores = [sum(a * b for a, b in zip(q, k[g])) / math.sqrt(HEAD) for k in keys[:position + 1]]
                p = [math.exp(s - max(scores)) for s in scores]
                row += [sum(a * v[g][d] for a, v in zip(p, values)) / sum(p) for d in range(HEAD)]
            out.append(self.times(f"{at}o_proj", [a * b for a, b in zip(row, gates[position])]))
        return out

    def states(self, embeddings, hidden):
        layer = "mtp.layers.0."
        xs = [self.times("mtp.fc", self.norm(e, "mtp.pre_fc_norm_embedding") + self.norm(h, "mtp.pre_fc_norm_hidden"))
              for e, h in zip(embeddings, hidden)]
        xs = [add(x, a) for x, a in zip(xs, self.attention([self.norm(x, f"{layer}input_layernorm") for x in xs]))]
        out = []
        for x in xs:
            n = self.norm(x, f"{layer}post_attention_layernorm")
            inner = [silu(g) * u for g, u in zip(self.times(f"{layer}mlp.gate_proj", n),
                                                 self.times(f"{layer}mlp.up_proj", n))]
            out.append(self.norm(add(x, self.times(f"{layer}mlp.down_proj", inner)), "mtp.norm"))
        return out


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    shared = os.environ.get("QUIRE_SHARED", os.path.join(here, "../../../shared"))
    source = os.path.join(shared, "goldens/qwen3_5_text")
    if not os.path.isdir(source):
        print("skipped: no reference data at", shared)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(f"{source}/config.json", f"{folder}/config.json")
        with open(f"{folder}/config.json", encoding="utf-8") as f:
            config = json.load(f)
        model, golden = (read_safetensors(f"{source}/{n}.safetensors") for n in ("model", "golden"))
        weights = make_head()
        write_safetensors(f"{folder}/model.safetensors", {**model, **{
            name: ("F32", shape, pack_f32(v)) for name, (_, shape, v) in weights.tensors.items()}})
        ids = struct.unpack(f"<{PROMPT}q", golden[f"ids.{PROMPT}"][2])
        hidden = floats(golden[f"hidden.{PROMPT}"])[-PROMPT * HIDDEN:]  # behind the final norm
        table, output = (floats(model[n]) for n in ("model.embed_tokens.weight", "lm_head.weight"))
        rows = [output[i:i + HIDDEN] for i in range(0, len(output), HIDDEN)]
        states = Head(weights, config).states([list(table[i * HIDDEN:(i + 1) * HIDDEN]) for i in ids[1:]],
                                              [list(hidden[i * HIDDEN:(i + 1) * HIDDEN]) for i in range(PROMPT - 1)])
        logits = b"".join(pack_f32(matvec(rows, x)) for x in states)
        write_safetensors(f"{folder}/golden.safetensors", {
            f"ids.{PROMPT}": golden[f"ids.{PROMPT}"], f"logits.{PROMPT}": golden[f"logits.{PROMPT}"],
            f"mtp_logits.{PROMPT}": ("F32", [PROMPT - 1, len(rows)], logits)})
        return subprocess.call([sys.argv[1], "golden", "--threads", "1", folder])


if __name__ == "__main__":
    sys.exit(main())
