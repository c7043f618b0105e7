# SPDX-License-Identifier: Apache-2.0
"""Owns how people really type: no capitals, all capitals, no full stop, slips of the finger."""
import random
import re

from .expand import choose

# Only these words get slips: a name or a noun of the user must stay readable.
_CARRIERS = frozenset("""
about again another are birthday called calculate can color colour conversation could does every
favorite favourite food forgot funny good hello help here home how joke know like listen live make
many minus model morning much name number old people please plus pretty question remember remind
short should something story subtract tale tell thank thanks that the there think this today was
weather what where which who why with work would write you your
""".split())
_WORD = re.compile(r"[A-Za-z]+")
_NEIGHBOURS = {"a": "s", "e": "r", "i": "o", "o": "p", "t": "r", "n": "m", "s": "d", "r": "t", "u":
    "i",
               "l": "k", "h": "g", "m": "n", "c": "v", "y": "u"}


def slip(rng: random.Random, word: str) -> str:
    """One slip of the finger: two letters swapped, one left out, doubled, or its neighbour hit."""
    at = rng.randrange(len(word) - 1)
    kind = rng.random()
    if kind < 0.4:
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    if kind < 0.65:
        return word[:at + 1] + word[at + 2:]
    if kind < 0.8:
        return word[:at + 1] + word[at:]
    return word[:at] + _NEIGHBOURS.get(word[at], word[at]) + word[at + 1:]


def with_slips(rng: random.Random, text: str, rate: float) -> str:
    def change(match: re.Match) -> str:
        word = match.group()
        usable = word.lower() in _CARRIERS and len(word) > 2
        return slip(rng, word) if usable and rng.random() < rate else word
    return _WORD.sub(change, text)


class Typist:
    """One user: types all turns of a conversation in the same way."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        kind = rng.random()
        self.lower = kind < 0.10
        self.upper = 0.10 <= kind < 0.12
        self.bare = rng.random() < 0.08          # never ends a sentence with a sign
        self.slips = choose(rng, (0.1, 0.2, 0.4)) if rng.random() < 0.08 else 0.0

    def type(self, text: str) -> str:
        if self.slips:
            text = with_slips(self.rng, text, self.slips)
        if self.lower:
            text = text.lower()
        if self.upper and self.rng.random() < 0.7:
            text = text.upper()
        if self.bare:
            text = text.rstrip(".?!") or text
        return text
