#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Phi-3.5-MoE as a GGUF file: the reference data has none, since other readers route without SparseMixer.

Writes the folder of the reference data as a GGUF file, with the keys and tensor names of published files, and checks
its logits with quire-eval.

usage: phimoe_gguf.py QUIRE_EVAL FOLDER [OPTION...]      exit 77 (skipped) without the folder
"""
import re
import sys

from golden_gguf import F32, U32, check, layer_name, sizes, stacked

GLOBAL = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
         "block_sparse_moe.gate": "ffn_gate_inp"}
EXPERT = {"w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps"}


def gguf_tensors(tensors, _):
    out, stacks = {}, {}
    for name, (shape, data) in tensors.items():
        plain, kind = name.rsplit(".", 1)
        layer = layer_name(plain)
        expert = layer and re.match(r"block_sparse_moe\.experts\.(\d+)\.(w\d)", layer[1])
        if expert:
            stacks.setdefault(f"blk.{layer[0]}.{EXPERT[expert[2]]}.weight", {})[int(expert[1])] = (shape, data)
        elif layer:
            out[f"blk.{layer[0]}.{LAYER[layer[1]]}.{kind}"] = (shape, data)
        else:
            out[f"{GLOBAL[plain]}.{kind}"] = (shape, data)
    for name, parts in stacks.items():
        out[name] = stacked(parts)
    return out


def metadata(c):
    return [*sizes(c), ("rope.scaling.original_context_length", U32, c["max_position_embeddings"]),
            ("feed_forward_length", U32, c["intermediate_size"]),
            ("attention.head_count_kv", U32, c["num_key_value_heads"]),
            ("attention.sliding_window", U32, 0),
            ("rope.dimension_count", U32, c["hidden_size"] // c["num_attention_heads"]),
            ("rope.freq_base", F32, c["rope_parameters"]["rope_theta"]),
            ("expert_count", U32, c["num_local_experts"]), ("expert_used_count", U32, c["num_experts_per_tok"])]


if __name__ == "__main__":
    sys.exit(check("phimoe", metadata, gguf_tensors))
