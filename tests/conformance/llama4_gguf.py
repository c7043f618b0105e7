#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Llama 4 as a GGUF file: converters have no keys for the small chunks and temperature of the reference model.

Writes the folder of the reference data as a GGUF file, with the keys and tensor names of published files and, since
its values are not the defaults, keys of the chunk size and the attention temperature. Checks its logits with quire-eval.
tiny_families.py has models with the defaults.

usage: llama4_gguf.py QUIRE_EVAL FOLDER [OPTION...]      exit 77 (skipped) without the folder
"""
import struct
import sys

from golden_gguf import F32, U32, check, layer_name, sizes

GLOBAL = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
         "feed_forward.gate_proj": "ffn_gate", "feed_forward.up_proj": "ffn_up", "feed_forward.down_proj": "ffn_down",
         "feed_forward.router": "ffn_gate_inp", "feed_forward.shared_expert.gate_proj": "ffn_gate_shexp",
         "feed_forward.shared_expert.up_proj": "ffn_up_shexp", "feed_forward.shared_expert.down_proj": "ffn_down_shexp"}


def transposed(shape, data, first, last):
    """Columns [first, last) of each matrix of a stack, as rows."""
    experts, rows, columns = shape
    values = struct.unpack(f"<{len(data) // 4}f", data)
    out = [values[(e * rows + r) * columns + c] for e in range(experts) for c in range(first, last) for r in range(rows)]
    return [experts, last - first, rows], struct.pack(f"<{len(out)}f", *out)


def gguf_tensors(tensors, _):
    out = {}
    for name, (shape, data) in tensors.items():
        layer, rest = layer_name(name) or (None, name)
        plain = rest.removesuffix(".weight")
        if layer is None:
            out[f"{GLOBAL[plain]}.weight"] = (shape, data)
        elif plain == "feed_forward.experts.gate_up_proj":
            half = shape[2] // 2
            out[f"blk.{layer}.ffn_gate_exps.weight"] = transposed(shape, data, 0, half)
            out[f"blk.{layer}.ffn_up_exps.weight"] = transposed(shape, data, half, 2 * half)
        elif plain == "feed_forward.experts.down_proj":
            out[f"blk.{layer}.ffn_down_exps.weight"] = transposed(shape, data, 0, shape[2])
        else:
            out[f"blk.{layer}.{LAYER[plain]}.weight"] = (shape, data)
    return out


def metadata(c):
    return [*sizes(c), ("vocab_size", U32, c["vocab_size"]), ("feed_forward_length", U32, c["intermediate_size_mlp"]),
            ("attention.head_count_kv", U32, c["num_key_value_heads"]),
            ("attention.key_length", U32, c["head_dim"]), ("attention.value_length", U32, c["head_dim"]),
            ("rope.dimension_count", U32, c["head_dim"]), ("rope.freq_base", F32, c["rope_parameters"]["rope_theta"]),
            ("interleave_moe_layer_step", U32, c["interleave_moe_layer_step"]),
            ("expert_count", U32, c["num_local_experts"]), ("expert_used_count", U32, c["num_experts_per_tok"]),
            ("expert_feed_forward_length", U32, c["intermediate_size"]),
            ("attention.sliding_window", U32, c["attention_chunk_size"]),
            ("attention.temperature_length", U32, c["floor_scale"]),
            ("attention.temperature_scale", F32, c["attn_scale"])]


if __name__ == "__main__":
    sys.exit(check("llama4", metadata, gguf_tensors))
