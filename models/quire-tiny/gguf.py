# SPDX-License-Identifier: Apache-2.0
"""Q8_0 quantization, and a GGUF writer and reader for the llama architecture."""
import math
import pathlib
import struct

import numpy as np

import bpe

_U32, _F32, _BOOL, _STRING, _ARRAY, _I32 = 4, 6, 7, 8, 9, 5
_TYPE_F32, _TYPE_Q8_0 = 0, 8
_ALIGNMENT = 32
_TOKEN_NORMAL, _TOKEN_CONTROL = 1, 3
Q8_BLOCK = 32


def q8_0_blocks(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(f16 scales, int8 values) of blocks of 32 along the rows."""
    blocks = weights.astype(np.float32).reshape(-1, Q8_BLOCK)
    scale = np.abs(blocks).max(axis=1) / np.float32(127)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(scale > 0, np.float32(1) / scale, np.float32(0))
    scaled = blocks * inverse[:, None]
    values = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))  # halves away from zero
    return scale.astype(np.float16), np.clip(values, -127, 127).astype(np.int8)


def q8_0_bytes(weights: np.ndarray) -> bytes:
    scale, values = q8_0_blocks(weights)
    out = np.empty((len(scale), 2 + Q8_BLOCK), dtype=np.uint8)
    out[:, :2] = scale.view(np.uint8).reshape(-1, 2)
    out[:, 2:] = values.view(np.uint8)
    return out.tobytes()


def q8_0_round_trip(weights: np.ndarray) -> np.ndarray:
    """The weights after a round trip through the file."""
    scale, values = q8_0_blocks(weights)
    return (scale.astype(np.float32)[:, None] * values.astype(np.float32)).reshape(weights.shape)


def to_interleaved(weights: np.ndarray, heads: int) -> np.ndarray:
    """Reorders the rows of attn_q or attn_k for GGUF.

    The model pairs row i of a head with row i + head_size / 2 for RoPE; readers of the GGUF
    architecture "llama" pair rows 2i and 2i + 1.
    """
    rows, columns = weights.shape
    half = rows // heads // 2
    return weights.reshape(heads, 2, half, columns).swapaxes(1, 2).reshape(rows, columns)


def _string(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _value(value: object) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<IB", _BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", _U32, value)
    if isinstance(value, float):
        return struct.pack("<If", _F32, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, list) and value and isinstance(value[0], str):
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
    if isinstance(value, list) and value and isinstance(value[0], int):
        return struct.pack("<IIQ", _ARRAY, _I32, len(value)) + struct.pack(f"<{len(value)}i", *
            value)
    raise TypeError(f"no GGUF type for {value!r}")


def metadata(config: object, tokenizer: bpe.Tokenizer, parameters: int) -> dict[str, object]:
    types = [_TOKEN_CONTROL if t in bpe.SPECIALS else _TOKEN_NORMAL for t in tokenizer.vocab]
    return {
        "general.architecture": "llama", "general.type": "model", "general.name": "quire-tiny",
        "general.author": "quire", "general.license": "Apache-2.0", "general.size_label":
        f"{parameters / 1e6:.0f}M",
        "general.description": "The small model that comes with quire: short stories, small "
        "talk, memory of the "
                               "conversation, small sums and questions about quire.",
        "general.file_type": 7, "general.quantization_version": 2, "general.alignment": _ALIGNMENT,
        "llama.context_length": config.context, "llama.embedding_length": config.width,
        "llama.block_count": config.layers, "llama.feed_forward_length": config.hidden,
        "llama.attention.head_count": config.heads, "llama.attention.head_count_kv": config.
        kv_heads,
        "llama.attention.key_length": config.head_size, "llama.attention.value_length": config.
        head_size,
        "llama.attention.layer_norm_rms_epsilon": config.norm_eps,
        "llama.rope.dimension_count": config.head_size, "llama.rope.freq_base": config.rope_base,
        "llama.vocab_size": len(tokenizer.vocab),
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": list(tokenizer.vocab), "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": [f"{a} {b}" for a, b in tokenizer.merges],
        "tokenizer.ggml.bos_token_id": tokenizer.end_of_text, "tokenizer.ggml.eos_token_id":
        tokenizer.im_end,
        "tokenizer.ggml.eot_token_id": tokenizer.im_end, "tokenizer.ggml.padding_token_id":
        tokenizer.end_of_text,
        "tokenizer.ggml.add_bos_token": False, "tokenizer.chat_template": bpe.CHAT_TEMPLATE,
    }


def write(path: pathlib.Path, config: object, tokenizer: bpe.Tokenizer, weights: dict[str, np.
    ndarray]) -> int:
    """Writes the file; weights are the model's parameters by name. Gives its size in bytes."""
    tensors: list[tuple[str, np.ndarray, int, bytes]] = []
    for name, array in weights.items():
        array = np.ascontiguousarray(array, dtype=np.float32)
        if name.endswith("attn_q.weight"):
            array = to_interleaved(array, config.heads)
        elif name.endswith("attn_k.weight"):
            array = to_interleaved(array, config.kv_heads)
        matrix = array.ndim == 2
        data = q8_0_bytes(array) if matrix else array.tobytes()
        tensors.append((name, array, _TYPE_Q8_0 if matrix else _TYPE_F32, data))
    keys = metadata(config, tokenizer, sum(a.size for a in weights.values()))

    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)))
    for key, value in keys.items():
        head += _string(key) + _value(value)
    offset = 0
    for name, array, kind, data in tensors:
        head += _string(name) + struct.pack("<I", array.ndim)
        head += struct.pack(f"<{array.ndim}Q", *reversed(array.shape))   # innermost dimension first
        head += struct.pack("<IQ", kind, offset)
        offset += len(data) + -len(data) % _ALIGNMENT
    head += bytes(-len(head) % _ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head)
        for _, _, _, data in tensors:
            file.write(data + bytes(-len(data) % _ALIGNMENT))
    return path.stat().st_size


def from_interleaved(weights: np.ndarray, heads: int) -> np.ndarray:
    """The inverse of to_interleaved."""
    rows, columns = weights.shape
    half = rows // heads // 2
    return weights.reshape(heads, half, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def read(path: pathlib.Path, config: object, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.
    ndarray]:
    """The weights of a file that write() made from parameters of these names and shapes."""
    data = path.read_bytes()
    block = 2 + Q8_BLOCK
    sizes = {n: math.prod(s) // Q8_BLOCK * block if len(s) == 2 else 4 * math.prod(s)
             for n, s in shapes.items()}
    at = len(data) - sum(size + -size % _ALIGNMENT for size in sizes.values())
    out: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        stored = np.frombuffer(data, np.uint8, sizes[name], at)
        if len(shape) == 2:
            blocks = stored.reshape(-1, block)
            scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
            array = (scale * blocks[:, 2:].view(np.int8).astype(np.float32)).reshape(shape)
        else:
            array = stored.copy().view(np.float32).reshape(shape)
        if name.endswith("attn_q.weight"):
            array = from_interleaved(array, config.heads)
        elif name.endswith("attn_k.weight"):
            array = from_interleaved(array, config.kv_heads)
        out[name] = array
        at += sizes[name] + -sizes[name] % _ALIGNMENT
    return out
