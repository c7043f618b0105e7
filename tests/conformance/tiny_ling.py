#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ling 3 as tiny random models: KDA with bounded decays, MLA with gates, and a head of multi-token prediction.

As tiny_models.py: writes each model as a Hugging Face folder and as a GGUF file, computes its logits in double precision
with the standard library alone, and checks both with quire-eval, as well as what is refused. The tests of steps and
schedules, which read reference models, then read the last one.

usage: tiny_ling.py QUIRE_EVAL TEST_RECURRENT_FORWARD TEST_ENGINE_FOLDERS
"""
import math
import operator
import os
import subprocess
import sys
import tempfile

import tiny_decoder
import tiny_models as tiny
from tiny_decoder import EXPERT_FFN, EXPERTS, GROUPS, HEADS, HIDDEN, TOP_GROUPS, TOP_K
from tiny_latent import KV_RANK, NOPE, Q_RANK, ROPE, V_DIM, Latent
from tiny_models import GGUF_ARRAY, GGUF_BOOL, GGUF_F32, GGUF_U32, silu

KEY, TAPS, BOUND = 8, 4, -5.0
tiny_decoder.VOCAB = 320  # that of the reference tokenizer
WIDTH = HEADS * KEY  # of the queries, keys and values of KDA
PARTS = [("q_proj", "attn_q", WIDTH, HIDDEN), ("k_proj", "attn_k", WIDTH, HIDDEN), ("v_proj", "attn_v", WIDTH, HIDDEN),
         ("f_proj", "ssm_f_a", WIDTH, HIDDEN), ("g_proj", "ssm_g_a", WIDTH, HIDDEN), ("b_proj", "ssm_beta", HEADS, HIDDEN),
         ("q_conv1d", "ssm_conv1d_q", WIDTH, TAPS), ("k_conv1d", "ssm_conv1d_k", WIDTH, TAPS),
         ("v_conv1d", "ssm_conv1d_v", WIDTH, TAPS), ("o_proj", "attn_output", HIDDEN, WIDTH)]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def unit(x):
    return [v / math.sqrt(sum(u * u for u in x) + 1e-6) for v in x]


class Ling(Latent):
    """group: layers of a group; element_gates: those of MLA; low_rank: queries of MLA; bounded: decays; limits: of the
    activations of experts and shared experts, by layer"""

    def __init__(self, group, element_gates=False, low_rank=True, bounded=True, limits=((), ()), **options):
        self.group, self.element_gates, self.low_rank, self.bounded, self.limits = group, element_gates, low_rank, bounded, limits
        super().__init__("bailing_hybrid", rope_dim=ROPE, pairs=True, moe="sigmoid", gguf="bailingmoe3" if bounded else None,
                         mtp_gguf="layer_output_norm", **options)
        self.config, self.keys, self.folder = self.make_config(), self.make_keys(), self.to_folder

    def recurs(self, layer):
        return (layer + 1) % self.group != 0 and layer < self.layers // self.group * self.group

    # ---- Weights

    def fill_attention(self, hf, blk):
        w, at = self.w, f"{hf}self_attn."
        if not self.recurs(int(hf.split(".")[2])):
            super().fill_attention(hf, blk)
            w.add(f"{at}g_proj.weight", f"{blk}attn_gate.weight", [HEADS * (V_DIM if self.element_gates else 1), HIDDEN])
            if not self.low_rank:
                for name in "q_a_proj", "q_a_layernorm", "q_b_proj":
                    del w.tensors[f"{at}{name}.weight"]
                w.add(f"{at}q_proj.weight", f"{blk}attn_q.weight", [HEADS * (NOPE + ROPE), HIDDEN])
            return
        for name, gguf, rows, cols in PARTS:
            w.add(f"{at}{name}.weight", f"{blk}{gguf}.weight", [rows, cols], 0, 0.5 if "conv" in name else None)
        w.add(f"{at}A_log", f"{blk}ssm_a", [HEADS], 0, 0.7)
        w.add(f"{at}dt_bias", f"{blk}ssm_dt.bias", [WIDTH], 0, 0.5)
        w.add(f"{at}o_norm.weight", f"{blk}ssm_norm.weight", [KEY], 1, 0.3)

    # ---- The forward pass

    def queries(self, at, x):
        return super().queries(at, x) if self.low_rank else self.project(at, "q", x)

    def project(self, hf, part, x):
        """The outputs of MLA pass the gates on their way to the output projection."""
        if part == "o" and f"{hf}g_proj.weight" in self.w.tensors and f"{hf}A_log" not in self.w.tensors:
            gates = self.gates[hf].pop(0)
            x = [v * gates[d if self.element_gates else d // V_DIM] for d, v in enumerate(x)]
        return super().project(hf, part, x)

    def attention(self, layer, xs):
        at = f"model.layers.{layer}.self_attn."
        if self.recurs(layer):
            return self.kda(at, xs)
        self.gates = {at: [[sigmoid(g) for g in self.project(at, "g", x)] for x in xs]}
        return super().attention(layer, xs)

    def convolved(self, at, part, xs):
        rows, taps = [[0.0] * WIDTH] * (TAPS - 1) + [self.project(at, part, x) for x in xs], self.w.matrix(f"{at}{part}_conv1d.weight")
        return [[silu(sum(w * rows[t + j][c] for j, w in enumerate(taps[c]))) for c in range(WIDTH)] for t in range(len(xs))]

    def decays(self, at, x):
        rates = [math.exp(a) for a in self.w.vector(f"{at}A_log")]
        steps = tiny.add(self.project(at, "f", x), self.w.vector(f"{at}dt_bias"))
        if self.bounded:
            return [math.exp(BOUND * sigmoid(rates[c // KEY] * s)) for c, s in enumerate(steps)]
        return [math.exp(-rates[c // KEY] * math.log1p(math.exp(s))) for c, s in enumerate(steps)]

    def kda(self, at, xs):
        rows = {p: self.convolved(at, p, xs) for p in "qkv"}
        states, out = [[[0.0] * KEY for _ in range(KEY)] for _ in range(HEADS)], []  # [head][value][key]
        for t, x in enumerate(xs):
            decays, betas, gates, y = self.decays(at, x), self.project(at, "b", x), self.project(at, "g", x), []
            for h, state in enumerate(states):
                part = slice(h * KEY, (h + 1) * KEY)
                q, k, v = (rows[p][t][part] for p in "qkv")
                q, k, o = unit(q), unit(k), []
                for j, row in enumerate(state):
                    row[:] = map(operator.mul, row, decays[part])
                    change = sigmoid(betas[h]) * (v[j] - sum(map(operator.mul, row, k)))
                    row[:] = [s + change * u for s, u in zip(row, k)]
                    o.append(sum(map(operator.mul, row, q)) / math.sqrt(KEY))
                y += map(operator.mul, tiny.rms_norm(o, self.w.vector(f"{at}o_norm.weight")), map(sigmoid, gates[part]))
            out.append(self.project(at, "o", y))
        return out

    def mlp(self, hf, x):
        """No limits in dense layers, nor in the head."""
        layer, limits = int(hf.split(".")[2]), self.limits[0] if ".experts." in hf else self.limits[1]
        limit = limits[layer] or math.inf if limits and layer < self.layers else math.inf
        gate, up = self.project(hf, "gate", x), self.project(hf, "up", x)
        return self.project(hf, "down", [min(silu(g), limit) * max(-limit, min(u, limit)) for g, u in zip(gate, up)])

    # ---- Files

    def make_config(self):
        own = {"no_kda_lora": True, "kda_safe_gate": self.bounded, "kda_lower_bound": BOUND if self.bounded else None}
        limits = {"expert_swiglu_limit_list": list(self.limits[0]) or None, "share_expert_swiglu_limit_list": list(self.limits[1]) or None}
        return {"architectures": ["BailingMoeV3ForCausalLM"], "layer_group_size": self.group, "short_conv_kernel_size": TAPS,
                "head_dim": KEY, "gated_attention_proj_granularity_type": "element_wise" if self.element_gates else "head_wise",
                "q_lora_rank": Q_RANK if self.low_rank else None, "kv_lora_rank": KV_RANK, "qk_nope_head_dim": NOPE,
                "qk_rope_head_dim": ROPE, "qk_head_dim": NOPE + ROPE, "v_head_dim": V_DIM, "rope_interleave": True,
                "partial_rotary_factor": 0.5, "rotary_dim": ROPE, "num_key_value_heads": HEADS, "num_experts": EXPERTS,
                "num_experts_per_tok": TOP_K, "num_shared_experts": 1, "moe_intermediate_size": EXPERT_FFN,
                "moe_shared_expert_intermediate_size": EXPERT_FFN, "first_k_dense_replace": 1, "n_group": GROUPS,
                "topk_group": TOP_GROUPS, "norm_topk_prob": True, "routed_scaling_factor": 2.5, "score_function": "sigmoid",
                "scoring_func": "sigmoid", "topk_method": "noaux_tc", "moe_router_enable_expert_bias": True, "router_dtype": "fp32",
                "num_nextn_predict_layers": int(self.mtp), "mtp_use_kda": False, "use_mla_nope": False, "use_kda_lora": False,
                "use_qk_norm": True, "group_norm_size": 1, "linear_silu": True, "num_kv_heads_for_linear_attn": 0,
                "max_window_layers": 20, "scale_router_input": False, "up_proj_norm": False, "value_norm": False,
                "use_nGPT": False, "use_bias": False, "use_qkv_bias": False, "embedding_dropout": 0.0, "output_dropout": 0.0,
                "mtp_loss_scaling_factor": 0, "seq_aux": True, **own, **limits}

    def make_keys(self):
        layers = range(self.layers + self.mtp)
        limits = [("swiglu_clamp_" + name, GGUF_ARRAY, [float(v or 0) for v in values] + [0.0] * self.mtp)
                  for name, values in zip(("exp", "shexp"), self.limits) if values]
        rank = [("attention.q_lora_rank", GGUF_U32, Q_RANK)] if self.low_rank else []
        return rank + limits + [
            ("attention.head_count_kv", GGUF_ARRAY, [0 if self.recurs(i) else 1 for i in layers]),
            ("attention.kv_lora_rank", GGUF_U32, KV_RANK), ("attention.key_length", GGUF_U32, KV_RANK + ROPE),
            ("attention.key_length_mla", GGUF_U32, NOPE + ROPE), ("attention.value_length_mla", GGUF_U32, V_DIM),
            ("ssm.conv_kernel", GGUF_U32, TAPS), ("kda.head_dim", GGUF_U32, KEY), ("kda.safe_gate", GGUF_BOOL, True),
            ("kda.gate_lower_bound", GGUF_F32, BOUND), ("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
            ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN), ("expert_shared_feed_forward_length", GGUF_U32, EXPERT_FFN),
            ("expert_shared_count", GGUF_U32, 1), ("expert_group_count", GGUF_U32, GROUPS),
            ("expert_group_used_count", GGUF_U32, TOP_GROUPS), ("expert_weights_norm", GGUF_BOOL, True),
            ("expert_weights_scale", GGUF_F32, 2.5), ("expert_gating_func", GGUF_U32, 2), ("leading_dense_block_count", GGUF_U32, 1),
            ("vocab_size", GGUF_U32, tiny_decoder.VOCAB), ("nextn_predict_layers", GGUF_U32, int(self.mtp))]

    def to_folder(self, tensors):
        out = {}
        for name, (shape, values) in tensors.items():
            for old, new in (("embed_tokens", "word_embeddings"), ("e_score_correction_bias", "expert_bias"),
                             ("shared_head.norm", "final_layernorm")):
                name = name.replace(old, new)
            if ".self_attn." in name:
                mla = f"{name.split('self_attn.')[0]}self_attn.A_log" not in tensors
                name = name.replace("self_attn.o_proj", "attention.dense" if mla else "attention.o_proj").replace("self_attn.", "attention.")
            out[name] = ([shape[0], 1, TAPS] if "conv1d" in name else shape, values)
        return out

    def write_gguf(self, path):
        """As the public converter does: exp(A_log), and the two parts of kv_b with W_UK transposed."""
        kept, stored = self.w.tensors, {}
        for name, (gguf, shape, values) in kept.items():
            if name.endswith("A_log"):
                shape, values = [HEADS, 1], [math.exp(v) for v in values]
            if "conv1d" in name:
                shape = [1, WIDTH, 1, TAPS]
            if "kv_b_proj" not in name:
                stored[name] = (gguf, shape, values)
                continue
            rows, k, v = self.w.matrix(name), [], []
            for h in range(HEADS):
                first = h * (NOPE + V_DIM)
                k += [row[c] for c in range(KV_RANK) for row in rows[first:first + NOPE]]
                v += [x for row in rows[first + NOPE:first + NOPE + V_DIM] for x in row]
            stored[f"{name}.k"] = (gguf.replace("kv_b", "k_b"), [HEADS, KV_RANK, NOPE], k)
            stored[f"{name}.v"] = (gguf.replace("kv_b", "v_b"), [HEADS, V_DIM, KV_RANK], v)
        self.w.tensors = stored
        super().write_gguf(path)
        self.w.tensors = kept


LIMITS = ([0, 0.3, None, 0.2, 0.4], [0, 0.25, 0.2, 0, 0.3])
MODELS = {"tail": lambda: Ling(2, element_gates=True, low_rank=False, layers=5, limits=LIMITS),
          "plain": lambda: Ling(4, bounded=False, outer="bailing_moe_v3_vl"), "ling": lambda: Ling(4, mtp=True)}


def check_refusals(folder):
    passed = tiny.keys_are_refused(folder, (
        ("no_kda_lora", False, "no_kda_lora"), ("kda_safe_gate", False, "kda_safe_gate"), ("kda_lower_bound", 1, "log decays"),
        ("kda_lower_bound", "low", "kda_lower_bound"), ("layer_group_size", 0, "layer_group_size"),
        ("short_conv_kernel_size", None, "short_conv_kernel_size"), ("head_dim", 9, "q_proj"), ("mtp_use_kda", True, "mtp_use_kda"),
        ("use_mla_nope", True, "use_mla_nope"), ("gated_attention_proj_granularity_type", None, "gated_attention_proj_granularity_type"),
        ("gated_attention_proj_granularity_type", "row_wise", "row_wise"), ("expert_swiglu_limit_list", [1], "expert_swiglu_limit_list"),
        ("group_norm_size", 2, "group_norm_size"), ("linear_attention", "lightning", "linear_attention"),
        ("moe_router_enable_expert_bias", False, "moe_router_enable_expert_bias")))
    for key, value, word in (("kda.safe_gate", False, "kda.safe_gate"), ("kda.gate_lower_bound", 5.0, "log decays"),
                             ("kda.gate_lower_bound", math.nan, "log decays"), ("ssm.conv_kernel", 0, "taps"),
                             ("swiglu_clamp_exp", [0.5], "swiglu_clamp_exp")):
        model = MODELS["ling"]()
        types = {k: t for k, t, _ in model.keys}
        model.keys = [k for k in model.keys if k[0] != key] + [(key, types.get(key, GGUF_ARRAY), value)]
        model.write_gguf(f"{folder}/refused.gguf")
        passed &= tiny.is_refused(["--gguf", f"{folder}/refused.gguf", folder], word)
    return not passed


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.mkdir(f"{scratch}/goldens")
        for name, make in MODELS.items():
            model, folder = make(), f"{scratch}/goldens/{name}"
            model.write_folder(folder)
            runs = [[folder], ["--chunk", "5", folder], ["--expand-latent", "5", folder]]
            if name != "plain":  # whose experts change with the rounding
                runs.append(["--bf16-states", folder])
            if model.gguf:
                model.write_gguf(f"{folder}/model.gguf")
                runs.append(["--gguf", f"{folder}/model.gguf", folder])
            for arguments in runs:
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", *arguments])
        failed |= check_refusals(f"{scratch}/goldens/ling")
        failed |= tiny.run_unit_tests(scratch, "ling", sys.argv[2:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
