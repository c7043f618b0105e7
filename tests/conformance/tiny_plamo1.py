#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PLaMo 1 as tiny random models: a parallel block, query heads of a KV head that do not lie together in folders.

Writes each as a Hugging Face folder and as a GGUF file, in which they do, computes the logits in double precision with the
standard library alone, and checks both with quire-eval, as well as what is refused.

usage: tiny_plamo1.py QUIRE_EVAL
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
from tiny_models import FFN, GGUF_F32, GGUF_STR, GGUF_U32, HEAD, VOCAB, add, matvec, pack_f32, silu

LAYERS, PROMPTS, EPS, ROTATION = 3, (1, 7, 33, 60), 1e-6, ([10000 ** (-2 * i / HEAD) for i in range(HEAD // 2)], 1.0)


def rms_norm(x, w):
    r = 1 / math.sqrt(sum(v * v for v in x) / len(x) + EPS)
    return [v * r * g for v, g in zip(x, w)]


class Plamo:
    """heads: of queries; shared: the key of the file, of which follow the KV heads"""

    def __init__(self, heads, shared):
        self.heads, self.shared, self.kv_heads, self.hidden = heads, shared, -(-heads // shared), heads * HEAD
        self.w = tiny.Weights(heads + shared)
        self.w.add("model.embed_tokens.weight", "token_embd.weight", [VOCAB, self.hidden], 0, 1)
        self.w.add("lm_head.weight", "output.weight", [VOCAB, self.hidden])
        self.w.add("model.norm.weight", "output_norm.weight", [self.hidden], 1, 0.3)
        kv = self.kv_heads * HEAD
        for i in range(LAYERS):
            hf, blk = f"model.layers.layers.{i}.", f"blk.{i}."
            self.w.add(f"{hf}norm.weight", f"{blk}attn_norm.weight", [self.hidden], 1, 0.3)
            for part, gguf, rows, cols in (("self_attn.q_proj", "attn_q", self.hidden, self.hidden), ("self_attn.k_proj", "attn_k", kv, self.hidden),
                                           ("self_attn.v_proj", "attn_v", kv, self.hidden), ("self_attn.o_proj", "attn_output", self.hidden, self.hidden),
                                           ("mlp.gate_proj", "ffn_gate", FFN, self.hidden), ("mlp.up_proj", "ffn_up", FFN, self.hidden),
                                           ("mlp.down_proj", "ffn_down", self.hidden, FFN)):
                self.w.add(f"{hf}{part}.weight", f"{blk}{gguf}.weight", [rows, cols])

    # ---- The forward pass

    def project(self, name, x):
        return matvec(self.w.matrix(f"{name}.weight"), x)

    def attention(self, hf, xs):
        q, k, v = ([tiny.heads_of(self.project(f"{hf}self_attn.{p}_proj", x)) for x in xs] for p in "qkv")
        q, k = ([[tiny.rotate(h, t, ROTATION) for h in row] for t, row in enumerate(rows)] for rows in (q, k))
        out = []
        for t, row in enumerate(q):
            y = []
            for h, query in enumerate(row):
                g = h % self.kv_heads
                scores = [sum(map(operator.mul, query, k[j][g])) / math.sqrt(HEAD) for j in range(t + 1)]
                p = [math.exp(s - max(scores)) for s in scores]
                total = sum(p)
                y += [sum(map(operator.mul, p, column)) / total for column in zip(*(v[j][g] for j in range(t + 1)))]
            out.append(self.project(f"{hf}self_attn.o_proj", y))
        return out

    def feed_forward(self, hf, x):
        gate, up = self.project(f"{hf}mlp.gate_proj", x), self.project(f"{hf}mlp.up_proj", x)
        return self.project(f"{hf}mlp.down_proj", [silu(g) * u for g, u in zip(gate, up)])

    def logits(self, ids):
        words = self.w.matrix("model.embed_tokens.weight")
        xs = [words[i] for i in ids]
        for i in range(LAYERS):
            hf = f"model.layers.layers.{i}."
            inputs = [rms_norm(x, self.w.vector(f"{hf}norm.weight")) for x in xs]
            xs = [add(x, a, self.feed_forward(hf, n)) for x, a, n in zip(xs, self.attention(hf, inputs), inputs)]
        return [self.project("lm_head", rms_norm(x, self.w.vector("model.norm.weight"))) for x in xs]

    # ---- Files

    def write(self, folder, **changes):
        config = {"model_type": "plamo", "architectures": ["PlamoForCausalLM"], "vocab_size": VOCAB, "hidden_size": self.hidden,
                  "intermediate_size": FFN, "num_attention_heads": self.heads, "num_key_value_heads": self.heads,
                  "n_shared_head": self.shared, "num_hidden_layers": LAYERS, "max_position_embeddings": 256, "rms_norm_eps": EPS,
                  "hidden_act": "silu", "tie_word_embeddings": False, "tokenizer_class": "PlamoTokenizer", "use_cache": True}
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**config, **changes}, f)
        tensors = {name: ("F32", shape, pack_f32(values)) for name, (_, shape, values) in self.w.tensors.items()}
        tensors["model.layers.layers.0.self_attn.rotary_emb.inv_freq"] = ("F32", [HEAD // 2], pack_f32(ROTATION[0]))
        tiny.write_safetensors(f"{folder}/model.safetensors", tensors)

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in self.logits(ids)))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_gguf(self, path):
        """As the public converter does for the published model: heads of queries in the order of their KV heads."""
        keys = [("block_count", GGUF_U32, LAYERS), ("context_length", GGUF_U32, 256), ("embedding_length", GGUF_U32, self.hidden),
                ("feed_forward_length", GGUF_U32, FFN), ("attention.head_count", GGUF_U32, self.heads),
                ("attention.head_count_kv", GGUF_U32, self.kv_heads), ("attention.layer_norm_rms_epsilon", GGUF_F32, EPS)]
        order = sorted(range(self.heads), key=lambda h: (h % self.kv_heads, h))
        columns = [h * HEAD + i for h in order for i in range(HEAD)]
        stored = tiny.Weights(0)
        for name, (gguf, shape, values) in self.w.tensors.items():
            rows = [values[r:r + shape[-1]] for r in range(0, len(values), shape[-1])]
            if name.endswith("q_proj.weight"):
                rows = [rows[c] for c in columns]
            if name.endswith("o_proj.weight"):
                rows = [[row[c] for c in columns] for row in rows]
            stored.tensors[name] = (gguf, shape, [v for row in rows for v in row])
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, "plamo")] + [(f"plamo.{k}", t, v) for k, t, v in keys],
                             tiny.gguf_tensors(stored))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        # two and three heads of six for each KV head, one for all, one for each; the last leaves out the key
        for model in Plamo(6, 2), Plamo(6, 4), Plamo(4, 8), Plamo(4, 1):
            folder = f"{scratch}/{model.heads}_{model.shared}"
            model.write(folder, **({"n_shared_head": 8} if model.shared == 8 else {}))
            model.write_golden(folder)
            model.write_gguf(f"{folder}/model.gguf")
            for arguments in [folder], ["--gguf", f"{folder}/model.gguf", folder]:
                for threads in "1", "3":
                    failed |= subprocess.call([sys.argv[1], "golden", "--threads", threads, *arguments])
        for key, value, word in (("n_shared_head", 0, "n_shared_head"), ("n_shared_head", 2.5, "n_shared_head"), ("n_shared_head", 3, "k_proj"),
                                 ("hidden_act", "gelu", "hidden_act"), ("num_attention_heads", 0, "heads"), ("v_head_dim", 4, "tiled")):
            Plamo(6, 2).write(f"{scratch}/6_2", **{key: value})
            failed |= not tiny.is_refused([f"{scratch}/6_2"], word)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
