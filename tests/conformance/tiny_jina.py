#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jina Embeddings 2 as tiny random models, without and with norms of q and k and a second norm.

Writes each model as a Hugging Face folder and as a GGUF file, computes the hidden states of single sequences and
of a batch in double precision with the standard library alone, and checks both with quire-eval.

usage: tiny_jina.py QUIRE_EVAL
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_encoder import EPS, FFN, HEAD, HEADS, HIDDEN, LAYERS, VOCAB, Encoder, gelu
from tiny_models import GGUF_BOOL, GGUF_F32, GGUF_U32, Weights, add, pack_f32

SLOPES = [2 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)]


class Jina(Encoder):
    def __init__(self, name, qk_norm, second_norm):
        super().__init__(len(name))
        self.name, self.qk_norm, self.second_norm, w = name, qk_norm, second_norm, self.w
        w.add("embeddings.word_embeddings.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        w.add("embeddings.token_type_embeddings.weight", "token_types.weight", [2, HIDDEN], 0, 1)
        self.add_norm("embeddings.LayerNorm", "token_embd_norm")
        for i in range(LAYERS):
            self.add_layer(f"encoder.layer.{i}.", f"blk.{i}.")

    def add_layer(self, hf, blk):
        for part, short in (("query", "q"), ("key", "k"), ("value", "v")):
            self.add_matrix(f"{hf}attention.self.{part}", f"{blk}attn_{short}", HIDDEN, HIDDEN, True)
            if self.qk_norm and short != "v":
                self.add_norm(f"{hf}attention.self.layer_norm_{short}", f"{blk}attn_{short}_norm")
        self.add_matrix(f"{hf}attention.output.dense", f"{blk}attn_output", HIDDEN, HIDDEN, True)
        self.add_norm(f"{hf}attention.output.LayerNorm", f"{blk}attn_output_norm")
        if self.second_norm:
            self.add_norm(f"{hf}layer_norm_1", f"{blk}attn_norm_2")
        self.add_matrix(f"{hf}gate", f"{blk}ffn_gate", FFN, HIDDEN, False)
        self.add_matrix(f"{hf}up", f"{blk}ffn_up", FFN, HIDDEN, False)
        self.add_matrix(f"{hf}mlp." + ("down_layer" if self.second_norm else "wo"), f"{blk}ffn_down", HIDDEN, FFN, True)
        self.add_norm(f"{hf}" + ("layer_norm_2" if self.second_norm else "mlp.layernorm"), f"{blk}layer_output_norm")

    # ---- The forward pass

    def attention(self, hf, xs):
        rows = {}
        for part, short in (("query", "q"), ("key", "k"), ("value", "v")):
            ys = [self.project(f"{hf}attention.self.{part}", x) for x in xs]
            if self.qk_norm and short != "v":
                ys = [self.norm(y, f"{hf}attention.self.layer_norm_{short}") for y in ys]
            rows[short] = [[y[h:h + HEAD] for h in range(0, HIDDEN, HEAD)] for y in ys]
        out = []
        for i, q in enumerate(rows["q"]):
            row = []
            for h, slope in enumerate(SLOPES):
                scores = [sum(a * b for a, b in zip(q[h], k[h])) / math.sqrt(HEAD) - slope * abs(i - j)
                          for j, k in enumerate(rows["k"])]
                p = [math.exp(s - max(scores)) for s in scores]
                row += [sum(a * v[h][d] for a, v in zip(p, rows["v"])) / sum(p) for d in range(HEAD)]
            out.append(self.project(f"{hf}attention.output.dense", row))
        return out

    def layer(self, i, xs):
        hf, out = f"encoder.layer.{i}.", []
        for x, a in zip(xs, self.attention(hf, xs)):
            y = self.norm(add(x, a), f"{hf}attention.output.LayerNorm")
            if self.second_norm:
                y = self.norm(add(x, y), f"{hf}layer_norm_1")
            inner = [gelu(g) * u for g, u in zip(self.project(f"{hf}gate", y), self.project(f"{hf}up", y))]
            down, norm = ("mlp.down_layer", "layer_norm_2") if self.second_norm else ("mlp.wo", "mlp.layernorm")
            out.append(self.norm(add(y, self.project(f"{hf}{down}", inner)), f"{hf}{norm}"))
        return out

    def states(self, ids):
        words, kind = self.w.matrix("embeddings.word_embeddings.weight"), "embeddings.token_type_embeddings.weight"
        xs = [self.norm(add(words[i], self.w.matrix(kind)[0]), "embeddings.LayerNorm") for i in ids]
        for i in range(LAYERS):
            xs = self.layer(i, xs)
        return xs

    # ---- Files

    def tensors(self):
        """name -> (dtype, shape, bytes); gate and up are one tensor, in the order of the variant."""
        plain = {name: (shape, values) for name, (_, shape, values) in self.w.tensors.items()}
        for i in range(LAYERS):
            gate, up = (plain.pop(f"encoder.layer.{i}.{part}.weight")[1] for part in ("gate", "up"))
            name, values = ("up_gated_layer", up + gate) if self.second_norm else ("gated_layers", gate + up)
            plain[f"encoder.layer.{i}.mlp.{name}.weight"] = ([2 * FFN, HIDDEN], values)
        return {name: ("F32", shape, pack_f32(values)) for name, (shape, values) in plain.items()}

    def write(self, folder):
        os.mkdir(folder)
        config = {"model_type": "bert", "position_embedding_type": "alibi", "feed_forward_type": "geglu",
                  "emb_pooler": "mean", "vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": FFN,
                  "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "max_position_embeddings": 128,
                  "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": EPS}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        tiny.write_safetensors(f"{folder}/model.safetensors", self.tensors())
        tiny.write_safetensors(f"{folder}/golden.safetensors", self.golden())
        keys = [("block_count", GGUF_U32, LAYERS), ("context_length", GGUF_U32, 128),
                ("embedding_length", GGUF_U32, HIDDEN), ("feed_forward_length", GGUF_U32, FFN),
                ("attention.head_count", GGUF_U32, HEADS), ("attention.layer_norm_epsilon", GGUF_F32, EPS),
                ("attention.causal", GGUF_BOOL, False), ("pooling_type", GGUF_U32, 1)]
        keys = [("general.architecture", tiny.GGUF_STR, "jina-bert-v2")] + [(f"jina-bert-v2.{k}", t, v) for k, t, v in keys]
        tiny.write_gguf_file(f"{folder}/model.gguf", keys, tiny.gguf_tensors(self.w))
        fused = Weights(0)  # as newer converters store gate and up
        for name, (gguf, shape, values) in self.w.tensors.items():
            if name.endswith(".gate.weight"):
                continue
            if name.endswith(".up.weight"):
                gate = self.w.tensors[name.replace(".up.", ".gate.")][2]
                shape, values = [2 * FFN, HIDDEN], values + gate if self.second_norm else gate + values
            fused.tensors[name] = (gguf, shape, values)
        tiny.write_gguf_file(f"{folder}/fused.gguf", keys, tiny.gguf_tensors(fused))


def refuses_missing_norm(command, model, folder):
    """Whether a file whose last layer lacks the second norm is refused by the tensor's name."""
    name, tensors = f"encoder.layer.{LAYERS - 1}.layer_norm_1.weight", model.tensors()
    del tensors[name]
    tiny.write_safetensors(f"{folder}/model.safetensors", tensors)
    done = subprocess.run([command, "golden", folder], capture_output=True, text=True, check=False)
    return done.returncode == 65 and name in done.stderr


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in Jina("plain", False, False), Jina("qk_norm", True, False), Jina("second_norm", True, True):
            folder = f"{scratch}/{model.name}"
            model.write(folder)
            for arguments in [folder], *(["--gguf", f"{folder}/{file}.gguf", folder] for file in ("model", "fused")):
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", *arguments])
            if model.second_norm and not refuses_missing_norm(sys.argv[1], model, folder):
                print("FAIL: a layer without the second norm is not refused")
                failed = 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
