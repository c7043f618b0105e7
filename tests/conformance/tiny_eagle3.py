#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""EAGLE-3 heads as tiny random models: they read the residual stream of a model before three of its layers.

Writes a Llama and heads with and without embeddings and a vocabulary of their own as folders of both styles, and as GGUF
files, computes the logits of all in double precision with the standard library alone, and checks them with quire-eval,
as well as what is refused.

usage: tiny_eagle3.py QUIRE_EVAL
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
from tiny_models import GGUF_ARRAY, GGUF_BOOL, GGUF_F32, GGUF_STR, GGUF_U32, add, matvec, pack_f32, silu

VOCAB, DRAFT_VOCAB, LAYERS, HEAD, KV_HEADS, EPS, THETA, PROMPTS = 80, 40, 6, 8, 2, 1e-5, 10000.0, (2, 7, 33)
GGUF_I64 = 27


def norm(x, w):
    r = 1 / math.sqrt(sum(v * v for v in x) / len(x) + EPS)
    return [v * r * g for v, g in zip(x, w)]


def rotate(x, position):
    half, out = len(x) // 2, list(x)
    for i in range(half):
        angle = position * THETA ** (-2 * i / len(x))
        c, s = math.cos(angle), math.sin(angle)
        out[i], out[i + half] = x[i] * c - x[i + half] * s, x[i + half] * c + x[i] * s
    return out


class Net:
    """Parts of Llama. The cache of a layer is a list of keys and values."""

    def __init__(self, seed, hidden, heads):
        self.hidden, self.heads, self.w = hidden, heads, tiny.Weights(seed)

    def add_layer(self, hf, width, norms):
        """width: of what attention reads"""
        for name in norms:
            self.w.add(f"{hf}{name}.weight", None, [self.hidden], 1, 0.3)
        for name, rows, cols in (("self_attn.q_proj", self.heads * HEAD, width), ("self_attn.k_proj", KV_HEADS * HEAD, width),
                                 ("self_attn.v_proj", KV_HEADS * HEAD, width), ("self_attn.o_proj", self.hidden, self.heads * HEAD),
                                 ("mlp.gate_proj", 2 * self.hidden, self.hidden), ("mlp.up_proj", 2 * self.hidden, self.hidden),
                                 ("mlp.down_proj", self.hidden, 2 * self.hidden)):
            self.w.add(f"{hf}{name}.weight", None, [rows, cols])

    def times(self, name, x):
        return matvec(self.w.matrix(f"{name}.weight"), x)

    def normed(self, name, x):
        return norm(x, self.w.vector(f"{name}.weight"))

    def attention(self, hf, x, position, cache):
        q, k, v = ([p[i:i + HEAD] for i in range(0, len(p), HEAD)] for p in (self.times(f"{hf}self_attn.{c}_proj", x) for c in "qkv"))
        if f"{hf}self_attn.q_norm.weight" in self.w.tensors:
            q, k = ([self.normed(f"{hf}self_attn.{c}_norm", h) for h in heads] for c, heads in (("q", q), ("k", k)))
        cache.append(([rotate(h, position) for h in k], v))
        y = []
        for h, query in enumerate(rotate(part, position) for part in q):
            g = h * KV_HEADS // self.heads
            scores = [sum(map(operator.mul, query, keys[g])) / math.sqrt(HEAD) for keys, _ in cache]
            p = [math.exp(s - max(scores)) for s in scores]
            total = sum(p)
            y += [sum(map(operator.mul, p, column)) / total for column in zip(*(values[g] for _, values in cache))]
        return self.times(f"{hf}self_attn.o_proj", y)

    def feed_forward(self, hf, x):
        n = self.normed(f"{hf}post_attention_layernorm", x)
        inner = [silu(g) * u for g, u in zip(self.times(f"{hf}mlp.gate_proj", n), self.times(f"{hf}mlp.up_proj", n))]
        return add(x, self.times(f"{hf}mlp.down_proj", inner))

    def sizes(self):
        return {"hidden_size": self.hidden, "intermediate_size": 2 * self.hidden, "num_attention_heads": self.heads,
                "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "hidden_act": "silu", "max_position_embeddings": 128,
                "rms_norm_eps": EPS, "rope_theta": THETA, "vocab_size": VOCAB, "tie_word_embeddings": False,
                "attention_bias": False, "mlp_bias": False, "rope_scaling": None}

    def tensors(self):
        return {hf: ("F32", shape, pack_f32(v)) for hf, (_, shape, v) in self.w.tensors.items()}


