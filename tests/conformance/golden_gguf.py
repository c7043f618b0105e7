# SPDX-License-Identifier: Apache-2.0
"""Folders of the reference data as GGUF files, for families of which the reference data has no such file.

Used by *_gguf.py.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

U32, F32, BOOL, STR, ARRAY, U64 = 4, 6, 7, 8, 9, 10


def read_safetensors(path):
    """name -> (shape, bytes), all float32."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {n: (t["shape"], data[slice(*t["data_offsets"])]) for n, t in header.items()}


def pack(kind, v):
    if kind == STR:
        return struct.pack("<Q", len(v)) + v.encode()
    if kind == ARRAY:
        return struct.pack("<IQ", v[0], len(v[1])) + b"".join(pack(v[0], x) for x in v[1])
    return struct.pack({U32: "<I", F32: "<f", BOOL: "<?", U64: "<Q"}[kind], v)


def write_gguf(path, keys, tensors):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    head += b"".join(pack(STR, k) + struct.pack("<I", t) + pack(t, v) for k, t, v in keys)
    data = b""
    for name, (shape, values) in tensors.items():
        head += pack(STR, name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += struct.pack("<IQ", 0, len(data))
        data += values + bytes(-len(values) % 32)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % 32) + data)


def stacked(parts):
    """One tensor of several of equal shape; parts: number -> (shape, bytes)."""
    return [len(parts)] + parts[0][0], b"".join(parts[i][1] for i in sorted(parts))


def layer_name(name):
    """(number, rest) of a tensor of a layer, else None."""
    found = re.match(r"model\.layers\.(\d+)\.(.*)", name)
    return found and (int(found[1]), found[2])


def sizes(c):
    """Keys that most families have."""
    return [("block_count", U32, c["num_hidden_layers"]), ("context_length", U32, c["max_position_embeddings"]),
            ("embedding_length", U32, c["hidden_size"]), ("attention.head_count", U32, c["num_attention_heads"]),
            ("attention.layer_norm_rms_epsilon", F32, c["rms_norm_eps"])]


def convert(arch, folder, path, metadata, gguf_tensors):
    """metadata(config) lists keys without prefix, gguf_tensors(tensors, config) the tensors of the file."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    keys = [("general.architecture", STR, arch)] + [(f"{arch}.{k}", t, v) for k, t, v in metadata(config)]
    write_gguf(path, keys, gguf_tensors(read_safetensors(os.path.join(folder, "model.safetensors")), config))


def check(arch, metadata, gguf_tensors):
    """Writes the file of the folder named by the arguments and checks it. Returns an exit code."""
    quire_eval, folder, *options = sys.argv[1:]
    if not os.path.isdir(folder):
        print("skipped: no reference data at", folder)
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "model.gguf")
        convert(arch, folder, path, metadata, gguf_tensors)
        command = [quire_eval, "golden", "--threads", "1", *options, "--gguf", path, folder]
        return subprocess.run(command, check=False).returncode
