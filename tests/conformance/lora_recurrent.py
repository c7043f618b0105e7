#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adapters of the matrices of recurrent layers.

Takes the models of the reference data apart: what an adapter adds is subtracted from their weights, so that the model
with the adapter has the stored logits. For Hugging Face folders the update is dense and random. Between formats, which
can have another order of rows and columns, it consists of a few columns, which are 0 in the model: PEFT adapters of GGUF
files, whose logits must be as near to the stored ones as those of the whole file, and GGUF adapters of folders.

usage: lora_recurrent.py QUIRE_EVAL       exit 77 (skipped) without the reference data
"""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import bamba_gguf
import golden_gguf
import tiny_models as tiny

RANK = 4
GATE = 1e-3  # of logits, in f32
FOLDERS = ("lfm2", "lfm2_moe", "mamba", "mamba2", "falcon_mamba", "granitemoehybrid", "bamba", "nemotron_h", "falcon_h1",
           "jamba", "qwen3_next", "qwen3_5_text", "kimi_linear", "minimax", "olmo_hybrid", "recurrent_gemma", "rwkv")
FILES = {"qwen3_5_text": "bf16", "qwen3_next": "bf16", "lfm2": "bf16", "mamba": "bf16", "granitemoehybrid": "bf16",
         "kimi_linear": "bf16", "bamba": None}  # None: the reference data has no file
REFUSED_FILES = {"falcon_h1": "f32"}  # factors are multiplied into the weights
MODULE = re.compile(r".*layers\.\d+\.(mixer|mamba|linear_attn|conv|temporal_block|self_attn)\.\w+$"
                    r"|.*blocks\.\d+\.(attention|feed_forward)\.\w+$")
REFUSED = re.compile(r"(kv_b_proj|conv1d|conv_1d)$")
# (module, tensor of the GGUF file); a fused matrix of the folder can be several tensors of the file
GGUF = {"linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_b": "ssm_beta",
        "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.in_proj_ba": "ssm_ba", "linear_attn.out_proj": "ssm_out",
        "mamba.in_proj": "ssm_in", "mamba.out_proj": "ssm_out", "mixer.in_proj": "ssm_in", "mixer.out_proj": "ssm_out",
        "mixer.x_proj": "ssm_x", "mixer.dt_proj": "ssm_dt", "conv.in_proj": "shortconv.in_proj",
        "conv.out_proj": "shortconv.out_proj", "self_attn.f_a_proj": "ssm_f_a", "self_attn.f_b_proj": "ssm_f_b",
        "self_attn.b_proj": "ssm_beta", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k"}
TYPES = {0: ("f", 4), 30: ("H", 2)}  # of GGUF: f32, bf16


def read_safetensors(path):
    """name -> (dtype, shape, bytes)"""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    return {k: (v["dtype"], v["shape"], data[slice(*v["data_offsets"])]) for k, v in header.items() if k != "__metadata__"}


def unpack(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


def modules(tensors):
    for name, (dtype, shape, _) in tensors.items():
        module = name.removesuffix(".weight")
        if name != module and dtype == "F32" and len(shape) == 2 and MODULE.match(module) and not REFUSED.search(module):
            yield module


def write_adapter(folder, updates):
    """updates: module -> (rows, columns, A [RANK][columns], B [rows][RANK])"""
    os.mkdir(folder)
    tensors = {}
    for module, (rows, columns, a, b) in updates.items():
        tensors[f"base_model.model.{module}.lora_A.weight"] = ("F32", [RANK, columns], tiny.pack_f32(a))
        tensors[f"base_model.model.{module}.lora_B.weight"] = ("F32", [rows, RANK], tiny.pack_f32(b))
    tiny.write_safetensors(os.path.join(folder, "adapter_model.safetensors"), tensors)
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": 2 * RANK, "target_modules": "all-linear"}
    with open(os.path.join(folder, "adapter_config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)


def golden(command, *arguments):
    """(exit code, largest difference of the logits, output)"""
    done = subprocess.run([command, "golden", *arguments], capture_output=True, text=True, check=False)
    found = re.search(r" max (\S+)", done.stdout)
    return done.returncode, float(found[1]) if found else float("inf"), done.stdout + done.stderr


def write_folder(source, work, tensors):
    model = os.path.join(work, "model")
    os.mkdir(model)
    for name in os.listdir(source):
        if name.endswith(".json"):
            shutil.copy(os.path.join(source, name), model)
    tiny.write_safetensors(os.path.join(model, "model.safetensors"), tensors)
    return model


def check_folder(command, source, work, rng):
    tensors, updates = read_safetensors(os.path.join(source, "model.safetensors")), {}
    for module in modules(tensors):
        dtype, (rows, columns), data = tensors[module + ".weight"]
        a = [rng.gauss(0, 0.1) for _ in range(RANK * columns)]
        b = [rng.gauss(0, 0.1) for _ in range(rows * RANK)]
        updates[module] = (rows, columns, a, b)
        a, b, w = unpack(tiny.pack_f32(a)), unpack(tiny.pack_f32(b)), unpack(data)
        less = [w[i * columns + j] - 2 * sum(b[i * RANK + r] * a[r * columns + j] for r in range(RANK))
                for i in range(rows) for j in range(columns)]
        tensors[module + ".weight"] = (dtype, [rows, columns], tiny.pack_f32(less))
    adapter = os.path.join(work, "adapter")
    write_adapter(adapter, updates)
    model = write_folder(source, work, tensors)
    code, largest, said = golden(command, "--lora", adapter, "-m", model, source)
    chunked = golden(command, "--lora", adapter, "-m", model, "--threads", "3", "--chunk", "7", source)[2]
    if chunked != said:  # the line has a digest of the logits
        return False, "folder, other bits with chunks of 7", said + chunked
    return code == 0 and largest <= GATE, f"folder, {len(updates)} modules, max {largest:.3g}", said


def read_gguf(data):
    """name -> (shape, type, first byte)"""
    at, sizes = 8, {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def take(form):
        nonlocal at
        value, = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize(form)
        return value

    def text():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size:at].decode()

    def skip(kind):
        nonlocal at
        if kind == 8:
            text()
        elif kind == 9:
            element, n = take("I"), take("Q")
            for _ in range(n):
                skip(element)
        else:
            at += sizes[kind]

    n_tensors, n_keys = take("Q"), take("Q")
    for _ in range(n_keys):
        text()
        skip(take("I"))
    infos = {}
    for _ in range(n_tensors):
        name = text()
        shape = [take("Q") for _ in range(take("I"))]
        infos[name] = (shape, take("I"), take("Q"))
    begin = (at + 31) // 32 * 32
    return {name: (shape, kind, begin + offset) for name, (shape, kind, offset) in infos.items()}


def read_matrix(data, info):
    (columns, rows), kind, begin = info
    form, _ = TYPES[kind]
    values = struct.unpack_from(f"<{rows * columns}{form}", data, begin)
    return [struct.unpack("<f", struct.pack("<I", x << 16))[0] for x in values] if kind == 30 else list(values)


def matrices(tensors, file):
    """(module, name in the file, its entry, rows, columns, values of the folder) of matrices that both have"""
    for module in modules(tensors):
        name = f"blk.{re.search(r'[.]([0-9]+)[.]', module)[1]}.{GGUF.get('.'.join(module.split('.')[-2:]))}.weight"
        _, (rows, columns), raw = tensors[module + ".weight"]
        if name in file and file[name][0] == [columns, rows]:
            yield module, name, file[name], rows, columns, unpack(raw)


def same_columns(w, other, columns, picked):
    """The columns of `other` with the values of columns `picked` of w, in any order of rows; 0 if there is none."""
    places = {tuple(sorted(other[j::columns])): j for j in range(columns)}
    return [places.get(tuple(sorted(w[j::columns])), 0) for j in picked]


def of_columns(w, rows, columns, picked):
    """A and B that give columns `picked` of w with the scale 2"""
    a = [float(j == picked[r]) for r in range(RANK) for j in range(columns)]
    return a, [w[i * columns + j] / 2 for i in range(rows) for j in picked]


def check_peft(command, source, work, rng, path):
    """A PEFT adapter of a GGUF file."""
    tensors, updates = read_safetensors(os.path.join(source, "model.safetensors")), {}
    with open(path, "rb") as file:
        data = bytearray(file.read())
    for module, _, info, rows, columns, w in matrices(tensors, read_gguf(data)):
        form, size = TYPES[info[1]]
        picked = rng.sample(range(columns), RANK)
        for j in same_columns(w, read_matrix(data, info), columns, picked):
            for i in range(rows):
                struct.pack_into("<" + form, data, info[2] + (i * columns + j) * size, 0)
        updates[module] = (rows, columns, *of_columns(w, rows, columns, picked))
    model, adapter = os.path.join(work, "model.gguf"), os.path.join(work, "adapter")
    with open(model, "wb") as file:
        file.write(data)
    write_adapter(adapter, updates)
    whole = golden(command, "--gguf", path, source)[1]
    _, largest, said = golden(command, "--lora", adapter, "-m", model, source)
    passed = updates and abs(largest - whole) <= GATE
    return passed, f"PEFT on GGUF, {len(updates)} modules, max {largest:.3g}, of the file {whole:.3g}", said


def check_gguf(command, source, work, rng, path):
    """A GGUF adapter of a folder."""
    tensors, updates = read_safetensors(os.path.join(source, "model.safetensors")), {}
    with open(path, "rb") as file:
        data = file.read()
    for module, name, info, rows, columns, w in matrices(tensors, read_gguf(data)):
        v, picked = read_matrix(data, info), rng.sample(range(columns), RANK)
        a, b = of_columns(v, rows, columns, same_columns(w, v, columns, picked))
        updates[name + ".lora_a"], updates[name + ".lora_b"] = ([RANK, columns], a), ([rows, RANK], b)
        left = [0 if k % columns in picked else x for k, x in enumerate(w)]
        tensors[module + ".weight"] = ("F32", [rows, columns], tiny.pack_f32(left))
    arch = re.search(rb"general\.architecture\x08\0\0\0(.)\0\0\0\0\0\0\0", data, re.DOTALL)
    family = data[arch.end():arch.end() + arch[1][0]].decode()
    keys = [("general.architecture", tiny.GGUF_STR, family), ("general.type", tiny.GGUF_STR, "adapter"),
            ("adapter.type", tiny.GGUF_STR, "lora"), ("adapter.lora.alpha", tiny.GGUF_F32, 2 * RANK)]
    adapter = os.path.join(work, "adapter.gguf")
    tiny.write_gguf_file(adapter, keys, updates)
    code, largest, said = golden(command, "--lora", adapter, "-m", write_folder(source, work, tensors), source)
    passed = updates and code == 0 and largest <= GATE
    return passed, f"GGUF on a folder, {len(updates) // 2} modules, max {largest:.3g}", said


def refused(check):
    def run(*arguments):
        _, result, said = check(*arguments)
        return "multiplied in" in said, result.split(",")[0] + ", refused", said
    return run


def gguf_file(goldens, name, kind, work):
    if kind:
        return os.path.join(goldens, "gguf_2026", f"{name}-{kind}.gguf")
    path = os.path.join(work, "source.gguf")
    golden_gguf.convert("granitehybrid", os.path.join(goldens, name), path, bamba_gguf.metadata, bamba_gguf.gguf_tensors)
    return path


def main():
    command = sys.argv[1]
    shared = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared")
    goldens = os.path.join(os.environ.get("QUIRE_SHARED", shared), "goldens")
    if not os.path.isdir(goldens):
        print(f"skipped: no reference data at {goldens} (set QUIRE_SHARED)")
        return 77
    checks = [(check_folder, name, None) for name in FOLDERS]
    for check in (check_peft, check_gguf):
        checks += [(check, name, kind) for name, kind in FILES.items()]
        checks += [(refused(check), name, kind) for name, kind in REFUSED_FILES.items()]
    failed, rng = False, random.Random(1)
    for check, name, kind in checks:
        with tempfile.TemporaryDirectory() as work:
            path = [] if check is check_folder else [gguf_file(goldens, name, kind, work)]
            passed, result, said = check(command, os.path.join(goldens, name), work, rng, *path)
        print("ok  " if passed else "FAIL", name, result)
        if not passed:
            failed = True
            print(said)
    return failed


if __name__ == "__main__":
    sys.exit(main())
