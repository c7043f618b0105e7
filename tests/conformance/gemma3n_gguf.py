#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gemma 3n as a GGUF file: no converter writes one of the reference model, whose sizes differ from the published ones.

Writes the folder of the reference data as a GGUF file, with the keys and tensor names of published files, and checks
its logits with quire-eval.

usage: gemma3n_gguf.py QUIRE_EVAL FOLDER [OPTION...]      exit 77 (skipped) without the folder
"""
import re
import statistics
import sys

from golden_gguf import ARRAY, BOOL, F32, U32, check, layer_name, sizes, stacked

GLOBAL = {
    "embed_tokens": "token_embd", "norm": "output_norm", "embed_tokens_per_layer": "per_layer_token_embd",
    "per_layer_model_projection": "per_layer_model_proj", "per_layer_projection_norm": "per_layer_proj_norm",
}
STACKS = {"altup_projections": "altup_proj", "altup_unembed_projections": "altup_unembd_proj"}
LAYER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm",
    "laurel.linear_left": "laurel_l", "laurel.linear_right": "laurel_r",
    "laurel.post_laurel_norm": "laurel_post_norm", "altup.modality_router": "altup_router",
    "altup.router_norm": "altup_router_norm", "altup.prediction_coefs": "altup_predict_coef",
    "altup.correction_coefs": "altup_correct_coef", "altup.correct_output_scale": "altup_correct_scale",
}


def gguf_tensors(tensors, _):
    out, stacks = {}, {}
    for name, (shape, data) in tensors.items():
        plain, layer = name.removeprefix("model.").removesuffix(".weight"), layer_name(name.removesuffix(".weight"))
        stack = re.match(r"(\w+)\.(\d+)$", plain)
        if layer:
            out[f"blk.{layer[0]}.{LAYER[layer[1]]}.weight"] = (shape, data)
        elif stack:
            stacks.setdefault(STACKS[stack[1]], {})[int(stack[2])] = (shape, data)
        else:
            out[GLOBAL[plain] + ".weight"] = (shape, data)
    for name, parts in stacks.items():
        out[name + ".weight"] = stacked(parts)
    return out


def metadata(c):
    normal = statistics.NormalDist()
    cutoffs = [normal.inv_cdf(p) if p > 0 else float("-inf") for p in c["activation_sparsity_pattern"]]
    rope = c["rope_parameters"]
    return [*sizes(c), ("vocab_size", U32, c["vocab_size"]),
            ("feed_forward_length", ARRAY, (U32, c["intermediate_size"])),
            ("attention.head_count_kv", U32, c["num_key_value_heads"]),
            ("attention.key_length", U32, c["head_dim"]), ("attention.value_length", U32, c["head_dim"]),
            ("attention.sliding_window", U32, c["sliding_window"]),
            ("attention.sliding_window_pattern", ARRAY, (BOOL, [t[0] == "s" for t in c["layer_types"]])),
            ("attention.shared_kv_layers", F32, c["num_kv_shared_layers"]),
            ("rope.freq_base", F32, rope["full_attention"]["rope_theta"]),
            ("final_logit_softcapping", F32, c["final_logit_softcapping"]),
            ("embedding_length_per_layer_input", U32, c["hidden_size_per_layer_input"]),
            ("altup.num_inputs", U32, c["altup_num_inputs"]), ("altup.active_idx", U32, c["altup_active_idx"]),
            ("activation_sparsity_scale", ARRAY, (F32, cutoffs))]


if __name__ == "__main__":
    sys.exit(check("gemma3n", metadata, gguf_tensors))
