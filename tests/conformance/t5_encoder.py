#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The encoder of a T5 as a model for embeddings: the reference encoder-decoder without its decoder.

Writes the encoder of the reference model t5 as a folder of T5EncoderModel and as a GGUF file, plain and with gated
feed-forward networks, whose hidden states it computes itself, and checks both with quire-eval.

usage: t5_encoder.py QUIRE_EVAL, with the reference data in $QUIRE_SHARED or beside the repository
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_models import GGUF_F32, GGUF_STR, GGUF_U32

GGUF_NAMES = {"SelfAttention.q": "attn_q", "SelfAttention.k": "attn_k", "SelfAttention.v": "attn_v",
              "SelfAttention.o": "attn_o", "SelfAttention.relative_attention_bias": "attn_rel_b",
              "DenseReluDense.wi": "ffn_up", "DenseReluDense.wi_0": "ffn_gate", "DenseReluDense.wi_1": "ffn_up",
              "DenseReluDense.wo": "ffn_down"}


def read_safetensors(path):
    """name -> (shape, values)"""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    kinds, out = {"F32": ("f", 4), "I64": ("q", 8)}, {}
    for name, tensor in header.items():
        if name != "__metadata__":
            kind, size = kinds[tensor["dtype"]]
            begin, end = tensor["data_offsets"]
            out[name] = (tensor["shape"], list(struct.unpack(f"<{(end - begin) // size}{kind}", data[begin:end])))
    return out


def gguf_name(name):
    if name == "shared.weight":
        return "token_embd.weight"
    if name == "encoder.final_layer_norm.weight":
        return "enc.output_norm.weight"
    _, _, block, _, layer, rest = name.split(".", 5)
    part = GGUF_NAMES.get(rest.removesuffix(".weight")) or ("attn_norm", "ffn_norm")[int(layer)]
    return f"enc.blk.{block}.{part}.weight"


class Encoder:
    def __init__(self, config, tensors):
        self.config, self.tensors = config, tensors
        self.heads, self.layers = config["num_heads"], config["num_layers"]

    def gated(self):
        """The model with a gate, which has the weights of the other half in another order."""
        tensors = {}
        for name, (shape, values) in self.tensors.items():
            if name.endswith(".wi.weight"):
                tensors[name.replace("wi.", "wi_0.")] = (shape, values[::-1])
                name = name.replace("wi.", "wi_1.")
            tensors[name] = (shape, values)
        return Encoder({**self.config, "feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu_new",
                        "is_gated_act": True}, tensors)

    # ---- The forward pass

    def matrix(self, name):
        shape, values = self.tensors[name]
        return [values[r * shape[1]:(r + 1) * shape[1]] for r in range(shape[0])]

    def norm(self, x, name):
        scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + self.config["layer_norm_epsilon"])
        return [v * scale * w for v, w in zip(x, self.tensors[name][1])]

    def bucket(self, distance):
        """Half of the buckets are for keys behind the query; the nearest have one each, others share by logarithm."""
        half = self.config["relative_attention_num_buckets"] // 2
        first, n, exact = half if distance > 0 else 0, abs(distance), half // 2
        if n < exact:
            return first + n
        far = math.log(n / exact) / math.log(self.config["relative_attention_max_distance"] / exact) * (half - exact)
        return first + min(half - 1, exact + int(far))

    def attention(self, i, xs, bias):
        at, rows = f"encoder.block.{i}.layer.0.SelfAttention.", {}
        for part in "qkv":
            weights = self.matrix(f"{at}{part}.weight")
            rows[part] = [tiny.matvec(weights, x) for x in xs]
        size, outs = len(rows["q"][0]) // self.heads, []
        for t in range(len(xs)):
            out = []
            for h in range(self.heads):
                c = slice(h * size, (h + 1) * size)
                scores = [sum(a * b for a, b in zip(rows["q"][t][c], rows["k"][s][c])) + bias[self.bucket(s - t)][h]
                          for s in range(len(xs))]
                top = max(scores)
                weights = [math.exp(s - top) for s in scores]
                total = sum(weights)
                out += [sum(w * v[c][j] for w, v in zip(weights, rows["v"])) / total for j in range(size)]
            outs.append(out)
        weights = self.matrix(f"{at}o.weight")
        return [tiny.matvec(weights, x) for x in outs]

    def feed_forward(self, i, x):
        at = f"encoder.block.{i}.layer.1.DenseReluDense."
        if f"{at}wi.weight" in self.tensors:
            y = [max(v, 0) for v in tiny.matvec(self.matrix(f"{at}wi.weight"), x)]
        else:
            gate, up = (tiny.matvec(self.matrix(f"{at}wi_{n}.weight"), x) for n in (0, 1))
            y = [g / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (g + 0.044715 * g ** 3))) * u for g, u in zip(gate, up)]
        return tiny.matvec(self.matrix(f"{at}wo.weight"), y)

    def states(self, ids):
        table = self.matrix("shared.weight")
        bias = self.matrix("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
        xs = [table[i] for i in ids]
        for i in range(self.layers):
            at = f"encoder.block.{i}.layer."
            outs = self.attention(i, [self.norm(x, f"{at}0.layer_norm.weight") for x in xs], bias)
            xs = [tiny.add(x, y) for x, y in zip(xs, outs)]
            xs = [tiny.add(x, self.feed_forward(i, self.norm(x, f"{at}1.layer_norm.weight"))) for x in xs]
        return [self.norm(x, "encoder.final_layer_norm.weight") for x in xs]

    # ---- Files

    def write(self, folder, golden):
        os.mkdir(folder)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**self.config, "architectures": ["T5EncoderModel"]}, f)
        tiny.write_safetensors(f"{folder}/model.safetensors",
                               {n: ("F32", shape, tiny.pack_f32(v)) for n, (shape, v) in self.tensors.items()})
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)
        c = self.config
        keys = [("block_count", GGUF_U32, self.layers), ("context_length", GGUF_U32, 512),
                ("embedding_length", GGUF_U32, c["d_model"]), ("feed_forward_length", GGUF_U32, c["d_ff"]),
                ("attention.head_count", GGUF_U32, self.heads), ("attention.key_length", GGUF_U32, c["d_kv"]),
                ("attention.value_length", GGUF_U32, c["d_kv"]),
                ("attention.relative_buckets_count", GGUF_U32, c["relative_attention_num_buckets"]),
                ("attention.layer_norm_rms_epsilon", GGUF_F32, c["layer_norm_epsilon"])]
        keys = [("general.architecture", GGUF_STR, "t5encoder")] + [(f"t5encoder.{k}", t, v) for k, t, v in keys]
        tiny.write_gguf_file(f"{folder}/model.gguf", keys, {gguf_name(n): t for n, t in self.tensors.items()})


