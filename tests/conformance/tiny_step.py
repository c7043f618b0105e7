#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Step 3.5: heads, RoPE and limits of activations by layer.

As tiny_models.py: writes a model as a Hugging Face folder, with the keys of the publisher and with those of
Transformers, and as a GGUF file, computes its logits in double precision, and checks them with quire-eval.

usage: tiny_step.py QUIRE_EVAL
"""
import math
import sys

import tiny_models as tiny
from tiny_decoder import ABSENT, EXPERT_FFN, EXPERTS, HEAD, HEADS, HIDDEN, KV_HEADS, TOP_K, Model, check
from tiny_models import GGUF_ARRAY, GGUF_BOOL, GGUF_F32, GGUF_U32

FULL, SLIDING = "full_attention", "sliding_attention"
TYPES = [FULL, SLIDING, SLIDING, FULL, SLIDING]
MTP_TYPES = [SLIDING] * 3  # of layers behind the last one: heads of multi-token prediction (tiny_heads.py)
WINDOW, WINDOW_HEADS, SCALE = 8, 6, 3.0
THETAS, ROTARY = {FULL: 5e6, SLIDING: 1e4}, {FULL: HEAD // 2, SLIDING: HEAD}
SCALING = {"rope_type": "llama3", "factor": 2.0, "original_max_position_embeddings": 16, "low_freq_factor": 1.0,
           "high_freq_factor": 4.0}
EXPERT_LIMITS, LIMITS = [0, 0, 0.3, None, 0.2], [0.25, 0, 0.2, 0, 0]
MOE_LAYERS = (1, 2, 4)


def by_type(values):
    return [values[t] for t in TYPES]


def divisor(frequency):
    """that of a frequency by Llama 3's rule"""
    length = 2 * math.pi / frequency
    turns = SCALING["original_max_position_embeddings"] / length
    low, high, factor = (SCALING[k] for k in ("low_freq_factor", "high_freq_factor", "factor"))
    if turns >= high:
        return 1.0
    if turns <= low:
        return factor
    smooth = (turns - low) / (high - low)
    return 1 / ((1 - smooth) / factor + smooth)