class Base(Net):
    def __init__(self):
        super().__init__(3, 32, 4)
        self.w.add("model.embed_tokens.weight", None, [VOCAB, self.hidden], 0, 1)
        self.w.add("model.norm.weight", None, [self.hidden], 1, 0.3)
        self.w.add("lm_head.weight", None, [VOCAB, self.hidden])
        for i in range(LAYERS):
            self.add_layer(f"model.layers.{i}.", self.hidden, ("input_layernorm", "post_attention_layernorm"))

    def run(self, ids):
        """Returns the logits, and per position the residual stream before each layer."""
        words, caches, logits, streams = self.w.matrix("model.embed_tokens.weight"), [[] for _ in range(LAYERS)], [], []
        for position, token in enumerate(ids):
            x, stream = words[token], []
            for i, cache in enumerate(caches):
                hf = f"model.layers.{i}."
                stream.append(x)
                x = add(x, self.attention(hf, self.normed(f"{hf}input_layernorm", x), position, cache))
                x = self.feed_forward(hf, x)
            logits.append(self.times("lm_head", self.normed("model.norm", x)))
            streams.append(stream)
        return logits, streams

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({"model_type": "llama", "num_hidden_layers": LAYERS, **self.sizes()}, f)
        tiny.write_safetensors(f"{folder}/model.safetensors", self.tensors())


