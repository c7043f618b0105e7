#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Families whose experts the options of tiny_families.py cannot express: GroveMoE, DBRX, Snowflake Arctic.

As tiny_models.py: writes each model as a Hugging Face folder and as a GGUF file, computes its logits in double
precision, and checks both with quire-eval, also in chunks and with several threads, which must not change a bit.

usage: tiny_experts.py QUIRE_EVAL
"""
import math
import sys
import tempfile

import tiny_models as tiny
from tiny_decoder import ABSENT, EXPERT_FFN, EXPERTS, HEAD, HEADS, HIDDEN, KV_HEADS, LAYERS, THETA, TOP_K, VOCAB, Model
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


DBRX_NAMES = (("model.embed_tokens", "transformer.wte"), ("model.norm", "transformer.norm_f"), ("model.layers.", "transformer.blocks."),
              ("input_layernorm", "norm_attn_norm.norm_1"), ("post_attention_layernorm", "norm_attn_norm.norm_2"),
              ("self_attn.o_proj", "norm_attn_norm.attn.out_proj"), ("self_attn.qkv_proj", "norm_attn_norm.attn.Wqkv"),
              ("mlp.gate.", "ffn.router.layer."))


class Dbrx(Model):
    """LayerNorm without bias; q, k and v are one tensor, and clipped; matrices of all experts are one tensor each, of
    two dimensions, the last of them transposed. normalize: weights of selected experts are divided by their sum."""
    clip = 0.75

    def __init__(self, normalize):
        named = {"hidden_size": "d_model", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
                 "max_position_embeddings": "max_seq_len"}
        values = {"d_model": HIDDEN, "n_layers": LAYERS, "n_heads": HEADS, "max_seq_len": 256}
        absent = [*named, "intermediate_size", "num_key_value_heads", "hidden_act", "rope_theta", "layer_norm_eps"]
        super().__init__(
            "dbrx", norm="layer", moe="alone", dense=0, renormalize=normalize, folder=self.to_folder,
            gguf="dbrx" if normalize else None, gguf_fused="qkv", gguf_ffn_norm="attn_output_norm",
            config={**{key: ABSENT for key in absent}, **values,
                    "attn_config": {"clip_qkv": self.clip, "kv_n_heads": KV_HEADS, "rope_theta": THETA, "model_type": ""},
                    "ffn_config": {"ffn_hidden_size": EXPERT_FFN, "moe_num_experts": EXPERTS, "moe_top_k": TOP_K,
                                   "moe_jitter_eps": 0.01, "moe_loss_weight": 0.05, "model_type": "",
                                   **({} if normalize else {"moe_normalize_expert_weights": None,
                                                            "ffn_act_fn": {"name": "silu"}})}},
            keys=[("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
                  ("feed_forward_length", GGUF_U32, EXPERT_FFN), ("attention.clamp_kqv", GGUF_F32, self.clip)])

    def project(self, hf, part, x):
        y = super().project(hf, part, x)
        return [max(-self.clip, min(v, self.clip)) for v in y] if part in "qkv" else y

    def to_folder(self, tensors):
        out = {}
        for name, (shape, values) in tensors.items():
            if ".experts." in name:
                hf, rest = name.split("mlp.experts.")
                part = {"gate": "w1", "up": "v1", "down": "w2"}[rest.split(".")[1].removesuffix("_proj")]
                if part == "w2":
                    values = [values[r * shape[1] + c] for c in range(shape[1]) for r in range(shape[0])]
                name, shape = f"{hf}ffn.experts.mlp.{part}", [EXPERT_FFN, HIDDEN]
            elif any(f"self_attn.{p}_proj" in name for p in "qkv"):
                name = f"{name.split('self_attn.')[0]}self_attn.qkv_proj.weight"
            for old, new in DBRX_NAMES:
                name = name.replace(old, new)
            rows, before = out.get(name, ([0], []))
            out[name] = ([rows[0] + shape[0], *shape[1:]], before + values)
        return out


class Arctic(Model):
    """Experts in every step-th layer, and beside them a dense network of HIDDEN elements unless `beside` is false; they
    read the residual stream before attention then. Other layers have a dense network of EXPERT_FFN elements."""

    def __init__(self, step, beside, top_k):
        self.beside, self.top_k = beside, top_k
        super().__init__(
            "arctic", moe="alone", dense=0, moe_step=step, gguf="arctic" if beside and step == 1 else None, gguf_pairs=True,
            folder=self.to_folder,
            config={"intermediate_size": EXPERT_FFN, "num_local_experts": EXPERTS, "num_experts_per_tok": top_k,
                    "moe_layer_frequency": step, "parallel_attn_mlp_res": beside, "use_residual": True, "quantization": None,
                    "moe_eval_capacity_factor": 1, "moe_token_dropping": True, "sliding_window": None},
            keys=[("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, top_k), ("vocab_size", GGUF_U32, VOCAB),
                  ("feed_forward_length", GGUF_U32, EXPERT_FFN)])

    def fill(self):
        super().fill()
        tensors = self.w.tensors
        for i in range(self.layers):
            hf, blk = f"model.layers.{i}.", f"blk.{i}."
            if not self.has_experts(i):  # the dense network has the size of an expert
                for part, shape in (("gate", [EXPERT_FFN, HIDDEN]), ("up", [EXPERT_FFN, HIDDEN]), ("down", [HIDDEN, EXPERT_FFN])):
                    self.w.add(f"{hf}mlp.{part}_proj.weight", f"{blk}ffn_{part}.weight", shape)
            elif self.beside:
                self.add_norm(f"{hf}residual_layernorm", f"{blk}ffn_norm")
                self.add_mlp(f"{hf}residual_mlp.", blk, "", HIDDEN)
                name = f"{hf}post_attention_layernorm.weight"
                tensors[name] = (f"{blk}ffn_norm_exps.weight", *tensors[name][1:])

    def to_folder(self, tensors):
        out = {}
        for name, tensor in tensors.items():
            dense = ".mlp." in name and f"{name.split('.mlp.')[0]}.mlp.gate.weight" not in tensors
            name = name.replace(".mlp.", ".block_sparse_moe.mlp." if dense else ".block_sparse_moe.")
            if "self_attn" not in name:
                for part, letter in ("gate_proj", "w1"), ("down_proj", "w2"), ("up_proj", "w3"):
                    name = name.replace(part, letter)
            out[name] = tensor
        return out

    def experts(self, hf, x, early):
        p = softmax(tiny.matvec(self.w.matrix(f"{hf}mlp.gate.weight"), x))
        chosen = best(p, self.top_k)
        total = sum(p[e] for e in chosen)
        return tiny.add(*([p[e] / total * v for v in self.mlp(f"{hf}mlp.experts.{e}.", x)] for e in chosen))

    def layer(self, i, xs):
        if not (self.beside and self.has_experts(i)):
            return super().layer(i, xs)
        hf = f"model.layers.{i}."
        att = self.attention(i, [self.normed(x, f"{hf}input_layernorm") for x in xs])
        outs = []
        for x, a in zip(xs, att):
            y = tiny.add(x, a)
            dense = self.mlp(f"{hf}residual_mlp.", self.normed(y, f"{hf}residual_layernorm"))
            outs.append(tiny.add(y, dense, self.experts(hf, self.normed(x, f"{hf}post_attention_layernorm"), None)))
        return outs


MODELS = (Grove, lambda: Dbrx(True), lambda: Dbrx(False), lambda: Arctic(1, True, 2), lambda: Arctic(2, True, 1),
          lambda: Arctic(2, False, 2))


def main():
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for number, make in enumerate(MODELS):
            model, folder = make(), f"{scratch}/{number}"
            model.write_folder(folder)
            failed |= not tiny.same_bits([[folder], ["--chunk", "1", folder], ["--chunk", "5", "--threads", "3", folder]])
            if model.gguf:
                model.write_gguf(f"{folder}/model.gguf")
                failed |= not tiny.same_bits([["--gguf", f"{folder}/model.gguf", folder]])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
