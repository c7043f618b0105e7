#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Variants of model families that the reference data lacks, as tiny random models.

Writes each model as a Hugging Face folder and as a GGUF file, computes its logits in double precision with
the standard library alone, and checks both files with quire-eval:
  StableLM 2 12B: parallel block, a norm for every query and key head
  StableLM 2, sequential, whose GGUF file says use_parallel_residual, as converters write it
  OLMo 3: a window in three of four layers, YaRN in the fourth; the GGUF architecture is olmo2

usage: tiny_models.py QUIRE_EVAL
"""
import json
import math
import operator
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

VOCAB, HIDDEN, FFN, HEADS, KV_HEADS, HEAD = 48, 32, 48, 4, 2, 8
PROMPTS = (7, 33, 100)
WINDOW, ORIGINAL, FACTOR = 8, 64, 4.0
NORM_EPS, THETA = 1e-5, 10000.0
GGUF_U32, GGUF_F32, GGUF_BOOL, GGUF_STR, GGUF_ARRAY = 4, 6, 7, 8, 9


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Weights:
    """Named tensors: Hugging Face name -> (GGUF name, shape, values rounded to f32)."""

    def __init__(self, seed):
        self.rng, self.tensors = random.Random(seed), {}

    def add(self, hf, gguf, shape, mean=0.0, sd=None):
        n = math.prod(shape)
        sd = sd if sd is not None else 1.5 / math.sqrt(shape[-1])
        values = [f32(mean + sd * self.rng.gauss(0, 1)) for _ in range(n)]
        self.tensors[hf] = (gguf, shape, values)

    def matrix(self, hf):
        _, (rows, cols), v = self.tensors[hf]
        return [v[r * cols:(r + 1) * cols] for r in range(rows)]

    def vector(self, hf):
        return self.tensors[hf][2] if hf in self.tensors else None


# ---- The forward pass

def matvec(matrix, x):
    return [sum(map(operator.mul, row, x)) for row in matrix]


def rms_norm(x, w):
    r = 1 / math.sqrt(sum(v * v for v in x) / len(x) + NORM_EPS)
    return [v * r * g for v, g in zip(x, w)]


def layer_norm(x, w, b=None):
    mean = sum(x) / len(x)
    r = 1 / math.sqrt(sum((v - mean) ** 2 for v in x) / len(x) + NORM_EPS)
    return [(v - mean) * r * g + (b[i] if b else 0) for i, (v, g) in enumerate(zip(x, w))]


def silu(x):
    return x / (1 + math.exp(-x))


def plain_frequencies(dim):
    return [THETA ** (-2 * i / dim) for i in range(dim // 2)], 1.0


def yarn_frequencies(dim):
    def turns(rotations):
        return dim * math.log(ORIGINAL / (rotations * 2 * math.pi)) / (2 * math.log(THETA))
    low, high = max(math.floor(turns(32)), 0), min(math.ceil(turns(1)), dim - 1)
    high += 0.001 if low == high else 0
    out = []
    for i, f in enumerate(plain_frequencies(dim)[0]):
        keep = 1 - min(max((i - low) / (high - low), 0), 1)
        out.append(f / FACTOR * (1 - keep) + f * keep)
    return out, 0.1 * math.log(FACTOR) + 1


def rotate(x, position, frequencies):
    freq, scale = frequencies
    half, out = len(freq), list(x)
    for i in range(half):
        c, s = math.cos(position * freq[i]) * scale, math.sin(position * freq[i]) * scale
        out[i], out[i + half] = x[i] * c - x[i + half] * s, x[i + half] * c + x[i] * s
    return out


def heads_of(x):
    return [x[i:i + HEAD] for i in range(0, len(x), HEAD)]


def attend(queries, keys, values, position, window, slopes=None):
    """slopes: of ALiBi, per head"""
    out = []
    first = max(0, position - window + 1) if window else 0
    for h, q in enumerate(queries):
        g = h // (len(queries) // len(keys[0]))
        slope = slopes[h] if slopes else 0
        scores = [sum(map(operator.mul, q, keys[j][g])) / math.sqrt(HEAD) - slope * (position - j)
                  for j in range(first, position + 1)]
        top = max(scores)
        p = [math.exp(s - top) for s in scores]
        total, columns = sum(p), zip(*(v[g] for v in values[first:position + 1]))
        out += [sum(map(operator.mul, p, column)) / total for column in columns]
    return out


class StableLM:
    """parallel: the 12B variant, with q/k norms; else sequential, without."""

    def __init__(self, parallel):
        self.parallel, self.layers = parallel, 2
        self.name = "stablelm_parallel" if parallel else "stablelm_sequential"
        self.rope = plain_frequencies(HEAD // 4)
        w = self.w = Weights(7 + parallel)
        add_ends(w, bias=True)
        for i in range(self.layers):
            hf, blk = f"model.layers.{i}.", f"blk.{i}."
            add_block(w, hf, blk)
            for norm, name in [("input_layernorm", "attn_norm")] + \
                    ([] if parallel else [("post_attention_layernorm", "ffn_norm")]):
                w.add(f"{hf}{norm}.weight", f"{blk}{name}.weight", [HIDDEN], 1, 0.2)
                w.add(f"{hf}{norm}.bias", f"{blk}{name}.bias", [HIDDEN], 0, 0.2)
            for part, n in (("q", HEADS), ("k", KV_HEADS)):
                for h in range(n if parallel else 0):
                    w.add(f"{hf}self_attn.{part}_layernorm.norms.{h}.weight",
                          (f"{blk}attn_{part}_norm.weight", n), [HEAD], 1, 0.5)

    def layer(self, i, xs):
        hf, w = f"model.layers.{i}.", self.w
        normed = [self.norm(x, f"{hf}input_layernorm") for x in xs]
        att = attention(w, hf, normed, lambda h, part, j: layer_norm(
            h, w.vector(f"{hf}self_attn.{part}_layernorm.norms.{j}.weight")) if self.parallel else h,
            self.rope, 0)
        if self.parallel:
            return [add(x, a, feed_forward(w, hf, n)) for x, a, n in zip(xs, att, normed)]
        xs = [add(x, a) for x, a in zip(xs, att)]
        return [add(x, feed_forward(w, hf, self.norm(x, f"{hf}post_attention_layernorm"))) for x in xs]

    def norm(self, x, name):
        return layer_norm(x, self.w.vector(f"{name}.weight"), self.w.vector(f"{name}.bias"))

    def config(self):
        return {"model_type": "stablelm", "layer_norm_eps": NORM_EPS, "partial_rotary_factor": 0.25,
                "use_parallel_residual": self.parallel, "qk_layernorm": self.parallel, "use_qkv_bias": False}

    def metadata(self, variant):
        return "stablelm", [("attention.layer_norm_epsilon", GGUF_F32, NORM_EPS),
                            ("rope.dimension_count", GGUF_U32, HEAD // 4),
                            ("use_parallel_residual", GGUF_BOOL, True)]

    variants = ("",)


class Olmo3:
    name, layers = "olmo3", 4
    variants = ("", "attn_factor")  # older converters store the factor of YaRN

    def __init__(self):
        w = self.w = Weights(9)
        add_ends(w, bias=False)
        for i in range(self.layers):
            hf, blk = f"model.layers.{i}.", f"blk.{i}."
            add_block(w, hf, blk)
            w.add(f"{hf}self_attn.q_norm.weight", f"{blk}attn_q_norm.weight", [HEADS * HEAD], 1, 0.5)
            w.add(f"{hf}self_attn.k_norm.weight", f"{blk}attn_k_norm.weight", [KV_HEADS * HEAD], 1, 0.5)
            w.add(f"{hf}post_attention_layernorm.weight", f"{blk}post_attention_norm.weight", [HIDDEN], 1, 0.2)
            w.add(f"{hf}post_feedforward_layernorm.weight", f"{blk}post_ffw_norm.weight", [HIDDEN], 1, 0.2)

    def is_windowed(self, i):
        return (i + 1) % 4 != 0

    def layer(self, i, xs):
        hf, w = f"model.layers.{i}.", self.w
        rope = plain_frequencies(HEAD) if self.is_windowed(i) else yarn_frequencies(HEAD)
        att = attention(w, hf, xs, None, rope, WINDOW if self.is_windowed(i) else 0, full_norm=True)
        xs = [add(x, self.norm(a, f"{hf}post_attention_layernorm")) for x, a in zip(xs, att)]
        return [add(x, self.norm(feed_forward(w, hf, x), f"{hf}post_feedforward_layernorm")) for x in xs]

    def norm(self, x, name):
        return rms_norm(x, self.w.vector(f"{name}.weight"))

    def config(self):
        return {"model_type": "olmo3", "rms_norm_eps": NORM_EPS, "sliding_window": WINDOW,
                "layer_types": ["sliding_attention" if self.is_windowed(i) else "full_attention"
                                for i in range(self.layers)],
                "rope_scaling": {"rope_type": "yarn", "factor": FACTOR, "beta_fast": 32, "beta_slow": 1,
                                 "original_max_position_embeddings": ORIGINAL,
                                 "attention_factor": yarn_frequencies(HEAD)[1]}}

    def metadata(self, variant):
        keys = [("attention.layer_norm_rms_epsilon", GGUF_F32, NORM_EPS),
                ("attention.sliding_window", GGUF_U32, WINDOW),
                ("attention.sliding_window_pattern", GGUF_ARRAY,
                 [self.is_windowed(i) for i in range(self.layers)]),
                ("rope.scaling.type", GGUF_STR, "yarn"), ("rope.scaling.factor", GGUF_F32, FACTOR),
                ("rope.scaling.original_context_length", GGUF_U32, ORIGINAL)]
        if variant:
            keys.append((f"rope.scaling.{variant}", GGUF_F32, yarn_frequencies(HEAD)[1]))
        return "olmo2", keys


def add(*vectors):
    return [sum(v) for v in zip(*vectors)]


def add_ends(w, bias):
    w.add("model.embed_tokens.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
    w.add("lm_head.weight", "output.weight", [VOCAB, HIDDEN])
    w.add("model.norm.weight", "output_norm.weight", [HIDDEN], 1, 0.2)
    if bias:
        w.add("model.norm.bias", "output_norm.bias", [HIDDEN], 0, 0.2)


def add_block(w, hf, blk):
    for name, gguf, rows in (("q", "q", HEADS * HEAD), ("k", "k", KV_HEADS * HEAD), ("v", "v", KV_HEADS * HEAD),
                             ("o", "output", HIDDEN)):
        w.add(f"{hf}self_attn.{name}_proj.weight", f"{blk}attn_{gguf}.weight", [rows, HIDDEN])
    for name, rows, cols in (("gate", FFN, HIDDEN), ("up", FFN, HIDDEN), ("down", HIDDEN, FFN)):
        w.add(f"{hf}mlp.{name}_proj.weight", f"{blk}ffn_{name}.weight", [rows, cols])


def attention(w, hf, xs, head_norm, rope, window, full_norm=False):
    """xs: inputs of all positions. head_norm(head, "q" or "k", index) or, with full_norm, RMS over all heads."""
    m = {p: w.matrix(f"{hf}self_attn.{p}_proj.weight") for p in "qkvo"}
    rows = {"q": [], "k": [], "v": []}
    for position, x in enumerate(xs):
        for part in "qkv":
            y = matvec(m[part], x)
            if full_norm and part != "v":
                y = rms_norm(y, w.vector(f"{hf}self_attn.{part}_norm.weight"))
            heads = heads_of(y)
            if part != "v":
                if head_norm:
                    heads = [head_norm(h, part, j) for j, h in enumerate(heads)]
                heads = [rotate(h, position, rope) for h in heads]
            rows[part].append(heads)
    return [matvec(m["o"], attend(rows["q"][i], rows["k"], rows["v"], i, window)) for i in range(len(xs))]


def feed_forward(w, hf, x):
    gate, up, down = (w.matrix(f"{hf}mlp.{p}_proj.weight") for p in ("gate", "up", "down"))
    return matvec(down, [silu(g) * u for g, u in zip(matvec(gate, x), matvec(up, x))])


def logits(model, ids):
    table, head = model.w.matrix("model.embed_tokens.weight"), model.w.matrix("lm_head.weight")
    xs = [table[i] for i in ids]
    for i in range(model.layers):
        xs = model.layer(i, xs)
    return [matvec(head, model.norm(x, "model.norm")) for x in xs]


# ---- Files

def write_safetensors(path, tensors):
    """tensors: name -> (dtype, shape, bytes)."""
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(t[2] for t in tensors.values()))


def pack_f32(values):
    return struct.pack(f"<{len(values)}f", *values)


def gguf_string(s):
    return struct.pack("<Q", len(s)) + s.encode()


def gguf_value(kind, v):
    if kind == GGUF_STR:
        return gguf_string(v)
    if kind == GGUF_ARRAY:  # of booleans, numbers or strings
        of = {bool: GGUF_BOOL, float: GGUF_F32, str: GGUF_STR}.get(type(v[0]), GGUF_U32)
        return struct.pack("<IQ", of, len(v)) + b"".join(gguf_value(of, x) for x in v)
    return struct.pack({GGUF_U32: "<I", GGUF_F32: "<f", GGUF_BOOL: "<?"}[kind], v)


def gguf_tensors(w):
    """Head norms become one tensor [heads][head size]; tensors without a name are not in the file."""
    out = {}
    for gguf, shape, values in w.tensors.values():
        if gguf is None:
            continue
        if isinstance(gguf, tuple):
            name, n = gguf
            out[name] = ([n] + shape, out.get(name, (0, []))[1] + values)
        else:
            out[gguf] = (shape, values)
    return out


def write_gguf(path, model, variant):
    arch, extra = model.metadata(variant)
    keys = [("general.architecture", GGUF_STR, arch)] + [(f"{arch}.{k}", t, v) for k, t, v in [
        ("block_count", GGUF_U32, model.layers), ("context_length", GGUF_U32, 256),
        ("embedding_length", GGUF_U32, HIDDEN), ("feed_forward_length", GGUF_U32, FFN),
        ("attention.head_count", GGUF_U32, HEADS), ("attention.head_count_kv", GGUF_U32, KV_HEADS),
        ("rope.freq_base", GGUF_F32, THETA)] + extra]
    write_gguf_file(path, keys, gguf_tensors(model.w))


def write_gguf_file(path, keys, tensors):
    """keys: (name, type, value); tensors: name -> (shape, values), or (shape, bytes, type)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    head += b"".join(gguf_string(k) + struct.pack("<I", t) + gguf_value(t, v) for k, t, v in keys)
    data = b""
    for name, (shape, values, *of) in tensors.items():
        head += gguf_string(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *reversed(shape)) + struct.pack("<IQ", of[0] if of else 0, len(data))
        data += values if of else pack_f32(values)
        data += bytes(-len(data) % 32)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + data)


