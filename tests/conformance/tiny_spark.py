#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spark-X2.5: gates of attention heads, and another RoPE in layers with a window.

As tiny_families.py: a folder and a GGUF file of the model, with fused q, k and v, against logits in double precision,
and what is refused.

usage: tiny_spark.py QUIRE_EVAL
"""
import math
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_decoder import ABSENT, HEAD, HEADS, HIDDEN, KV_HEADS, LAYERS, WINDOW, Model, renamed
from tiny_models import GGUF_ARRAY, GGUF_F32, GGUF_U32

FULL, SLIDING = "full_attention", "sliding_attention"
TYPES = [SLIDING, SLIDING, FULL, SLIDING]
THETAS, ROTARY = {FULL: 5e6, SLIDING: 1e4}, {FULL: HEAD // 4, SLIDING: HEAD}


def gelu(x):
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


class Spark(Model):
    def __init__(self):
        super().__init__(
            "spark2_5", tied=True, act=gelu, windows=[i for i, t in enumerate(TYPES) if t == SLIDING], folder=self.to_folder,
            config={"hidden_act": "gelu", "head_dim": HEAD, "rope_theta": ABSENT, "sliding_window": WINDOW, "layer_types": TYPES,
                    "headwise_attn_output_gate": True, "gate_attn_act_mode": "sigmoid", "attention_bias": False, "mlp_bias": False,
                    "rope_parameters": {t: {"rope_theta": THETAS[t], "partial_rotary_factor": ROTARY[t] / HEAD} for t in THETAS},
                    "gsq_int4": False, "hadamard_spin": False, "dv_ssq": False, "selective_attention_preservation": False,
                    "key_value_binding_sharpening": False, "kv_focus_factor": 1.1},
            gguf="spark2_5", gguf_fused="qkv",
            keys=[("attention.key_length", GGUF_U32, HEAD), ("attention.value_length", GGUF_U32, HEAD),
                  ("attention.sliding_window", GGUF_U32, WINDOW),
                  ("attention.sliding_window_pattern", GGUF_ARRAY, [t == SLIDING for t in TYPES]),
                  ("rope.freq_base", GGUF_F32, THETAS[FULL]), ("rope.freq_base_swa", GGUF_F32, THETAS[SLIDING]),
                  ("rope.dimension_count", GGUF_U32, ROTARY[FULL]), ("rope.dimension_count_swa", GGUF_U32, ROTARY[SLIDING])])

    def fill_attention(self, hf, blk):
        super().fill_attention(hf, blk)
        self.w.add(f"{hf}self_attn.g_proj.weight", f"{blk}attn_gate.weight", [HEADS, HIDDEN])

    def to_folder(self, tensors):
        out = renamed(("model.embed_tokens", "model.embedding"), ("self_attn.o_proj", "self_attn.out_proj"))(tensors)
        for i in range(LAYERS):
            at = f"model.layers.{i}.self_attn."
            parts = [out.pop(f"{at}{p}_proj.weight") for p in "qkv"]
            out[f"{at}q_k_v_proj.weight"] = ([(HEADS + 2 * KV_HEADS) * HEAD, HIDDEN], [v for _, values in parts for v in values])
        return out

    def rotate(self, x, position, layer=None):
        out, n = list(x), ROTARY[TYPES[layer]]
        for i in range(n // 2):
            angle = position * THETAS[TYPES[layer]] ** (-2 * i / n)
            a, b = x[i], x[i + n // 2]
            out[i], out[i + n // 2] = a * math.cos(angle) - b * math.sin(angle), b * math.cos(angle) + a * math.sin(angle)
        return out

    def attention(self, layer, xs):
        at, rows, outs = f"model.layers.{layer}.self_attn.", {"q": [], "k": [], "v": []}, []
        for position, x in enumerate(xs):
            for part in "qkv":
                heads = tiny.heads_of(self.project(at, part, x))
                rows[part].append(heads if part == "v" else [self.rotate(v, position, layer) for v in heads])
        for i, x in enumerate(xs):
            y = tiny.attend(rows["q"][i], rows["k"], rows["v"], i, WINDOW if layer in self.windows else 0)
            gates = [1 / (1 + math.exp(-g)) for g in self.project(at, "g", x)]
            outs.append(self.project(at, "o", [v * gates[d // HEAD] for d, v in enumerate(y)]))
        return outs


REFUSED = (("gate_attn_act_mode", "silu", "gate_attn_act_mode"), ("headwise_attn_output_gate", False, "headwise_attn_output_gate"),
           ("gsq_int4", True, "gsq_int4"), ("hadamard_spin", True, "hadamard_spin"), ("attention_bias", True, "attention_bias"),
           ("layer_types", TYPES[1:], "layer_types"), ("head_dim", HEAD + 2, "q_k_v_proj"))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        model, folder = Spark(), f"{scratch}/spark"
        model.write_folder(folder)
        model.write_gguf(f"{folder}/model.gguf")
        for arguments in ([folder], ["--chunk", "5", folder], ["--gguf", f"{folder}/model.gguf", folder]):
            failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", *arguments])
        failed |= not tiny.keys_are_refused(folder, REFUSED)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