class Head(Net):
    """own: embeddings, a hidden size and a smaller vocabulary of its own; residual: the residual stream is normalized;
    layers: whose inputs it reads, None: the default; library: in the style of the Speculators library, with norms of what PROJ
    reads and of the state; output: an output matrix of its own; each: the norm of what PROJ reads is one of each feature;
    depth: its number of layers; qwen: a layer of Qwen 3, in the style of DeepSpec"""

    def __init__(self, base, own, residual, layers, library, output=True, each=False, depth=1, qwen=False):
        super().__init__(5, 24 if own else base.hidden, 3 if own else 4)
        self.base, self.own, self.residual, self.layers, self.library = base, own, residual, layers, library
        self.each, self.depth, self.qwen, self.n_features = each, depth, qwen, len(layers or "123")
        self.at = "layers.0." if library or qwen or depth > 1 else "midlayer."
        if self.heads % KV_HEADS:
            self.heads = 4
        self.add_layer(self.at, 2 * self.hidden, ("input_layernorm", "hidden_norm", "post_attention_layernorm"))
        for part in "qk" if qwen else "":
            self.w.add(f"{self.at}self_attn.{part}_norm.weight", None, [HEAD], 1, 0.3)
        for i in range(1, depth):
            self.add_layer(f"layers.{i}.", self.hidden, ("input_layernorm", "post_attention_layernorm"))
        self.w.add("fc.weight", None, [self.hidden, self.n_features * base.hidden])
        self.w.add("norm.weight", None, [self.hidden], 1, 0.3)
        if output:
            self.w.add("lm_head.weight", None, [DRAFT_VOCAB if own else VOCAB, self.hidden])
        for i in range(self.n_features if each else 0):
            self.w.add(f"fc_norm.{i}.weight", None, [base.hidden], 1, 0.3)
        if library and not each:
            self.w.add("input_norm.weight", None, [self.n_features * base.hidden], 1, 0.3)
        self.order = sorted(random.Random(2).sample(range(VOCAB), DRAFT_VOCAB)) if own else range(VOCAB)
        if own:
            self.w.add("embed_tokens.weight", None, [VOCAB, self.hidden], 0, 1)

    def row(self, token, g, position, cache):
        """Returns logits and the state."""
        words = self.w.matrix("embed_tokens.weight") if self.own else self.base.w.matrix("model.embed_tokens.weight")
        normed = self.normed(f"{self.at}hidden_norm", g)
        x = normed if self.residual else g
        x = add(x, self.attention(self.at, self.normed(f"{self.at}input_layernorm", words[token]) + normed, position, cache[0]))
        x = self.feed_forward(self.at, x)
        for i in range(1, self.depth):
            x = add(x, self.attention(f"layers.{i}.", self.normed(f"layers.{i}.input_layernorm", x), position, cache[i]))
            x = self.feed_forward(f"layers.{i}.", x)
        normed, logits = self.normed("norm", x), [-math.inf] * VOCAB
        for token_of, y in zip(self.order, (self if "lm_head.weight" in self.w.tensors else self.base).times("lm_head", normed)):
            logits[token_of] = y
        return logits, normed if self.library else x

    def run(self, ids, streams):
        """Rows of all positions but the last, and one behind them with the head's own state and the first token."""
        layers, cache, rows = self.layers or (2, LAYERS // 2, LAYERS - 3), [[] for _ in range(self.depth)], []
        for position, token in enumerate(ids[1:]):
            features = [streams[position][i] for i in layers]
            if self.each:
                features = [self.normed(f"fc_norm.{i}", f) for i, f in enumerate(features)]
            features = sum(features, [])
            g = self.times("fc", self.normed("input_norm", features) if self.library and not self.each else features)
            rows.append(self.row(token, g, position, cache))
        return [r[0] for r in rows], [r[1] for r in rows], self.row(ids[0], rows[-1][1], len(rows), cache)[0]

    def write(self, folder, eagle=None, sizes=None, order=None, **changes):
        os.makedirs(folder, exist_ok=True)
        sizes = {"model_type": "llama", "num_hidden_layers": self.depth, **self.sizes(), **(sizes or {})}
        options = {"draft_vocab_size": len(self.order), "norm_before_residual": self.residual, "dtype": "float32",
                   "target_hidden_size": self.base.hidden if self.own else None, **changes}
        if self.library:
            config = {"architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3", "speculators_version": "0.3.0",
                      "transformer_layer_config": sizes, "eagle_aux_hidden_state_layer_ids": self.layers,
                      "norm_before_fc": not self.each, "fc_norm": self.each, "norm_output": True, **options}
        elif self.qwen:
            config = {"architectures": ["Qwen3Eagle3Model"], **sizes, "model_type": "qwen3", "num_target_layers": LAYERS, "layer_types":
                      ["full_attention"], "target_layer_ids": [i - 1 for i in self.layers], "ttt_length": 7, "step_loss_decay": 0.8,
                      "draft_num_hidden_layers": 1, "target_model_name_or_path": "Qwen/Qwen3-4B", "use_sliding_window": False,
                      "sliding_window": None, "max_window_layers": 36, **changes}
            del config["mlp_bias"]
        else:
            ids = [i - 1 for i in self.layers] if self.layers else None
            config = {"architectures": ["LlamaForCausalLMEagle3"], **sizes, **options, "eagle_config": {
                "use_aux_hidden_state": True, **({"eagle_aux_hidden_state_layer_ids": ids} if ids else {}), **(eagle or {})}}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        order = [token - i for i, token in enumerate(self.order)] if order is None else order
        orders = {} if self.qwen else {"d2t": ("I64", [len(order)], struct.pack(f"<{len(order)}q", *order)),
                                       "t2d": ("BOOL", [VOCAB], bytes(i in self.order for i in range(VOCAB)))}
        tiny.write_safetensors(f"{folder}/model.safetensors", {**self.tensors(), **orders})

    def write_gguf(self, path, **changes):
        """As the public converter does, which permutes the rows of q and k."""
        names = {f"{self.at}input_layernorm": "blk.0.attn_norm", f"{self.at}hidden_norm": "blk.0.attn_norm_2",
                 f"{self.at}post_attention_layernorm": "blk.0.ffn_norm", "norm": "output_norm", "lm_head": "output",
                 "embed_tokens": "token_embd", "fc": "fc", **{f"{self.at}self_attn.{p}_proj": f"blk.0.attn_{p}" for p in "qkv"},
                 f"{self.at}self_attn.o_proj": "blk.0.attn_output",
                 **{f"{self.at}mlp.{p}_proj": f"blk.0.ffn_{p}" for p in ("gate", "up", "down")}}
        parts = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attn_output",
                 **{f"self_attn.{p}_proj": f"attn_{p}" for p in "qkv"}, **{f"mlp.{p}_proj": f"ffn_{p}" for p in ("gate", "up", "down")}}
        names.update({f"layers.{i}.{hf}": f"blk.{i}.{g}" for i in range(1, self.depth) for hf, g in parts.items()})
        tensors = {}
        for hf, (_, shape, values) in self.w.tensors.items():
            name = names[hf.removesuffix(".weight")]
            if name.endswith((".attn_q", ".attn_k")):
                rows = [values[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]
                rows = [rows[i // HEAD * HEAD + i % 2 * (HEAD // 2) + i % HEAD // 2] for i in range(shape[0])]
                values = sum(rows, [])
            tensors[f"{name}.weight"] = (shape, values)
        tensors["d2t"] = ([len(self.order)], struct.pack(f"<{len(self.order)}q", *self.order), GGUF_I64)
        keys = {"block_count": (GGUF_U32, self.depth), "context_length": (GGUF_U32, 128), "embedding_length": (GGUF_U32, self.hidden),
                "feed_forward_length": (GGUF_U32, 2 * self.hidden), "attention.head_count": (GGUF_U32, self.heads),
                "attention.head_count_kv": (GGUF_U32, KV_HEADS), "attention.layer_norm_rms_epsilon": (GGUF_F32, EPS),
                "attention.key_length": (GGUF_U32, HEAD), "attention.value_length": (GGUF_U32, HEAD),
                "rope.freq_base": (GGUF_F32, THETA), "rope.dimension_count": (GGUF_U32, HEAD), "vocab_size": (GGUF_U32, VOCAB),
                "extract_layers": (GGUF_ARRAY, list(self.layers or (2, LAYERS // 2, LAYERS - 3))),
                "target_hidden_size": (GGUF_U32, self.base.hidden), "norm_before_residual": (GGUF_BOOL, self.residual), **changes}
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, "eagle3")] + [(f"eagle3.{k}", *v) for k, v in keys.items()], tensors)


def write_golden(folder, base, head):
    rng, golden = random.Random(1), {}
    for n in PROMPTS:
        ids = [rng.randrange(VOCAB) for _ in range(n)]
        logits, streams = base.run(ids)
        rows, states, after = head.run(ids, streams)
        golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
        golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(map(pack_f32, logits)))
        golden[f"mtp_logits.{n}"] = ("F32", [n - 1, VOCAB], b"".join(map(pack_f32, rows)))
        golden[f"mtp_hidden.{n}"] = ("F32", [n - 1, head.hidden], b"".join(map(pack_f32, states)))
        golden[f"mtp_next.{n}"] = ("F32", [1, VOCAB], pack_f32(after))
    tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


def check_refusals(plain, library, head, qwen, model, scratch):
    ok, folder, path, ids = True, f"{scratch}/bad", f"{scratch}/bad.gguf", "eagle_aux_hidden_state_layer_ids"
    for changes, word in (({"sizes": {"num_hidden_layers": 2}}, "layers.1"), ({"norm_before_fc": True}, "input_norm"),
                          ({"eagle": {"use_aux_hidden_state": False}}, "use_aux_hidden_state"),
                          ({"eagle": {"use_mtp_layernorm": True}}, "eagle_config.use_mtp_layernorm"),
                          ({"eagle": {"parallel_draft_step": 4}}, "eagle_config.parallel_draft_step"), ({"eagle": {ids: [1, 2]}}, "fc"),
                          ({"eagle": {ids: [1] * 17}}, ids), ({"fc_norm": True}, "fc_norm.0"), ({"fc_norm": 1}, "fc_norm"),
                          ({"eagle": {ids: [1, 2, "x"]}}, ids), ({"eagle": {ids: [1, 2, 5]}}, "layer 6"),
                          ({"draft_vocab_size": VOCAB + 1}, "outputs"), ({"draft_vocab_size": 39}, "lm_head"), ({"target_hidden_size": 16}, "fc"),
                          ({"sizes": {"vocab_size": VOCAB + 1}}, "embed_tokens"), ({"order": [0] * 38 + [-1, 0]}, "d2t"),
                          ({"order": [VOCAB] + [0] * 39}, "d2t"), ({"hidden_sizes": 3}, "hidden_sizes")):
        head.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    for key, value, word in (("extract_layers", (GGUF_ARRAY, [1, 2]), "fc"), ("extract_layers", (GGUF_ARRAY, [1, 2, 3000000]), "extract_layers"),
                             ("extract_layers", (GGUF_ARRAY, [1] * 17), "extract_layers"), ("block_count", (GGUF_U32, 2), "blk.1"),
                             ("target_hidden_size", (GGUF_U32, 0), "hidden size")):
        head.write_gguf(path, **{key: value})
        ok &= tiny.is_refused(["--head", path, model], word)
    for changes, word in (({"fc_norm": True}, "exclude each other"), ({"norm_before_fc": False}, "input_norm")):
        library.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    for changes, word in (({"num_hidden_layers": 2}, "num_hidden_layers"), ({"target_layer_ids": None}, "target_layer_ids"),
                          ({"target_layer_ids": [1, 2]}, "fc"), ({"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama"}, "num_target_layers")):
        qwen.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    plain.write(folder, target_hidden_size=16)
    ok &= tiny.is_refused(["--head", folder, model], "fc")
    head.write(folder)
    os.rename(f"{model}/golden.safetensors", f"{folder}/golden.safetensors")
    return ok & tiny.is_refused([folder], "head of multi-token prediction")


def main():
    base, ok, heads = Base(), True, []
    with tempfile.TemporaryDirectory() as scratch:
        for args in ((False, False, None, False, False), (False, True, [1, 2, 4], True), (True, False, [1, 3, 5], False),
                     (False, True, [0, 1, 2, 5], True, True, True), (False, False, [4, 1], False, True, False, 3),
                     (False, False, [1, 2, 3, 4, 5], False, True, False, 1, True)):
            head = Head(base, *args)
            heads.append(head)
            model, folder, gguf = (f"{scratch}/{name}{len(heads)}" for name in ("model", "head", "head.gguf"))
            base.write(model)
            head.write(folder)
            write_golden(model, base, head)
            for options in [], ["--chunk", "5"], ["--threads", "2"]:
                ok &= not subprocess.call([sys.argv[1], "golden", *options, "--head", folder, model])
            if not head.library and not head.qwen: # the format lacks their norms
                head.write_gguf(gguf)
                ok &= not subprocess.call([sys.argv[1], "golden", "--head", gguf, model])
        ok &= check_refusals(*heads[:3], heads[-1], model, scratch)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
