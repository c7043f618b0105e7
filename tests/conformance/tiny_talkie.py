#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Talkie as a tiny random model: norms without weights, the normed embedding behind each layer, factors of queries by head, of
sublayers and of the logits.

Writes it as a Hugging Face folder and as a GGUF file, computes the logits in double precision with the standard library alone,
and checks both with quire-eval, as well as what is refused.

usage: tiny_talkie.py QUIRE_EVAL
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
from tiny_models import FFN, GGUF_F32, GGUF_STR, GGUF_U32, HEAD, HEADS, HIDDEN, VOCAB, add, matvec, pack_f32, rotate, silu

LAYERS, PROMPTS, THETA, EPS = 3, (1, 7, 33, 100), 1e6, 2.0 ** -23
ROWS = {"attn.attn_query": ("attn_q", HIDDEN, HIDDEN), "attn.attn_key": ("attn_k", HIDDEN, HIDDEN),
        "attn.attn_value": ("attn_v", HIDDEN, HIDDEN), "attn.attn_resid": ("attn_output", HIDDEN, HIDDEN),
        "mlp.mlp_gate": ("ffn_gate", FFN, HIDDEN), "mlp.mlp_linear": ("ffn_up", FFN, HIDDEN),
        "mlp.mlp_resid": ("ffn_down", HIDDEN, FFN)}
GAINS = {"attn.head_gain.head_g": ("attn_q_norm.weight", HEADS), "attn_gain.a_g": ("attn_output.scale", 1),
         "mlp_gain.a_g": ("ffn_down.scale", 1), "embed_skip.a_g": ("layer_output_scale.weight", 1)}
