#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DFlash and DSpark drafters with layers of Gemma 4, as DeepSpec writes them, as tiny random models.

Writes a Gemma 4 12B and drafters with and without values of their own, a Markov head, and embeddings as folders, computes
the logits of all in double precision with the standard library alone, and checks them with quire-eval, as well as what is
refused.

usage: tiny_dflash_gemma4.py QUIRE_EVAL
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
from tiny_assistant import FULL, PROMPTS, SLIDING, VOCAB, Layers
from tiny_models import add, matvec, pack_f32

BLOCK, MASK, RANK, CAP = 5, 4, 12, 3.0


class Drafter(Layers):
    """layers: whose outputs it reads; own: embeddings and an output matrix of its own; markov: a Markov head, with confidence"""

    def __init__(self, base, layers, shared, own, markov):
        super().__init__(11, base.hidden, 40, 4, [FULL] * 3, 3, shared)
        self.base, self.layers, self.markov = base, layers, markov
        self.w.tensors = {name.removeprefix("model."): t for name, t in self.w.tensors.items()}
        self.w.add("fc.weight", None, [self.hidden, len(layers) * base.hidden])
        self.w.add("hidden_norm.weight", None, [self.hidden], 1, 0.3)
        if own:
            self.w.add("lm_head.weight", None, [VOCAB, self.hidden])
        else:
            del self.w.tensors["embed_tokens.weight"]
        if markov:
            self.w.add("markov_head.markov_w1.weight", None, [VOCAB, RANK], 0, 1)
            self.w.add("markov_head.markov_w2.weight", None, [VOCAB, RANK])
            self.w.add("confidence_head.proj.weight", None, [1, self.hidden + RANK])
            self.w.add("confidence_head.proj.bias", None, [1])

    def find(self, name):
        """The name of a tensor without the prefix that names of models have."""
        return name.removeprefix("model.")

    def times(self, name, x):
        return super().times(self.find(name), x)

    def normed(self, name, x):
        return super().normed(self.find(name), x)

    def finish(self, i, x, attention):
        self.w.tensors[f"model.layers.{i}.layer_scalar"] = self.w.tensors[f"layers.{i}.layer_scalar"]
        out = super().finish(i, x, attention)
        del self.w.tensors[f"model.layers.{i}.layer_scalar"]
        return out

    def output(self, x):
        return self.times("lm_head", x) if "lm_head.weight" in self.w.tensors else matvec(self.base.w.matrix("model.embed_tokens.weight"), x)

    def embed_rows(self, ids):
        table = self.w if "embed_tokens.weight" in self.w.tensors else self.base.w
        words = table.matrix("embed_tokens.weight" if table is self.w else "model.embed_tokens.weight")
        return [[math.sqrt(self.hidden) * v for v in words[i]] for i in ids]

    def draft(self, ids, streams):
        """Logits of all rows of the block behind the last token, and confidences; the most likely token is drawn of each."""
        first = len(ids) - 1
        context = [self.normed("hidden_norm", self.times("fc", sum((streams[i + 1][p] for i in self.layers), []))) for p in range(first)]
        rows = self.embed_rows([ids[-1]] + [MASK] * (BLOCK - 1))
        for i in range(len(self.kinds)):
            normed = [self.normed(f"layers.{i}.input_layernorm", x) for x in rows]
            entries = self.keys_and_values(i, context + normed)
            rows = [self.finish(i, x, a) for x, a in zip(rows, self.attention(i, normed, entries, first, False))]
        logits, confidences, token = [], [], ids[-1]
        for x in rows:
            normed = self.normed("norm", x)
            row = [CAP * math.tanh(y / CAP) for y in self.output(normed)]
            if self.markov:
                state = self.w.matrix("markov_head.markov_w1.weight")[token]
                row = add(row, self.times("markov_head.markov_w2", state))
                z = self.times("confidence_head.proj", normed + state)[0] + self.w.vector("confidence_head.proj.bias")[0]
                confidences.append(1 / (1 + math.exp(-z)))
            token = row.index(max(row))
            logits.append(row)
        return logits, confidences

    def write(self, folder, **changes):
        os.makedirs(folder, exist_ok=True)
        config = {**self.config(), "architectures": ["Gemma4DSparkModel"], "model_type": "gemma4_text", "hidden_size_per_layer_input": 0,
                  "tie_word_embeddings": False, "final_logit_softcapping": CAP, "target_model_type": "gemma4_unified",
                  "target_text_model_type": "gemma4_unified_text", "num_target_layers": 6, "block_size": BLOCK, "mask_token_id": MASK,
                  "target_layer_ids": self.layers, "num_anchors": 512, "enable_confidence_head": self.markov,
                  "confidence_head_with_markov": self.markov, "markov_rank": RANK if self.markov else 0, "markov_head_type": "vanilla", **changes}
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({k: v for k, v in config.items() if v is not None or k not in changes}, f)
        tiny.write_safetensors(f"{folder}/model.safetensors", self.tensors())


