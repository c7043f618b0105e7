# SPDX-License-Identifier: Apache-2.0
"""Owns the template language: "[a|b]" chooses, "{slot}" inserts, "{Slot}" with a capital."""
import functools
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

# A parsed template is a tuple of parts: text, ("slot", name, capitalise) or ("choice", templates).
Part = str | tuple


def choose(rng: random.Random, items: Sequence[T]) -> T:
    return items[int(rng.random() * len(items))]


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def _parse_sequence(text: str, at: int, inside: bool) -> tuple[list[tuple[Part, ...]], int]:
    """Parses up to the closing bracket (or the end); gives the alternatives and the position."""
    alternatives: list[tuple[Part, ...]] = []
    parts: list[Part] = []
    plain: list[str] = []

    def flush() -> None:
        if plain:
            parts.append("".join(plain))
            plain.clear()

    while at < len(text):
        char = text[at]
        if char == "[":
            flush()
            options, at = _parse_sequence(text, at + 1, True)
            parts.append(("choice", tuple(options)))
            continue
        if char == "{":
            flush()
            end = text.index("}", at)
            name = text[at + 1:end]
            parts.append(("slot", name[:1].lower() + name[1:], name[:1].isupper()))
            at = end + 1
            continue
        if inside and char in "|]":
            flush()
            alternatives.append(tuple(parts))
            parts = []
            at += 1
            if char == "]":
                return alternatives, at
            continue
        plain.append(char)
        at += 1
    if inside:
        raise ValueError(f"unclosed '[' in template {text!r}")
    flush()
    alternatives.append(tuple(parts))
    return alternatives, at


@functools.lru_cache(maxsize=None)
def parse(template: str) -> tuple[Part, ...]:
    return _parse_sequence(template, 0, False)[0][0]


def _emit(rng: random.Random, parts: tuple[Part, ...], slots: Mapping[str, str],
          out: list[str]) -> None:
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif part[0] == "choice":
            _emit(rng, choose(rng, part[1]), slots, out)
        else:
            value = str(slots[part[1]])
            out.append(capitalise(value) if part[2] else value)


def expand(rng: random.Random, template: str, slots: Mapping[str, str] | None = None) -> str:
    out: list[str] = []
    _emit(rng, parse(template), slots or {}, out)
    return "".join(out)


def pick(rng: random.Random, templates: Sequence[str],
         slots: Mapping[str, str] | None = None) -> str:
    return expand(rng, choose(rng, templates), slots)


_VOWEL_SOUND_EXCEPTIONS = ("uni", "use", "euro", "ukulele", "one")


def article(noun: str) -> str:
    """"a fox", "an owl"; by sound where the list needs it."""
    low = noun.lower()
    vowel = low[:1] in "aeiou" and not low.startswith(_VOWEL_SOUND_EXCEPTIONS)
    vowel = vowel or low.startswith(("hour", "honest"))
    return f"{'an' if vowel else 'a'} {noun}"


def join_list(items: Sequence[str], last: str = "and") -> str:
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} {last} {items[-1]}"
