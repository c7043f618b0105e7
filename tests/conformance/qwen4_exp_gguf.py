#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Qwen4-Exp as a GGUF file, which the reference data lacks.

Writes the folder of the reference data as the public converter does: value heads in the order of tiles, norms with
their 1, the table of n-grams as one tensor, and what the hashes need as metadata. Checks the logits with quire-eval, and
what is refused.

usage: qwen4_exp_gguf.py QUIRE_EVAL FOLDER [OPTION...]      exit 77 (skipped) without the folder
"""
import math
import os
import struct
import subprocess
import sys
import tempfile

import tiny_models
from golden_gguf import ARRAY, BOOL, F32, U32, U64, convert, layer_name, read_safetensors, sizes, stacked

HYPER = {"hc_norm": "norm", "input_mix_weight_down": "down", "input_mix_weight_up": "up", "block_inject_weight": "inject"}
GLOBAL = {"model.embed_tokens": "token_embd", "lm_head": "output",
          **{f"model.hyper_connection_mixer.{hf}": f"output_hc_{gguf}" for hf, gguf in HYPER.items()}}
LAYER = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "self_attn.indexer.q_layernorm": "indexer.q_norm",
         "self_attn.indexer.k_layernorm": "indexer.k_norm", "linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate",
         "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.conv1d": "ssm_conv1d",
         "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out", "mlp.gate": "ffn_gate_inp",
         "mlp.shared_expert_gate": "ffn_gate_inp_shexp", "ple.key_proj": "ple_key", "ple.value_proj": "ple_value",
         "ple.norm_key": "ple_norm_key", "ple.norm_query": "ple_norm_query", "ple.norm_conv": "ple_norm_conv", "ple.conv1d": "ple_conv1d",
         **{f"mlp.shared_expert.{p}_proj": f"ffn_{p}_shexp" for p in ("gate", "up", "down")},
         **{f"{site}_hyper_connection.{hf}": f"hc_{name}_{gguf}" for site, name in (("attn", "attn"), ("mlp", "ffn")) for hf, gguf in HYPER.items()}}
TABLE = "ple.ple_embedding."


def mapped(data, f):
    return struct.pack(f"<{len(data) // 4}f", *map(f, struct.unpack(f"<{len(data) // 4}f", data)))


def tiled(data, heads, c):
    """Rows of value heads, `heads` of them at the end of `data`, each of equal size: those of a key head are apart."""
    keys, size = c["linear_num_key_heads"], len(data) // heads
    order = [k * (heads // keys) + r for r in range(heads // keys) for k in range(keys)]
    return b"".join(data[h * size:(h + 1) * size] for h in order)


def reordered(rest, shape, data, c):
    """The tensors of a recurrent layer whose value heads change places."""
    heads, row = c["linear_num_value_heads"], len(data) // shape[0]
    if rest.endswith(("in_proj_z", "in_proj_b", "in_proj_a", "A_log", "dt_bias")):
        return tiled(data, heads, c)
    if rest.endswith(("in_proj_qkv", "conv1d")):
        first = 2 * c["linear_num_key_heads"] * c["linear_key_head_dim"] * row
        return data[:first] + tiled(data[first:], heads, c)
    if rest.endswith("out_proj"):
        return b"".join(tiled(data[r:r + row], heads, c) for r in range(0, len(data), row))
    return data


def gguf_tensors(tensors, c):
    out, experts = {}, {}
    for name, (shape, data) in tensors.items():
        layer, rest = layer_name(name) or (None, name)
        plain = rest.removesuffix(".weight")
        if TABLE in plain:
            if "ngram_embedding" in plain:
                out["per_layer_token_embd.weight"] = (shape, data)
            continue
        if plain.startswith("linear_attn."):
            data = reordered(plain, shape, data, c)
        elif plain.endswith(("norm", "layernorm", "norm_key", "norm_query", "norm_conv")):
            data = mapped(data, lambda v: v + 1)
        if plain.endswith("conv1d"):
            shape = [shape[0], shape[2]]
        if layer is None:
            out[f"{GLOBAL[plain]}.weight"] = (shape, data)
        elif plain == "linear_attn.A_log":
            out[f"blk.{layer}.ssm_a"] = (shape, mapped(data, lambda v: -math.exp(v)))
        elif plain == "linear_attn.dt_bias":
            out[f"blk.{layer}.ssm_dt.bias"] = (shape, data)
        elif plain.startswith("mlp.experts."):
            number, part = plain.split(".")[2:4]
            experts.setdefault(f"blk.{layer}.ffn_{part[:-5]}_exps.weight", {})[int(number)] = (shape, data)
        elif plain == "self_attn.indexer.index_qk_proj":
            rows, row = c["indexer_n_heads"] * c["indexer_head_dim"], len(data) // shape[0]
            out[f"blk.{layer}.indexer.q_proj.weight"] = ([rows, shape[1]], data[:rows * row])
            out[f"blk.{layer}.indexer.k_proj.weight"] = ([shape[0] - rows, shape[1]], data[rows * row:])
        else:
            out[f"blk.{layer}.{LAYER[plain]}.weight"] = (shape[1:] if plain == "mlp.shared_expert_gate" else shape, data)
    return {**out, **{name: stacked(parts) for name, parts in experts.items()}}


def metadata(tensors):
    """The function that lists the keys; what the hashes need is in the tensors of the folder."""
    def numbers(suffix):
        data = next(data for name, (_, data) in tensors.items() if name.endswith(TABLE + suffix))
        return [U64, list(struct.unpack(f"<{len(data) // 8}q", data))]

    def keys(c):
        full = [t == "qwen_sparse_attention" for t in c["layer_types"]]
        inner = c["linear_num_value_heads"] * c["linear_value_head_dim"]
        width = c["ple_embed_dim"] // ((c["ngram_size"] - 1) * c["heads_per_ngram"])
        return [*sizes(c), ("vocab_size", U32, c["vocab_size"]), ("feed_forward_length", U32, 0),
                ("attention.head_count_kv", U32, c["num_key_value_heads"]), ("attention.key_length", U32, c["head_dim"]),
                ("attention.value_length", U32, c["head_dim"]), ("rope.freq_base", F32, c["rope_parameters"]["rope_theta"]),
                ("rope.dimension_count", U32, int(c["head_dim"] * c["rope_parameters"]["partial_rotary_factor"])),
                ("rope.dimension_sections", ARRAY, [U32, c["rope_parameters"]["mrope_section"] + [0]]),
                ("expert_count", U32, c["num_experts"]), ("expert_used_count", U32, c["num_experts_per_tok"]),
                ("expert_feed_forward_length", U32, c["moe_intermediate_size"]),
                ("expert_shared_feed_forward_length", U32, c["shared_expert_intermediate_size"]),
                ("ssm.conv_kernel", U32, c["linear_conv_kernel_dim"]), ("ssm.inner_size", U32, inner),
                ("ssm.state_size", U32, c["linear_key_head_dim"]), ("ssm.time_step_rank", U32, c["linear_num_value_heads"]),
                ("ssm.group_count", U32, c["linear_num_key_heads"]), ("full_attention_interval", U32, 4),
                ("hyper_connection.count", U32, c["hc_count"]), ("hyper_connection.low_rank", U32, c["hc_lowrank"]),
                ("attention.indexer.head_count", U32, c["indexer_n_heads"]), ("attention.indexer.key_length", U32, c["indexer_head_dim"]),
                ("attention.indexer.top_k", U32, c["indexer_budget"]),
                ("attention.compress_ratios", ARRAY, [U32, [c["indexer_compress_ratio"] * f for f in full]]),
                ("ple.layers", ARRAY, [U32, [i - 1 for i in c["ple_layer_ids"]]]), ("ple.ngram_size", U32, c["ngram_size"]),
                ("ple.heads_per_ngram", U32, c["heads_per_ngram"]), ("ple.conv_kernel", U32, c["ple_conv_kernel_size"]),
                ("ple.eos_token_id", U32, c["eos_token_id"]), ("ple.image_token_id", U32, 3), ("embedding_length_per_layer_input", U32, width),
                ("ple.layer_multipliers", ARRAY, numbers("layer_multipliers")), ("ple.head_offsets", ARRAY, numbers("ngram_heads_offsets")),
                ("ple.head_vocab_sizes", ARRAY, numbers("ngram_heads_vocab_sizes"))]
    return keys


def with_head(keys):
    """Keys and tensors of a file that has a head of multi-token prediction behind the last layer, which is ignored."""
    def more(c):
        ratios = [c["indexer_compress_ratio"] * (t == "qwen_sparse_attention") for t in c["layer_types"]]
        own = [("block_count", U32, c["num_hidden_layers"] + 1), ("nextn_predict_layers", U32, 1),
               ("attention.compress_ratios", ARRAY, [U32, ratios + [0]])]
        return [k for k in keys(c) if k[0] not in [o[0] for o in own]] + own

    def tensors(stored, c):
        out, n = gguf_tensors(stored, c), c["num_hidden_layers"]
        head = {name.replace(f"blk.{n - 1}.", f"blk.{n}."): t for name, t in out.items() if name.startswith(f"blk.{n - 1}.")}
        norm = out["output_hc_norm.weight"]
        return {**out, **head, f"blk.{n}.nextn.enorm.weight": norm, f"blk.{n}.nextn.hnorm.weight": norm,
                f"blk.{n}.nextn.eh_proj.weight": out["token_embd.weight"], f"blk.{n}.nextn.hc_head_norm.weight": norm}
    return more, tensors


def changed(keys, key, kind, value):
    """The keys with another value of one; None: without it."""
    return lambda c: [k for k in keys(c) if k[0] != key] + ([(key, kind, value)] if value is not None else [])


REFUSALS = (("ple.layers", ARRAY, [U32, [4]], "ple.layers"), ("ple.layers", ARRAY, [U32, [1, 2]], "ple.layers"), ("ple.layers", U32, 1, "ple.layers"),
            ("ple.ngram_size", U32, 1, "ple.ngram_size"), ("ple.heads_per_ngram", U32, 0, "ple.heads_per_ngram"),
            ("ple.heads_per_ngram", U32, 3, "ple.head_offsets"), ("ple.conv_kernel", U32, 0, "ple.conv_kernel"),
            ("ple.eos_token_id", U32, 320, "ple.eos_token_id"), ("ple.eos_token_id", U32, None, "ple.eos_token_id"),
            ("ple.layer_multipliers", ARRAY, [U64, [1, 1]], "ple.layer_multipliers"),
            ("ple.layer_multipliers", ARRAY, [U64, [1, 1, 2 ** 63 // 320 + 1]], "ple.layer_multipliers"),
            ("ple.layer_multipliers", ARRAY, [F32, [1.0, 1.0, 1.0]], "ple.layer_multipliers"),
            ("ple.head_offsets", ARRAY, [U64, [0, 1, 2, 3]], "ple.head_offsets"), ("ple.head_vocab_sizes", ARRAY, [U64, [0] * 4], "ple.head_vocab_sizes"),
            ("ple.head_vocab_sizes", ARRAY, [U64, [101, 103, 107, 2 ** 32]], "ple.head_vocab_sizes"),
            ("embedding_length_per_layer_input", U32, 9, "per_layer_token_embd"), ("hyper_connection.count", U32, 3, "hc_"),
            ("hyper_connection.low_rank", U32, None, "hyper_connection.low_rank"),
            ("attention.compress_ratios", ARRAY, [U32, [4, 0, 0, 4]], "attention.compress_ratios"),
            ("attention.compress_ratios", ARRAY, [U32, [0] * 4], "attention.compress_ratios"),
            ("attention.indexer.top_k", U32, 15, "attention.indexer.top_k"), ("rope.unknown", BOOL, True, "rope.unknown"))


def main():
    quire_eval, folder, *options = sys.argv[1:]
    if not os.path.isdir(folder):
        print("skipped: no reference data at", folder)
        return 77
    keys = metadata(read_safetensors(os.path.join(folder, "model.safetensors")))
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.gguf")
        failed = False
        for arguments in (keys, gguf_tensors), with_head(keys):
            convert("qwen4exp", folder, path, *arguments)
            failed |= subprocess.call([quire_eval, "golden", "--threads", "1", *options, "--gguf", path, folder])
        for key, kind, value, word in REFUSALS:
            convert("qwen4exp", folder, path, changed(keys, key, kind, value), gguf_tensors)
            failed |= not tiny_models.is_refused(["--gguf", path, folder], word)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
