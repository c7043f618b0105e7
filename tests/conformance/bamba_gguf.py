#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bamba as a GGUF file of architecture granitehybrid: other readers rotate other elements of its heads.

Writes the folder of the reference data as a GGUF file, with the keys, tensor names and order of rows of published
files, and checks its logits with quire-eval. The converter interleaves the halves of whole heads of q and k, although
only a part of a head rotates.

usage: bamba_gguf.py QUIRE_EVAL FOLDER [OPTION...]      exit 77 (skipped) without the folder
"""
import math
import struct
import sys

from golden_gguf import ARRAY, BOOL, F32, U32, check, layer_name, sizes

GLOBAL = {"model.embed_tokens.weight": "token_embd.weight", "model.final_layernorm.weight": "output_norm.weight",
          "lm_head.weight": "output.weight"}
LAYER = {"input_layernorm.weight": "attn_norm.weight", "pre_ff_layernorm.weight": "ffn_norm.weight",
         "self_attn.q_proj.weight": "attn_q.weight", "self_attn.k_proj.weight": "attn_k.weight",
         "self_attn.v_proj.weight": "attn_v.weight", "self_attn.o_proj.weight": "attn_output.weight",
         "feed_forward.gate_proj.weight": "ffn_gate.weight", "feed_forward.up_proj.weight": "ffn_up.weight",
         "feed_forward.down_proj.weight": "ffn_down.weight", "mamba.in_proj.weight": "ssm_in.weight",
         "mamba.out_proj.weight": "ssm_out.weight", "mamba.conv1d.weight": "ssm_conv1d.weight",
         "mamba.conv1d.bias": "ssm_conv1d.bias", "mamba.dt_bias": "ssm_dt.bias", "mamba.A_log": "ssm_a",
         "mamba.D": "ssm_d", "mamba.norm.weight": "ssm_norm.weight"}


def interleaved(data, head, row_bytes):
    """Rows of q and k: the halves of every head alternate."""
    rows = [data[i:i + row_bytes] for i in range(0, len(data), row_bytes)]
    return b"".join(rows[h + i + second] for h in range(0, len(rows), head) for i in range(head // 2)
                    for second in (0, head // 2))


def gguf_tensors(tensors, c):
    out, head = {}, c["hidden_size"] // c["num_attention_heads"]
    for name, (shape, data) in tensors.items():
        layer, rest = layer_name(name) or (None, name)
        if rest in ("self_attn.q_proj.weight", "self_attn.k_proj.weight"):
            data = interleaved(data, head, 4 * shape[1])
        elif rest == "mamba.conv1d.weight":
            shape = [shape[0], shape[2]]
        elif rest in ("mamba.A_log", "mamba.D"):
            shape = [shape[0], 1]
        elif rest == "mamba.norm.weight":
            shape = [c["mamba_n_groups"], shape[0] // c["mamba_n_groups"]]
        if rest == "mamba.A_log":
            data = struct.pack(f"<{len(data) // 4}f", *(-math.exp(v) for v, in struct.iter_unpack("<f", data)))
        out[GLOBAL[rest] if layer is None else f"blk.{layer}.{LAYER[rest]}"] = (shape, data)
    return out


def metadata(c):
    rope, head = c["rope_parameters"], c["hidden_size"] // c["num_attention_heads"]
    attention = [i in c["attn_layer_indices"] for i in range(c["num_hidden_layers"])]
    return [*sizes(c), ("vocab_size", U32, c["vocab_size"]), ("feed_forward_length", U32, c["intermediate_size"]),
            ("attention.head_count_kv", ARRAY, (U32, [c["num_key_value_heads"] * a for a in attention])),
            ("rope.dimension_count", U32, int(head * rope["partial_rotary_factor"])),
            ("rope.freq_base", F32, rope["rope_theta"]), ("rope.scaling.finetuned", BOOL, True),
            ("ssm.conv_kernel", U32, c["mamba_d_conv"]), ("ssm.state_size", U32, c["mamba_d_state"]),
            ("ssm.group_count", U32, c["mamba_n_groups"]), ("ssm.inner_size", U32, c["mamba_expand"] * c["hidden_size"]),
            ("ssm.time_step_rank", U32, c["mamba_n_heads"])]


if __name__ == "__main__":
    sys.exit(check("granitehybrid", metadata, gguf_tensors))