def divisors():
    n = ROTARY[FULL]
    return [divisor(THETAS[FULL] ** (-2 * i / n)) for i in range(n // 2)] + [1.0] * ((HEAD - n) // 2)


PUBLISHED = {
    "num_key_value_heads": ABSENT, "num_attention_groups": KV_HEADS, "head_dim": HEAD, "sliding_window": WINDOW,
    "num_nextn_predict_layers": len(MTP_TYPES), "layer_types": TYPES + MTP_TYPES, "rope_scaling": SCALING,
    "rope_theta": by_type(THETAS) + [1e4] * 3, "partial_rotary_factors": [r / HEAD for r in by_type(ROTARY)] + [1.0] * 3,
    "yarn_only_types": [FULL], "use_rope_layers": [], "use_head_wise_attn_gate": True, "att_impl_type": "GQA",
    "attention_other_setting": {"attention_type": SLIDING, "num_attention_heads": WINDOW_HEADS,
                                "num_attention_groups": KV_HEADS, "head_dim": HEAD, "true_head_dim": HEAD},
    "moe_layers_enum": ",".join(map(str, MOE_LAYERS)), "moe_num_experts": EXPERTS, "moe_top_k": TOP_K,
    "moe_intermediate_size": EXPERT_FFN, "share_expert_dim": EXPERT_FFN, "norm_expert_weight": True,
    "moe_router_activation": "sigmoid", "moe_router_scaling_factor": SCALE, "use_moe_router_bias": True,
    "need_fp32_gate": True, "use_moe": True, "moe_every_n_layer": 1, "moe_layer_offset": 0, "max_seq_len": 256,
    "use_qk_norm": True, "zero_centered": True, "sink": False,
    "swiglu_limits": EXPERT_LIMITS + [0] * 3, "swiglu_limits_shared": LIMITS + [0] * 3}

TRANSFORMERS = {
    "head_dim": HEAD, "sliding_window": WINDOW, "layer_types": TYPES, "num_sliding_attention_heads": WINDOW_HEADS,
    "num_attention_heads_per_layer": by_type({FULL: HEADS, SLIDING: WINDOW_HEADS}), "query_pre_attn_scalar": HEAD,
    "rope_theta": ABSENT, "rope_parameters": {
        FULL: {"rope_theta": THETAS[FULL], "partial_rotary_factor": 0.5, **SCALING},
        SLIDING: {"rope_type": "default", "rope_theta": THETAS[SLIDING], "partial_rotary_factor": 1.0}},
    "mlp_layer_types": ["sparse" if i in MOE_LAYERS else "dense" for i in range(len(TYPES))],
    "n_routed_experts": EXPERTS, "num_experts_per_tok": TOP_K, "moe_intermediate_size": EXPERT_FFN,
    "share_expert_dim": EXPERT_FFN, "moe_router_scaling_factor": SCALE, "attention_bias": False, "mlp_bias": False,
    "swiglu_limits": EXPERT_LIMITS, "swiglu_limits_shared": LIMITS}


def numbers(limits):
    return [float(v or 0) for v in limits]


class Step(Model):
    def __init__(self, config):
        all_types = TYPES + MTP_TYPES
        super().__init__(
            "step3p5", layers=len(TYPES), qk="head", moe="sigmoid", groups=(1, 1), outer="step3p7", config=config,
            windows=[i for i, t in enumerate(all_types) if t == SLIDING], folder=self.to_folder, gguf="step35",
            keys=[("block_count", GGUF_U32, len(all_types)), ("nextn_predict_layers", GGUF_U32, len(MTP_TYPES)),
                  ("attention.head_count", GGUF_ARRAY, [HEADS if t == FULL else WINDOW_HEADS for t in all_types]),
                  ("attention.head_count_kv", GGUF_ARRAY, [KV_HEADS] * len(all_types)),
                  ("attention.sliding_window", GGUF_U32, WINDOW),
                  ("attention.sliding_window_pattern", GGUF_ARRAY, [t == SLIDING for t in all_types]),
                  ("attention.key_length", GGUF_U32, HEAD), ("attention.value_length", GGUF_U32, HEAD),
                  ("rope.freq_base", GGUF_F32, THETAS[FULL]), ("rope.freq_base_swa", GGUF_F32, THETAS[SLIDING]),
                  ("rope.dimension_count", GGUF_U32, HEAD),
                  ("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
                  ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN),
                  ("expert_shared_feed_forward_length", GGUF_U32, EXPERT_FFN),
                  ("expert_weights_scale", GGUF_F32, SCALE), ("expert_weights_norm", GGUF_BOOL, True),
                  ("leading_dense_block_count", GGUF_U32, 1), ("moe_every_n_layers", GGUF_U32, 1),
                  ("swiglu_clamp_exp", GGUF_ARRAY, numbers(EXPERT_LIMITS + [0] * 3)),
                  ("swiglu_clamp_shexp", GGUF_ARRAY, numbers(LIMITS + [0] * 3))])

    # ---- Weights

    def fill(self):
        super().fill()
        self.w.tensors["rope_freqs"] = ("rope_freqs.weight", [HEAD // 2], divisors())
        for i in range(self.layers, self.layers + len(MTP_TYPES)):
            self.w.add(f"model.layers.{i}.eh_proj.weight", f"blk.{i}.nextn.eh_proj.weight", [HIDDEN, 2 * HIDDEN])

    def heads(self, layer):
        return WINDOW_HEADS if layer in self.windows else HEADS

    def fill_attention(self, hf, blk):
        width = self.heads(int(hf.split(".")[2])) * HEAD
        for part, gguf, rows, cols in (("q", "q", width, HIDDEN), ("k", "k", KV_HEADS * HEAD, HIDDEN),
                                       ("v", "v", KV_HEADS * HEAD, HIDDEN), ("o", "output", HIDDEN, width),
                                       ("g", "gate", width // HEAD, HIDDEN)):
            self.w.add(f"{hf}self_attn.{part}_proj.weight", f"{blk}attn_{gguf}.weight", [rows, cols])
        for part in "qk":
            self.w.add(f"{hf}self_attn.{part}_norm.weight", f"{blk}attn_{part}_norm.weight", [HEAD], 1, 0.5)

    def has_experts(self, layer):
        return layer in MOE_LAYERS

    def to_folder(self, tensors):
        """norms of 1 + w, experts as stacks, names of the publisher"""
        out, stacks = {}, {}
        for name, (shape, values) in tensors.items():
            name = name.replace("mlp.gate.e_score_correction_bias", "moe.router_bias").replace("mlp.gate.", "moe.gate.")
            name = name.replace("mlp.shared_experts.", "share_expert.")
            if "eh_proj" in name and "num_nextn_predict_layers" not in self.config:
                continue  # Transformers leaves the further layers out
            if name.endswith("norm.weight"):
                values = [v - 1 for v in values]
            if ".mlp.experts." in name:
                hf, rest = name.split(".mlp.experts.")
                stacks.setdefault(f"{hf}.moe.{rest.split('.', 1)[1]}", (shape, []))[1].extend(values)
            elif name != "rope_freqs":
                out[name] = (shape, values)
        return {**out, **{name: ([EXPERTS] + shape, values) for name, (shape, values) in stacks.items()}}

    # ---- The forward pass

    def rotate(self, x, position, layer=None):
        kind = (TYPES + MTP_TYPES)[layer]
        out, n = list(x), ROTARY[kind]
        by = divisors() if kind == FULL else [1.0] * n
        for i in range(n // 2):
            angle = position * THETAS[kind] ** (-2 * i / n) / by[i]
            a, b = x[i], x[i + n // 2]
            out[i], out[i + n // 2] = a * math.cos(angle) - b * math.sin(angle), b * math.cos(angle) + a * math.sin(angle)
        return out

    def attention(self, layer, xs):
        at, rows, outs = f"model.layers.{layer}.self_attn.", {"q": [], "k": [], "v": []}, []
        for position, x in enumerate(xs):
            for part in "qkv":
                heads = tiny.heads_of(self.project(at, part, x))
                rows[part].append(heads if part == "v" else [
                    self.rotate(tiny.rms_norm(v, self.w.vector(f"{at}{part}_norm.weight")), position, layer) for v in heads])
        for i, x in enumerate(xs):
            y = tiny.attend(rows["q"][i], rows["k"], rows["v"], i, WINDOW if layer in self.windows else 0)
            gates = [1 / (1 + math.exp(-g)) for g in self.project(at, "g", x)]
            outs.append(self.project(at, "o", [v * gates[d // HEAD] for d, v in enumerate(y)]))
        return outs

    def mlp(self, hf, x):
        limits = (EXPERT_LIMITS if ".experts." in hf else LIMITS) + [0] * len(MTP_TYPES)
        limit = limits[int(hf.split(".")[2])] or math.inf
        gate, up = self.project(hf, "gate", x), self.project(hf, "up", x)
        return self.project(hf, "down", [min(tiny.silu(g), limit) * max(-limit, min(u, limit)) for g, u in zip(gate, up)])

    def experts(self, hf, x, early):
        scores = [1 / (1 + math.exp(-s)) for s in tiny.matvec(self.w.matrix(f"{hf}mlp.gate.weight"), x)]
        chosen = self.grouped(hf, scores)
        total = sum(scores[e] for e in chosen)
        outs = [[SCALE * scores[e] / total * y for y in self.mlp(f"{hf}mlp.experts.{e}.", x)] for e in chosen]
        return tiny.add(self.mlp(f"{hf}mlp.shared_experts.", x), *outs)


if __name__ == "__main__":
    sys.exit(check([lambda: Step(PUBLISHED), lambda: Step(TRANSFORMERS)], sys.argv[1]))