def golden_of(ids, states):
    width = len(states[0][0])
    return {**{f"ids.{len(x)}": ("I64", [len(x)], struct.pack(f"<{len(x)}q", *x)) for x in ids},
            **{f"last_hidden.{len(x)}": ("F32", [len(x), width], b"".join(tiny.pack_f32(r) for r in rows))
               for x, rows in zip(ids, states)}}


def main():
    here, failed = os.path.dirname(os.path.abspath(__file__)), 0
    shared = os.environ.get("QUIRE_SHARED", os.path.join(here, "../../../shared"))
    reference = f"{shared}/goldens/t5"
    if not os.path.exists(reference):
        print("skipped: no reference data at", shared)
        return 77
    with open(f"{reference}/config.json", encoding="utf-8") as f:
        config = json.load(f)
    tensors = {n: t for n, t in read_safetensors(f"{reference}/model.safetensors").items()
               if n == "shared.weight" or n.startswith("encoder.")}
    reference = read_safetensors(f"{reference}/golden.safetensors")
    ids = [reference[f"encoder_ids.{i}"][1] for i in range(3)]
    plain, width = Encoder(config, tensors), config["d_model"]
    states = [reference[f"encoder_hidden.{i}"][1] for i in range(3)]
    states = [[s[r:r + width] for r in range(0, len(s), width)] for s in states]
    # files in GGUF have no key for the distance: 128
    far, gated = Encoder({**config, "relative_attention_max_distance": 128}, tensors), plain.gated()
    gated.config["relative_attention_max_distance"] = 128
    with tempfile.TemporaryDirectory() as scratch:
        plain.write(f"{scratch}/t5", golden_of(ids, states))
        commands = [[f"{scratch}/t5"]]
        for name, model in ("far", far), ("gated", gated):
            folder = f"{scratch}/{name}"
            model.write(folder, golden_of(ids, [model.states(x) for x in ids]))
            commands += [[folder], ["--gguf", f"{folder}/model.gguf", folder]]
        for c in commands:
            failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", *c])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