def write_model(folder, model):
    os.mkdir(folder)
    config = {"vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": FFN, "hidden_act": "silu",
              "num_hidden_layers": model.layers, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
              "max_position_embeddings": 256, "rope_theta": THETA, "tie_word_embeddings": False, **model.config()}
    with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)
    write_safetensors(f"{folder}/model.safetensors",
                      {hf: ("F32", shape, pack_f32(v)) for hf, (_, shape, v) in model.w.tensors.items()})
    rng, golden = random.Random(1), {}
    for n in PROMPTS:
        ids = [rng.randrange(VOCAB) for _ in range(n)]
        rows = logits(model, ids)
        golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
        golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(pack_f32(r) for r in rows))
    write_safetensors(f"{folder}/golden.safetensors", golden)


def is_refused(arguments, word):
    """Whether `quire-eval golden` refuses a model (65 or 69) with a message that names `word`."""
    done = subprocess.run([sys.argv[1], "golden", *arguments], capture_output=True, text=True, check=False)
    if done.returncode in (65, 69) and word in done.stderr:
        return True
    print(f"FAIL: {arguments} is not refused for {word}: exit status {done.returncode}: {done.stderr}")
    return False


def keys_are_refused(folder, cases):
    """Whether a folder is refused with each key of (key, value, word) changed in turn; in text_config, if it has one."""
    passed, path = True, f"{folder}/config.json"
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for key, value, word in cases:
        config = json.loads(text)
        config.get("text_config", config)[key] = value
        with open(path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        passed &= is_refused([folder], word)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return passed


def same_bits(runs):
    """Whether `quire-eval golden` accepts all runs with one digest of the logits."""
    digests = set()
    for arguments in runs:
        done = subprocess.run([sys.argv[1], "golden", "--threads", "1", *arguments], capture_output=True, text=True, check=False)
        print(done.stdout + done.stderr, end="")
        digests.add(done.returncode or re.search(r"digest (\w+)", done.stdout)[1])
    return len(digests) == 1 and isinstance(digests.pop(), str)


def run_unit_tests(shared, model, programs):
    """Programs of unit tests with one model and `shared` in the place of the reference data."""
    here = os.path.dirname(os.path.abspath(__file__))
    reference = os.environ.get("QUIRE_SHARED", os.path.join(here, "../../../shared"))
    vocabulary = f"{reference}/tokenizers/tokenizer.model"
    if not os.path.exists(vocabulary):
        print("skipped in part: no reference data at", reference)
        return 0
    os.mkdir(f"{shared}/tokenizers")
    shutil.copy(vocabulary, f"{shared}/tokenizers")
    environment = {**os.environ, "QUIRE_SHARED": shared, "QUIRE_TEST_MODEL": model}
    return any([subprocess.call([program], env=environment) for program in programs])


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in (StableLM(True), StableLM(False), Olmo3()):
            folder = f"{scratch}/{model.name}"
            write_model(folder, model)
            commands = [[folder]]
            for variant in model.variants:
                path = f"{folder}/model{variant}.gguf"
                write_gguf(path, model, variant)
                commands.append(["--gguf", path, folder])
            for c in commands:
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", *c])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
