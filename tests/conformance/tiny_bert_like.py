#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encoders like BERT as tiny random models: DistilBERT, MPNet, ELECTRA, ALBERT and GTE.

Writes each as a Hugging Face folder, DistilBERT as a GGUF file too, computes the hidden states of single sequences and
of a batch, the pooler, scores of classification heads and logits of masked LM heads in double precision with the
standard library alone, and checks them with quire-eval, as well as what is refused.

usage: tiny_bert_like.py QUIRE_EVAL
"""
import json
import math
import operator
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import tiny_models as tiny
from tiny_encoder import EPS, FFN, HEAD, HEADS, HIDDEN, LAYERS, PROMPTS, VOCAB, Encoder, gelu
from tiny_models import GGUF_BOOL, GGUF_F32, GGUF_STR, GGUF_U32, add, pack_f32

LABELS, POSITIONS, NARROW, BUCKETS, DISTANCE, THETA, FACTOR = 3, 128, 24, 32, 128, 10000, 8
BERT_LAYER = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
              "o": "attention.output.dense", "attn_norm": "attention.output.LayerNorm",
              "up": "intermediate.dense", "down": "output.dense", "ffn_norm": "output.LayerNorm"}
EMBEDDINGS = {"words": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
              "types": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm"}
GGUF_LAYER = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "attn_norm": "attn_output_norm",
              "up": "ffn_up", "down": "ffn_down", "ffn_norm": "layer_output_norm"}


def gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def relu(x):
    return max(x, 0)


def bucket(distance):
    """T5's bucket of key position - query position, in both directions."""
    half, n = BUCKETS // 2, abs(distance)
    exact = half // 2
    if n >= exact:
        n = min(exact + int(math.log(n / exact) / math.log(DISTANCE / exact) * (half - exact)), half - 1)
    return n + (half if distance > 0 else 0)


def rotate(x, position, ntk):
    """RoPE over pairs (i, i + HEAD / 2); ntk: base and frequencies of NTK-aware scaling by FACTOR."""
    base, divisor = (THETA * FACTOR, FACTOR ** (2 / HEAD)) if ntk else (THETA, 1)
    half, out = HEAD // 2, [0.0] * HEAD
    for i in range(half):
        angle = position * base ** (-2 * i / HEAD) / divisor
        c, s = math.cos(angle), math.sin(angle)
        out[i], out[i + half] = x[i] * c - x[i + half] * s, x[i + half] * c + x[i] * s
    return out


