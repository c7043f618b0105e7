#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Heads of multi-token prediction that take turns: MiMo V2 and Step 3.5, with three heads each.

As tiny_models.py: writes a model with its heads as a Hugging Face folder and as a GGUF file, computes the logits and
states of all heads in double precision, and checks them with quire-eval. Row i of head k reads the token at i + 1 + k
and a residual stream at i: that of the model behind its last layer, or in Step 3.5 that of the head before it.

usage: tiny_heads.py QUIRE_EVAL
"""
import math
import sys

import tiny_models as tiny
import tiny_step
from tiny_decoder import ABSENT, EPS, HEAD, HEADS, HIDDEN, KV_HEADS, VOCAB, Model, check
from tiny_models import GGUF_ARRAY, GGUF_F32, GGUF_U32
from tiny_mtp import read_safetensors

N_HEADS, WINDOW, VALUE_SCALE, SWA_THETA = 3, 8, 0.707, 1000.0


class Heads:
    """Computes heads behind the layers of a Model; `chained` and `own_output` are those of the family."""
    chained = own_output = False

    def fill_heads(self):
        for k in range(N_HEADS):
            hf, blk = f"model.layers.{self.layers + k}.", f"blk.{self.layers + k}."
            self.fill_attention(hf, blk)
            self.add_norm(f"{hf}input_layernorm", f"{blk}attn_norm")
            self.add_norm(f"{hf}post_attention_layernorm", f"{blk}ffn_norm")
            self.add_mlp(f"{hf}mlp.", blk, "", 48)
            self.w.add(f"{hf}eh_proj.weight", f"{blk}nextn.eh_proj.weight", [HIDDEN, 2 * HIDDEN])
            self.add_norm(f"{hf}enorm", f"{blk}nextn.enorm")
            self.add_norm(f"{hf}hnorm", f"{blk}nextn.hnorm")
            self.add_norm(f"{hf}{self.final_norm[0]}", f"{blk}{self.final_norm[1]}")
            if self.own_output:
                self.w.add(f"{hf}transformer.shared_head.output.weight", f"{blk}nextn.shared_head_head.weight",
                           [VOCAB, HIDDEN])

    def logits(self, ids):
        table, head = self.w.matrix("model.embed_tokens.weight"), self.w.matrix("lm_head.weight")
        xs = [list(table[i]) for i in ids]
        for i in range(self.layers):
            xs = self.layer(i, xs)
        self.results[len(ids)] = self.heads_of(ids, table, head, xs)
        return [tiny.matvec(head, self.normed(x, "model.norm")) for x in xs], []

    def heads_of(self, ids, table, head, stream):
        """[(logits, states)] of each head"""
        out = []
        for k in range(N_HEADS):
            at = f"model.layers.{self.layers + k}."
            project = self.w.matrix(f"{at}eh_proj.weight")
            states = self.layer(self.layers + k, [
                tiny.matvec(project, self.normed(table[t], f"{at}enorm") + self.normed(x, f"{at}hnorm"))
                for t, x in zip(ids[1 + k:], stream)])
            rows = self.w.matrix(f"{at}transformer.shared_head.output.weight") if self.own_output else head
            out.append(([tiny.matvec(rows, self.normed(x, at + self.final_norm[0])) for x in states], states))
            stream = states if self.chained else stream
        return out

    def write_folder(self, folder):
        self.results = {}
        super().write_folder(folder)
        golden = read_safetensors(f"{folder}/golden.safetensors")
        for n, heads in self.results.items():
            for k, tensors in enumerate(heads):
                suffix = f".{k}" if k else ""
                for name, rows in zip(("logits", "hidden"), tensors):
                    golden[f"mtp_{name}.{n}{suffix}"] = ("F32", [len(rows), len(rows[0])],
                                                         b"".join(tiny.pack_f32(r) for r in rows))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


class Step(Heads, tiny_step.Step):
    chained = own_output = True
    final_norm = "transformer.shared_head.norm", "nextn.shared_head_norm"

    def fill(self):
        Model.fill(self)
        self.w.tensors["rope_freqs"] = ("rope_freqs.weight", [HEAD // 2], tiny_step.divisors())
        self.fill_heads()

    def has_experts(self, layer):
        return layer in tiny_step.MOE_LAYERS


class Mimo(Heads, Model):
    """Without experts. Windowed layers, and so heads, have attention sinks and a RoPE base of their own."""
    final_norm = "final_layernorm", "layer_output_norm"

    def __init__(self):
        pattern = [0, 1, 1, 0]
        all_layers = pattern + [1] * N_HEADS
        super().__init__(
            "mimo_v2_flash", layers=len(pattern), rope_dim=HEAD // 2, local_theta=SWA_THETA,
            windows=[i for i, windowed in enumerate(all_layers) if windowed], folder=self.to_folder, gguf="mimo2",
            gguf_fused="qkv",
            config={"head_dim": HEAD, "v_head_dim": HEAD, "hybrid_layer_pattern": pattern, "sliding_window": WINDOW,
                    "partial_rotary_factor": 0.5, "swa_rope_theta": SWA_THETA, "attention_value_scale": VALUE_SCALE,
                    "swa_num_key_value_heads": KV_HEADS, "layernorm_epsilon": EPS, "rms_norm_eps": ABSENT,
                    "add_swa_attention_sink_bias": True},
            keys=[("block_count", GGUF_U32, len(all_layers)), ("nextn_predict_layers", GGUF_U32, N_HEADS),
                  ("attention.head_count_kv", GGUF_ARRAY, [KV_HEADS] * len(all_layers)),
                  ("attention.sliding_window", GGUF_U32, WINDOW),
                  ("attention.sliding_window_pattern", GGUF_ARRAY, [bool(w) for w in all_layers]),
                  ("attention.key_length", GGUF_U32, HEAD), ("attention.value_length", GGUF_U32, HEAD),
                  ("attention.value_scale", GGUF_F32, VALUE_SCALE), ("rope.freq_base_swa", GGUF_F32, SWA_THETA)])

    def fill(self):
        super().fill()
        self.fill_heads()

    def fill_attention(self, hf, blk):
        super().fill_attention(hf, blk)
        if int(hf.split(".")[2]) in self.windows:
            self.w.add(f"{hf}self_attn.attention_sink_bias", f"{blk}attn_sinks.weight", [HEADS], 0, 0.5)

    def to_folder(self, tensors):
        out = {}
        for name, tensor in tensors.items():
            for k in range(N_HEADS):
                at = f"model.layers.{self.layers + k}."
                if name.startswith(at):
                    name = name.replace(at, f"model.mtp.layers.{k}.")
                    name = name.replace("post_attention_layernorm", "pre_mlp_layernorm")
            out[name] = tensor
        return out

    def attention(self, layer, xs):
        at, windowed = f"model.layers.{layer}.self_attn.", layer in self.windows
        sinks = self.w.vector(f"{at}attention_sink_bias") if windowed else None
        rows = {part: [tiny.heads_of(self.project(at, part, x)) for x in xs] for part in "qkv"}
        for part in "qk":
            rows[part] = [[self.rotate(v, i, layer) for v in heads] for i, heads in enumerate(rows[part])]
        outs = []
        for i in range(len(xs)):
            first, row = max(0, i + 1 - WINDOW) if windowed else 0, []
            for h, q in enumerate(rows["q"][i]):
                g = h // (HEADS // KV_HEADS)
                p = [math.exp(sum(a * b for a, b in zip(q, k[g])) / math.sqrt(HEAD)) for k in rows["k"][first:i + 1]]
                total = sum(p) + (math.exp(sinks[h]) if windowed else 0)
                row += [VALUE_SCALE * sum(a * v[g][d] for a, v in zip(p, rows["v"][first:i + 1])) / total
                        for d in range(HEAD)]
            outs.append(self.project(at, "o", row))
        return outs


if __name__ == "__main__":
    sys.exit(check([Mimo, lambda: Step(tiny_step.PUBLISHED)], sys.argv[1]))
