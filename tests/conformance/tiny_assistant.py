#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gemma 4, and Gemma 4 12B, with their assistants, heads of multi-token prediction in files of their own, as tiny models.

A head attends to the keys and values of the model. Writes the model and heads with and without clusters of tokens as
folders, and a head as a GGUF file, computes the logits of both in double precision with the standard library alone, and
checks them with quire-eval, as well as what is refused.

usage: tiny_assistant.py QUIRE_EVAL
"""
import json
import math
import operator
import os
import random
import struct
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_models import GGUF_ARRAY, GGUF_F32, GGUF_U32, add, matvec, pack_f32

VOCAB, EPS, WINDOW, KV_HEADS, HEAD, GLOBAL_HEAD, PROMPTS = 96, 1e-6, 8, 2, 8, 16, (2, 7, 33)
SLIDING, FULL = "sliding_attention", "full_attention"
CLUSTERS, TOP = 12, 3


def gelu(x):
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def norm(x, w=None):
    r = 1 / math.sqrt(sum(v * v for v in x) / len(x) + EPS)
    return [v * r * g for v, g in zip(x, w)] if w else [v * r for v in x]


def rotate(x, position, kind):
    """Of heads without a window a quarter of the frequencies rotates."""
    half, out = len(x) // 2, list(x)
    theta, n = (1e4, half) if kind == SLIDING else (1e6, half // 4)
    for i in range(n):
        angle = position * theta ** (-2 * i / len(x))
        c, s = math.cos(angle), math.sin(angle)
        out[i], out[i + half] = x[i] * c - x[i + half] * s, x[i + half] * c + x[i] * s
    return out


class Layers:
    """Layers of Gemma 4. own: the number of those with keys and values of their own; unified: of the 12B model, where
    values of layers without a window are their keys, before norm and RoPE, of one head"""

    def __init__(self, seed, hidden, ffn, heads, kinds, own, unified=False):
        self.hidden, self.ffn, self.heads, self.kinds, self.own, self.w = hidden, ffn, heads, kinds, own, tiny.Weights(seed)
        self.unified = unified
        self.w.add("model.embed_tokens.weight", "token_embd.weight", [VOCAB, hidden], 0, 0.7)
        self.w.add("model.norm.weight", "output_norm.weight", [hidden], 1, 0.3)
        for i, kind in enumerate(kinds):
            hf, blk, head = f"model.layers.{i}.", f"blk.{i}.", self.head(kind)
            for part, gguf in (("input_layernorm", "attn_norm"), ("post_attention_layernorm", "post_attention_norm"),
                               ("pre_feedforward_layernorm", "ffn_norm"), ("post_feedforward_layernorm", "post_ffw_norm")):
                self.w.add(f"{hf}{part}.weight", f"{blk}{gguf}.weight", [hidden], 1, 0.3)
            self.w.add(f"{hf}layer_scalar", f"{blk}layer_output_scale.weight", [1], 0.9, 0.1)
            parts = [("self_attn.q_proj", "attn_q", heads * head, hidden), ("self_attn.o_proj", "attn_output", hidden, heads * head),
                     ("mlp.gate_proj", "ffn_gate", ffn, hidden), ("mlp.up_proj", "ffn_up", ffn, hidden),
                     ("mlp.down_proj", "ffn_down", hidden, ffn)]
            self.w.add(f"{hf}self_attn.q_norm.weight", f"{blk}attn_q_norm.weight", [head], 1, 0.3)
            if i < own:
                which = "k" if unified and kind == FULL else "kv"
                parts += [(f"self_attn.{p}_proj", f"attn_{p}", self.kv_heads(kind) * head, hidden) for p in which]
                self.w.add(f"{hf}self_attn.k_norm.weight", f"{blk}attn_k_norm.weight", [head], 1, 0.3)
            for part, gguf, rows, cols in parts:
                self.w.add(f"{hf}{part}.weight", f"{blk}{gguf}.weight", [rows, cols])

    @staticmethod
    def head(kind):
        return HEAD if kind == SLIDING else GLOBAL_HEAD

    def kv_heads(self, kind):
        return 1 if self.unified and kind == FULL else KV_HEADS

    def times(self, name, x):
        return matvec(self.w.matrix(f"{name}.weight"), x)

    def normed(self, name, x):
        return norm(x, self.w.vector(f"{name}.weight"))

    def keys_and_values(self, i, xs):
        hf, head, out = f"model.layers.{i}.self_attn.", self.head(self.kinds[i]), []
        for position, x in enumerate(xs):
            k = self.times(f"{hf}k_proj", x)
            v = k if self.unified and self.kinds[i] == FULL else self.times(f"{hf}v_proj", x)
            parts = [[p[j:j + head] for j in range(0, len(p), head)] for p in (k, v)]
            out.append(([rotate(self.normed(f"{hf}k_norm", k), position, self.kinds[i]) for k in parts[0]], [norm(v) for v in parts[1]]))
        return out

    def attention(self, i, xs, cache, ahead, causal=True):
        """`ahead`: the rows' positions behind those of the last keys that they attend to; not causal: all keys are seen."""
        hf, kind, out = f"model.layers.{i}.self_attn.", self.kinds[i], []
        head = self.head(kind)
        for row, x in enumerate(xs):
            position, y, q = row + ahead, [], self.times(f"{hf}q_proj", x)
            first = max(0, position - WINDOW + 1) if kind == SLIDING else 0
            seen = cache[first:row + 1] if causal else cache
            for h in range(self.heads):
                query = rotate(self.normed(f"{hf}q_norm", q[h * head:(h + 1) * head]), position, kind)
                g = h * self.kv_heads(kind) // self.heads
                scores = [sum(map(operator.mul, query, k[g])) for k, _ in seen]
                p = [math.exp(s - max(scores)) for s in scores]
                total = sum(p)
                y += [sum(map(operator.mul, p, column)) / total for column in zip(*(v[g] for _, v in seen))]
            out.append(self.times(f"{hf}o_proj", y))
        return out

    def finish(self, i, x, attention):
        """The residual stream behind a layer."""
        hf = f"model.layers.{i}."
        x = add(x, self.normed(f"{hf}post_attention_layernorm", attention))
        n = self.normed(f"{hf}pre_feedforward_layernorm", x)
        inner = [gelu(g) * u for g, u in zip(self.times(f"{hf}mlp.gate_proj", n), self.times(f"{hf}mlp.up_proj", n))]
        x = add(x, self.normed(f"{hf}post_feedforward_layernorm", self.times(f"{hf}mlp.down_proj", inner)))
        return [self.w.vector(f"{hf}layer_scalar")[0] * v for v in x]

    def run(self, xs, caches, ahead=0, streams=None):
        """caches: kind -> keys and values of the last layer with some, updated; streams: gets the inputs of all layers."""
        for i, kind in enumerate(self.kinds):
            if streams is not None:
                streams.append(xs)
            inputs = [self.normed(f"model.layers.{i}.input_layernorm", x) for x in xs]
            if i < self.own:
                caches[kind] = self.keys_and_values(i, inputs)
            xs = [self.finish(i, x, a) for x, a in zip(xs, self.attention(i, inputs, caches[kind], ahead))]
        return [self.normed("model.norm", x) for x in xs]

    def embed(self, ids):
        words = self.w.matrix("model.embed_tokens.weight")
        return [[math.sqrt(self.hidden) * v for v in words[i]] for i in ids]

    def config(self):
        unified = {"num_global_key_value_heads": 1, "attention_k_eq_v": True} if self.unified else {"hidden_size_per_layer_input": 0}
        return {"model_type": f"gemma4{'_unified' * self.unified}_text", "vocab_size": VOCAB, "hidden_size": self.hidden, "intermediate_size": self.ffn,
                "num_hidden_layers": len(self.kinds), "num_attention_heads": self.heads, "num_key_value_heads": KV_HEADS,
                "head_dim": HEAD, "global_head_dim": GLOBAL_HEAD, "layer_types": self.kinds, "sliding_window": WINDOW,
                "num_kv_shared_layers": len(self.kinds) - self.own, "max_position_embeddings": 128, "rms_norm_eps": EPS,
                "hidden_activation": "gelu_pytorch_tanh", "vocab_size_per_layer_input": 0, "final_logit_softcapping": None,
                "enable_moe_block": False, "use_double_wide_mlp": False, "moe_intermediate_size": None, "num_experts": None,
                "top_k_experts": None, "num_global_key_value_heads": None, "attention_k_eq_v": False, "attention_bias": False,
                "attention_dropout": 0.0, "use_bidirectional_attention": None, "use_cache": True, "tie_word_embeddings": True,
                "rope_parameters": {FULL: {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
                                    SLIDING: {"rope_type": "default", "rope_theta": 1e4}}, **unified}

    def tensors(self):
        return {hf: ("F32", shape, pack_f32(v)) for hf, (_, shape, v) in self.w.tensors.items()}


class Assistant(Layers):
    def __init__(self, base, clusters):
        super().__init__(9, 16, 24, 4, [SLIDING, SLIDING, FULL], 0, base.unified)
        self.base, self.order = base, None
        self.w.add("pre_projection.weight", "nextn.pre_projection.weight", [self.hidden, 2 * base.hidden])
        self.w.add("post_projection.weight", "nextn.post_projection.weight", [base.hidden, self.hidden])
        if clusters:
            self.w.add("masked_embedding.centroids.weight", None, [CLUSTERS, self.hidden])
            self.order = list(range(VOCAB))
            random.Random(4).shuffle(self.order)

    def logits(self, x):
        every = matvec(self.w.matrix("model.embed_tokens.weight"), x)
        if not self.order:
            return every
        scores, out, size = self.times("masked_embedding.centroids", x), [-math.inf] * VOCAB, VOCAB // CLUSTERS
        for c in sorted(range(CLUSTERS), key=lambda c: -scores[c])[:TOP]:
            for token in self.order[c * size:(c + 1) * size]:
                out[token] = every[token]
        return out

    def rows(self, ids, hidden, caches):
        """Row i reads token i + 1 and the model's hidden state at i."""
        xs = [self.times("pre_projection", e + h) for e, h in zip(self.base.embed(ids[1:]), hidden)]
        xs = self.run(xs, caches, 1)
        return [self.logits(x) for x in xs], [self.times("post_projection", x) for x in xs]

    def write(self, folder, text=None, **changes):
        os.makedirs(folder, exist_ok=True)
        kind = "_unified" * self.unified
        config = {"model_type": f"gemma4{kind}_assistant", "dtype": "float32", "transformers_version": "5.8.0",
                  "backbone_hidden_size": self.base.hidden, "use_ordered_embeddings": self.order is not None, "num_centroids": CLUSTERS,
                  "centroid_intermediate_top_k": TOP, "tie_word_embeddings": True, "text_config": {**self.config(), **(text or {})}}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**config, **changes}, f)
        tensors = self.tensors()
        if self.order:
            tensors["masked_embedding.token_ordering"] = ("I64", [VOCAB], struct.pack(f"<{VOCAB}q", *self.order))
        tiny.write_safetensors(f"{folder}/model.safetensors", tensors)

    def write_gguf(self, path, **changes):
        n = len(self.kinds)
        keys = {"block_count": (GGUF_U32, n), "context_length": (GGUF_U32, 128), "embedding_length": (GGUF_U32, self.hidden),
                "embedding_length_out": (GGUF_U32, self.base.hidden), "nextn_predict_layers": (GGUF_U32, n),
                "embedding_length_per_layer_input": (GGUF_U32, 0), "feed_forward_length": (GGUF_U32, self.ffn),
                "attention.head_count": (GGUF_U32, self.heads),
                "attention.head_count_kv": (GGUF_ARRAY, [self.kv_heads(k) for k in self.kinds]),
                "attention.layer_norm_rms_epsilon": (GGUF_F32, EPS), "attention.key_length": (GGUF_U32, GLOBAL_HEAD),
                "attention.value_length": (GGUF_U32, GLOBAL_HEAD), "attention.key_length_swa": (GGUF_U32, HEAD),
                "attention.value_length_swa": (GGUF_U32, HEAD), "attention.sliding_window": (GGUF_U32, WINDOW),
                "attention.sliding_window_pattern": (GGUF_ARRAY, [k == SLIDING for k in self.kinds]),
                "attention.shared_kv_layers": (GGUF_U32, n), "rope.freq_base": (GGUF_F32, 1e6), "rope.freq_base_swa": (GGUF_F32, 1e4),
                "rope.dimension_count": (GGUF_U32, GLOBAL_HEAD), "rope.dimension_count_swa": (GGUF_U32, HEAD), **changes}
        half = GLOBAL_HEAD // 2
        tensors = {"rope_freqs.weight": ([half], [1.0] * (half // 4) + [1e30] * (half - half // 4)), **tiny.gguf_tensors(self.w)}
        tiny.write_gguf_file(path, [("general.architecture", tiny.GGUF_STR, "gemma4-assistant")] + [
            (f"gemma4-assistant.{k}", *v) for k, v in keys.items()], tensors)


def write_golden(folder, base, head):
    rng, golden = random.Random(1), {}
    for n in PROMPTS:
        ids, caches = [rng.randrange(VOCAB) for _ in range(n)], {}
        hidden = base.run(base.embed(ids), caches)
        words = base.w.matrix("model.embed_tokens.weight")
        logits, states = head.rows(ids, hidden[:-1], caches)
        golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
        golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(matvec(words, x)) for x in hidden))
        golden[f"mtp_logits.{n}"] = ("F32", [n - 1, VOCAB], b"".join(map(pack_f32, logits)))
        golden[f"mtp_hidden.{n}"] = ("F32", [n - 1, base.hidden], b"".join(map(pack_f32, states)))
    tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


def write_base(folder, base):
    os.makedirs(folder, exist_ok=True)
    config, tensors = base.config(), base.tensors()
    if base.unified:
        config = {"model_type": "gemma4_unified", "text_config": config, "vision_config": {"mm_embed_dim": base.hidden}}
        tensors = {name.replace("model.", "model.language_model.", 1): t for name, t in tensors.items()}
        tensors["model.vision_embedder.patch_dense.weight"] = tensors["model.embed_vision.embedding_projection.weight"] = \
            ("F32", [1, 1], pack_f32([1.0]))
    with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)
    tiny.write_safetensors(f"{folder}/model.safetensors", tensors)