class BertLike(Encoder):
    """`layer`: names of the parts of a layer below `prefix` layers % i; `head`: a classification head, as (names of its
    dense layer and of its matrix, function between them); `lm`: names of the masked LM head."""
    embeddings, layers, layer, prefix = EMBEDDINGS, "encoder.layer.%d.", BERT_LAYER, ""
    width, n_types, first_position, pooler, projection = HIDDEN, 2, 0, None, None
    activation, head, lm, relative, gated, rope, ntk = staticmethod(gelu), None, None, None, False, False, False
    positions = True

    def __init__(self, name, **options):
        super().__init__(len(name))
        self.name = name
        for key, value in options.items():
            setattr(self, key, value)
        w, e = self.w, self.embeddings
        w.add(f"{self.prefix}{e['words']}.weight", "token_embd.weight", [VOCAB, self.width], 0, 1)
        if self.positions and not self.rope:
            w.add(f"{self.prefix}{e['positions']}.weight", "position_embd.weight", [POSITIONS, self.width], 0, 1)
        if self.n_types:
            w.add(f"{self.prefix}{e['types']}.weight", "token_types.weight", [self.n_types, self.width], 0, 1)
        for part, mean in (("weight", 1), ("bias", 0)):
            w.add(f"{self.prefix}{e['norm']}.{part}", f"token_embd_norm.{part}", [self.width], mean, 0.3)
        if self.projection:
            self.add_matrix(f"{self.prefix}{self.projection}", "", HIDDEN, self.width, True)
        if self.relative:
            w.add(f"{self.prefix}{self.relative}.weight", "", [BUCKETS, HEADS], 0, 1)
        for i in range(self.n_stored_layers()):
            self.add_layer(f"{self.prefix}{self.layers % i}", f"blk.{i}.")
        self.add_heads()

    def add_layer(self, hf, blk):
        for part in "qkvo":
            self.add_matrix(f"{hf}{self.layer[part]}", f"{blk}{GGUF_LAYER[part]}", HIDDEN, HIDDEN, True)
        for part in ("attn_norm", "ffn_norm"):
            self.add_norm(f"{hf}{self.layer[part]}", f"{blk}{GGUF_LAYER[part]}")
        self.add_matrix(f"{hf}{self.layer['up']}", f"{blk}ffn_up", FFN, HIDDEN, not self.gated)
        if self.gated:
            self.add_matrix(f"{hf}{self.layer['gate']}", "", FFN, HIDDEN, False)
        self.add_matrix(f"{hf}{self.layer['down']}", f"{blk}ffn_down", HIDDEN, FFN, True)

    def add_heads(self):
        if self.pooler:
            self.add_matrix(f"{self.prefix}{self.pooler}", "", HIDDEN, HIDDEN, True)
        if self.head:
            dense, out, _ = self.head
            if dense:
                self.add_matrix(dense, "", HIDDEN, HIDDEN, True)
            self.add_matrix(out, "", LABELS, HIDDEN, True)
        if self.lm:
            dense, norm, bias = self.lm
            self.add_matrix(dense, "", HIDDEN, HIDDEN, True)
            self.add_norm(norm, "")
            self.w.add(f"{bias}.bias", "", [VOCAB], 0, 0.2)

    def n_stored_layers(self):
        return LAYERS

    # ---- The forward pass

    def score(self, _hf, h, i, j, q, k):
        """Of head h of the query at i and the key at j."""
        table = self.w.matrix(f"{self.prefix}{self.relative}.weight") if self.relative else None
        return sum(map(operator.mul, q, k)) / math.sqrt(HEAD) + (table[bucket(j - i)][h] if table else 0)

    def attention(self, hf, xs):
        rows = {part: [[y[h:h + HEAD] for h in range(0, HIDDEN, HEAD)]
                       for y in (self.project(f"{hf}{self.layer[part]}", x) for x in xs)] for part in "qkv"}
        if self.rope:
            for part in "qk":
                rows[part] = [[rotate(x, i, self.ntk) for x in heads] for i, heads in enumerate(rows[part])]
        out = []
        for i, q in enumerate(rows["q"]):
            row = []
            for h in range(HEADS):
                scores = [self.score(hf, h, i, j, q[h], k[h]) for j, k in enumerate(rows["k"])]
                top = max(scores)
                p = [math.exp(s - top) for s in scores]
                total = sum(p)
                row += [sum(map(operator.mul, p, column)) / total for column in zip(*(v[h] for v in rows["v"]))]
            out.append(self.project(f"{hf}{self.layer['o']}", row))
        return out

    def feed_forward(self, hf, x):
        up = self.project(f"{hf}{self.layer['up']}", x)
        if self.gated:
            gate = self.project(f"{hf}{self.layer['gate']}", x)
            inner = [self.activation(g) * u for g, u in zip(gate, up)]
        else:
            inner = [self.activation(u) for u in up]
        return self.project(f"{hf}{self.layer['down']}", inner)

    def embed(self, ids, types):
        e, rows = self.embeddings, []
        table = {part: self.w.matrix(f"{self.prefix}{e[part]}.weight") for part in ("words", "positions", "types")
                 if f"{self.prefix}{e[part]}.weight" in self.w.tensors}
        for i, token in enumerate(ids):
            x = table["words"][token]
            if "types" in table:
                x = add(x, table["types"][types[i]])
            if "positions" in table:
                x = add(x, table["positions"][i + self.first_position])
            x = self.norm(x, f"{self.prefix}{e['norm']}")
            rows.append(self.project(f"{self.prefix}{self.projection}", x) if self.projection else x)
        return rows

    def states(self, ids, types=None):
        xs = self.embed(ids, types or [0] * len(ids))
        for i in range(LAYERS):
            hf = f"{self.prefix}{self.layers % (i % self.n_stored_layers())}"
            ys = [self.norm(add(x, a), f"{hf}{self.layer['attn_norm']}") for x, a in zip(xs, self.attention(hf, xs))]
            xs = [self.norm(add(y, self.feed_forward(hf, y)), f"{hf}{self.layer['ffn_norm']}") for y in ys]
        return xs

    def labels(self, x):
        dense, out, function = self.head
        return self.project(out, [function(v) for v in self.project(dense or f"{self.prefix}{self.pooler}", x)])

    def logits(self, x):
        dense, norm, bias = self.lm
        y = self.norm([self.activation(v) for v in self.project(dense, x)], norm)
        words = self.w.matrix(f"{self.prefix}{self.embeddings['words']}.weight")
        return add([sum(map(operator.mul, row, y)) for row in words], self.w.vector(f"{bias}.bias"))

    def golden(self):
        golden = super().golden()
        if self.n_types > 1:
            ids, types = [3, 1, 4, 1, 5, 9, 2], [0, 0, 0, 1, 1, 1, 1]
            golden["tt.ids"] = ("I64", [7], struct.pack("<7q", *ids))
            golden["tt.token_type_ids"] = ("I64", [7], struct.pack("<7q", *types))
            golden["tt.last_hidden"] = ("F32", [7, HIDDEN], b"".join(map(pack_f32, self.states(ids, types))))
        for n in PROMPTS:
            xs = self.states(struct.unpack(f"<{n}q", golden[f"ids.{n}"][2]))
            if self.pooler:
                pooled = [math.tanh(v) for v in self.project(f"{self.prefix}{self.pooler}", xs[0])]
                golden[f"pooler.{n}"] = ("F32", [HIDDEN], pack_f32(pooled))
            if self.head:
                golden[f"scores.{n}"] = ("F32", [LABELS], pack_f32(self.labels(xs[0])))
            if self.lm:
                golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(self.logits(x)) for x in xs))
        return golden

    # ---- Files

    def tensors(self):
        return {name: (shape, values) for name, (_, shape, values) in self.w.tensors.items()}

    def config(self):
        return {"vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": FFN, "num_attention_heads": HEADS,
                "num_hidden_layers": LAYERS, "max_position_embeddings": POSITIONS, "layer_norm_eps": EPS,
                "initializer_range": 0.02}

    def write(self, folder, **changes):
        config = self.config()
        if self.head:
            config.update(architectures=["TinyForSequenceClassification"],
                          id2label={str(i): str(i) for i in range(LABELS)})
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({**config, **changes}, f)
        tiny.write_safetensors(f"{folder}/model.safetensors", {
            name: ("F32", shape, pack_f32(values)) for name, (shape, values) in self.tensors().items()})


