#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A random vocabulary of RWKV, written with Python's repr() and checked with its literals.

Writes rwkv_vocab_v20230424.txt with all bytes and random tokens, some of them parts of characters, encodes random
texts by the longest token of a dictionary, and compares the ids with those of quire-eval.

usage: rwkv_vocab.py QUIRE_EVAL
"""
import ast
import os
import random
import subprocess
import sys
import tempfile

SEPARATOR = "\n__ggml_vocab_test__\n"
LETTERS = "ab ct'\"\\\t\n\r\x07\x7f\x85\xa0\xad\xe9\u03b1\u2028\u4e2d\ufeff\U0001f600\U000e0001"


def random_text(generator, size):
    return "".join(generator.choice(LETTERS) for _ in range(size))


def literal(generator, data):
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return repr(data)
    return repr(text) if generator.random() < 0.8 else repr(data)


def vocabulary(generator):
    tokens = [bytes([b]) for b in range(256)]
    known = set(tokens)
    while len(tokens) < 1500:
        data = random_text(generator, generator.randint(1, 6)).encode()
        data = data[generator.randint(0, 1):]
        if data and data not in known:
            known.add(data)
            tokens.append(data)
    return tokens


def write(path, generator, tokens):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for i, data in enumerate(tokens, 1):
            file.write(f"{i} {literal(generator, data)} {len(data)}\n")


def read(path):
    """Ids of tokens, as the reference implementation reads them."""
    ids = {}
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            value = ast.literal_eval(line[line.index(" ") + 1:line.rindex(" ")])
            ids[value.encode() if isinstance(value, str) else value] = int(line[:line.index(" ")])
    return ids


def encode(ids, longest, data):
    out, at = [], 0
    while at < len(data):
        size = next(n for n in range(min(longest, len(data) - at), 0, -1) if data[at:at + n] in ids)
        out.append(ids[data[at:at + size]])
        at += size
    return out


def main():
    generator = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rwkv_vocab_v20230424.txt")
        write(path, generator, vocabulary(generator))
        ids = read(path)
        longest = max(map(len, ids))
        texts = [random_text(generator, generator.randint(1, 200)) for _ in range(300)]
        inputs, outputs = os.path.join(folder, "texts.inp"), os.path.join(folder, "texts.out")
        with open(inputs, "w", encoding="utf-8", newline="\n") as file:
            file.write(SEPARATOR.join(texts))
        with open(outputs, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(" ".join(map(str, encode(ids, longest, t.encode()))) + "\n" for t in texts)
        sys.exit(subprocess.run([sys.argv[1], "tokenize", "-m", folder, "-f", inputs, "--out", outputs]).returncode)


if __name__ == "__main__":
    main()
