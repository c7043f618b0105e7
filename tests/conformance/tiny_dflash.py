#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DFlash, DFlash 2 and DSpark drafters as tiny random models: layers that attend to keys and values made of the residual
stream of a model, and to a block of the last token and mask tokens, whose logits a Markov head or a selector may change.

Writes a Llama, a Granite that scales its embeddings, and drafters with and without embeddings and a vocabulary of their own,
windows, and a Markov head, as folders of all styles and as GGUF files, computes the logits of all in double precision with the standard
library alone, and checks them with quire-eval, as well as what is refused.

usage: tiny_dflash.py QUIRE_EVAL
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
from tiny_eagle3 import DRAFT_VOCAB, EPS, GGUF_I64, HEAD, KV_HEADS, LAYERS, PROMPTS, THETA, VOCAB, Base, Net, norm, rotate
from tiny_models import GGUF_ARRAY, GGUF_BOOL, GGUF_F32, GGUF_STR, GGUF_U32, add, pack_f32, silu

N_LAYERS, WINDOW, MASK, BLOCK, RANK, GROUP, TAPS, TOP = 3, 6, 77, 5, 12, 4, 3, 7


class Scaled(Base):
    """The same function with embeddings of half the size, times two."""

    def write(self, folder):
        super().write(folder)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({"model_type": "granite", "num_hidden_layers": LAYERS, **self.sizes(), "embedding_multiplier": 2,
                       "attention_multiplier": 1 / math.sqrt(HEAD), "residual_multiplier": 1, "logits_scaling": 1}, f)
        tensors = self.tensors()
        name = "model.embed_tokens.weight"
        tensors[name] = (*tensors[name][:2], pack_f32([v / 2 for v in self.w.tensors[name][2]]))
        tiny.write_safetensors(f"{folder}/model.safetensors", tensors)


