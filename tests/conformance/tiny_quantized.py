#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantized Hugging Face checkpoints, as tiny random models.

Draws codes, scales and zero points, writes them in the layout of each method, dequantizes them by its public
definition in double precision, and checks the logits of quire-eval. The rows of SCHEMES are the methods; a scheme
gives the tensors of a matrix and its values. MXFP4 is checked with gpt-oss, the others with Llama.

usage: tiny_quantized.py QUIRE_EVAL
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

VOCAB, HIDDEN, FFN, LAYERS = 48, 128, 256, 2
tiny.HEADS, tiny.KV_HEADS, tiny.HEAD = 4, 2, 32
PROMPTS = (7, 33)
PLAIN = "model.layers.0.mlp.down_proj"  # the module that is not quantized
NF4 = (-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
       0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0)
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def f16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def bf16(x):
    return struct.unpack("<f", b"\0\0" + struct.pack("<f", x)[2:])[0]


ROUND = {"F32": tiny.f32, "F16": f16, "BF16": bf16}


def pack(dtype, values):
    if dtype == "F32":
        return tiny.pack_f32(values)
    if dtype == "F16":
        return struct.pack(f"<{len(values)}e", *values)
    return b"".join(struct.pack("<f", v)[2:] for v in values)


def tensor(dtype, rows):
    """A matrix of floats or, for I32, of words."""
    flat = [v for row in rows for v in row]
    shape = [len(rows), len(rows[0])]
    if dtype == "I32":
        return dtype, shape, struct.pack(f"<{len(flat)}I", *flat)
    return dtype, shape, pack(dtype, flat)


def word(codes, bits):
    return sum(c << (bits * i) for i, c in enumerate(codes))


def words(row, bits):
    """A list of codes in words, the last completed with zeros; the first code in the low bits."""
    n = 32 // bits
    return [word(row[i:i + n], bits) for i in range(0, len(row), n)]


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def draw(rng, rows, cols, bits, group, dtype, symmetric):
    """Codes [rows][cols], scales and zero points [rows][groups]."""
    most, groups = 2 ** bits - 1, cols // group
    unit = 1.5 / math.sqrt(cols) / (most / 3.5)
    codes = [rng.choices(range(most + 1), k=cols) for _ in range(rows)]
    scales = [[ROUND[dtype](unit * rng.uniform(0.5, 1.5)) for _ in range(groups)] for _ in range(rows)]
    middle = (most + 1) // 2
    zeros = [[middle if symmetric else rng.randint(middle - most // 4, middle + most // 4) for _ in range(groups)]
             for _ in range(rows)]
    return codes, scales, zeros


def values_of(codes, scales, zeros, group_of):
    return [[s[group_of[k]] * (q - z[group_of[k]]) for k, q in enumerate(row)]
            for row, s, z in zip(codes, scales, zeros)]


def groups_of(rng, cols, group, act_order):
    g = [k // group for k in range(cols)]
    if act_order:
        rng.shuffle(g)
    return g


# ---- Schemes: (rng, rows, cols) -> tensors by the ending of their name, values

def gptq(bits=4, group=128, act_order=False, v2=False, symmetric=False, g_idx=True):
    def make(rng, rows, cols):
        size = group if group > 0 else cols
        codes, scales, zeros = draw(rng, rows, cols, bits, size, "F16", symmetric)
        g = groups_of(rng, cols, size, act_order)
        stored = [[z - (not v2) for z in row] for row in transposed(zeros)]
        out = {"qweight": tensor("I32", transposed([words(row, bits) for row in codes])),
               "qzeros": tensor("I32", [words(row, bits) for row in stored]),
               "scales": tensor("F16", transposed(scales))}
        if g_idx:
            out["g_idx"] = ("I32", [cols], struct.pack(f"<{cols}i", *g))
        return out, values_of(codes, scales, zeros, g)
    config = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": act_order, "sym": symmetric,
              "dynamic": {"-:.*down_proj": {}}, "checkpoint_format": "gptq_v2" if v2 else "gptq"}
    return config, make


def gptq_mixed():
    """Matrices of the feed-forward networks have 8 bits and other groups."""
    config, four = gptq()
    eight = gptq(bits=8, group=32)[1]
    config["dynamic"] = {"-:.*layers.0.mlp.down_proj": {}, "+:.*mlp.*": {"bits": 8, "group_size": 32}}
    return config, lambda rng, rows, cols: (eight if 256 in (rows, cols) else four)(rng, rows, cols)


def auto_round(scheme, layout, **rules):
    config, make = scheme
    return {"quant_method": "auto-round", "packing_format": f"auto_round:{layout}", "bits": config["bits"],
            "group_size": config["group_size"], "sym": config.get("sym", False), "data_type": "int", "iters": 200,
            "autoround_version": "0.8.0", "extra_config": {"lm_head": {"bits": 16, "data_type": "float"}, **rules}}, make


def awq(group=128):
    def shuffled(row):
        return [word([row[i + j] for j in (0, 2, 4, 6, 1, 3, 5, 7)], 4) for i in range(0, len(row), 8)]

    def make(rng, rows, cols):
        codes, scales, zeros = draw(rng, rows, cols, 4, group, "F16", False)
        return {"qweight": tensor("I32", [shuffled(c) for c in transposed(codes)]),
                "qzeros": tensor("I32", [shuffled(z) for z in transposed(zeros)]),
                "scales": tensor("F16", transposed(scales))}, \
            values_of(codes, scales, zeros, groups_of(rng, cols, group, False))
    return {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True, "version": "gemm",
            "modules_to_not_convert": [PLAIN, "lm_head"]}, make


def compressed(form, weights):
    return {"quant_method": "compressed-tensors", "format": form, "quantization_status": "compressed",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None,
                                          "output_activations": None}},
            "ignore": ["lm_head", "re:.*layers.0.mlp.down_proj"], "kv_cache_scheme": None}