class DistilBert(BertLike):
    layers, n_types, eps = "transformer.layer.%d.", 0, 1e-12
    layer = {"q": "attention.q_lin", "k": "attention.k_lin", "v": "attention.v_lin", "o": "attention.out_lin",
             "attn_norm": "sa_layer_norm", "up": "ffn.lin1", "down": "ffn.lin2", "ffn_norm": "output_layer_norm"}

    def config(self):
        return {"model_type": "distilbert", "vocab_size": VOCAB, "dim": HIDDEN, "hidden_dim": FFN, "n_heads": HEADS,
                "n_layers": LAYERS, "max_position_embeddings": POSITIONS, "activation": "gelu", "dropout": 0.1,
                "sinusoidal_pos_embds": False, "tie_weights_": True, "qa_dropout": 0.1, "seq_classif_dropout": 0.2,
                "pad_token_id": 0}

    def write_gguf(self, path):
        keys = [("block_count", GGUF_U32, LAYERS), ("context_length", GGUF_U32, POSITIONS),
                ("embedding_length", GGUF_U32, HIDDEN), ("feed_forward_length", GGUF_U32, FFN),
                ("attention.head_count", GGUF_U32, HEADS), ("attention.layer_norm_epsilon", GGUF_F32, self.eps),
                ("attention.causal", GGUF_BOOL, False), ("pooling_type", GGUF_U32, 1)]
        tiny.write_gguf_file(path, [("general.architecture", GGUF_STR, "bert")] + [(f"bert.{k}", t, v) for k, t, v in keys],
                             tiny.gguf_tensors(self.w))


