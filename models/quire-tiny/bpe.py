# SPDX-License-Identifier: Apache-2.0
"""The tokenizer: byte-level BPE with the pre-tokenizer that GGUF calls "qwen2".

The vocabulary is small on purpose. A name that was never seen falls into short pieces that were all
seen, so that the model can copy it, and every digit is a token of its own, so that sums line up.
"""
import collections
import copy
import functools
import json
import pathlib
import random
import re
from collections.abc import Iterable

END_OF_TEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIALS = (END_OF_TEXT, IM_START, IM_END)

# Share of the pieces of a conversation with dropout whose last merges are left out.
DROPOUT_PIECES = 0.25

# The qwen2 pattern with Python's classes: a letter is [^\W\d_], a number is \d.
_PRE_TOKEN = re.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|(?:_|[^\w\r\n])?[^\W\d_]+|\d| ?(?:_|[^\s\w])+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+")


@functools.lru_cache(maxsize=1)
def byte_alphabet() -> list[str]:
    """One printable character for each byte, as GPT-2 maps them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = {}, 0
    for byte in range(256):
        if byte in plain:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(256 + extra)
            extra += 1
    return [table[byte] for byte in range(256)]


def _to_symbols(piece: str) -> tuple[str, ...]:
    alphabet = byte_alphabet()
    return tuple(alphabet[b] for b in piece.encode("utf-8"))


def train(texts: Iterable[str], vocab_size: int) -> "Tokenizer":
    """Learns the merges; ties go to the pair that sorts first, so the result is reproducible."""
    counts = collections.Counter(p for text in texts for p in _PRE_TOKEN.findall(text))
    pieces = sorted(counts)
    symbols = [list(_to_symbols(p)) for p in pieces]
    weight = [counts[p] for p in pieces]
    pair_count: collections.Counter[tuple[str, str]] = collections.Counter()
    where: dict[tuple[str, str], set[int]] = collections.defaultdict(set)
    for at, word in enumerate(symbols):
        for pair in zip(word, word[1:]):
            pair_count[pair] += weight[at]
            where[pair].add(at)
    vocab = list(byte_alphabet())
    merges: list[tuple[str, str]] = []
    while len(vocab) + len(SPECIALS) < vocab_size:
        if not pair_count:
            raise ValueError(f"the text gives only {len(merges)} merges")
        best = min(pair_count, key=lambda p: (-pair_count[p], p))
        merges.append(best)
        vocab.append(best[0] + best[1])
        for at in sorted(where.pop(best)):
            word = symbols[at]
            for pair in zip(word, word[1:]):
                pair_count[pair] -= weight[at]
                if pair_count[pair] <= 0:
                    del pair_count[pair]
            merged = _merge(word, best)
            symbols[at] = merged
            for pair in zip(merged, merged[1:]):
                pair_count[pair] += weight[at]
                where[pair].add(at)
        pair_count.pop(best, None)
    return Tokenizer(vocab + list(SPECIALS), merges)


def _left_out(rng: random.Random, merges: int) -> int:
    """How many of the merges of a piece are left out: mostly the last one."""
    return min(merges, 1 if rng.random() < 0.7 else rng.randint(2, 5))


def _merge(word: list[str], pair: tuple[str, str]) -> list[str]:
    out, at = [], 0
    while at < len(word):
        if at + 1 < len(word) and word[at] == pair[0] and word[at + 1] == pair[1]:
            out.append(word[at] + word[at + 1])
            at += 2
        else:
            out.append(word[at])
            at += 1
    return out


class Tokenizer:
    def __init__(self, vocab: list[str], merges: list[tuple[str, str]]) -> None:
        self.vocab = vocab
        self.merges = [tuple(m) for m in merges]
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.id_of = {token: i for i, token in enumerate(vocab)}
        self.end_of_text, self.im_start, self.im_end = (self.id_of[s] for s in SPECIALS)
        self._byte_of = {c: b for b, c in enumerate(byte_alphabet())}
        self._cache: dict[str, list[int]] = {}
        self._dropout: random.Random | None = None

    def with_dropout(self, rng: random.Random) -> "Tokenizer":
        """The tokenizer for one conversation, without the last merges of some of the pieces.

        It trains the tokens that otherwise occur only inside longer ones ("ountain" in "mountain")
        and that a new word ("fountain") needs. A piece is split in the same way throughout the
        conversation, so an answer still copies tokens.
        """
        out = copy.copy(self)
        out._cache = {p: self._encode_piece(p) for p in ("user", "assistant", "system", "\n")}
        out._dropout = rng
        return out

    def _encode_piece(self, piece: str) -> list[int]:
        states = [list(_to_symbols(piece))]
        while len(states[-1]) > 1:
            word = states[-1]
            best = min(zip(word, word[1:]), key=lambda p: self.rank.get(p, 1 << 30))
            if best not in self.rank:
                break
            states.append(_merge(word, best))
        rng, left_out = self._dropout, 0
        if rng is not None and rng.random() < DROPOUT_PIECES:
            left_out = _left_out(rng, len(states) - 1)
        return [self.id_of[s] for s in states[-1 - left_out]]

    def encode(self, text: str) -> list[int]:
        """Ids of plain text; the special tokens are never parsed out of it."""
        cache = self._cache
        ids: list[int] = []
        for piece in _PRE_TOKEN.findall(text):
            known = cache.get(piece)
            if known is None:
                known = self._encode_piece(piece)
                if len(cache) < 200_000:   # made-up words would let it grow without end
                    cache[piece] = known
            ids += known
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        symbols = "".join(self.vocab[i] for i in ids if i < len(self.vocab) - len(SPECIALS))
        return bytes(self._byte_of[c] for c in symbols).decode("utf-8", errors="replace")

    def save(self, path: pathlib.Path) -> None:
        data = {"vocab": self.vocab, "merges": [list(m) for m in self.merges]}
        path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: pathlib.Path) -> "Tokenizer":
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(data["vocab"], [tuple(m) for m in data["merges"]])


# What stands in the system turn before the list of tools, and in the template.
TOOLS_INTRODUCTION = "You may call tools as <tool_call>JSON</tool_call>.\n<tools>\n"

_TURN = (
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}")
_TOOLS = (
    "{% if tools %}{{ '<|im_start|>system\\n' }}"
    "{% if messages and messages[0]['role'] == 'system' %}"
    "{{ messages[0]['content'] + '\\n\\n' }}{% endif %}{{ '"
    + TOOLS_INTRODUCTION.replace("\n", "\\n") + "' }}"
    "{% for tool in tools %}{{ (tool | tojson) + '\\n' }}{% endfor %}"
    "{{ '</tools><|im_end|>\\n' }}{% endif %}")
_CALLS = (
    "{{ '<|im_start|>assistant\\n' }}{% if message['content'] %}"
    "{{ message['content'] + '\\n' }}{% endif %}{% for call in message['tool_calls'] %}"
    "{% if not loop.first %}{{ '\\n' }}{% endif %}"
    "{% set function = call['function'] if call['function'] else call %}"
    "{{ '<tool_call>\\n{\"name\": ' + (function['name'] | tojson) + ', \"arguments\": ' }}"
    "{% if function['arguments'] is string %}{{ function['arguments'] }}"
    "{% else %}{{ function['arguments'] | tojson }}{% endif %}"
    "{{ '}\\n</tool_call>' }}{% endfor %}{{ '<|im_end|>\\n' }}")
_RESULTS = (
    "{% if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}"
    "{{ '<|im_start|>user' }}{% endif %}"
    "{{ '\\n<tool_response>\\n' + message['content'] + '\\n</tool_response>' }}"
    "{% if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}"
    "{{ '<|im_end|>\\n' }}{% endif %}")

# ChatML. With tools the first turn is of the system and lists them after its own text; a call is an
# answer <tool_call>JSON</tool_call>; the results of successive tool messages are one turn of the
# user. Without tools the text is the plain turns. corpus/tools.py writes the same texts.
CHAT_TEMPLATE = (
    _TOOLS + "{% for message in messages %}"
    "{% if tools and loop.first and message['role'] == 'system' %}"
    "{% elif message['role'] == 'assistant' and message['tool_calls'] %}" + _CALLS +
    "{% elif message['role'] == 'tool' %}" + _RESULTS +
    "{% else %}" + _TURN + "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def render(tokenizer: Tokenizer, system: str | None, turns: list[tuple[str, str | None]]) -> tuple[
    list[int], list[bool]]:
    """The ids of a conversation in the chat template, and which of them the model must predict.

    An answer that is None ends the rendering: there the model speaks.
    """
    ids: list[int] = []
    learn: list[bool] = []
    newline = tokenizer.encode("\n")

    def add(role: str, text: str | None, predicted: bool) -> None:
        head = [tokenizer.im_start, *tokenizer.encode(role + "\n")]
        ids.extend(head)
        learn.extend([False] * len(head))
        if text is None:
            return
        body = [*tokenizer.encode(text), tokenizer.im_end]
        ids.extend(body)
        learn.extend([predicted] * len(body))
        ids.extend(newline)
        learn.extend([False] * len(newline))

    if system is not None:
        add("system", system, False)
    for user, assistant in turns:
        add("user", user, False)
        add("assistant", assistant, True)
    return ids, learn
