# SPDX-License-Identifier: Apache-2.0
"""Owns the split between training and evaluation: which words, triples and sums are held out.

Every decision is a hash of the thing itself, so it never depends on the order of a list or on a
random state: adding a word moves no other word across the border.
"""
import functools
import hashlib
import json
import pathlib
import re

from . import words

SPLIT_SALT = "quire-tiny-1"
HELD_OUT_SHARE = 0.20
NGRAM = 12

# Lists whose words can be split. Closed classes (months, seasons, relations, ...) stay whole.
OPEN_LISTS = ("NAMES_F NAMES_M PET_NAMES PETS ANIMALS PEOPLE FANTASY THINGS PLACES COLOURS FOODS "
              "FRUITS DRINKS TOWNS JOBS HOBBIES INSTRUMENTS FLOWERS SUBJECTS").split()

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def word_tokens(text: str) -> list[str]:
    """Lower-case words and numbers, the unit of n-grams and of held-out words."""
    return _WORD.findall(text.lower())


def unit_hash(*parts: object) -> float:
    """A number in [0, 1) that depends on nothing but the parts."""
    text = "\x1f".join([SPLIT_SALT, *map(str, parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2.0**64


def _prose_words() -> frozenset[str]:
    """Every word of the composers themselves; such a word is in training text whatever the hash."""
    here = pathlib.Path(__file__).parent
    sources = [p for p in sorted(here.glob("*.py")) if p.name not in ("words.py", "split.py")]
    found: set[str] = set()
    for path in sources:
        found.update(word_tokens(path.read_text(encoding="utf-8").replace("\\n", " ")))
    found.update(word_tokens((here.parent / "facts.json").read_text(encoding="utf-8")))
    return frozenset(found)


@functools.lru_cache(maxsize=1)
def held_out_words() -> frozenset[str]:
    """The words (lower case) that appear in no training text."""
    prose = _prose_words()
    closed = set()
    for name, value in vars(words).items():
        if name.isupper() and name not in OPEN_LISTS and isinstance(value, list):
            for entry in value:
                if isinstance(entry, str):
                    closed.update(word_tokens(entry))
    # A belonging or a spot may be split with the list of things, the other closed lists may not.
    closed -= {w for n in ("BELONGINGS", "HAVE_COLOUR", "SPOTS") for e in getattr(words, n)
               for w in word_tokens(e)}
    # Words inside longer entries ("guinea pig") are in training text with that entry.
    parts = {w for name in OPEN_LISTS for entry in getattr(words, name) if " " in entry
             for w in word_tokens(entry)}
    chosen: set[str] = set()
    for name in OPEN_LISTS:
        entries = getattr(words, name)
        usable = {e.lower() for e in entries if " " not in e} - prose - closed - parts
        want = round(HELD_OUT_SHARE * len(set(entries)))
        chosen.update(sorted(usable, key=lambda w: unit_hash("word", w))[:want])
    return frozenset(chosen)


@functools.lru_cache(maxsize=None)
def split_list(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(training entries, held-out entries) of the list called name."""
    held = held_out_words()
    entries = list(dict.fromkeys(getattr(words, name)))
    return (tuple(e for e in entries if e.lower() not in held),
            tuple(e for e in entries if e.lower() in held))


@functools.lru_cache(maxsize=1 << 20)
def triple_is_held_out(character: str, place: str, mood: str) -> bool:
    return unit_hash("triple", character.lower(), place.lower(), mood.lower()) < HELD_OUT_SHARE


@functools.lru_cache(maxsize=None)
def sum_is_held_out(operator: str, left: int, right: int) -> bool:
    """10 % of all sums; a + b and b + a are the same sum."""
    if operator == "+" and left > right:
        left, right = right, left
    return unit_hash("sum", operator, left, right) < 0.10


def phrasing_is_held_out(*parts: str) -> bool:
    """10 % of the combinations of a question with its wrapping."""
    return unit_hash("phrasing", *parts) < 0.10


def ngrams(text: str, size: int = NGRAM) -> set[int]:
    tokens = word_tokens(text)
    return {hash(tuple(tokens[i:i + size])) for i in range(len(tokens) - size + 1)}


def eval_user_texts(path: pathlib.Path) -> list[str]:
    """Everything the evaluation says to the model."""
    texts = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            texts.extend(turn["user"] for turn in json.loads(line)["turns"])
    return texts


class Guard:
    """Tells whether a text may be trained on: no held-out word, no n-gram of the evaluation."""

    def __init__(self, *eval_paths: pathlib.Path) -> None:
        self.words = held_out_words()
        self.grams: set[int] = set()
        for path in eval_paths:
            for text in eval_user_texts(path):
                self.grams |= ngrams(text)

    def complaint(self, text: str) -> str | None:
        tokens = word_tokens(text)
        hit = self.words.intersection(tokens)
        if hit:
            return f"held-out word {sorted(hit)[0]!r}"
        if self.grams and len(tokens) >= NGRAM:
            grams = self.grams
            for i in range(len(tokens) - NGRAM + 1):
                if hash(tuple(tokens[i:i + NGRAM])) in grams:
                    return f"n-gram of the evaluation: {' '.join(tokens[i:i + NGRAM])!r}"
        return None