def packed(bits=4, group=128, dtype="BF16", symmetric=True, act_order=False):
    def make(rng, rows, cols):
        size = group if group > 0 else cols
        codes, scales, zeros = draw(rng, rows, cols, bits, size, dtype, symmetric)
        g = groups_of(rng, cols, size, act_order)
        out = {"weight_packed": tensor("I32", [words(row, bits) for row in codes]),
               "weight_scale": tensor(dtype, scales), "weight_shape": ("I64", [2], struct.pack("<2q", rows, cols))}
        if not symmetric:
            out["weight_zero_point"] = tensor("I32", transposed([words(z, bits) for z in transposed(zeros)]))
        if act_order:
            out["weight_g_idx"] = ("I32", [cols], struct.pack(f"<{cols}i", *g))
        return out, values_of(codes, scales, zeros, g)
    return compressed("pack-quantized", {
        "num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": "group" if group > 0 else "channel",
        "group_size": group if group > 0 else None, "actorder": "group" if act_order else None}), make


def int8(symmetric=True, one=False, form="int-quantized"):
    def make(rng, rows, cols):
        codes, scales, zeros = draw(rng, rows, cols, 8, cols, "BF16", symmetric)
        if one:
            scales, zeros = [scales[0]] * rows, [zeros[0]] * rows
        out = {"weight": ("I8", [rows, cols], bytes((q - 128) & 255 for row in codes for q in row)),
               "weight_scale": ("BF16", [1], pack("BF16", scales[0])) if one else tensor("BF16", scales)}
        if not symmetric:
            kept = zeros[:1] if one else zeros
            out["weight_zero_point"] = ("I8", [len(kept), 1], bytes((z[0] - 128) & 255 for z in kept))
        return out, values_of(codes, scales, zeros, [0] * cols)
    return compressed(form, {"num_bits": 8, "type": "int", "symmetric": symmetric,
                             "strategy": "tensor" if one else "channel"}), make


