# SPDX-License-Identifier: Apache-2.0
"""Writes a small encoder of random weights with a WordPiece tokenizer, for tests of routes: an embedding model,
or with labels a classifier (one label: a reranker)."""
import json
import os
import random
import struct

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "fox", "hill", "who", "lives", "here", "?", "a", "big", "red",
         "##es"]
WIDTH, INNER, LAYERS, POSITIONS = 32, 64, 2, 64


def tensors(labels):
    """{name: shape}"""
    prefix = "bert." if labels else ""
    out = {prefix + "embeddings.word_embeddings.weight": [len(WORDS), WIDTH],
           prefix + "embeddings.position_embeddings.weight": [POSITIONS, WIDTH],
           prefix + "embeddings.token_type_embeddings.weight": [2, WIDTH]}

    def norm(name):
        out[name + ".LayerNorm.weight"] = out[name + ".LayerNorm.bias"] = [WIDTH]

    def linear(name, rows, columns):
        out[name + ".weight"] = [rows, columns]
        out[name + ".bias"] = [rows]

    norm(prefix + "embeddings")
    for i in range(LAYERS):
        layer = f"{prefix}encoder.layer.{i}."
        for part in ("query", "key", "value"):
            linear(layer + "attention.self." + part, WIDTH, WIDTH)
        linear(layer + "attention.output.dense", WIDTH, WIDTH)
        norm(layer + "attention.output")
        linear(layer + "intermediate.dense", INNER, WIDTH)
        linear(layer + "output.dense", WIDTH, INNER)
        norm(layer + "output")
    linear(prefix + "pooler.dense", WIDTH, WIDTH)
    if labels:
        linear("classifier", labels, WIDTH)
    return out


def write_weights(path, labels):
    rng = random.Random(7)
    header, data = {}, b""
    for name, shape in tensors(labels).items():
        n = shape[0] * (shape[1] if len(shape) > 1 else 1)
        ones = name.endswith("LayerNorm.weight")
        values = [1.0 if ones else rng.gauss(0, 0.3) for _ in range(n)]
        begin = len(data)
        data += struct.pack(f"<{n}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def tokenizer():
    def special(name, kind=0):
        return {"SpecialToken": {"id": name, "type_id": kind}}

    def sequence(name, kind):
        return {"Sequence": {"id": name, "type_id": kind}}

    names = {w: {"id": w, "ids": [WORDS.index(w)], "tokens": [w]} for w in ("[CLS]", "[SEP]")}
    return {
        "version": "1.0",
        "added_tokens": [{"id": WORDS.index(w), "content": w, "special": True} for w in ("[CLS]", "[SEP]")],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing", "special_tokens": names,
            "single": [special("[CLS]"), sequence("A", 0), special("[SEP]")],
            "pair": [special("[CLS]"), sequence("A", 0), special("[SEP]"), sequence("B", 1), special("[SEP]", 1)]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {w: i for i, w in enumerate(WORDS)}}}


def write(folder, labels=0):
    """Writes the model into a new folder and returns its path."""
    os.makedirs(folder)
    config = {"architectures": ["BertForSequenceClassification" if labels else "BertModel"], "model_type": "bert",
              "hidden_act": "gelu", "hidden_size": WIDTH, "intermediate_size": INNER, "layer_norm_eps": 1e-12,
              "max_position_embeddings": POSITIONS, "num_attention_heads": 2, "num_hidden_layers": LAYERS,
              "pad_token_id": 0, "position_embedding_type": "absolute", "type_vocab_size": 2,
              "vocab_size": len(WORDS)}
    if labels:
        config["id2label"] = {str(i): f"LABEL_{i}" for i in range(labels)}
        config["label2id"] = {f"LABEL_{i}": i for i in range(labels)}
    for name, value in (("config.json", config), ("tokenizer.json", tokenizer())):
        with open(os.path.join(folder, name), "w") as f:
            json.dump(value, f)
    write_weights(os.path.join(folder, "model.safetensors"), labels)
    return folder
