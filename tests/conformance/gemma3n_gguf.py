#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gemma 3n as a GGUF file: no converter writes one of the reference model, whose sizes differ from the published ones.

Writes the folder of the reference data as a GGUF file, with the keys and tensor names of published files, and checks
its logits with quire-eval.

usage: gemma3n_gguf.py QUIRE_EVAL FOLDER       exit 77 (skipped) without the folder
"""
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile

U32, F32, BOOL, STR, ARRAY = 4, 6, 7, 8, 9
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


def read_safetensors(path):
    """name -> (shape, bytes), all float32."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {n: (t["shape"], data[slice(*t["data_offsets"])]) for n, t in header.items()}


def gguf_tensors(tensors):
    out, stacks = {}, {}
    for name, (shape, data) in tensors.items():
        plain = name.removeprefix("model.").removesuffix(".weight")
        layer = re.match(r"layers\.(\d+)\.(.*)", plain)
        stack = re.match(r"(\w+)\.(\d+)$", plain)
        if layer:
            out[f"blk.{layer[1]}.{LAYER[layer[2]]}.weight"] = (shape, data)
        elif stack:
            stacks.setdefault(STACKS[stack[1]], {})[int(stack[2])] = (shape, data)
        else:
            out[GLOBAL[plain] + ".weight"] = (shape, data)
    for name, parts in stacks.items():
        out[name + ".weight"] = ([len(parts)] + parts[0][0], b"".join(parts[i][1] for i in sorted(parts)))
    return out


def metadata(c):
    normal = statistics.NormalDist()
    cutoffs = [normal.inv_cdf(p) if p > 0 else float("-inf") for p in c["activation_sparsity_pattern"]]
    rope = c["rope_parameters"]
    return [("block_count", U32, c["num_hidden_layers"]), ("context_length", U32, c["max_position_embeddings"]),
            ("embedding_length", U32, c["hidden_size"]), ("vocab_size", U32, c["vocab_size"]),
            ("feed_forward_length", ARRAY, (U32, c["intermediate_size"])),
            ("attention.head_count", U32, c["num_attention_heads"]),
            ("attention.head_count_kv", U32, c["num_key_value_heads"]),
            ("attention.key_length", U32, c["head_dim"]), ("attention.value_length", U32, c["head_dim"]),
            ("attention.layer_norm_rms_epsilon", F32, c["rms_norm_eps"]),
            ("attention.sliding_window", U32, c["sliding_window"]),
            ("attention.sliding_window_pattern", ARRAY, (BOOL, [t[0] == "s" for t in c["layer_types"]])),
            ("attention.shared_kv_layers", F32, c["num_kv_shared_layers"]),
            ("rope.freq_base", F32, rope["full_attention"]["rope_theta"]),
            ("final_logit_softcapping", F32, c["final_logit_softcapping"]),
            ("embedding_length_per_layer_input", U32, c["hidden_size_per_layer_input"]),
            ("altup.num_inputs", U32, c["altup_num_inputs"]), ("altup.active_idx", U32, c["altup_active_idx"]),
            ("activation_sparsity_scale", ARRAY, (F32, cutoffs))]


def pack(kind, v):
    if kind == STR:
        return struct.pack("<Q", len(v)) + v.encode()
    if kind == ARRAY:
        return struct.pack("<IQ", v[0], len(v[1])) + b"".join(pack(v[0], x) for x in v[1])
    return struct.pack({U32: "<I", F32: "<f", BOOL: "<?"}[kind], v)


def write_gguf(path, keys, tensors):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    head += b"".join(pack(STR, k) + struct.pack("<I", t) + pack(t, v) for k, t, v in keys)
    data = b""
    for name, (shape, values) in tensors.items():
        head += pack(STR, name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += struct.pack("<IQ", 0, len(data))
        data += values + bytes(-len(values) % 32)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + data)


def main():
    quire_eval, folder = sys.argv[1:]
    if not os.path.isdir(folder):
        print("skipped: no reference data at", folder)
        return 77
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    keys = [("general.architecture", STR, "gemma3n")] + [("gemma3n." + k, t, v) for k, t, v in metadata(config)]
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "gemma3n.gguf")
        write_gguf(path, keys, gguf_tensors(read_safetensors(os.path.join(folder, "model.safetensors"))))
        return subprocess.run([quire_eval, "golden", "--threads", "1", "--gguf", path, folder]).returncode


if __name__ == "__main__":
    sys.exit(main())
