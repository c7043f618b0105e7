#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Families with multi-head latent attention, some with a head of multi-token prediction, as tiny random models.

As tiny_families.py: a folder and a GGUF file of each model, whose head is in both, against logits of the model and
of the head in double precision.

usage: tiny_latent.py QUIRE_EVAL
"""
import math
import sys

import tiny_models as tiny
from tiny_decoder import EXPERT_FFN, EXPERTS, FFN, GROUPS, HEADS, HIDDEN, TOP_GROUPS, TOP_K, Model, check, relu2
from tiny_models import GGUF_BOOL, GGUF_F32, GGUF_U32

Q_RANK, KV_RANK, NOPE, ROPE, V_DIM = 24, 16, 12, 8, 10


class Latent(Model):
    """Queries, and keys and values, pass a vector of low rank; one rotated part of the keys for all heads."""

    def fill_attention(self, hf, blk):
        w, at = self.w, f"{hf}self_attn."
        for name, gguf, rows, cols in (
                ("q_a_proj", "attn_q_a", Q_RANK, HIDDEN), ("q_b_proj", "attn_q_b", HEADS * (NOPE + ROPE), Q_RANK),
                ("kv_a_proj_with_mqa", "attn_kv_a_mqa", KV_RANK + ROPE, HIDDEN),
                ("kv_b_proj", "attn_kv_b", HEADS * (NOPE + V_DIM), KV_RANK), ("o_proj", "attn_output", HIDDEN, HEADS * V_DIM)):
            w.add(f"{at}{name}.weight", f"{blk}{gguf}.weight", [rows, cols])
        for name, gguf, rows in ("q_a_layernorm", "attn_q_a_norm", Q_RANK), ("kv_a_layernorm", "attn_kv_a_norm", KV_RANK):
            self.add_norm(f"{at}{name}", f"{blk}{gguf}", rows)

    def queries(self, at, x):
        return self.project(at, "q_b", self.normed(self.project(at, "q_a", x), f"{at}q_a_layernorm"))

    def parts(self, hf, x, position):
        """Queries, keys and values of one token, by head."""
        at = f"{hf}self_attn."
        q = self.queries(at, x)
        both = tiny.matvec(self.w.matrix(f"{at}kv_a_proj_with_mqa.weight"), x)
        kv = self.project(at, "kv_b", self.normed(both[:KV_RANK], f"{at}kv_a_layernorm"))
        turned, queries, keys, values = self.rotate(both[KV_RANK:], position), [], [], []
        for h in range(HEADS):
            of_head = q[h * (NOPE + ROPE):(h + 1) * (NOPE + ROPE)]
            queries.append(of_head[:NOPE] + self.rotate(of_head[NOPE:], position))
            first = h * (NOPE + V_DIM)
            keys.append(kv[first:first + NOPE] + turned)
            values.append(kv[first + NOPE:first + NOPE + V_DIM])
        return queries, keys, values

    def attention(self, layer, xs):
        hf, out = f"model.layers.{layer}.", []
        tokens = [self.parts(hf, x, position) for position, x in enumerate(xs)]
        for i, (queries, _, _) in enumerate(tokens):
            row = []
            for h, q in enumerate(queries):
                scores = [sum(a * b for a, b in zip(q, keys[h])) / math.sqrt(NOPE + ROPE) for _, keys, _ in tokens[:i + 1]]
                p = [math.exp(s - max(scores)) for s in scores]
                row += [sum(a * values[h][d] for a, (_, _, values) in zip(p, tokens)) / sum(p) for d in range(V_DIM)]
            out.append(self.project(f"{hf}self_attn.", "o", row))
        return out


class Plm(Latent):
    """Queries are projected directly; no gate."""

    def fill_attention(self, hf, blk):
        super().fill_attention(hf, blk)
        for name in "q_a_proj", "q_a_layernorm", "q_b_proj":
            del self.w.tensors[f"{hf}self_attn.{name}.weight"]
        self.w.add(f"{hf}self_attn.q_proj.weight", f"{blk}attn_q.weight", [HEADS * (NOPE + ROPE), HIDDEN])

    def add_mlp(self, hf, blk, suffix, ffn, expert=None):
        for part, shape in (("up", [FFN, HIDDEN]), ("down", [HIDDEN, FFN])):
            self.w.add(f"{hf}{part}_proj.weight", f"{blk}ffn_{part}.weight", shape)

    def queries(self, at, x):
        return self.project(at, "q", x)

    def mlp(self, hf, x):
        return self.project(hf, "down", [relu2(v) for v in self.project(hf, "up", x)])


CONFIG = {"q_lora_rank": Q_RANK, "kv_lora_rank": KV_RANK, "qk_nope_head_dim": NOPE, "qk_rope_head_dim": ROPE,
          "v_head_dim": V_DIM, "n_routed_experts": EXPERTS, "n_shared_experts": 1, "num_experts_per_tok": TOP_K,
          "moe_intermediate_size": EXPERT_FFN, "first_k_dense_replace": 1, "n_group": GROUPS, "topk_group": TOP_GROUPS,
          "norm_topk_prob": True, "routed_scaling_factor": 2.5, "num_nextn_predict_layers": 1,
          "num_key_value_heads": HEADS}
KEYS = [("attention.q_lora_rank", GGUF_U32, Q_RANK), ("attention.kv_lora_rank", GGUF_U32, KV_RANK),
        ("attention.key_length", GGUF_U32, NOPE + ROPE), ("attention.value_length", GGUF_U32, V_DIM),
        ("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
        ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN), ("expert_shared_count", GGUF_U32, 1),
        ("expert_group_count", GGUF_U32, GROUPS), ("expert_group_used_count", GGUF_U32, TOP_GROUPS),
        ("expert_weights_norm", GGUF_BOOL, True), ("expert_weights_scale", GGUF_F32, 2.5),
        ("expert_gating_func", GGUF_U32, 2), ("leading_dense_block_count", GGUF_U32, 1),
        ("nextn_predict_layers", GGUF_U32, 1)]
PLM_CONFIG = {"kv_lora_rank": KV_RANK, "qk_nope_head_dim": NOPE, "qk_rope_head_dim": ROPE, "v_head_dim": V_DIM,
              "q_lora_rank": None, "hidden_act": "relu2", "num_key_value_heads": HEADS, "head_dim": ROPE,
              "qk_head_dim": NOPE + ROPE, "attention_bias": False, "rope_interleave": True}
MODELS = [lambda: Plm("plm", rope_dim=ROPE, pairs=True, tied=True, gguf="plm", config=PLM_CONFIG, keys=KEYS[1:4])]
MODELS += [lambda name=name: Latent(name, rope_dim=ROPE, pairs=True, moe="sigmoid", mtp=True, gguf="deepseek2",
                                   config=CONFIG, keys=KEYS) for name in ("deepseek_v3", "glm4_moe_lite")]

if __name__ == "__main__":
    sys.exit(check(MODELS, sys.argv[1]))