class Drafter(Net):
    """own: embeddings and a smaller vocabulary of its own; layers: whose outputs it reads, -1: the embedding; windowed:
    layers with a window; causal: rows of a block see those before them only, in layers without and with a window; style:
    whose file, the Speculators library's among them; cap: of the logits, which are halved before; anchor: the first row
    predicts a token, too; markov: a Markov head; confidence: its inputs, the state and the head's; second: of DFlash 2, with
    convolutions and a selector"""

    def __init__(self, base, own, layers, windowed=(), causal=(False, True), style="z-lab", hidden=None, cap=0, anchor=False,
                 markov=False, confidence=(), second=False):
        super().__init__(11, hidden or base.hidden, 4)
        self.base, self.own, self.layers, self.windowed, self.causal, self.style, self.cap = base, own, layers, windowed, causal, style, cap
        self.anchor, self.markov, self.confidence, self.second = anchor, markov, confidence, second
        self.w.add("fc.weight", None, [self.hidden, len(layers) * base.hidden])
        self.w.add("hidden_norm.weight", None, [self.hidden], 1, 0.3)
        self.w.add("norm.weight", None, [self.hidden], 1, 0.3)
        for i in range(N_LAYERS):
            self.add_layer(f"layers.{i}.", self.hidden, ("input_layernorm", "post_attention_layernorm"))
            for name in ("q_norm", "k_norm"):
                self.w.add(f"layers.{i}.self_attn.{name}.weight", None, [HEAD], 1, 0.3)
            for part in ("attention_conv", "mlp_conv") if second else ():
                self.w.add(f"layers.{i}.{part}.base_kernel", None, [2, TAPS, self.hidden], 0.5, 0.3)
                self.w.add(f"layers.{i}.{part}.kernel_projection.weight", None, [2 * TAPS * self.hidden // GROUP, self.hidden], 0, 0.1)
        if second:
            self.w.add("candidate_selector.predecessor_codebook", None, [VOCAB, RANK], 0, 1)
            self.w.add("candidate_selector.successor_codebook", None, [VOCAB, RANK], 0, 1)
            self.w.add("candidate_selector.hidden_projection.weight", None, [RANK, self.hidden])
        self.order = sorted(random.Random(4).sample(range(VOCAB), DRAFT_VOCAB)) if own else range(VOCAB)
        if own:
            self.w.add("embed_tokens.weight", None, [VOCAB, self.hidden], 0, 1)
            self.w.add("lm_head.weight", None, [DRAFT_VOCAB, self.hidden])
        if markov:
            self.w.add("markov_head.markov_w1.weight", None, [VOCAB, RANK], 0, 1)
            self.w.add("markov_head.markov_w2.weight", None, [len(self.order), RANK])
        if confidence:
            self.w.add("confidence_head.proj.weight", None, [1, self.hidden + RANK * ("markov" in confidence)])
            self.w.add("confidence_head.proj.bias", None, [1])

    def heads_of(self, hf, part, x, position):
        """Heads of queries, keys or values."""
        p = self.times(f"{hf}self_attn.{part}_proj", x)
        parts = [p[i:i + HEAD] for i in range(0, len(p), HEAD)]
        if part == "v":
            return parts
        weight = self.w.vector(f"{hf}self_attn.{part}_norm.weight")
        return [rotate(norm(h, weight), position) for h in parts]

    def entry(self, hf, x, position):
        return position, self.heads_of(hf, "k", x, position), self.heads_of(hf, "v", x, position)

    def attend(self, i, queries, position, entries):
        """entries: the context, then the whole block"""
        windowed, y = i in self.windowed, []
        seen = [(k, v) for at, k, v in entries if (at <= position or not self.causal[windowed]) and
                (not windowed or position - at < WINDOW)]
        for h, query in enumerate(queries):
            g = h * KV_HEADS // self.heads
            scores = [sum(map(operator.mul, query, k[g])) / math.sqrt(HEAD) for k, _ in seen]
            p = [math.exp(s - max(scores)) for s in scores]
            y += [sum(map(operator.mul, p, column)) / sum(p) for column in zip(*(v[g] for _, v in seen))]
        return self.times(f"layers.{i}.self_attn.o_proj", y)

    def convolve(self, name, side, kernels, rows):
        """The convolution before (side 0) or behind a sublayer over the rows of a block."""
        base, n_groups, out = self.w.vector(f"{name}.base_kernel"), self.hidden // GROUP, []
        for r, kernel in enumerate(kernels):
            y = [0.0] * self.hidden
            for t in range(min(TAPS, r + 1)):
                at = side * TAPS + t
                for c in range(self.hidden):
                    y[c] += (base[at * self.hidden + c] + kernel[at * n_groups + c // GROUP]) * rows[r - t][c]
            out.append(y)
        return out

    def around(self, name, rows, sublayer):
        """A sublayer of normed rows, between its convolutions."""
        if not self.second:
            return sublayer(rows)
        kernels = [self.times(f"{name}.kernel_projection", x) for x in rows]
        return self.convolve(name, 1, kernels, sublayer(self.convolve(name, 0, kernels, rows)))

    def feed(self, hf, rows):
        gate, up = ([self.times(f"{hf}mlp.{part}_proj", x) for x in rows] for part in ("gate", "up"))
        return [self.times(f"{hf}mlp.down_proj", [silu(g) * u for g, u in zip(*pair)]) for pair in zip(gate, up)]

    def attend_all(self, i, context, first, rows):
        hf = f"layers.{i}."
        entries = [self.entry(hf, x, p) for p, x in enumerate(context + rows)]
        return [self.attend(i, self.heads_of(hf, "q", n, first + r), first + r, entries) for r, n in enumerate(rows)]

    def select(self, row, normed, token):
        """The largest logits with their scores; others are excluded."""
        a, b = (self.w.matrix(f"candidate_selector.{part}_codebook") for part in ("predecessor", "successor"))
        context = [p * h for p, h in zip(a[token], self.times("candidate_selector.hidden_projection", normed))]
        out = [-math.inf] * VOCAB
        for t in sorted(range(VOCAB), key=lambda t: -row[t])[:TOP]:
            out[t] = row[t] + sum(map(operator.mul, context, b[t]))
        return out

    def run(self, ids, streams):
        """Logits of the rows of the block behind the last token, and confidences; the most likely token is drawn of each."""
        words = self.w.matrix("embed_tokens.weight") if self.own else self.base.w.matrix("model.embed_tokens.weight")
        first = len(ids) - 1
        features = [sum((stream[i + 1] for i in self.layers), []) for stream in streams[:first]]
        context = [self.normed("hidden_norm", self.times("fc", f)) for f in features]
        rows = [words[token] for token in [ids[-1]] + [MASK] * (BLOCK - 1)]
        for i in range(N_LAYERS):
            hf = f"layers.{i}."
            normed = [self.normed(f"{hf}input_layernorm", x) for x in rows]
            out = self.around(f"{hf}attention_conv", normed, lambda x, i=i: self.attend_all(i, context, first, x))
            rows = [add(x, y) for x, y in zip(rows, out)]
            normed = [self.normed(f"{hf}post_attention_layernorm", x) for x in rows]
            rows = [add(x, y) for x, y in zip(rows, self.around(f"{hf}mlp_conv", normed, lambda x, hf=hf: self.feed(hf, x)))]
        logits, confidences, token = [], [], ids[-1]
        for x in rows[not self.anchor:]:
            row, normed, state = [-math.inf] * VOCAB, self.normed("norm", x), []
            values = self.times("lm_head", normed) if self.own else self.base.times("lm_head", normed)
            if self.markov:
                state = self.w.matrix("markov_head.markov_w1.weight")[token]
                values = add(values, self.times("markov_head.markov_w2", state))
            for t, y in zip(self.order, values):
                row[t] = self.cap * math.tanh(y / 2 / self.cap) if self.cap else y
            if self.second:
                row = self.select(row, normed, token)
            if self.confidence:
                z = self.times("confidence_head.proj", normed + state * ("markov" in self.confidence))[0]
                confidences.append(1 / (1 + math.exp(-z - self.w.vector("confidence_head.proj.bias")[0])))
            token = row.index(max(row))
            logits.append(row)
        return logits, confidences

    def head_options(self):
        """Keys of the Markov head and that of confidence."""
        return {"markov_rank": RANK if self.markov else 0, "markov_head_type": "vanilla", "enable_confidence_head": bool(self.confidence),
                "confidence_head_with_markov": "markov" in self.confidence}

    def options(self):
        """Keys of a publisher's file; those of the drafter are in an object of their own, but in DeepSpec's."""
        sizes = {"auto_map": {"AutoModel": "dflash.DFlashDraftModel"}, "attention_dropout": 0.0, "bos_token_id": 1, "dtype": "bfloat16",
                 "initializer_range": 0.02, "use_cache": True, "block_size": BLOCK, "num_target_layers": LAYERS}
        own = {"mask_token_id": MASK, "target_layer_ids": self.layers}
        if self.style == "DeepSpec":
            return {"architectures": ["Qwen3DSparkModel"], **sizes, **own, **self.head_options(), "num_anchors": 512}
        if self.style == "SpecForge":
            return {"architectures": ["DSparkDraftModel"], **sizes, "markov_rank": RANK, "dflash_config": {
                **own, **self.head_options(), "projector_type": "dspark", "attention_mode": "gqa", "confidence_head_alpha": 1.0}}
        if self.second:
            parts = {"conv_kernel_size": TAPS, "conv_group_size": GROUP, "selector_rank": RANK, "selector_top_k": TOP}
            return {"architectures": ["DFlash2DraftModel"], **sizes, "is_causal": self.causal[0],
                    "dflash_config": {**own, **parts, "block_size": BLOCK}}
        causal = {} if self.causal == (False, True) else {"causal": self.causal[0]}
        shift = {"shift_label": True} if self.anchor else {}
        return {"architectures": ["DFlashDraftModel"], **sizes, "dflash_config": {**own, **causal, **shift}}

    def write(self, folder, sizes=None, options=None, order=None, **changes):
        os.makedirs(folder, exist_ok=True)
        windows = {"sliding_window": WINDOW, "use_sliding_window": True, "max_window_layers": N_LAYERS} if self.windowed else {}
        sizes = {"model_type": "qwen3", "num_hidden_layers": N_LAYERS, **self.sizes(), **windows, "layer_types": [
            "sliding_attention" if i in self.windowed else "full_attention" for i in range(N_LAYERS)], **(sizes or {})}
        del sizes["mlp_bias"]
        if self.cap:
            sizes.update(final_logit_softcapping=self.cap, logit_scale=0.5)
        if self.style == "Speculators":
            kind = "dspark" if self.markov else "dflash2" if self.second else "dflash"
            config = {"architectures": ["DFlashSpeculator"], "speculators_model_type": kind, "speculators_version": "0.5.0",
                      "transformer_layer_config": sizes, "aux_hidden_state_layer_ids": [i + 1 for i in self.layers],
                      "block_size": BLOCK, "mask_token_id": MASK, "draft_vocab_size": len(self.order),
                      "target_hidden_size": self.base.hidden, "sliding_window_non_causal": not self.causal[1],
                      "sample_from_anchor": self.anchor, **(self.head_options() if self.markov else {}), **(options or {})}
            if self.second:
                config.update(conv_kernel_size=TAPS, conv_group_size=GROUP, selector_rank=RANK, selector_top_k=TOP)
                del config["sliding_window_non_causal"]
        else:
            config = {**sizes, **self.options()}
            config.get("dflash_config", config).update(options or {})
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({k: v for k, v in {**config, **changes}.items() if v is not None}, f)
        tensors = self.tensors()
        if self.own:
            order = [token - i for i, token in enumerate(self.order)] if order is None else order
            tensors["d2t"] = ("I64", [len(order)], struct.pack(f"<{len(order)}q", *order))
            tensors["t2d"] = ("BOOL", [VOCAB], bytes(i in self.order for i in range(VOCAB)))
        tiny.write_safetensors(f"{folder}/model.safetensors", tensors)

    def write_gguf(self, path, mask=MASK, **changes):
        parts = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attn_output",
                 **{f"self_attn.{p}_proj": f"attn_{p}" for p in "qkv"}, **{f"self_attn.{p}_norm": f"attn_{p}_norm" for p in "qk"},
                 **{f"mlp.{p}_proj": f"ffn_{p}" for p in ("gate", "up", "down")},
                 "attention_conv": "attn_conv", "attention_conv.kernel_projection": "attn_conv_proj",
                 "mlp_conv": "ffn_conv", "mlp_conv.kernel_projection": "ffn_conv_proj"}
        names = {"norm": "output_norm", "lm_head": "output", "embed_tokens": "token_embd", "fc": "fc", "hidden_norm": "enc.output_norm",
                 "markov_head.markov_w1": "markov_w1", "markov_head.markov_w2": "markov_w2", "confidence_head.proj": "conf_proj",
                 "candidate_selector.hidden_projection": "selector_hidden",
                 **{f"layers.{i}.{hf}": f"blk.{i}.{g}" for i in range(N_LAYERS) for hf, g in parts.items()}}
        tensors = {}
        for hf, (_, shape, v) in self.w.tensors.items():
            name, _, part = hf.rpartition(".")
            if part == "base_kernel":
                tensors[f"{names[name]}_base"] = (shape, v)
            elif part.endswith("_codebook"):
                tensors[f"selector_{part.removesuffix('_codebook')}.weight"] = (shape, v)
            else:
                tensors[f"{names[name]}.{part}"] = (shape, v)
        if self.own:
            tensors["d2t"] = ([len(self.order)], struct.pack(f"<{len(self.order)}q", *self.order), GGUF_I64)
        keys = {"block_count": (GGUF_U32, N_LAYERS), "context_length": (GGUF_U32, 128), "embedding_length": (GGUF_U32, self.hidden),
                "feed_forward_length": (GGUF_U32, 2 * self.hidden), "attention.head_count": (GGUF_U32, self.heads),
                "attention.head_count_kv": (GGUF_U32, KV_HEADS), "attention.layer_norm_rms_epsilon": (GGUF_F32, EPS),
                "attention.key_length": (GGUF_U32, HEAD), "attention.value_length": (GGUF_U32, HEAD),
                "rope.freq_base": (GGUF_F32, THETA), "rope.dimension_count": (GGUF_U32, HEAD), "vocab_size": (GGUF_U32, VOCAB),
                "block_size": (GGUF_U32, BLOCK), "target_layers": (GGUF_ARRAY, [i + 1 for i in self.layers])}
        if self.windowed:
            keys["attention.sliding_window"] = (GGUF_U32, WINDOW)
            keys["attention.sliding_window_pattern"] = (GGUF_ARRAY, [int(i in self.windowed) for i in range(N_LAYERS)])
        if self.cap:
            keys.update({"final_logit_softcapping": (GGUF_F32, self.cap), "logit_scale": (GGUF_F32, 0.5)})
        if self.second:
            keys.update({k: (GGUF_U32, v) for k, v in (("conv_kernel_size", TAPS), ("conv_group_size", GROUP), ("selector_rank", RANK),
                                                       ("selector_top_k", TOP))})
        if self.anchor != self.markov:
            keys["sample_from_anchor"] = (GGUF_BOOL, self.anchor)
        meta = [("general.architecture", GGUF_STR, "dflash"), ("tokenizer.ggml.mask_token_id", GGUF_U32, mask)]
        tiny.write_gguf_file(path, meta + [(f"dflash.{k}", *v) for k, v in {**keys, **changes}.items()], tensors)


def write_golden(folder, base, head):
    rng, golden = random.Random(1), {}
    for n in PROMPTS:
        ids = [rng.randrange(VOCAB) for _ in range(n)]
        logits, streams = base.run(ids)
        rows, confidences = head.run(ids, streams)
        golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
        golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(map(pack_f32, logits)))
        golden[f"mtp_logits.{n}"] = ("F32", [len(rows), VOCAB], b"".join(map(pack_f32, rows)))
        if confidences:
            golden[f"mtp_confidence.{n}"] = ("F32", [len(rows)], pack_f32(confidences))
    tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


def check_refusals(plain, own, spark, second, model, scratch):
    """plain: in the style of a publisher, own: in that of Speculators, spark: with a Markov head, second: DFlash 2"""
    ok, folder, path = True, f"{scratch}/bad", f"{scratch}/bad.gguf"
    for changes, word in (({"block_size": 1}, "blocks of 1 tokens"), ({"block_size": 129}, "blocks of 129 tokens"),
                          ({"block_size": None}, "block_size"), ({"dflash_config": None}, "dflash_config"),
                          ({"options": {"mask_token_id": VOCAB}}, "mask token"), ({"options": {"mask_token_id": None}}, "mask_token_id"),
                          ({"options": {"target_layer_ids": []}}, "target_layer_ids"),
                          ({"options": {"target_layer_ids": [1, "x"]}}, "target_layer_ids"),
                          ({"options": {"target_layer_ids": [1] * 17}}, "target_layer_ids"),
                          ({"options": {"target_layer_ids": [1, -2]}}, "target_layer_ids"),
                          ({"options": {"projector_type": "domino"}}, "domino"), ({"options": {"shift_label": 1}}, "shift_label"),
                          ({"options": {"target_layer_ids": [1, 2, 5]}}, "layer 6"), ({"options": {"target_layer_ids": [1]}}, "fc"),
                          ({"options": {"use_swa": True}}, "dflash_config.use_swa"), ({"conv_kernel_size": 2}, "conv_kernel_size"),
                          ({"sizes": {"hidden_size": 24}}, "24"), ({"architectures": ["DFlash2DraftModel"]}, "conv_kernel_size"),
                          ({"sample_from_anchor": 1}, "sample_from_anchor"), ({"draft_vocab_size": 40}, "lm_head")):
        plain.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    for changes, word in (({"speculators_model_type": "dspark2"}, "dspark2"), ({"options": {"markov_rank": 8}}, "markov_rank"),
                          ({"transformer_layer_config": None}, "transformer_layer_config"),
                          ({"options": {"draft_vocab_size": VOCAB + 1}}, "outputs"), ({"options": {"target_hidden_size": 16}}, "fc"),
                          ({"aux_hidden_state_layer_ids": None}, "aux_hidden_state_layer_ids"), ({"order": [VOCAB] + [0] * 39}, "d2t")):
        own.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    for changes, word in (({"markov_head_type": "gated"}, "gated"), ({"markov_rank": RANK + 1}, "markov_w1"), ({"markov_rank": -1}, "markov_rank"),
                          ({"markov_rank": 1 << 21}, "rank"), ({"markov_rank": 0}, "a Markov head"), ({"logit_scale": 2}, "factor"),
                          ({"confidence_head_with_markov": False}, "confidence_head"),
                          ({"confidence_head_alpha": "x"}, "confidence_head_alpha"), ({"enable_confidence_head": 2}, "enable_confidence_head"),
                          ({"enable_confidence_head": False}, "confidence_head"), ({"block_size": None}, "block_size")):
        spark.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    for changes, word in (({"options": {"conv_kernel_size": 0}}, "conv_kernel_size is 0"), ({"options": {"conv_kernel_size": 6}}, "6 taps"),
                          ({"options": {"conv_kernel_size": 2}}, "base_kernel"), ({"options": {"conv_group_size": 5}}, "groups of 5"),
                          ({"options": {"conv_group_size": "4"}}, "conv_group_size"), ({"options": {"selector_rank": None}}, "selector_rank"),
                          ({"options": {"selector_rank": 11}}, "predecessor"), ({"options": {"selector_top_k": VOCAB + 1}}, "selector"),
                          ({"draft_vocab_size": 40}, "selector"), ({"options": {"selector_vocab_size": 70}}, "selector_vocab_size")):
        second.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    for changes, word in (({"conv_group_size": (GGUF_U32, 0)}, "groups of 0"), ({"conv_kernel_size": (GGUF_U32, 2)}, "attn_conv_base"),
                          ({"selector_rank": (GGUF_U32, 0)}, "selector"), ({"selector_top_k": (GGUF_U32, 257)}, "selector")):
        second.write_gguf(path, **changes)
        ok &= tiny.is_refused(["--head", path, model], word)
    for changes, word in (({"block_size": (GGUF_U32, 1)}, "blocks of 1 tokens"), ({"target_layers": (GGUF_ARRAY, [1] * 17)}, "target_layers"),
                          ({"target_layers": (GGUF_ARRAY, [3000000])}, "target_layers"), ({"mask": VOCAB}, "mask token"),
                          ({"sample_from_anchor": (GGUF_U32, 1)}, "sample_from_anchor"),
                          ({"selector_rank": (GGUF_U32, 8)}, "selector_rank")):
        plain.write_gguf(path, **changes)
        ok &= tiny.is_refused(["--head", path, model], word)
    plain.write(folder)
    os.rename(f"{model}/golden.safetensors", f"{folder}/golden.safetensors")
    return ok & tiny.is_refused([folder], "head of multi-token prediction")


def main():
    llama, granite, ok = Base(), Scaled(), True
    drafters = [Drafter(llama, False, [0, 2, 4]), Drafter(granite, False, [1], (0, 2), cap=1.5), Drafter(llama, False, [4, 1], (1,), (True, True)),
                Drafter(llama, True, [0, 1, 2, 3, 4], (0,), (False, False), "Speculators", 24),
                Drafter(llama, True, [3, 1], (1, 2), style="Speculators", cap=2.5), Drafter(llama, False, [-1, 3], anchor=True),
                Drafter(llama, False, [0, 4], style="DeepSpec", anchor=True, markov=True, confidence=("state", "markov")),
                Drafter(granite, False, [1, 2], (1,), style="SpecForge", anchor=True, markov=True, confidence=("state",)),
                Drafter(llama, True, [2], style="Speculators", markov=True, confidence=("state", "markov")),
                Drafter(llama, True, [2, 3], style="Speculators", anchor=True, markov=True),
                Drafter(llama, False, [1, 4], second=True), Drafter(granite, False, [0, 3], (1,), (False, False), second=True, cap=1.5),
                Drafter(llama, False, [2], (0, 1), (False, False), "Speculators", second=True)]
    with tempfile.TemporaryDirectory() as scratch:
        for i, head in enumerate(drafters):
            model, folder, gguf = (f"{scratch}/{name}{i}" for name in ("model", "head", "head.gguf"))
            head.base.write(model)
            head.write(folder)
            write_golden(model, head.base, head)
            for options in [], ["--chunk", "5"], ["--threads", "2"], ["--compute", "f32"]:
                ok &= not subprocess.call([sys.argv[1], "golden", *options, "--head", folder, model])
            head.write_gguf(gguf)
            if head.causal == (False, True): # the format has no option
                ok &= not subprocess.call([sys.argv[1], "golden", "--head", gguf, model])
        ok &= check_refusals(drafters[0], drafters[4], drafters[6], drafters[10], f"{scratch}/model4", scratch)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
