#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Granite with windows as GGUF files: attention sinks, layers without RoPE, dense and with experts.

As tiny_families.py: a folder and a GGUF file of each model against logits in double precision, and what is refused.

usage: tiny_granite_swa.py QUIRE_EVAL
"""
import math
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_decoder import ABSENT, EXPERT_FFN, EXPERTS, HEAD, HEADS, KV_HEADS, LAYERS, THETA, TOP_K, WINDOW, Model
from tiny_models import GGUF_ARRAY, GGUF_F32, GGUF_U32

FULL, SLIDING = "full_attention", "sliding_attention"
TYPES, PLAIN = [FULL, SLIDING, SLIDING, FULL], (0,)
EMBEDDING, RESIDUAL, LOGITS, ATTENTION = 1.5, 0.8, 0.5, 0.3


class Granite(Model):
    """stacked: experts of the GGUF file have gate and up as one tensor"""

    def __init__(self, moe=False, stacked=False):
        self.stacked = stacked
        experts = {"num_local_experts": EXPERTS, "num_experts_per_tok": TOP_K, "intermediate_size": EXPERT_FFN,
                   "shared_intermediate_size": EXPERT_FFN, "mlp_bias": ABSENT}
        super().__init__(
            "granitemoe_swa" if moe else "granite_swa", windows=[i for i, t in enumerate(TYPES) if t == SLIDING], no_rope=PLAIN,
            scales=(EMBEDDING, RESIDUAL, 1 / LOGITS), moe="experts" if moe else None, dense=0, folder=self.to_folder,
            config={"layer_types": TYPES, "layer_rope_theta": [0 if i in PLAIN else THETA for i in range(LAYERS)],
                    "sliding_window": WINDOW, "embedding_multiplier": EMBEDDING, "residual_multiplier": RESIDUAL,
                    "logits_scaling": LOGITS, "attention_multiplier": ATTENTION, "attention_bias": False, "mlp_bias": False,
                    "rope_parameters": {"rope_theta": THETA, "rope_type": "default"}, "rope_theta": ABSENT,
                    **(experts if moe else {})},
            gguf="granite_swa", gguf_pairs=True,
            keys=[("attention.sliding_window", GGUF_U32, WINDOW), ("attention.scale", GGUF_F32, ATTENTION),
                  ("attention.sliding_window_pattern", GGUF_ARRAY, [t == SLIDING for t in TYPES]),
                  ("attention.rope_pattern", GGUF_ARRAY, [i not in PLAIN for i in range(LAYERS)]),
                  ("embedding_scale", GGUF_F32, EMBEDDING), ("residual_scale", GGUF_F32, RESIDUAL), ("logit_scale", GGUF_F32, LOGITS)]
            + ([("feed_forward_length", GGUF_U32, EXPERT_FFN), ("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
                ("expert_shared_feed_forward_length", GGUF_U32, EXPERT_FFN)] if moe else []))

    def fill_attention(self, hf, blk):
        super().fill_attention(hf, blk)
        self.w.add(f"{hf}self_attn.sinks", f"{blk}attn_sinks.weight", [HEADS], 0, 1)

    # ---- The forward pass

    def attention(self, layer, xs):
        at, window = f"model.layers.{layer}.self_attn.", WINDOW if layer in self.windows else len(xs)
        heads = {p: [tiny.heads_of(self.project(at, p, x)) for x in xs] for p in "qkv"}
        if layer not in self.no_rope:
            for p in "qk":
                heads[p] = [[self.rotate(h, t, layer) for h in row] for t, row in enumerate(heads[p])]
        outs, sinks = [], self.w.vector(f"{at}sinks")
        for t in range(len(xs)):
            row, seen = [], range(max(0, t - window + 1), t + 1)
            for h, q in enumerate(heads["q"][t]):
                g = h * KV_HEADS // HEADS
                p = [math.exp(ATTENTION * sum(a * b for a, b in zip(q, heads["k"][j][g]))) for j in seen]
                total = sum(p) + math.exp(sinks[h])
                row += [sum(a * heads["v"][j][g][d] for a, j in zip(p, seen)) / total for d in range(HEAD)]
            outs.append(self.project(at, "o", row))
        return outs

    def experts(self, hf, x, early):
        scores = [math.exp(s) for s in tiny.matvec(self.w.matrix(f"{hf}mlp.gate.weight"), x)]
        chosen = sorted(range(EXPERTS), key=lambda e: -scores[e])[:TOP_K]
        total = sum(scores[e] for e in chosen)
        outs = [[scores[e] / total * y for y in self.mlp(f"{hf}mlp.experts.{e}.", x)] for e in chosen]
        return tiny.add(self.mlp(f"{hf}mlp.shared_experts.", x), *outs)

    # ---- Files

    def to_folder(self, tensors):
        """the experts as stacks, [gate; up] of one as one tensor, like that of the shared expert"""
        out, stacks = {}, {}
        for name, (shape, values) in joined(tensors).items():
            name = name.replace("mlp.gate.weight", "block_sparse_moe.router.layer.weight").replace(".mlp.shared_experts.", ".shared_mlp.")
            if self.moe:
                name = name.replace("gate_proj", "input_linear").replace("down_proj", "output_linear")
            if ".mlp.experts." in name:
                hf, rest = name.split(".mlp.experts.")
                stacks.setdefault(f"{hf}.block_sparse_moe.{rest.split('.', 1)[1]}", (shape, []))[1].extend(values)
            else:
                out[name] = (shape, values)
        return {**out, **{name: ([EXPERTS] + shape, values) for name, (shape, values) in stacks.items()}}

    def write_gguf(self, path):
        """As the public converter does."""
        kept, fused = self.w.tensors, joined({name: (shape, values) for name, (_, shape, values) in self.w.tensors.items()}, self.stacked)
        self.w.tensors = {name: (self.gguf_name(name, kept), *fused[name]) for name in fused}
        super().write_gguf(path)
        self.w.tensors = kept

    def gguf_name(self, name, tensors):
        gguf = tensors[name][0]
        if "mlp.shared_experts.gate_proj" in name:
            return gguf.replace("ffn_gate", "ffn_up")
        return (gguf[0].replace("ffn_gate_exps", "ffn_gate_up_exps"), EXPERTS) if self.stacked and isinstance(gguf, tuple) else gguf


def joined(tensors, experts=True):
    """[gate; up] as one tensor, in the place of gate: of the shared experts, and of the experts if `experts`."""
    out = dict(tensors)
    for name, (shape, values) in tensors.items():
        if name.endswith("gate_proj.weight") and (".mlp.shared_experts." in name or (experts and ".mlp.experts." in name)):
            rows, more = out.pop(name.replace("gate_proj", "up_proj"))
            out[name] = ([shape[0] + rows[0], shape[1]], values + more)
    return out


def check_refusals(folder):
    passed = True
    for key, kind, value, word in (("attention.rope_pattern", GGUF_ARRAY, [True], "rope_pattern"),
                                   ("attention.rope_pattern", GGUF_ARRAY, [1.0] * LAYERS, "rope_pattern"),
                                   ("attention.rope_pattern", GGUF_U32, 2, "rope_pattern"),
                                   ("attention.sliding_window_pattern", GGUF_ARRAY, [True], "sliding_window_pattern")):
        model = Granite()
        model.keys = [k for k in model.keys if k[0] != key] + [(key, kind, value)]
        model.write_gguf(f"{folder}/refused.gguf")
        passed &= tiny.is_refused(["--gguf", f"{folder}/refused.gguf", folder], word)
    return not passed


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, model in (("dense", Granite()), ("moe", Granite(True)), ("stacked", Granite(True, True))):
            folder = f"{scratch}/{name}"
            model.write_folder(folder)
            model.write_gguf(f"{folder}/model.gguf")
            for arguments in ([folder], ["--gguf", f"{folder}/model.gguf", folder]):
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", *arguments])
        failed |= check_refusals(f"{scratch}/dense")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