FREQUENCIES = ([THETA ** (-2 * i / HEAD) for i in range(HEAD // 2)], 1)


def unit(x):
    """x / rms(x)"""
    factor = 1 / math.sqrt(sum(v * v for v in x) / len(x) + EPS)
    return [v * factor for v in x]


def scaled(x, factor):
    return [v * factor for v in x]


class Talkie:
    def __init__(self):
        self.w = tiny.Weights(1)
        self.w.add("model.embed.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        self.w.add("lm_head", "output.weight", [VOCAB, HIDDEN])
        self.w.add("lm_head_gain.w_g", "", [1], 1.7, 0.1)
        for i in range(LAYERS):
            hf, blk = f"model.blocks.{i}.", f"blk.{i}."
            for name, (gguf, rows, cols) in ROWS.items():
                self.w.add(f"{hf}{name}.weight", f"{blk}{gguf}.weight", [rows, cols])
            for name, (gguf, n) in GAINS.items():
                self.w.add(f"{hf}{name}", f"{blk}{gguf}", [n], 0.8, 0.4)

    # ---- The forward pass

    def project(self, name, x):
        return matvec(self.w.matrix(name), x)

    def heads(self, name, x, t):
        return [unit(rotate(h, -t, FREQUENCIES)) for h in tiny.heads_of(self.project(f"{name}.weight", x))]

    def layer(self, hf, xs, embeddings):
        inputs = [unit(x) for x in xs]
        q, k = ([self.heads(f"{hf}attn.attn_{part}", x, t) for t, x in enumerate(inputs)] for part in ("query", "key"))
        v = [tiny.heads_of(self.project(f"{hf}attn.attn_value.weight", x)) for x in inputs]
        gains = self.w.vector(f"{hf}attn.head_gain.head_g")
        attention, network, skip = (self.w.vector(f"{hf}{part}.a_g")[0] for part in ("attn_gain", "mlp_gain", "embed_skip"))
        for t in range(len(xs)):
            y = tiny.attend([scaled(h, g) for h, g in zip(q[t], gains)], k, v, t, 0)
            x = add(xs[t], scaled(self.project(f"{hf}attn.attn_resid.weight", y), attention))
            y = unit(x)
            y = [silu(g) * u for g, u in zip(self.project(f"{hf}mlp.mlp_gate.weight", y), self.project(f"{hf}mlp.mlp_linear.weight", y))]
            x = add(x, scaled(self.project(f"{hf}mlp.mlp_resid.weight", y), network))
            xs[t] = add(x, scaled(embeddings[t], skip))
        return xs

    def logits(self, ids):
        words, gain = self.w.matrix("model.embed.weight"), self.w.vector("lm_head_gain.w_g")[0]
        embeddings = [unit(words[i]) for i in ids]
        xs = list(embeddings)
        for i in range(LAYERS):
            xs = self.layer(f"model.blocks.{i}.", xs, embeddings)
        return [scaled(self.project("lm_head", unit(x)), gain) for x in xs]

    # ---- Files

    def write(self, folder, without=None, **changes):
        config = {"model_type": "talkie", "architectures": ["TalkieForCausalLM"], "vocab_size": VOCAB, "hidden_size": HIDDEN,
                  "intermediate_size": FFN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "head_dim": HEAD,
                  "max_position_embeddings": 256, "rope_theta": THETA, "tie_word_embeddings": False}
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**config, **changes}, f)
        plain = {n: (s, v) for n, (_, s, v) in self.w.tensors.items() if n != without}
        tiny.write_safetensors(f"{folder}/model.safetensors", {n: ("F32", s, pack_f32(v)) for n, (s, v) in plain.items()})

    def write_golden(self, folder):
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in self.logits(ids)))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_gguf(self, path, scale=True, per_head=1):
        """As the public converter does: the second half of each head of q and k is negated, and the factor of the logits is a
        key. per_head: copies of each factor of queries"""
        keys = {"block_count": (GGUF_U32, LAYERS), "context_length": (GGUF_U32, 256), "embedding_length": (GGUF_U32, HIDDEN),
                "feed_forward_length": (GGUF_U32, FFN), "attention.head_count": (GGUF_U32, HEADS),
                "attention.key_length": (GGUF_U32, HEAD), "attention.value_length": (GGUF_U32, HEAD),
                "rope.dimension_count": (GGUF_U32, HEAD), "rope.freq_base": (GGUF_F32, THETA),
                "attention.layer_norm_rms_epsilon": (GGUF_F32, EPS)}
        if scale:
            keys["logit_scale"] = (GGUF_F32, self.w.vector("lm_head_gain.w_g")[0])
        stored = tiny.Weights(0)
        for name, (gguf, shape, values) in self.w.tensors.items():
            if "attn_query" in name or "attn_key" in name:
                values = [v if i // HIDDEN % HEAD < HEAD // 2 else -v for i, v in enumerate(values)]
            elif "head_gain" in name:
                shape, values = [HEADS, per_head], [v for v in values for _ in range(per_head)]
            if gguf:
                stored.tensors[name] = (gguf, shape, values)
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, "talkie")] + [(f"talkie.{k}", *v) for k, v in keys.items()],
                             tiny.gguf_tensors(stored))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        model, gguf = Talkie(), f"{folder}/model.gguf"
        model.write(folder)
        model.write_golden(folder)
        model.write_gguf(gguf)
        for arguments in [[folder], ["--gguf", gguf, folder]]:
            for threads in "13":
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", threads, *arguments])
        for options, word in (({"scale": False}, "logit_scale"), ({"per_head": 2}, "attn_q_norm")):
            model.write_gguf(gguf, **options)
            failed |= not tiny.is_refused(["--gguf", gguf, folder], word)
        for without in "lm_head_gain.w_g", "lm_head", "model.blocks.1.embed_skip.a_g", "model.blocks.2.attn.head_gain.head_g":
            model.write(folder, without)
            failed |= not tiny.is_refused([folder], without)
        for key, value, word in (("num_key_value_heads", 2, "attn_key"), ("head_dim", 6, "attn_"), ("hidden_act", "x", "activation x")):
            model.write(folder, **{key: value})
            failed |= not tiny.is_refused([folder], word)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
