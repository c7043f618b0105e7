#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Llama Nemotron Super and Ultra: layers without attention or network, and sizes by layer. OpenELM: sizes by layer.

As tiny_models.py: writes a model as a Hugging Face folder and as a GGUF file, computes its logits in double precision,
and checks both with quire-eval.

usage: tiny_nas.py QUIRE_EVAL
"""
import sys

import tiny_models as tiny
from tiny_decoder import ABSENT, HEAD, HEADS, HIDDEN, THETA, VOCAB, Model, check
from tiny_models import GGUF_ARRAY, GGUF_F32, GGUF_U32

# per layer: key-value heads, and the factor of the network's width, which is 2/3 of factor * HIDDEN, rounded up to 256
BLOCKS = ((0, 0.5), (2, 1.0), (1, 0), (0, 0), (4, 20.0), (2, 3.0))


def width(factor):
    return -(-int(2 * factor * HIDDEN / 3) // 256) * 256


def block_config(kv_heads, factor):
    """as published: further options are off"""
    attention = {"n_heads_in_group": HEADS // kv_heads if kv_heads else None, "no_op": not kv_heads, "sparsify": None,
                 "num_sink_tokens": None, "replace_with_linear": False, "unshifted_sink": False, "window_length": None,
                 "use_prefill_window_in_sink_attention": False}
    return {"attention": attention, "ffn": {"ffn_mult": factor or None, "no_op": not factor, "sparsify": None,
                                            "replace_with_linear": False}}


class Nas(Model):
    def __init__(self):
        super().__init__(
            "nemotron-nas", layers=len(BLOCKS), gguf="deci", gguf_pairs=True,
            config={"num_key_value_heads": None, "intermediate_size": None, "block_configs": [block_config(*b) for b in BLOCKS]},
            keys=[("attention.head_count", GGUF_ARRAY, [HEADS if kv else 0 for kv, _ in BLOCKS]),
                  ("attention.head_count_kv", GGUF_ARRAY, [kv for kv, _ in BLOCKS]),
                  ("feed_forward_length", GGUF_ARRAY, [width(factor) for _, factor in BLOCKS]),
                  ("attention.key_length", GGUF_U32, HEAD), ("attention.value_length", GGUF_U32, HEAD)])

    def fill(self):
        self.w.add("model.embed_tokens.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        self.w.add("lm_head.weight", "output.weight", [VOCAB, HIDDEN])
        self.add_norm("model.norm", "output_norm")
        for i, (kv, factor) in enumerate(BLOCKS):
            hf, blk = f"model.layers.{i}.", f"blk.{i}."
            if kv:
                self.add_norm(f"{hf}input_layernorm", f"{blk}attn_norm")
                for part, rows in (("q", HEADS), ("k", kv), ("v", kv)):
                    self.w.add(f"{hf}self_attn.{part}_proj.weight", f"{blk}attn_{part}.weight", [rows * HEAD, HIDDEN])
                self.w.add(f"{hf}self_attn.o_proj.weight", f"{blk}attn_output.weight", [HIDDEN, HEADS * HEAD])
            if factor:
                self.add_norm(f"{hf}post_attention_layernorm", f"{blk}ffn_norm")
                self.add_mlp(f"{hf}mlp.", blk, "", width(factor))

    def layer(self, i, xs):
        hf, (kv, factor) = f"model.layers.{i}.", BLOCKS[i]
        if kv:
            xs = [tiny.add(x, y) for x, y in zip(xs, self.attention(i, [self.normed(x, f"{hf}input_layernorm") for x in xs]))]
        if factor:
            xs = [tiny.add(x, self.mlp(f"{hf}mlp.", self.normed(x, f"{hf}post_attention_layernorm"))) for x in xs]
        return xs


ELM_NAMES = (("model.embed_tokens", "transformer.token_embeddings"), ("model.", "transformer."),
             *((f"self_attn.{p}_proj", "attn.qkv_proj") for p in "qkv"), ("self_attn.o_proj", "attn.out_proj"),
             ("self_attn.", "attn."), ("input_layernorm", "attn_norm"), ("post_attention_layernorm", "ffn_norm"),
             ("mlp.gate_proj", "ffn.proj_1"), ("mlp.up_proj", "ffn.proj_1"), ("mlp.down_proj", "ffn.proj_2"))
# per layer: heads, key-value heads, and the factor of the network's width, which is rounded to multiples of 16
GROWING, DIVISOR, ELM_EPS = ((2, 1, 0.1), (4, 2, 1.2), (6, 2, 1.3), (8, 4, 2.0)), 16, 1e-6


def rounded(factor):
    width = factor * HIDDEN
    out = max(DIVISOR, int(width + DIVISOR / 2) // DIVISOR * DIVISOR)
    return out + DIVISOR if out < 0.9 * width else out


class Elm(Model):
    def __init__(self):
        heads, kv_heads, factors = zip(*GROWING)
        config = {key: ABSENT for key in (
            "hidden_size", "num_hidden_layers", "max_position_embeddings", "rope_theta", "num_attention_heads", "rms_norm_eps",
            "num_key_value_heads", "intermediate_size", "hidden_act", "tie_word_embeddings")}
        super().__init__(
            "openelm", layers=len(GROWING), qk="head", tied=True, folder=self.to_folder, gguf="openelm", gguf_fused="qkv",
            config={**config, "model_dim": HIDDEN, "num_transformer_layers": len(GROWING), "max_context_length": 256,
                    "rope_max_length": 512, "rope_freq_constant": THETA, "head_dim": HEAD, "num_query_heads": heads,
                    "num_kv_heads": kv_heads, "ffn_multipliers": factors, "ffn_dim_divisor": DIVISOR, "ffn_with_glu": True,
                    "num_gqa_groups": 2, "qkv_multipliers": [0.5, 1.0], "activation_fn_name": "swish",
                    "normalization_layer_name": "rms_norm", "normalize_qk_projections": True,
                    "share_input_output_layers": True},
            keys=[("attention.head_count", GGUF_ARRAY, heads), ("attention.head_count_kv", GGUF_ARRAY, kv_heads),
                  ("feed_forward_length", GGUF_ARRAY, [rounded(f) for f in factors]),
                  ("attention.key_length", GGUF_U32, HEAD), ("attention.value_length", GGUF_U32, HEAD),
                  ("attention.layer_norm_rms_epsilon", GGUF_F32, ELM_EPS)])

    def fill_attention(self, hf, blk):
        heads, kv_heads, _ = GROWING[int(hf.split(".")[2])]
        for part, rows, cols in (("q", heads * HEAD, HIDDEN), ("k", kv_heads * HEAD, HIDDEN), ("v", kv_heads * HEAD, HIDDEN),
                                 ("o", HIDDEN, heads * HEAD)):
            gguf = "output" if part == "o" else part
            self.w.add(f"{hf}self_attn.{part}_proj.weight", f"{blk}attn_{gguf}.weight", [rows, cols])
        for part in "qk":
            self.w.add(f"{hf}self_attn.{part}_norm.weight", f"{blk}attn_{part}_norm.weight", [HEAD], 1, 0.5)

    def add_mlp(self, hf, blk, suffix, ffn, expert=None):
        super().add_mlp(hf, blk, suffix, rounded(GROWING[int(hf.split(".")[2])][2]))

    def to_folder(self, tensors):
        out = {}
        for name, (shape, values) in tensors.items():
            for old, new in ELM_NAMES:
                name = name.replace(old, new)
            rows, before = out.get(name, ([0], []))
            out[name] = ([rows[0] + shape[0], *shape[1:]], before + values)
        return out

    def logits(self, ids):
        before, tiny.NORM_EPS = tiny.NORM_EPS, ELM_EPS
        out = super().logits(ids)
        tiny.NORM_EPS = before
        return out


if __name__ == "__main__":
    sys.exit(check([Nas, Elm], sys.argv[1]))