def write_base(base, folder):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
        json.dump(base.config(), f)
    tiny.write_safetensors(f"{folder}/model.safetensors", base.tensors())


def write_golden(folder, base, head):
    rng, golden = random.Random(1), {}
    for n in PROMPTS:
        ids, streams = [rng.randrange(VOCAB) for _ in range(n)], []
        states = base.run(base.embed(ids), {}, streams=streams)
        rows, confidences = head.draft(ids, streams)
        golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
        golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(matvec(base.w.matrix("model.embed_tokens.weight"), x)) for x in states))
        golden[f"mtp_logits.{n}"] = ("F32", [BLOCK, VOCAB], b"".join(map(pack_f32, rows)))
        if confidences:
            golden[f"mtp_confidence.{n}"] = ("F32", [BLOCK], pack_f32(confidences))
    tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


def check_refusals(head, model, scratch):
    ok, folder = True, f"{scratch}/bad"
    for changes, word in (({"enable_moe_block": True}, "enable_moe_block"), ({"hidden_size_per_layer_input": 8}, "hidden_size_per_layer_input"),
                          ({"num_kv_shared_layers": 1}, "num_kv_shared_layers"), ({"layer_types": [SLIDING, FULL, FULL]}, "layers.0.self_attn"),
                          ({"mask_token_id": VOCAB}, "mask token"), ({"target_layer_ids": [0, 2, 6]}, "layer 7"), ({"markov_rank": 0}, "Markov head"),
                          ({"global_head_dim": 8}, "self_attn"), ({"block_size": None}, "block_size"), ({"dspark_rank": 3}, "dspark_rank")):
        head.write(folder, **changes)
        ok &= tiny.is_refused(["--head", folder, model], word)
    return ok


def make_base():
    return Layers(3, 32, 48, 4, [SLIDING, SLIDING, FULL, SLIDING, SLIDING, FULL], 6, True)


def check_heads(base, heads, write_golden, check_refusals):
    """Returns the exit status of a test of heads of the model."""
    ok = True
    with tempfile.TemporaryDirectory() as scratch:
        for i, head in enumerate(heads):
            model, folder = f"{scratch}/model{i}", f"{scratch}/head{i}"
            write_base(base, model)
            head.write(folder)
            write_golden(model, base, head)
            for options in [], ["--chunk", "5"], ["--threads", "2"], ["--compute", "f32"]:
                ok &= not subprocess.call([sys.argv[1], "golden", *options, "--head", folder, model])
        ok &= check_refusals(heads[0], f"{scratch}/model0", scratch)
    return 0 if ok else 1


def main():
    base = make_base()
    drafters = [Drafter(base, [0, 2, 4], True, True, True), Drafter(base, [1, 3], False, False, False), Drafter(base, [-1, 4], True, False, True)]
    return check_heads(base, drafters, write_golden, check_refusals)


if __name__ == "__main__":
    sys.exit(main())
