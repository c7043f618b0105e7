#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Muse Glimmer: norms without weights of embeddings, q and k; norms of sublayers with an epsilon of their own.

As tiny_families.py: a folder and a GGUF file of the model against logits in double precision, and what is refused. The number
of layers is no multiple of four, from whose last one the layers with full attention and without RoPE are counted.

usage: tiny_muse_glimmer.py QUIRE_EVAL
"""
import math
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_decoder import ABSENT, EPS, HEAD, HEADS, HIDDEN, KV_HEADS, WINDOW, Model
from tiny_models import GGUF_ARRAY, GGUF_F32, GGUF_U32

LAYERS = 6
FULL = [i for i in range(LAYERS) if (LAYERS - 1 - i) % 4 == 0]
TYPES = ["full_attention" if i in FULL else "sliding_attention" for i in range(LAYERS)]
THETA, POST_EPS, QUERY, OUTPUT, CAP = 2e4, 1e-3, 3.87, 0.7, 3.0
NORMS = (("input_layernorm", "attn_norm"), ("post_attention_layernorm", "post_attention_norm"),
         ("pre_feedforward_layernorm", "ffn_norm"), ("post_feedforward_layernorm", "post_ffw_norm"))


def normed(x, weight=None, eps=EPS):
    scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + eps)
    return [v * scale * w for v, w in zip(x, weight or [1] * len(x))]


class MuseGlimmer(Model):
    def __init__(self, post_eps, **config):
        self.post_eps = post_eps
        super().__init__(
            "muse_glimmer_text", outer="muse_glimmer", block="post", layers=LAYERS, theta=THETA, windows=[i for i in range(LAYERS) if i not in FULL],
            no_rope=FULL, folder=self.to_folder,
            config={"head_dim": HEAD, "sliding_window": WINDOW, "attention_bias": False, "hidden_act": ABSENT, "hidden_activation": "silu",
                    "rope_theta": ABSENT, "rope_parameters": {"rope_type": "default", "rope_theta": THETA}, "post_norm_eps": post_eps,
                    "qk_scale_factor": QUERY, "output_multiplier": OUTPUT, "final_logit_softcapping": CAP, **config},
            gguf="muse-glimmer", gguf_pairs=True,
            keys=[("attention.key_length", GGUF_U32, HEAD), ("attention.value_length", GGUF_U32, HEAD),
                  ("attention.sliding_window", GGUF_U32, WINDOW), ("final_logit_softcapping", GGUF_F32, CAP),
                  ("attention.sliding_window_pattern", GGUF_ARRAY, [i not in FULL for i in range(LAYERS)]),
                  ("logit_scale", GGUF_F32, OUTPUT)])

    def fill_attention(self, hf, blk):
        super().fill_attention(hf, blk)
        self.w.add(f"{hf}self_attn.gate_proj.weight", f"{blk}attn_gate.weight", [HEADS * HEAD, HIDDEN])
        for name, gguf in NORMS:
            self.add_norm(f"{hf}{name}", f"{blk}{gguf}")
        # of GGUF files alone: the factor of the queries
        for part, factor in (("q", QUERY), ("k", 1)):
            self.w.tensors[f"{hf}self_attn.{part}_norm.weight"] = (f"{blk}attn_{part}_norm.weight", [HEAD], [factor] * HEAD)

    def to_folder(self, tensors):
        """Norms of layers lack 1, and the names are those of a model with a vision tower."""
        out = {}
        for name, (shape, values) in tensors.items():
            if "self_attn.q_norm" in name or "self_attn.k_norm" in name:
                continue
            values = [v - 1 for v in values] if name.endswith("layernorm.weight") else values
            out[name.replace("model.", "model.language_model.")] = (shape, values)
        return out

    def attention(self, layer, xs):
        at, rows, outs = f"model.layers.{layer}.self_attn.", {"q": [], "k": [], "v": []}, []
        for position, x in enumerate(xs):
            for part, factor in (("q", QUERY), ("k", 1), ("v", 0)):
                heads = tiny.heads_of(self.project(at, part, x))
                if factor:
                    heads = [[factor * v for v in normed(h)] for h in heads]
                    heads = heads if layer in FULL else [self.rotate(h, position) for h in heads]
                rows[part].append(heads)
        for i, x in enumerate(xs):
            y = tiny.attend(rows["q"][i], rows["k"], rows["v"], i, WINDOW if layer in self.windows else 0)
            gates = [1 / (1 + math.exp(-g)) for g in self.project(at, "gate", x)]
            outs.append(self.project(at, "o", [v * g for v, g in zip(y, gates)]))
        return outs

    def layer(self, i, xs):
        at = f"model.layers.{i}."
        weights = [self.w.vector(f"{at}{name}.weight") for name, _ in NORMS]
        outs = self.attention(i, [normed(x, weights[0]) for x in xs])
        xs = [tiny.add(x, normed(y, weights[1], self.post_eps)) for x, y in zip(xs, outs)]
        outs = [self.mlp(f"{at}mlp.", normed(x, weights[2])) for x in xs]
        return [tiny.add(x, normed(y, weights[3], self.post_eps)) for x, y in zip(xs, outs)]

    def logits(self, ids):
        table = self.w.matrix("model.embed_tokens.weight")
        xs = [normed(table[i]) for i in ids]
        for i in range(LAYERS):
            xs = self.layer(i, xs)
        rows = [tiny.matvec(self.w.matrix("lm_head.weight"), self.normed(x, "model.norm")) for x in xs]
        return [[CAP * math.tanh(OUTPUT * v / CAP) for v in row] for row in rows], []


REFUSED = (("post_norm_eps", 0, "post_norm_eps"), ("post_norm_eps", "x", "post_norm_eps"),
           ("qk_scale_factor", "x", "qk_scale_factor"), ("qk_scale_factor", 0, "attention scale"),
           ("output_multiplier", "x", "output_multiplier"), ("attention_bias", True, "attention_bias"),
           ("layer_types", TYPES[1:], "layer_types"), ("layer_rope_theta", [THETA], "layer_rope_theta"),
           ("layer_rope_theta", [THETA] * 5 + [-1], "layer_rope_theta[5]"), ("attn_logit_softcapping", 50, "attn_logit_softcapping"))


def main():
    failed = 0
    listed = {"layer_types": TYPES, "layer_rope_theta": [0 if i in FULL else THETA for i in range(LAYERS)]}
    with tempfile.TemporaryDirectory() as scratch:
        for name, model in (("own", MuseGlimmer(POST_EPS, **listed)), ("muse", MuseGlimmer(1e-8, post_norm_eps=ABSENT))):
            folder = f"{scratch}/{name}"
            model.write_folder(folder)
            for arguments in ([folder], ["--chunk", "5", folder]):
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", *arguments])
        model.write_gguf(f"{folder}/model.gguf")
        failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", "--gguf", f"{folder}/model.gguf", folder])
        failed |= not tiny.keys_are_refused(folder, REFUSED)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
