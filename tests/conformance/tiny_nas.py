#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Llama Nemotron Super and Ultra: layers without attention or network, and sizes by layer.

As tiny_models.py: writes a model as a Hugging Face folder and as a GGUF file, computes its logits in double precision,
and checks both with quire-eval.

usage: tiny_nas.py QUIRE_EVAL
"""
import sys

import tiny_models as tiny
from tiny_decoder import HEAD, HEADS, HIDDEN, VOCAB, Model, check
from tiny_models import GGUF_ARRAY, GGUF_U32

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


if __name__ == "__main__":
    sys.exit(check([Nas], sys.argv[1]))
