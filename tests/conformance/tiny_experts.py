#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Families whose experts the options of tiny_families.py cannot express: GroveMoE.

As tiny_models.py: writes each model as a Hugging Face folder and as a GGUF file, computes its logits in double
precision, and checks both with quire-eval, also in chunks and with several threads, which must not change a bit.

usage: tiny_experts.py QUIRE_EVAL
"""
import math
import sys
import tempfile

import tiny_models as tiny
from tiny_decoder import EXPERT_FFN, EXPERTS, HEAD, HIDDEN, Model
from tiny_models import GGUF_F32, GGUF_U32


def softmax(scores):
    top = max(scores)
    exps = [math.exp(s - top) for s in scores]
    return [e / sum(exps) for e in exps]


def best(scores, n):
    return sorted(range(len(scores)), key=lambda e: -scores[e])[:n]


class Grove(Model):
    """Adjugate experts: each neighbouring pair of experts shares one, in all layers but the first two."""
    top_k, group, adjugate_ffn, scale = 3, 2, 128, 0.05

    def __init__(self):
        super().__init__(
            "grove_moe", qk="head", moe="alone", dense=2, gguf="grovemoe", folder=self.to_folder,
            config={"num_experts": EXPERTS, "num_experts_per_tok": self.top_k, "moe_intermediate_size": EXPERT_FFN,
                    "mlp_only_layers": [0, 1], "decoder_sparse_step": 1, "norm_topk_prob": True, "head_dim": HEAD,
                    "max_window_layers": 4, "use_sliding_window": False, "sliding_window": None},
            keys=[("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, self.top_k),
                  ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN), ("experts_per_group", GGUF_U32, self.group),
                  ("expert_chunk_feed_forward_length", GGUF_U32, self.adjugate_ffn),
                  ("expert_group_scale", GGUF_F32, self.scale)])

    def fill(self):
        super().fill()
        for i in range(self.dense, self.layers):
            for a in range(EXPERTS // self.group):
                hf = f"model.layers.{i}.mlp.chunk_experts.{a}."
                for part, shape in (("gate", [self.adjugate_ffn, HIDDEN]), ("up", [self.adjugate_ffn, HIDDEN]),
                                    ("down", [HIDDEN, self.adjugate_ffn])):
                    # large: their scale is small
                    self.w.add(f"{hf}{part}_proj.weight", (f"blk.{i}.ffn_{part}_chexps.weight", EXPERTS // self.group),
                               shape, 0, 0.5)

    def to_folder(self, tensors):
        """with the buffer that the reference implementation stores and does not read"""
        unused = {f"model.layers.{i}.mlp.expert_bias": ([EXPERTS], [1.0] * EXPERTS) for i in range(self.dense, self.layers)}
        return {**tensors, **unused}

    def experts(self, hf, x, early):
        p = softmax(tiny.matvec(self.w.matrix(f"{hf}mlp.gate.weight"), x))
        chosen = best(p, self.top_k)
        total, outs = sum(p[e] for e in chosen), []
        for e in chosen:
            for name, factor in ((f"experts.{e}", 1), (f"chunk_experts.{e // self.group}", self.scale)):
                outs.append([factor * p[e] / total * v for v in self.mlp(f"{hf}mlp.{name}.", x)])
        return tiny.add(*outs)


MODELS = (Grove,)


def main():
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for number, make in enumerate(MODELS):
            model, folder = make(), f"{scratch}/{number}"
            model.write_folder(folder)
            model.write_gguf(f"{folder}/model.gguf")
            failed |= not tiny.same_bits([[folder], ["--chunk", "1", folder], ["--chunk", "5", "--threads", "3", folder]])
            failed |= not tiny.same_bits([["--gguf", f"{folder}/model.gguf", folder]])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