def e4m3(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    v = math.ldexp(8 + mantissa if exponent else mantissa, max(exponent, 1) - 10)
    return -v if code & 128 else v


def fp8(block=None, dtype="F32", per_row=False, config=None, name="weight_scale"):
    def make(rng, rows, cols):
        codes = [rng.choices([c for c in range(256) if c & 127 != 127], k=cols) for _ in range(rows)]
        height, width = block or (1 if per_row else rows, cols)
        unit = 1.5 / math.sqrt(cols) / 90
        scales = [[ROUND[dtype](unit * rng.uniform(0.5, 1.5)) for _ in range(-(-cols // width))]
                  for _ in range(-(-rows // height))]
        out = {"weight": ("F8_E4M3", [rows, cols], bytes(c for row in codes for c in row)),
               name: tensor(dtype, scales) if block or per_row else (dtype, [], pack(dtype, scales[0])),
               "input_scale": ("F32", [1], tiny.pack_f32([1.0]))}
        return out, [[scales[r // height][k // width] * e4m3(c) for k, c in enumerate(row)]
                     for r, row in enumerate(codes)]
    base = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": block,
            "modules_to_not_convert": ["lm_head", PLAIN]}
    return config or base, make


def nf4(block=64, nested=False):
    def make(rng, rows, cols):
        codes = rng.choices(range(16), k=rows * cols)
        n, table = -(-rows * cols // block), [tiny.f32(i / 255) for i in range(256)]
        state = {"quant_type": "nf4", "blocksize": block, "dtype": "bfloat16", "shape": [rows, cols]}
        unit = 3.0 / math.sqrt(cols)
        out = {"weight": ("U8", [rows * cols // 2, 1], bytes(codes[i] << 4 | codes[i + 1]
                                                            for i in range(0, len(codes), 2))),
               "weight.quant_map": ("F32", [16], tiny.pack_f32(NF4))}
        if nested:
            inner = [rng.randrange(256) for _ in range(n)]
            outer = [tiny.f32(unit * rng.uniform(0.5, 1)) for _ in range(-(-n // 256))]
            state.update(nested_blocksize=256, nested_dtype="float32", nested_offset=unit)
            scales = [tiny.f32(tiny.f32(table[c] * outer[i // 256]) + tiny.f32(unit)) for i, c in enumerate(inner)]
            out["weight.absmax"] = ("U8", [n], bytes(inner))
            out["weight.nested_absmax"] = ("F32", [len(outer)], tiny.pack_f32(outer))
            out["weight.nested_quant_map"] = ("F32", [256], tiny.pack_f32(table))
        else:
            scales = [tiny.f32(unit * rng.uniform(0.5, 1.5)) for _ in range(n)]
            out["weight.absmax"] = ("F32", [n], tiny.pack_f32(scales))
        text = json.dumps(state).encode()
        out["weight.quant_state.bitsandbytes__nf4"] = ("U8", [len(text)], text)
        flat = [NF4[c] * scales[i // block] for i, c in enumerate(codes)]
        return out, [flat[r * cols:(r + 1) * cols] for r in range(rows)]
    return {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False,
            "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": nested, "bnb_4bit_quant_storage": "uint8",
            "bnb_4bit_compute_dtype": "bfloat16", "llm_int8_skip_modules": ["lm_head", PLAIN]}, make


def llm_int8():
    def make(rng, rows, cols):
        codes = [rng.choices(range(-127, 128), k=cols) for _ in range(rows)]
        most = [tiny.f32(2.5 / math.sqrt(cols) * rng.uniform(0.5, 1.5)) for _ in range(rows)]
        return {"weight": ("I8", [rows, cols], bytes(q & 255 for row in codes for q in row)),
                "SCB": ("F32", [rows], tiny.pack_f32(most)), "weight_format": ("U8", [], b"\0")}, \
            [[q * m / 127 for q in row] for row, m in zip(codes, most)]
    return {"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False}, make


def modelopt(algorithm, **more):
    return {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head", PLAIN],
            "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False},
            "producer": {"name": "modelopt", "version": "0.33.0"}, **more}


FLOAT8 = {"num_bits": 8, "type": "float", "symmetric": True}
SCHEMES = {
    "fp8_block": lambda: fp8([128, 128], name="weight_scale_inv"),
    "fp8_block_odd": lambda: fp8([48, 96], "BF16", name="weight_scale_inv"),
    "fp8_tensor": fp8,
    "fp8_row": lambda: fp8(per_row=True, dtype="BF16"),
    "gptq": gptq,
    "gptq_32_sym": lambda: gptq(group=32, symmetric=True, g_idx=False),
    "gptq_64_v2": lambda: gptq(group=64, v2=True),
    "gptq_row": lambda: gptq(group=-1),
    "gptq_act_order": lambda: gptq(group=32, act_order=True),
    "gptq_8": lambda: gptq(bits=8),
    "gptq_8_act_order": lambda: gptq(bits=8, group=64, act_order=True, v2=True),
    "awq": awq,
    "awq_64": lambda: awq(64),
    "awq_32": lambda: awq(32),
    "gptq_mixed": gptq_mixed,
    "auto_round": lambda: auto_round(gptq(symmetric=True, g_idx=False), "auto_gptq"),
    "auto_round_mixed": lambda: auto_round(gptq_mixed(), "auto_gptq", **{".*mlp.*": {"bits": 8, "group_size": 32}}),
    "auto_round_awq": lambda: auto_round(awq(64), "auto_awq"),
    "packed": packed,
    "packed_asym": lambda: packed(group=32, symmetric=False, dtype="F16"),
    "packed_row": lambda: packed(group=-1, dtype="F32"),
    "packed_row_asym": lambda: packed(group=-1, symmetric=False),
    "packed_act_order": lambda: packed(act_order=True, group=64),
    "packed_8": lambda: packed(bits=8),
    "packed_8_asym": lambda: packed(bits=8, symmetric=False),
    "int8": int8,
    "int8_asym": lambda: int8(symmetric=False),
    "int8_one": lambda: int8(symmetric=False, one=True, form="naive-quantized"),
    "float_row": lambda: fp8(per_row=True, dtype="BF16",
                             config=compressed("float-quantized", {**FLOAT8, "strategy": "channel"})),
    "float_block": lambda: fp8([128, 128], config=compressed(
        "float-quantized", {**FLOAT8, "strategy": "block", "block_structure": [128, 128]})),
    "float_naive": lambda: fp8(config=compressed("naive-quantized", {**FLOAT8, "strategy": "tensor"})),
    "modelopt_fp8": lambda: fp8(config=modelopt("FP8")),
    "modelopt_fp8_row": lambda: fp8(per_row=True, config=modelopt("FP8_PER_CHANNEL_PER_TOKEN")),
    "nf4": nf4,
    "nf4_nested": lambda: nf4(nested=True),
    "nf4_large": lambda: nf4(256),
    "llm_int8": llm_int8,
}


SHARDED = ("gptq", "fp8_block", "nf4_nested")


class Llama:
    def __init__(self, name, scheme):
        self.config, make = scheme
        rng = random.Random(name)
        self.files, self.matrices = {}, {}
        for module, shape in self.modules():
            if module == PLAIN:
                self.add_plain(rng, module, shape)
                continue
            parts, self.matrices[module] = make(rng, *shape)
            self.files.update({f"{module}.{ending}": t for ending, t in parts.items()})
        for module in ("model.embed_tokens", "lm_head"):
            self.add_plain(rng, module, (VOCAB, HIDDEN), 1 if module == "model.embed_tokens" else None)
        for norm in ["model.norm"] + [f"model.layers.{i}.{n}_layernorm" for i in range(LAYERS)
                                      for n in ("input", "post_attention")]:
            self.add_plain(rng, norm, (HIDDEN,), 0.2, 1)

    @staticmethod
    def modules():
        heads, kv = tiny.HEADS * tiny.HEAD, tiny.KV_HEADS * tiny.HEAD
        for i in range(LAYERS):
            for part, rows, cols in (("q", heads, HIDDEN), ("k", kv, HIDDEN), ("v", kv, HIDDEN), ("o", HIDDEN, heads)):
                yield f"model.layers.{i}.self_attn.{part}_proj", (rows, cols)
            for part, rows, cols in (("gate", FFN, HIDDEN), ("up", FFN, HIDDEN), ("down", HIDDEN, FFN)):
                yield f"model.layers.{i}.mlp.{part}_proj", (rows, cols)

    def add_plain(self, rng, module, shape, sd=None, mean=0.0):
        sd = sd or 1.5 / math.sqrt(shape[-1])
        flat = [bf16(mean + sd * rng.gauss(0, 1)) for _ in range(math.prod(shape))]
        self.files[f"{module}.weight"] = ("BF16", list(shape), pack("BF16", flat))
        cols = shape[-1]
        self.matrices[module] = [flat[i:i + cols] for i in range(0, len(flat), cols)]

    def matrix(self, name):
        return self.matrices[name.removesuffix(".weight")]

    def vector(self, name):
        return self.matrix(name)[0]

    def logits(self, ids):
        xs, rope = [self.matrix("model.embed_tokens")[i] for i in ids], tiny.plain_frequencies(tiny.HEAD)
        for i in range(LAYERS):
            hf = f"model.layers.{i}."
            normed = [tiny.rms_norm(x, self.vector(f"{hf}input_layernorm")) for x in xs]
            xs = [tiny.add(x, a) for x, a in zip(xs, tiny.attention(self, hf, normed, None, rope, 0))]
            xs = [tiny.add(x, tiny.feed_forward(self, hf, tiny.rms_norm(
                x, self.vector(f"{hf}post_attention_layernorm")))) for x in xs]
        return [tiny.matvec(self.matrix("lm_head"), tiny.rms_norm(x, self.vector("model.norm"))) for x in xs]

    def model_config(self):
        return {"model_type": "llama", "vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": FFN,
                "hidden_act": "silu", "num_hidden_layers": LAYERS, "num_attention_heads": tiny.HEADS,
                "num_key_value_heads": tiny.KV_HEADS, "max_position_embeddings": 256, "rope_theta": tiny.THETA,
                "rms_norm_eps": tiny.NORM_EPS, "tie_word_embeddings": False, "quantization_config": self.config}


EXPERTS, TOP_K, EXPERT_FFN, OSS_WINDOW, ALPHA, LIMIT = 4, 2, 96, 8, 1.702, 7.0


class GptOss(Llama):
    """gpt-oss as published: experts in MXFP4, the rest in BF16."""

    def __init__(self):  # pylint: disable=super-init-not-called
        self.config = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
        rng = random.Random("mxfp4")
        self.files, self.matrices = {}, {}
        for module in ("model.embed_tokens", "lm_head"):
            self.add_plain(rng, module, (VOCAB, HIDDEN), 1 if module == "model.embed_tokens" else None)
        self.add_plain(rng, "model.norm", (HIDDEN,), 0.2, 1)
        for i in range(LAYERS):
            hf = f"model.layers.{i}."
            for norm in ("input", "post_attention"):
                self.add_plain(rng, f"{hf}{norm}_layernorm", (HIDDEN,), 0.2, 1)
            for module, (rows, cols) in self.modules():
                if module.startswith(f"{hf}self_attn"):
                    self.add_plain(rng, module, (rows, cols))
                    self.add_bias(rng, f"{module}.bias", rows)
            self.add_bias(rng, f"{hf}self_attn.sinks", tiny.HEADS)
            self.add_plain(rng, f"{hf}mlp.router", (EXPERTS, HIDDEN))
            self.add_bias(rng, f"{hf}mlp.router.bias", EXPERTS)
            self.add_experts(rng, f"{hf}mlp.experts.gate_up_proj", 2 * EXPERT_FFN, HIDDEN)
            self.add_experts(rng, f"{hf}mlp.experts.down_proj", HIDDEN, EXPERT_FFN)

    def add_bias(self, rng, name, *shape):
        flat = [bf16(0.3 * rng.gauss(0, 1)) for _ in range(math.prod(shape))]
        self.files[name] = ("BF16", list(shape), pack("BF16", flat))
        self.matrices[name] = [flat[i:i + shape[-1]] for i in range(0, len(flat), shape[-1])]

    def add_experts(self, rng, name, rows, cols):
        blocks = cols // 32
        middle = 127 + round(math.log2(0.6 / math.sqrt(cols)))
        exponents = [rng.randint(middle - 1, middle + 1) for _ in range(EXPERTS * rows * blocks)]
        codes = rng.choices(range(16), k=EXPERTS * rows * cols)
        self.files[f"{name}_blocks"] = ("U8", [EXPERTS, rows, blocks, 16], bytes(
            codes[i] | codes[i + 1] << 4 for i in range(0, len(codes), 2)))
        self.files[f"{name}_scales"] = ("U8", [EXPERTS, rows, blocks], bytes(exponents))
        flat = [math.ldexp(-E2M1[c & 7] if c & 8 else E2M1[c], exponents[i // 32] - 127) for i, c in enumerate(codes)]
        for e in range(EXPERTS):
            self.matrices[f"{name}.{e}"] = [flat[(e * rows + r) * cols:(e * rows + r + 1) * cols] for r in range(rows)]
        self.add_bias(rng, f"{name}_bias", EXPERTS, rows)

    def project(self, name, x):
        return tiny.add(tiny.matvec(self.matrix(name), x), self.vector(f"{name}.bias"))

    def attention(self, layer, xs):
        hf, rope = f"model.layers.{layer}.self_attn.", tiny.plain_frequencies(tiny.HEAD)
        heads = {p: [tiny.heads_of(self.project(f"{hf}{p}_proj", x)) for x in xs] for p in "qkv"}
        for part in "qk":
            heads[part] = [[tiny.rotate(h, i, rope) for h in row] for i, row in enumerate(heads[part])]
        sinks, outs = self.vector(f"{hf}sinks"), []
        for i, queries in enumerate(heads["q"]):
            first, out = max(0, i - OSS_WINDOW + 1) if layer % 2 == 0 else 0, []
            for h, q in enumerate(queries):
                g = h // (tiny.HEADS // tiny.KV_HEADS)
                scores = [sum(a * b for a, b in zip(q, heads["k"][j][g])) / math.sqrt(tiny.HEAD)
                          for j in range(first, i + 1)]
                p = [math.exp(s) for s in scores]
                total = sum(p) + math.exp(sinks[h])
                out += [sum(w * heads["v"][first + j][g][d] for j, w in enumerate(p)) / total
                        for d in range(tiny.HEAD)]
            outs.append(self.project(f"{hf}o_proj", out))
        return outs

    def experts(self, hf, x):
        scores = self.project(f"{hf}mlp.router", x)
        chosen = sorted(range(EXPERTS), key=lambda e: -scores[e])[:TOP_K]
        total, out = sum(math.exp(scores[e]) for e in chosen), [0.0] * HIDDEN
        for e in chosen:
            both = tiny.add(tiny.matvec(self.matrix(f"{hf}mlp.experts.gate_up_proj.{e}"), x),
                            self.matrices[f"{hf}mlp.experts.gate_up_proj_bias"][e])
            gate, up = [min(v, LIMIT) for v in both[::2]], [max(-LIMIT, min(v, LIMIT)) for v in both[1::2]]
            inner = [(u + 1) * g / (1 + math.exp(-ALPHA * g)) for g, u in zip(gate, up)]
            y = tiny.add(tiny.matvec(self.matrix(f"{hf}mlp.experts.down_proj.{e}"), inner),
                         self.matrices[f"{hf}mlp.experts.down_proj_bias"][e])
            out = [a + math.exp(scores[e]) / total * b for a, b in zip(out, y)]
        return out

    def logits(self, ids):
        xs = [self.matrix("model.embed_tokens")[i] for i in ids]
        for i in range(LAYERS):
            hf = f"model.layers.{i}."
            normed = [tiny.rms_norm(x, self.vector(f"{hf}input_layernorm")) for x in xs]
            xs = [tiny.add(x, a) for x, a in zip(xs, self.attention(i, normed))]
            xs = [tiny.add(x, self.experts(hf, tiny.rms_norm(x, self.vector(f"{hf}post_attention_layernorm"))))
                  for x in xs]
        return [tiny.matvec(self.matrix("lm_head"), tiny.rms_norm(x, self.vector("model.norm"))) for x in xs]

    def model_config(self):
        return {**super().model_config(), "model_type": "gpt_oss", "intermediate_size": EXPERT_FFN,
                "num_local_experts": EXPERTS, "num_experts_per_tok": TOP_K, "head_dim": tiny.HEAD,
                "sliding_window": OSS_WINDOW, "attention_bias": True, "swiglu_limit": LIMIT,
                "layer_types": ["full_attention" if i % 2 else "sliding_attention" for i in range(LAYERS)]}


def write_weights(folder, files, shards):
    """With two shards, the tensors of a matrix are in different ones."""
    if shards == 1:
        tiny.write_safetensors(f"{folder}/model.safetensors", files)
        return
    parts = [dict(list(files.items())[i::shards]) for i in range(shards)]
    names = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
    for name, part in zip(names, parts):
        tiny.write_safetensors(f"{folder}/{name}", part)
    with open(f"{folder}/model.safetensors.index.json", "w", encoding="utf-8") as f:
        json.dump({"metadata": {}, "weight_map": {t: n for n, part in zip(names, parts) for t in part}}, f)


def write_golden(folder, model):
    rng, golden = random.Random(1), {}
    for n in PROMPTS:
        ids = [rng.randrange(VOCAB) for _ in range(n)]
        golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
        golden[f"logits.{n}"] = ("F32", [n, VOCAB], b"".join(tiny.pack_f32(r) for r in model.logits(ids)))
    tiny.write_safetensors(f"{folder}/golden.safetensors", golden)


def write_folder(folder, model, shards):
    os.mkdir(folder)
    with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
        json.dump(model.model_config(), f)
    write_weights(folder, model.files, shards)
    write_golden(folder, model)


def main():
    failed, wanted = 0, sys.argv[2:] or [*SCHEMES, "mxfp4"]
    with tempfile.TemporaryDirectory() as scratch:
        for name in wanted:
            folder = f"{scratch}/{name}"
            write_folder(folder, GptOss() if name == "mxfp4" else Llama(name, SCHEMES[name]()), 2 if name in SHARDED else 1)
            for mode in ("f32", "native"):
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", "--compute", mode, folder])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