class MPNet(BertLike):
    layer = {**BERT_LAYER, "attn_norm": "attention.LayerNorm", **{part: f"attention.attn.{part}" for part in "qkvo"}}
    n_types, first_position, relative, pooler = 0, 2, "encoder.relative_attention_bias", "pooler.dense"

    def config(self):
        return {**super().config(), "model_type": "mpnet", "relative_attention_num_buckets": BUCKETS,
                "hidden_act": "gelu", "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}


class Electra(BertLike):
    def config(self):
        return {**super().config(), "model_type": "electra", "embedding_size": self.width, "hidden_act": "gelu",
                "type_vocab_size": 2, "summary_activation": "gelu", "summary_last_dropout": 0.1,
                "summary_type": "first", "summary_use_proj": True, "position_embedding_type": "absolute"}


class Albert(BertLike):
    layers, width, activation = "encoder.albert_layer_groups.0.albert_layers.%d.", NARROW, staticmethod(gelu_tanh)
    layer = {"q": "attention.query", "k": "attention.key", "v": "attention.value", "o": "attention.dense",
             "attn_norm": "attention.LayerNorm", "up": "ffn", "down": "ffn_output", "ffn_norm": "full_layer_layer_norm"}
    projection, pooler = "encoder.embedding_hidden_mapping_in", "pooler"

    def n_stored_layers(self):
        return 1

    def config(self):
        return {**super().config(), "model_type": "albert", "embedding_size": self.width, "hidden_act": "gelu_new",
                "type_vocab_size": 2, "num_hidden_groups": 1, "inner_group_num": 1, "classifier_dropout_prob": 0.1,
                "down_scale_factor": 1, "gap_size": 0, "net_structure_type": 0, "num_memory_blocks": 0}


class Deberta(BertLike):
    """`buckets`: 0, or the number of rows of the table in each direction, which distances up to `most` share; `terms`:
    of the scores."""
    layer = {**BERT_LAYER, "q": "attention.self.query_proj", "k": "attention.self.key_proj",
             "v": "attention.self.value_proj"}
    n_types, positions, eps = 0, False, 1e-7
    buckets, most, terms, table_norm, terms_text = 16, POSITIONS, ("c2p", "p2c"), True, "p2c|c2p"

    def __init__(self, name, **options):
        super().__init__(name, **options)
        self.w.add(f"{self.prefix}encoder.rel_embeddings.weight", "", [2 * self.span(), HIDDEN], 0, 1)
        if self.table_norm:
            self.add_norm(f"{self.prefix}encoder.LayerNorm", "")
        self.projected = {}

    def span(self):
        return self.buckets or self.most

    def row(self, distance):
        middle, n = self.buckets // 2, abs(distance)
        if self.buckets and n > middle:
            n = middle + math.ceil(math.log(n / middle) / math.log((self.most - 1) / middle) * (middle - 1) - 1e-9)
        return min(max(self.span() + (n if distance > 0 else -n), 0), 2 * self.span() - 1)

    def table(self, name):
        """The embeddings of distances through the projection `name`, as heads."""
        if name not in self.projected:
            rows = self.w.matrix(f"{self.prefix}encoder.rel_embeddings.weight")
            if self.table_norm:
                rows = [self.norm(x, f"{self.prefix}encoder.LayerNorm") for x in rows]
            self.projected[name] = [[y[h:h + HEAD] for h in range(0, HIDDEN, HEAD)]
                                    for y in (self.project(name, x) for x in rows)]
        return self.projected[name]

    def score(self, hf, h, i, j, q, k):
        total, row = sum(map(operator.mul, q, k)), self.row(i - j)
        if "c2p" in self.terms:
            total += sum(map(operator.mul, q, self.table(f"{hf}{self.layer['k']}")[row][h]))
        if "p2c" in self.terms:
            total += sum(map(operator.mul, k, self.table(f"{hf}{self.layer['q']}")[row][h]))
        return total / math.sqrt(HEAD * (1 + len(self.terms)))

    def config(self):
        return {**super().config(), "model_type": "deberta-v2", "relative_attention": True, "share_att_key": True,
                "position_biased_input": False, "pos_att_type": self.terms_text, "type_vocab_size": 0,
                "position_buckets": self.buckets or -1, "max_relative_positions": -1, "hidden_act": "gelu",
                "norm_rel_ebd": "layer_norm" if self.table_norm else "none", "layer_norm_eps": self.eps,
                "pooler_dropout": 0, "pooler_hidden_act": "gelu", "pooler_hidden_size": HIDDEN}


class Gte(BertLike):
    layer = {"q": "attention.q_proj", "k": "attention.k_proj", "v": "attention.v_proj", "o": "attention.o_proj",
             "attn_norm": "attn_ln", "up": "mlp.up", "gate": "mlp.gate", "down": "mlp.down_proj", "ffn_norm": "mlp_ln"}
    gated, rope, n_types, packed = True, True, 1, True

    def config(self):
        return {**super().config(), "model_type": "new", "type_vocab_size": self.n_types, "hidden_act": "gelu",
                "position_embedding_type": "rope", "rope_theta": THETA, "pack_qkv": self.packed, "unpad_inputs": False,
                "rope_scaling": {"factor": float(FACTOR), "type": "ntk"} if self.ntk else None,
                "layer_norm_type": "layer_norm", "logn_attention_clip1": False, "logn_attention_scale": False,
                "use_memory_efficient_attention": False}

    def tensors(self):
        """Up and gate are one tensor, in this order; q, k and v as well if packed."""
        tensors = super().tensors()
        for i in range(LAYERS):
            hf = f"{self.prefix}{self.layers % i}"
            up, gate = (tensors.pop(f"{hf}mlp.{part}.weight")[1] for part in ("up", "gate"))
            tensors[f"{hf}mlp.up_gate_proj.weight"] = ([2 * FFN, HIDDEN], up + gate)
            for part, shape in (("weight", [3 * HIDDEN, HIDDEN]), ("bias", [3 * HIDDEN])) if self.packed else ():
                values = [tensors.pop(f"{hf}attention.{x}_proj.{part}")[1] for x in "qkv"]
                tensors[f"{hf}attention.qkv_proj.{part}"] = (shape, sum(values, []))
        return tensors


def models():
    yield DistilBert("distilbert")
    yield DistilBert("distilbert classifier", prefix="distilbert.", head=("pre_classifier", "classifier", relu))
    yield DistilBert("distilbert lm", prefix="distilbert.",
                     lm=("vocab_transform", "vocab_layer_norm", "vocab_projector"))
    yield MPNet("mpnet")
    yield MPNet("mpnet classifier", prefix="mpnet.", pooler=None,
                head=("classifier.dense", "classifier.out_proj", math.tanh))
    yield MPNet("mpnet lm", prefix="mpnet.", pooler=None, lm=("lm_head.dense", "lm_head.layer_norm", "lm_head"))
    yield Electra("electra")
    yield Electra("electra narrow classifier", prefix="electra.", width=NARROW, projection="embeddings_project",
                  head=("classifier.dense", "classifier.out_proj", gelu))
    yield Albert("albert")
    yield Albert("albert classifier", prefix="albert.", head=(None, "classifier", math.tanh))
    yield Deberta("deberta")
    yield Deberta("deberta classifier", prefix="deberta.", terms=("c2p",), terms_text=["c2p"],
                  head=("pooler.dense", "classifier", gelu))
    yield Deberta("deberta keys", prefix="deberta.", terms=("p2c",), terms_text="p2c", buckets=0, table_norm=False)
    yield Gte("gte", ntk=True)
    yield Gte("gte classifier", prefix="new.", packed=False, n_types=2, pooler="pooler.dense",
              head=(None, "classifier", math.tanh))
    yield Gte("gte lm", prefix="new.", n_types=0, lm=("lm_head.dense", "lm_head.norm", "lm_head.decoder"))


REFUSED = [
    (Albert, "num_hidden_groups", 2), (Albert, "inner_group_num", 2), (Albert, "embedding_size", 0),
    (Albert, "embedding_size", HIDDEN + 8), (Electra, "embedding_size", NARROW),
    (Gte, "logn_attention_scale", True), (Gte, "position_embedding_type", "absolute"),
    (Gte, "layer_norm_type", "rms_norm"), (Gte, "rope_scaling", {"type": "ntk", "factor": 0}),
    (Gte, "rope_scaling", {"type": "ntk"}), (Gte, "rope_scaling", {"type": "ntk", "factor": 2, "mixed_b": 0.5}),
    (Deberta, "relative_attention", False), (Deberta, "position_biased_input", True),
    (Deberta, "share_att_key", False), (Deberta, "pos_att_type", "c2p|p2p"), (Deberta, "pos_att_type", [1]),
    (Deberta, "pos_att_type", 1), (Deberta, "position_buckets", 2), (Deberta, "position_buckets", 513),
    (Deberta, "position_buckets", 1.5), (Deberta, "norm_rel_ebd", "batch"), (Deberta, "conv_kernel_size", 3),
    (Deberta, "pooler_hidden_act", "tanh"), (Deberta, "num_key_value_heads", 2),
    (Deberta, "max_position_embeddings", 1 << 21),
    (MPNet, "relative_attention_num_buckets", 0), (MPNet, "rope_scaling", {"type": "ntk", "factor": 2}),
]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in models():
            folder = f"{scratch}/{model.name}"
            model.write(folder)
            tiny.write_safetensors(f"{folder}/golden.safetensors", model.golden())
            files = [[folder]]
            if model.name == "distilbert":
                model.write_gguf(f"{scratch}/model.gguf")
                files.append(["--gguf", f"{scratch}/model.gguf", folder])
            for arguments in files:
                for threads in "1", "2":
                    failed |= subprocess.call([sys.argv[1], "golden", "--threads", threads, *arguments])
            if model.name == "gte classifier":  # as the files of mGTE, whose tokens have weights
                os.remove(f"{folder}/golden.safetensors")
                model.write(folder, architectures=["NewModel", "NewForTokenClassification"])
                model.head = None
                tiny.write_safetensors(f"{folder}/golden.safetensors", model.golden())
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "2", folder])
        os.mkdir(f"{scratch}/refused")
        shutil.copy(f"{scratch}/albert/golden.safetensors", f"{scratch}/refused")
        for kind, key, value in REFUSED:
            kind("refused").write(f"{scratch}/refused", **{key: value})
            word = "mixed_b" if isinstance(value, dict) and "mixed_b" in value else \
                "factor" if key == "rope_scaling" and kind is Gte else "word_embeddings" if kind is Electra else key
            failed |= not tiny.is_refused([f"{scratch}/refused"], word)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