def check_refusals(base, head, model, scratch):
    ok, folder, path = True, f"{scratch}/bad", f"{scratch}/bad.gguf"
    for changes, word in (({"backbone_hidden_size": 24}, "post_projection"), ({"num_centroids": 0}, "num_centroids"),
                          ({"num_centroids": 7}, "clusters"), ({"centroid_intermediate_top_k": 13}, "clusters"),
                          ({"text": {"num_kv_shared_layers": 1}}, "num_kv_shared_layers"), ({"text": {"sliding_window": 6}}, "window"),
                          ({"text": {"num_key_value_heads": 1}}, "keys per token"), ({"text": {"enable_moe_block": True}}, "enable_moe_block"),
                          ({"text": {"hidden_size_per_layer_input": 8}}, "hidden_size_per_layer_input"),
                          ({"text": {"sliding_window": 1}}, "window")):
        head.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    for order in ([0] * VOCAB, [VOCAB] + head.order[1:]):
        bad = Assistant(base, True)
        bad.order = order
        bad.write(folder)
        ok &= tiny.is_refused(["--head", folder, model], "token_ordering")
    for key, value in (("nextn_predict_layers", 1), ("attention.shared_kv_layers", 2)):
        head.write_gguf(path, **{key: (GGUF_U32, value)})
        ok &= tiny.is_refused(["--head", path, model], key)
    head.write(folder)
    os.rename(f"{model}/golden.safetensors", f"{folder}/golden.safetensors")
    return ok & tiny.is_refused([folder], "head of multi-token prediction")


def main():
    kinds, ok = [SLIDING, SLIDING, FULL, SLIDING, FULL], True
    with tempfile.TemporaryDirectory() as scratch:
        for unified, clusters in (True, False), (False, False), (False, True):
            base = Layers(8, 32, 48, 4, kinds, 5 if unified else 3, unified)
            head = Assistant(base, clusters)
            model, folder, gguf = (f"{scratch}/{name}{unified}{clusters}" for name in ("model", "head", "head.gguf"))
            write_base(model, base)
            head.write(folder)
            head.write_gguf(gguf)
            write_golden(model, base, head)
            for options in [], ["--chunk", "5"], ["--threads", "2"]:
                ok &= not subprocess.call([sys.argv[1], "golden", *options, "--head", folder, model])
            if not clusters:
                ok &= not subprocess.call([sys.argv[1], "golden", "--head", gguf, model])
        ok &= check_refusals(base, head, model, scratch)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
