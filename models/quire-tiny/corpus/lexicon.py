# SPDX-License-Identifier: Apache-2.0
"""Owns the choice of a word for a slot: a listed word, or a made-up one that can only be copied.

A fifth of all words is never seen in training, so the model must learn to copy what stands in the
conversation instead of knowing the words. Made-up words teach exactly that.
"""
import random
from typing import NamedTuple

from . import split
from .expand import choose

_ONSETS = ("b c d f g h j k l m n p r s t v w z br ch cl cr dr fl fr gl gr kn ph pl pr qu sc sh sk "
           "sl sm sn sp st str sw th tr tw wh y x").split() + [""] * 4
_VOWELS = "a e i o u a e i o u ai ea ee ie oa oo ou au ei y ia io".split()
_CODAS = ("b ck d ff g l ll m n nd ng nk nt p r rd rk rm rn rt s sh ss st t th x z mp lt ld ft ve "
          "que ght").split() + [""] * 24
_NAME_ENDS = "a o i e us is el in an en ar or ie y ella ine ette ard ert wen ana ito".split() + [
    ""] * 8
_NOUN_ENDS = "er le et ow in ock um ing ish ette ling".split() + [""] * 20
_ACCENTS = {"a": "áàäåã", "e": "éèëê", "i": "íï", "o": "óöøô", "u": "úü", "n": "ñ", "c": "ç", "s":
    "š"}

_PIECES_RATE = 0.4    # share of the made-up words that are made of tokens
_LONGEST = 16         # letters of such a word

_NAME_LISTS = ("NAMES_F", "NAMES_M", "PET_NAMES", "TOWNS")


class Pieces(NamedTuple):
    """The letters of the tokens that a word may be made of, in lower case."""
    starts: tuple[str, ...]        # after a space
    name_starts: tuple[str, ...]   # after a space, with a capital
    others: tuple[str, ...]


def made_up_syllables(rng: random.Random, name: bool) -> str:
    count = 1 + (rng.random() < 0.75) + (rng.random() < 0.25)
    text = "".join(choose(rng, _ONSETS) + choose(rng, _VOWELS) + choose(rng, _CODAS)
                   for _ in range(count))
    text += choose(rng, _NAME_ENDS if name else _NOUN_ENDS)
    return text if len(text) >= 3 else text + "lo"


def made_up_splice(rng: random.Random, entries: tuple[str, ...]) -> str:
    """The front of one listed word and the back of another: real letter patterns, new word."""
    front, back = choose(rng, entries).split()[0], choose(rng, entries).split()[-1]
    text = front[:rng.randint(2, 4)] + back[-rng.randint(2, 5):]
    if rng.random() < 0.3:
        at = rng.randrange(1, len(text))
        text = text[:at] + choose(rng, "abcdefghiklmnoprstuvwyz") + text[at + 1:]
    return text.lower()


def made_up_pieces(rng: random.Random, pieces: Pieces, name: bool) -> str:
    """A word of random tokens, so that the model learns to copy each token after any other one.

    Some tokens otherwise occur only inside longer ones, or only before one and the same token.
    """
    while True:
        text = choose(rng, pieces.name_starts if name else pieces.starts)
        for _ in range(choose(rng, (1, 1, 1, 2, 2, 3))):
            text += choose(rng, pieces.others)
        if 3 <= len(text) <= _LONGEST:
            return text


def made_up(rng: random.Random, entries: tuple[str, ...], name: bool, pieces: Pieces | None) -> str:
    if pieces is not None and rng.random() < _PIECES_RATE:
        return made_up_pieces(rng, pieces, name)
    word = made_up_syllables(rng, name) if rng.random() < 0.5 else made_up_splice(rng, entries)
    if name and rng.random() < 0.06:
        at = rng.randrange(len(word))
        word = word[:at] + choose(rng, _ACCENTS.get(word[at], word[at])) + word[at + 1:]
    return word


class Lexicon:
    """Words for the slots: "train" mixes made-up words in, "eval" takes held-out words only."""

    def __init__(self, rng: random.Random, mode: str = "train", made_up_rate: float = 0.35,
                 made_up_names: float = 0.45, pieces: Pieces | None = None) -> None:
        if mode not in ("train", "eval"):
            raise ValueError(f"mode {mode!r} is neither 'train' nor 'eval'")
        self.rng = rng
        self.mode = mode
        self.made_up_rate = made_up_rate
        self.made_up_names = made_up_names
        self.pieces = pieces

    def word(self, list_name: str, made_up_rate: float | None = None) -> str:
        train, held = split.split_list(list_name)
        if self.mode == "eval":
            return choose(self.rng, held or train)
        name = list_name in _NAME_LISTS
        rate = made_up_rate
        if rate is None:
            rate = self.made_up_names if name else self.made_up_rate
            if list_name not in split.OPEN_LISTS:
                rate = 0.0
        if self.rng.random() >= rate:
            return choose(self.rng, train)
        held_words = split.held_out_words()
        while True:
            word = made_up(self.rng, train, name, self.pieces)
            if word not in held_words:
                return word.capitalize() if name else word

    def listed_only(self) -> "Lexicon":
        """The same random state without made-up words."""
        return Lexicon(self.rng, self.mode, 0.0, 0.0)

    def person(self, pronoun: str | None = None) -> tuple[str, str]:
        """A first name and the pronoun that goes with it."""
        pronoun = pronoun or ("she" if self.rng.random() < 0.5 else "he")
        list_name = "NAMES_F" if pronoun == "she" else "NAMES_M"
        return self.word(list_name), pronoun
