#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""EAGLE-3 heads with a layer of Gemma 4, as DeepSpec writes them, as tiny random models.

Writes a Gemma 4 12B and heads with and without values and embeddings of their own as folders, computes the logits of both
in double precision with the standard library alone, and checks them with quire-eval, as well as what is refused.

usage: tiny_eagle3_gemma4.py QUIRE_EVAL
"""
import json
import math
import os
import random
import struct
import sys

import tiny_models as tiny
from tiny_assistant import FULL, GLOBAL_HEAD, PROMPTS, VOCAB, Layers
from tiny_dflash_gemma4 import check_heads, make_base
from tiny_models import matvec, pack_f32

CAP = 3.0


class Head(Layers):
    """layers: whose outputs it reads; shared: values are keys; own: embeddings and an output matrix of its own"""

    def __init__(self, base, layers, shared, own):
        super().__init__(13, base.hidden, 40, 4, [FULL], 1, shared)
        self.base, self.layers, self.has_own = base, layers, own
        for part in "qk" if shared else "qkv":
            rows = (self.heads if part == "q" else self.kv_heads(FULL)) * GLOBAL_HEAD
            self.w.add(f"model.layers.0.self_attn.{part}_proj.weight", None, [rows, 2 * self.hidden])
        self.w.add("model.layers.0.hidden_norm.weight", None, [self.hidden], 1, 0.3)
        self.w.add("model.fc.weight", None, [self.hidden, len(layers) * base.hidden])
        if own:
            self.w.add("lm_head.weight", None, [VOCAB, self.hidden])
            self.w.add("model.embed_tokens.weight", None, [VOCAB, self.hidden], 0, 1e-3) # so small that eps shows their scale
        else:
            self.w.tensors["model.embed_tokens.weight"] = base.w.tensors["model.embed_tokens.weight"]

    def output(self, x):
        y = self.times("lm_head" if self.has_own else "model.embed_tokens", self.normed("model.norm", x))
        return [CAP * math.tanh(v / CAP) for v in y]

    def run_rows(self, ids, states):
        """The residual stream behind the layer, of rows of tokens and what their features, or states, are projected to."""
        at = "model.layers.0."
        rows = [self.normed(f"{at}input_layernorm", e) + self.normed(f"{at}hidden_norm", g) for e, g in zip(self.embed(ids), states)]
        entries = self.keys_and_values(0, rows)
        return [self.finish(0, g, a) for g, a in zip(states, self.attention(0, rows, entries, 0))]

    def draft(self, ids, streams):
        """States of all positions but the last, and that of a row behind them, with the last of them and the first token."""
        inputs = [self.times("model.fc", sum((streams[i + 1][p] for i in self.layers), [])) for p in range(len(ids) - 1)]
        states = self.run_rows(ids[1:], inputs)
        return states, self.run_rows(ids[1:] + ids[:1], inputs + states[-1:])[-1]

    def write(self, folder, **changes):
        os.makedirs(folder, exist_ok=True)
        config = {**self.config(), "architectures": ["Gemma4Eagle3Model"], "model_type": "gemma4_text", "hidden_size_per_layer_input": 0,
                  "tie_word_embeddings": False, "final_logit_softcapping": CAP, "target_model_type": "gemma4_unified",
                  "target_text_model_type": "gemma4_unified_text", "num_target_layers": 6, "target_model_name_or_path": "google/gemma-4-12b",
                  "target_layer_ids": self.layers, "ttt_length": 7, "step_loss_decay": 0.8, "draft_num_hidden_layers": 1, **changes}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        tensors = {name.removeprefix("model."): t for name, t in self.tensors().items()}
        if not self.has_own:
            del tensors["embed_tokens.weight"]
        tiny.write_safetensors(f"{folder}/model.safetensors", tensors)


def write_golden(folder, base, head):
    rng, golden = random.Random(1), {}
    for n in PROMPTS:
        ids, streams = [rng.randrange(VOCAB) for _ in range(n)], []
        normed = base.run(base.embed(ids), {}, streams=streams)
        states, after = head.draft(ids, streams)
        golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
        golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(matvec(base.w.matrix("model.embed_tokens.weight"), x)) for x in normed))
        golden[f"mtp_logits.{n}"] = ("F32", [n - 1, VOCAB], b"".join(pack_f32(head.output(x)) for x in states))
        golden[f"mtp_hidden.{n}"] = ("F32", [n - 1, head.hidden], b"".join(map(pack_f32, states)))
        golden[f"mtp_next.{n}"] = ("F32", [1, VOCAB], pack_f32(head.output(after)))
    tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


def check_refusals(head, model, scratch):
    ok, folder = True, f"{scratch}/bad"
    for changes, word in (({"enable_moe_block": True}, "enable_moe_block"), ({"hidden_size_per_layer_input": 8}, "hidden_size_per_layer_input"),
                          ({"num_hidden_layers": 2, "layer_types": [FULL, FULL]}, "num_hidden_layers"),
                          ({"target_layer_ids": [0, 2, 6]}, "layer 7"), ({"target_layer_ids": [0, 2]}, "fc"), ({"target_layer_ids": 3}, "target_layer_ids"),
                          ({"num_kv_shared_layers": 1}, "num_kv_shared_layers"), ({"fc_rank": 3}, "fc_rank")):
        head.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    return ok


def main():
    base = make_base()
    return check_heads(base, [Head(base, [0, 2, 4], True, True), Head(base, [0, 1, 2, 3, 4], False, False)], write_golden, check_refusals)


if __name__ == "__main__":
    sys.exit(main())
