#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nomic Embed 2 as tiny random models, with a mixture of experts in every other layer and without.

Writes each model as a Hugging Face folder and as a GGUF file, computes the hidden states of single sequences and
of a batch in double precision with the standard library alone, and checks both with quire-eval. GGUF files have no
bias of the experts' sum, so theirs is of a model without it. The one without experts is that of Jina Embeddings 3.

usage: tiny_nomic_moe.py QUIRE_EVAL
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_encoder import EPS, FFN, HEAD, HEADS, HIDDEN, LAYERS, VOCAB, Encoder, gelu
from tiny_models import GGUF_BOOL, GGUF_F32, GGUF_U32, add, matvec, pack_f32, plain_frequencies, rotate

EXPERTS, TOP_K = 5, 2


class Nomic(Encoder):
    def __init__(self, name, every, renormalize=False, sum_bias=True):
        super().__init__(len(name))
        self.name, self.every, self.renormalize, self.sum_bias = name, every, renormalize, sum_bias
        self.w.add("embeddings.word_embeddings.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        self.w.add("embeddings.token_type_embeddings.weight", "token_types.weight", [1, HIDDEN], 0, 1)
        self.add_norm("emb_ln", "token_embd_norm")
        for i in range(LAYERS):
            self.add_layer(i, f"encoder.layers.{i}.", f"blk.{i}.")

    def has_experts(self, layer):
        return self.every > 1 and layer % self.every == 1

    def add_layer(self, i, hf, blk):
        self.add_matrix(f"{hf}attn.Wqkv", f"{blk}attn_qkv", 3 * HIDDEN, HIDDEN, True)
        self.add_matrix(f"{hf}attn.out_proj", f"{blk}attn_output", HIDDEN, HIDDEN, True)
        self.add_norm(f"{hf}norm1", f"{blk}attn_output_norm")
        if self.has_experts(i):
            self.w.add(f"{hf}mlp.router.layer.weight", f"{blk}ffn_gate_inp.weight", [EXPERTS, HIDDEN])
            for e in range(EXPERTS):
                self.w.add(f"{hf}up.{e}", f"{e}", [FFN, HIDDEN])
                self.w.add(f"{hf}down.{e}", f"{e}", [HIDDEN, FFN])
            self.w.add(f"{hf}mlp.experts.bias", "", [HIDDEN], 0, 0.5 if self.sum_bias else 0)
        else:
            self.add_matrix(f"{hf}mlp.fc1", f"{blk}ffn_up", FFN, HIDDEN, True)
            self.add_matrix(f"{hf}mlp.fc2", f"{blk}ffn_down", HIDDEN, FFN, True)
        self.add_norm(f"{hf}norm2", f"{blk}layer_output_norm")

    # ---- The forward pass

    def attention(self, hf, xs):
        frequencies, rows = plain_frequencies(HEAD), []
        for i, x in enumerate(xs):
            y = self.project(f"{hf}attn.Wqkv", x)
            heads = [[y[at + h:at + h + HEAD] for h in range(0, HIDDEN, HEAD)] for at in (0, HIDDEN, 2 * HIDDEN)]
            rows.append([[rotate(v, i, frequencies) for v in heads[0]], [rotate(v, i, frequencies) for v in heads[1]],
                         heads[2]])
        out = []
        for queries, _, _ in rows:
            row = []
            for h in range(HEADS):
                scores = [sum(a * b for a, b in zip(queries[h], keys[h])) / math.sqrt(HEAD) for _, keys, _ in rows]
                p = [math.exp(s - max(scores)) for s in scores]
                row += [sum(a * values[h][d] for a, (_, _, values) in zip(p, rows)) / sum(p) for d in range(HEAD)]
            out.append(self.project(f"{hf}attn.out_proj", row))
        return out

    def experts(self, hf, x):
        logits = matvec(self.w.matrix(f"{hf}mlp.router.layer.weight"), x)
        p = [math.exp(v - max(logits)) for v in logits]
        best = sorted(range(EXPERTS), key=lambda e: -p[e])[:TOP_K]
        total = sum(p[e] for e in best) if self.renormalize else sum(p)
        out = self.w.vector(f"{hf}mlp.experts.bias")
        for e in best:
            inner = [gelu(v) for v in matvec(self.w.matrix(f"{hf}up.{e}"), x)]
            out = add(out, [p[e] / total * v for v in matvec(self.w.matrix(f"{hf}down.{e}"), inner)])
        return out

    def states(self, ids):
        words, kind = (self.w.matrix(f"embeddings.{name}_embeddings.weight") for name in ("word", "token_type"))
        xs = [self.norm(add(words[i], kind[0]), "emb_ln") for i in ids]
        for i in range(LAYERS):
            hf = f"encoder.layers.{i}."
            xs = [self.norm(add(x, a), f"{hf}norm1") for x, a in zip(xs, self.attention(hf, xs))]
            inner = [self.experts(hf, x) if self.has_experts(i) else
                     self.project(f"{hf}mlp.fc2", [gelu(v) for v in self.project(f"{hf}mlp.fc1", x)]) for x in xs]
            xs = [self.norm(add(x, y), f"{hf}norm2") for x, y in zip(xs, inner)]
        return xs

    # ---- Files

    def stacked(self, gguf):
        """name -> (GGUF name, shape, values) with the experts of a layer in one tensor: in folders of two dimensions
        with the second matrix transposed, in GGUF files of three."""
        plain = {name: t for name, t in self.w.tensors.items() if not gguf or t[0]}
        for i in filter(self.has_experts, range(LAYERS)):
            hf, blk = f"encoder.layers.{i}.", f"blk.{i}."
            ups, downs = ([plain.pop(f"{hf}{part}.{e}")[2] for e in range(EXPERTS)] for part in ("up", "down"))
            columns = downs if gguf else [[m[r * FFN + c] for c in range(FFN) for r in range(HIDDEN)] for m in downs]
            shapes = ([EXPERTS, FFN, HIDDEN], [EXPERTS, HIDDEN, FFN]) if gguf else 2 * ([EXPERTS * FFN, HIDDEN],)
            plain[f"{hf}mlp.experts.mlp.w1"] = (f"{blk}ffn_up_exps.weight", shapes[0], sum(ups, []))
            plain[f"{hf}mlp.experts.mlp.w2"] = (f"{blk}ffn_down_exps.weight", shapes[1], sum(columns, []))
        return plain

    def config(self):
        moe = {"num_experts": EXPERTS, "moe_top_k": TOP_K, "moe_every_n_layers": self.every, "ffn_div": 1,
               "moe_normalize_expert_weights": self.renormalize, "expert_choice_router": False, "num_shared_experts": 0,
               "moe_impl": "megablocks", "moe_resid_pdrop": 0.0, "router_aux_loss_coef": 0.1}
        dense = {"num_experts": 0, "moe_top_k": 1, "moe_every_n_layers": 0}
        return {"model_type": "nomic_bert", "activation_function": "gelu", "causal": False, "vocab_size": VOCAB,
                "n_embd": HIDDEN, "n_inner": FFN, "n_head": HEADS, "n_layer": LAYERS, "n_positions": 128,
                "type_vocab_size": 1, "layer_norm_epsilon": EPS, "qkv_proj_bias": True, "mlp_fc1_bias": True,
                "mlp_fc2_bias": True, "prenorm": False, "rotary_emb_base": 10000, "rotary_emb_fraction": 1.0,
                "rotary_emb_interleaved": False, **(moe if self.every else dense)}

    def write(self, folder, **changes):
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**self.config(), **changes}, f)
        tiny.write_safetensors(f"{folder}/model.safetensors", {
            name: ("F32", shape, pack_f32(values)) for name, (_, shape, values) in self.stacked(False).items()})

    def write_gguf(self, path, every):
        arch = "nomic-bert-moe" if every else "jina-bert-v3"
        keys = [("block_count", GGUF_U32, LAYERS), ("context_length", GGUF_U32, 128),
                ("embedding_length", GGUF_U32, HIDDEN), ("feed_forward_length", GGUF_U32, FFN),
                ("attention.head_count", GGUF_U32, HEADS), ("attention.layer_norm_epsilon", GGUF_F32, EPS),
                ("attention.causal", GGUF_BOOL, False), ("pooling_type", GGUF_U32, 1),
                ("rope.freq_base", GGUF_F32, 10000.0)]
        if every:
            keys += [("moe_every_n_layers", GGUF_U32, every), ("expert_count", GGUF_U32, EXPERTS),
                     ("expert_used_count", GGUF_U32, TOP_K)]
        keys = [(f"{arch}.{k}", t, v) for k, t, v in keys]
        weights = tiny.Weights(0)
        weights.tensors = self.stacked(True)
        tiny.write_gguf_file(path, [("general.architecture", tiny.GGUF_STR, arch)] + keys,
                             tiny.gguf_tensors(weights))


