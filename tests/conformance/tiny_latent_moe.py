#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nemotron 3 Super: experts in a latent space.

As tiny_models.py: writes a model of attention layers and layers of experts as a Hugging Face folder, there with a head
of multi-token prediction, and as a GGUF file, computes its logits in double precision, and checks both with quire-eval.

usage: tiny_latent_moe.py QUIRE_EVAL
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_decoder import relu2
from tiny_models import GGUF_ARRAY, GGUF_BOOL, GGUF_F32, GGUF_STR, GGUF_U32

VOCAB, HIDDEN, LATENT, HEADS, KV_HEADS, HEAD = 48, 32, 16, 4, 2, 8
EXPERTS, TOP_K, EXPERT_FFN, SHARED_FFN, SCALE, EPS = 8, 3, 24, 40, 2.5, 1e-5
PATTERN, MTP_PATTERN = "*E*E", "*E"
PROMPTS = (7, 33)
tiny.HEADS, tiny.KV_HEADS, tiny.HEAD = HEADS, KV_HEADS, HEAD


class Super:
    def __init__(self):
        self.w = tiny.Weights(11)
        add = self.w.add
        add("backbone.embeddings.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        add("backbone.norm_f.weight", "output_norm.weight", [HIDDEN], 1, 0.5)
        add("lm_head.weight", "output.weight", [VOCAB, HIDDEN])
        for name in ("0.enorm", "0.hnorm", "1.final_layernorm"):
            add(f"mtp.layers.{name}.weight", None, [HIDDEN], 1, 0.5)
        add("mtp.layers.0.eh_proj.weight", None, [HIDDEN, 2 * HIDDEN])
        self.add_layers("backbone.layers.", PATTERN, lambda i, name: f"blk.{i}.{name}")
        self.add_layers("mtp.layers.", MTP_PATTERN, lambda i, name: None)

    def add_layers(self, prefix, pattern, gguf):
        add = self.w.add
        for i, kind in enumerate(pattern):
            hf = f"{prefix}{i}."
            add(f"{hf}norm.weight", gguf(i, "attn_norm.weight"), [HIDDEN], 1, 0.5)
            hf += "mixer."
            if kind == "*":
                for part, name, rows, cols in (("q", "q", HEADS * HEAD, HIDDEN), ("k", "k", KV_HEADS * HEAD, HIDDEN),
                                               ("v", "v", KV_HEADS * HEAD, HIDDEN), ("o", "output", HIDDEN, HEADS * HEAD)):
                    add(f"{hf}{part}_proj.weight", gguf(i, f"attn_{name}.weight"), [rows, cols])
                continue
            add(f"{hf}gate.weight", gguf(i, "ffn_gate_inp.weight"), [EXPERTS, HIDDEN])
            add(f"{hf}gate.e_score_correction_bias", gguf(i, "exp_probs_b.bias"), [EXPERTS], 0, 0.3)
            add(f"{hf}fc1_latent_proj.weight", gguf(i, "ffn_latent_down.weight"), [LATENT, HIDDEN])
            add(f"{hf}fc2_latent_proj.weight", gguf(i, "ffn_latent_up.weight"), [HIDDEN, LATENT])
            for e in range(EXPERTS):
                for part, shape in (("up", [EXPERT_FFN, LATENT]), ("down", [LATENT, EXPERT_FFN])):
                    stack = gguf(i, f"ffn_{part}_exps.weight")
                    add(f"{hf}experts.{e}.{part}_proj.weight", stack and (stack, EXPERTS), shape)
            add(f"{hf}shared_experts.up_proj.weight", gguf(i, "ffn_up_shexp.weight"), [SHARED_FFN, HIDDEN])
            add(f"{hf}shared_experts.down_proj.weight", gguf(i, "ffn_down_shexp.weight"), [HIDDEN, SHARED_FFN])

    # ---- The forward pass

    def apply(self, name, x):
        return tiny.matvec(self.w.matrix(f"{name}.weight"), x)

    def attention(self, hf, xs):
        rows = {p: [tiny.heads_of(self.apply(f"{hf}{p}_proj", x)) for x in xs] for p in "qkv"}
        return [self.apply(f"{hf}o_proj", tiny.attend(q, rows["k"], rows["v"], i, 0)) for i, q in enumerate(rows["q"])]

    def network(self, hf, x):
        return self.apply(f"{hf}down_proj", [relu2(v) for v in self.apply(f"{hf}up_proj", x)])

    def experts(self, hf, x):
        scores = [1 / (1 + math.exp(-s)) for s in self.apply(f"{hf}gate", x)]
        choice = tiny.add(scores, self.w.vector(f"{hf}gate.e_score_correction_bias"))
        chosen = sorted(range(EXPERTS), key=lambda e: -choice[e])[:TOP_K]
        latent, total = self.apply(f"{hf}fc1_latent_proj", x), sum(scores[e] for e in chosen)
        outs = [[SCALE * scores[e] / total * y for y in self.network(f"{hf}experts.{e}.", latent)] for e in chosen]
        return tiny.add(self.apply(f"{hf}fc2_latent_proj", tiny.add(*outs)), self.network(f"{hf}shared_experts.", x))

    def layers(self, prefix, pattern, xs):
        for i, kind in enumerate(pattern):
            hf = f"{prefix}{i}."
            normed = [tiny.rms_norm(x, self.w.vector(f"{hf}norm.weight")) for x in xs]
            outs = self.attention(f"{hf}mixer.", normed) if kind == "*" else [
                self.experts(f"{hf}mixer.", x) for x in normed]
            xs = [tiny.add(x, y) for x, y in zip(xs, outs)]
        return xs

    def norm(self, name, x):
        return tiny.rms_norm(x, self.w.vector(f"{name}.weight"))

    def logits(self, ids):
        """those of the model and of its head"""
        table = self.w.matrix("backbone.embeddings.weight")
        states = [self.norm("backbone.norm_f", x) for x in self.layers("backbone.layers.", PATTERN, [table[i] for i in ids])]
        xs = [self.apply("mtp.layers.0.eh_proj", self.norm("mtp.layers.0.enorm", table[i]) + self.norm("mtp.layers.0.hnorm", h))
              for i, h in zip(ids[1:], states)]
        xs = [self.norm("mtp.layers.1.final_layernorm", x) for x in self.layers("mtp.layers.", MTP_PATTERN, xs)]
        return tuple([self.apply("lm_head", x) for x in rows] for rows in (states, xs))

    # ---- Files

    def write_folder(self, folder):
        config = {"model_type": "nemotron_h", "vocab_size": VOCAB, "hidden_size": HIDDEN, "num_hidden_layers": len(PATTERN),
                  "hybrid_override_pattern": PATTERN, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
                  "head_dim": HEAD, "intermediate_size": 48, "mlp_hidden_act": "relu2", "n_routed_experts": EXPERTS,
                  "num_experts_per_tok": TOP_K, "moe_intermediate_size": EXPERT_FFN, "moe_latent_size": LATENT,
                  "moe_shared_expert_intermediate_size": SHARED_FFN, "n_shared_experts": 1, "norm_topk_prob": True,
                  "routed_scaling_factor": SCALE, "n_group": 1, "topk_group": 1, "layer_norm_epsilon": EPS,
                  "mamba_num_heads": 4, "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 8, "conv_kernel": 4,
                  "max_position_embeddings": 256, "tie_word_embeddings": False, "num_nextn_predict_layers": 1,
                  "mtp_hybrid_override_pattern": MTP_PATTERN}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        tiny.write_safetensors(f"{folder}/model.safetensors", {
            hf: ("F32", shape, tiny.pack_f32(values)) for hf, (_, shape, values) in self.w.tensors.items()})

    def write_golden(self, folder, gguf):
        """the GGUF file has no head: converters of the family leave it out"""
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            for name, rows in zip(("logits",) if gguf else ("logits", "mtp_logits"), self.logits(ids)):
                golden[f"{name}.{n}"] = ("F32", [len(rows), VOCAB], b"".join(tiny.pack_f32(r) for r in rows))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def write_gguf(self, path):
        arch, numbers = "nemotron_h_moe", lambda a, b: [a if kind == "*" else b for kind in PATTERN]
        keys = [("block_count", GGUF_U32, len(PATTERN)), ("context_length", GGUF_U32, 256),
                ("embedding_length", GGUF_U32, HIDDEN), ("feed_forward_length", GGUF_ARRAY, numbers(0, EXPERT_FFN)),
                ("attention.head_count", GGUF_U32, HEADS), ("attention.head_count_kv", GGUF_ARRAY, numbers(KV_HEADS, 0)),
                ("attention.key_length", GGUF_U32, HEAD), ("attention.value_length", GGUF_U32, HEAD),
                ("attention.layer_norm_rms_epsilon", GGUF_F32, EPS), ("expert_count", GGUF_U32, EXPERTS),
                ("expert_used_count", GGUF_U32, TOP_K), ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN),
                ("expert_shared_feed_forward_length", GGUF_U32, SHARED_FFN), ("expert_shared_count", GGUF_U32, 1),
                ("expert_weights_norm", GGUF_BOOL, True), ("expert_weights_scale", GGUF_F32, SCALE),
                ("expert_group_count", GGUF_U32, 1), ("moe_latent_size", GGUF_U32, LATENT),
                ("ssm.conv_kernel", GGUF_U32, 4), ("ssm.inner_size", GGUF_U32, 32), ("ssm.state_size", GGUF_U32, 8),
                ("ssm.time_step_rank", GGUF_U32, 4), ("ssm.group_count", GGUF_U32, 2)]
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, arch)] + [(f"{arch}.{k}", t, v) for k, t, v in keys],
                             tiny.gguf_tensors(self.w))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder, gguf, model = f"{scratch}/super", f"{scratch}/super-gguf", Super()
        for path in (folder, gguf):
            os.mkdir(path)
            model.write_golden(path, path == gguf)
        model.write_folder(folder)
        model.write_gguf(f"{gguf}/model.gguf")
        for arguments in ([folder], ["--threads", "3", "--chunk", "5", folder], ["--gguf", f"{gguf}/model.gguf", gguf]):
            failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", *arguments])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
