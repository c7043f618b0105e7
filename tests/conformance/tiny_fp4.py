#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with E2M1 weights: NVFP4 and MXFP4 folders of ModelOpt and compressed-tensors, and NVFP4 GGUF files whose
tensors have scales of their own.

As tiny_quantized.py: draws codes and scales, writes them in the layout of each format, computes with the values that
the formats define in double precision, and checks the logits of quire-eval. The GGUF model is a mixture of experts
with biases; its experts have a scale each.

usage: tiny_fp4.py QUIRE_EVAL QUIRE_QUANTIZE
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
import tiny_quantized as quantized

HIDDEN, VOCAB, LAYERS = quantized.HIDDEN, quantized.VOCAB, quantized.LAYERS
EXPERTS, EXPERT_FFN, SHARED_FFN = 4, 64, 128
GGUF_NVFP4 = 40


# ---- Codes and scales

def values_of(codes, scales, group):
    """Codes and scales [rows][...]; a code is a sign and an index of E2M1."""
    e2m1 = quantized.E2M1
    return [[s[k // group] * (-e2m1[c & 7] if c & 8 else e2m1[c]) for k, c in enumerate(row)]
            for row, s in zip(codes, scales)]


def draw_codes(rng, rows, cols):
    return [[rng.randrange(16) for _ in range(cols)] for _ in range(rows)]


def draw_nvfp4(rng, rows, cols):
    """Codes, E4M3 scales as codes, and a scale of the matrix. A few scales are tiny or zero."""
    scales = [[rng.choice((0, 3, 9)) if rng.random() < 0.05 else rng.randrange(0x50, 0x78) for _ in range(cols // 16)]
              for _ in range(rows)]
    return draw_codes(rng, rows, cols), scales, tiny.f32(rng.uniform(0.5, 1.5) / math.sqrt(cols) / 100)


def nvfp4_values(codes, scales, scale):
    return values_of(codes, [[scale * quantized.e4m3(s) for s in row] for row in scales], 16)


# ---- Folders

def pairs(codes):
    """The even column in the low bits."""
    return "U8", [len(codes), len(codes[0]) // 2], bytes(
        row[k] | row[k + 1] << 4 for row in codes for k in range(0, len(row), 2))


def matrix_of(dtype, rows):
    return dtype, [len(rows), len(rows[0])], bytes(v for row in rows for v in row)


def modelopt():
    def make(rng, rows, cols):
        codes, scales, scale = draw_nvfp4(rng, rows, cols)
        return {"weight": pairs(codes), "weight_scale": matrix_of("F8_E4M3", scales),
                "weight_scale_2": ("F32", [], tiny.pack_f32([scale])),
                "input_scale": ("F32", [], tiny.pack_f32([0.3]))}, nvfp4_values(codes, scales, scale)
    return quantized.modelopt("NVFP4", group_size=16), make


def compressed_nvfp4():
    def make(rng, rows, cols):
        codes, scales, scale = draw_nvfp4(rng, rows, cols)
        divisor = tiny.f32(1 / scale)
        return {"weight_packed": pairs(codes), "weight_scale": matrix_of("F8_E4M3", scales),
                "weight_global_scale": ("F32", [1], tiny.pack_f32([divisor])),
                "input_global_scale": ("F32", [1], tiny.pack_f32([3.0]))}, nvfp4_values(codes, scales, 1 / divisor)
    return quantized.compressed("nvfp4-pack-quantized", {
        "num_bits": 4, "type": "float", "symmetric": True, "strategy": "tensor_group", "group_size": 16}), make


def compressed_mxfp4():
    def make(rng, rows, cols):
        codes = draw_codes(rng, rows, cols)
        exponents = [[rng.randint(122, 124) for _ in range(cols // 32)] for _ in range(rows)]
        return {"weight_packed": pairs(codes), "weight_scale": matrix_of("U8", exponents)}, \
            values_of(codes, [[math.ldexp(1, e - 127) for e in row] for row in exponents], 32)
    return quantized.compressed("mxfp4-pack-quantized", {
        "num_bits": 4, "type": "float", "strategy": "group", "group_size": 32}), make


def describe_elsewhere(folder):
    """Moves quantization_config to hf_quant_config.json, where older ModelOpt checkpoints have it."""
    with open(f"{folder}/config.json", encoding="utf-8") as f:
        config = json.load(f)
    options = config.pop("quantization_config")
    del options["quant_method"], options["kv_cache_scheme"]
    options.update(exclude_modules=options.pop("ignore"), kv_cache_quant_algo="FP8")
    for name, content in (("config", config),
                          ("hf_quant_config", {"producer": options.pop("producer"), "quantization": options})):
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as f:
            json.dump(content, f)


# ---- GGUF

class Mixture:
    """Qwen 2 MoE: every matrix but the routers is NVFP4 with a scale. All experts are used, since rounding could change
    a choice of some."""

    def __init__(self):
        self.rng, self.tensors, self.values = random.Random("mixture"), {}, {}
        heads, kv = tiny.HEADS * tiny.HEAD, tiny.KV_HEADS * tiny.HEAD
        for name in ("token_embd", "output"):
            self.add(name, VOCAB, HIDDEN)
        self.add_plain("output_norm.weight", [HIDDEN], 0.2, 1)
        for i in range(LAYERS):
            blk = f"blk.{i}."
            for name in ("attn_norm", "ffn_norm"):
                self.add_plain(f"{blk}{name}.weight", [HIDDEN], 0.2, 1)
            for name, rows in (("q", heads), ("k", kv), ("v", kv)):
                self.add(f"{blk}attn_{name}", rows, HIDDEN)
                self.add_plain(f"{blk}attn_{name}.bias", [rows], 0.3)
            self.add(f"{blk}attn_output", HIDDEN, heads)
            self.add_plain(f"{blk}ffn_gate_inp.weight", [EXPERTS, HIDDEN], 0.2)
            self.add_plain(f"{blk}ffn_gate_inp_shexp.weight", [HIDDEN], 0.2)
            for kind, n, inner in (("exps", EXPERTS, EXPERT_FFN), ("shexp", 0, SHARED_FFN)):
                for part, rows, cols in (("gate", inner, HIDDEN), ("up", inner, HIDDEN), ("down", HIDDEN, inner)):
                    self.add(f"{blk}ffn_{part}_{kind}", rows, cols, n)

    def add(self, name, rows, cols, stack=0):
        drawn = [draw_nvfp4(self.rng, rows, cols) for _ in range(stack or 1)]
        factor = {"token_embd": 4, "output": 0.5}.get(name, 1)
        drawn = [(codes, scales, factor * scale) for codes, scales, scale in drawn]
        data = b"".join(self.blocks(codes, scales) for codes, scales, _ in drawn)
        self.tensors[f"{name}.weight"] = ([stack, rows, cols] if stack else [rows, cols], data, GGUF_NVFP4)
        self.tensors[f"{name}.scale"] = ([stack or 1], [scale for _, _, scale in drawn])
        self.tensors[f"{name}.input_scale"] = ([stack or 1], [0.3] * (stack or 1))
        for e, (codes, scales, scale) in enumerate(drawn):
            self.values[f"{name}.{e}" if stack else name] = nvfp4_values(codes, scales, scale)

    @staticmethod
    def blocks(codes, scales):
        """64 values: four scales, then eight bytes per 16 values, the first eight in the low bits."""
        out = bytearray()
        for row, s in zip(codes, scales):
            for k in range(0, len(row), 64):
                out += bytes(s[k // 16:k // 16 + 4])
                for g in range(k, k + 64, 16):
                    out += bytes(row[g + j] | row[g + 8 + j] << 4 for j in range(8))
        return bytes(out)

    def add_plain(self, name, shape, sd, mean=0.0):
        flat = [tiny.f32(mean + sd * self.rng.gauss(0, 1)) for _ in range(math.prod(shape))]
        self.tensors[name] = (shape, flat)
        cols = shape[-1]
        self.values[name] = flat if len(shape) == 1 else [flat[i:i + cols] for i in range(0, len(flat), cols)]

    def attention(self, blk, xs):
        rope = tiny.plain_frequencies(tiny.HEAD)
        heads = {p: [tiny.heads_of(tiny.add(tiny.matvec(self.values[f"{blk}attn_{p}"], x),
                                            self.values[f"{blk}attn_{p}.bias"])) for x in xs] for p in "qkv"}
        for part in "qk":
            heads[part] = [[tiny.rotate(h, i, rope) for h in row] for i, row in enumerate(heads[part])]
        return [tiny.matvec(self.values[f"{blk}attn_output"], tiny.attend(q, heads["k"], heads["v"], i, 0))
                for i, q in enumerate(heads["q"])]

    def network(self, blk, kind, e, x):
        gate, up, down = (self.values[f"{blk}ffn_{part}_{kind}{e}"] for part in ("gate", "up", "down"))
        return tiny.matvec(down, [tiny.silu(g) * u for g, u in zip(tiny.matvec(gate, x), tiny.matvec(up, x))])

    def experts(self, blk, x):
        scores = tiny.matvec(self.values[f"{blk}ffn_gate_inp.weight"], x)
        total = sum(math.exp(s) for s in scores)
        gate = sum(a * b for a, b in zip(self.values[f"{blk}ffn_gate_inp_shexp.weight"], x))
        out = [v / (1 + math.exp(-gate)) for v in self.network(blk, "shexp", "", x)]
        for e in range(EXPERTS):
            out = [a + math.exp(scores[e]) / total * b
                   for a, b in zip(out, self.network(blk, "exps", f".{e}", x))]
        return out

    def logits(self, ids):
        xs = [self.values["token_embd"][i] for i in ids]
        for i in range(LAYERS):
            blk = f"blk.{i}."
            normed = [tiny.rms_norm(x, self.values[f"{blk}attn_norm.weight"]) for x in xs]
            xs = [tiny.add(x, a) for x, a in zip(xs, self.attention(blk, normed))]
            xs = [tiny.add(x, self.experts(blk, tiny.rms_norm(x, self.values[f"{blk}ffn_norm.weight"]))) for x in xs]
        return [tiny.matvec(self.values["output"], tiny.rms_norm(x, self.values["output_norm.weight"])) for x in xs]

    def write(self, path):
        u32, arch = tiny.GGUF_U32, "qwen2moe"
        keys = [("block_count", u32, LAYERS), ("context_length", u32, 256), ("embedding_length", u32, HIDDEN),
                ("feed_forward_length", u32, SHARED_FFN), ("attention.head_count", u32, tiny.HEADS),
                ("attention.head_count_kv", u32, tiny.KV_HEADS), ("rope.freq_base", tiny.GGUF_F32, tiny.THETA),
                ("attention.layer_norm_rms_epsilon", tiny.GGUF_F32, tiny.NORM_EPS), ("expert_count", u32, EXPERTS),
                ("expert_used_count", u32, EXPERTS), ("expert_feed_forward_length", u32, EXPERT_FFN),
                ("expert_shared_feed_forward_length", u32, SHARED_FFN)]
        tiny.write_gguf_file(path, [("general.architecture", tiny.GGUF_STR, arch)] +
                             [(f"{arch}.{k}", t, v) for k, t, v in keys], self.tensors)


def is_refused(quantize, path):
    """The values of a tensor with a scale cannot get another type."""
    done = subprocess.run([quantize, path, "-o", f"{path}.out", "--type", "q8_0", "--allow-requantize"],
                          capture_output=True, text=True, check=False)
    ok = done.returncode == 69 and "has a scale of its own" in done.stderr
    print("ok   quire-quantize refuses it" if ok else f"FAIL quire-quantize: {done.returncode} {done.stderr}")
    return ok


def main():
    schemes = {"modelopt": modelopt, "modelopt-file": modelopt, "compressed-nvfp4": compressed_nvfp4,
               "compressed-mxfp4": compressed_mxfp4}
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, scheme in schemes.items():
            folder = f"{scratch}/{name}"
            quantized.write_folder(folder, quantized.Llama(name, scheme()), 1)
            if name == "modelopt-file":
                describe_elsewhere(folder)
            for mode in ("f32", "native", "throughput"):
                failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", "--compute", mode, folder])
        folder, model = f"{scratch}/gguf", Mixture()
        os.mkdir(folder)
        model.write(f"{folder}/model.gguf")
        quantized.write_golden(folder, model)
        for mode in ("f32", "native", "throughput"):
            failed |= subprocess.call([sys.argv[1], "golden", "--threads", "1", "--compute", mode,
                                       "--gguf", f"{folder}/model.gguf", folder])
        failed |= not is_refused(sys.argv[2], f"{folder}/model.gguf")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