def golden(*arguments):
    return subprocess.call([sys.argv[1], "golden", "--threads", "2", *arguments])


def check_refusals(model, folder):
    ok = True
    for key, value in (("moe_every_n_layers", 1), ("expert_choice_router", True), ("num_shared_experts", 1),
                       ("ffn_div", 2), ("moe_top_k", EXPERTS + 1), ("qkv_proj_bias", False)):
        model.write(folder, **{key: value})
        ok &= tiny.is_refused([folder], "number of experts used" if key == "moe_top_k" else key)
    model.write_gguf(f"{folder}/every.gguf", 1)
    ok &= tiny.is_refused(["--gguf", f"{folder}/every.gguf", folder], "moe_every_n_layers")
    return ok


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in (Nomic("experts", 2), Nomic("renormalized", 2, renormalize=True), Nomic("dense", 0),
                      Nomic("no_bias", 2, sum_bias=False)):
            folder = f"{scratch}/{model.name}"
            model.write(folder)
            tiny.write_safetensors(f"{folder}/golden.safetensors", model.golden())
            failed |= golden(folder)
            if model.every and model.sum_bias:
                continue
            model.write_gguf(f"{folder}/model.gguf", model.every)
            failed |= golden("--gguf", f"{folder}/model.gguf", folder)
            if model.every:
                failed |= not check_refusals(model, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
