# SPDX-License-Identifier: Apache-2.0
"""Owns questions about quire: composed from the fact sheet in facts.json."""
import json
import pathlib
import random

from . import split
from .expand import capitalise, choose, expand

_SHEET = json.loads((pathlib.Path(__file__).parent.parent / "facts.json").read_text(encoding=
    "utf-8"))
SLOTS: dict[str, str] = _SHEET["slots"]
FACTS: list[dict] = _SHEET["facts"]

_WRAPS = ["{Q}?", "{Q}?", "{Q}?", "{q}?", "{q}", "{Q}", "Tell me, {q}?", "Quick question: {q}?",
    "Hi! {Q}?", "Hello, {q}?", "And {q}?",
          "One more question: {q}?", "I have a question: {q}?", "So {q}?", "Okay, {q}?",
          "Please tell me: {q}?", "I was wondering, {q}?",
          "Can you tell me: {q}?", "{Q}, please?", "I am curious: {q}?", "Another question: {q}?",
          "Hey, {q}?", "Now {q}?", "Do you know: {q}?",
          "A friend asked me: {q}?", "I would like to know: {q}?", "Just wondering: {q}?",
          "Thanks. {Q}?", "By the way, {q}?"]


def question(rng: random.Random, fact: dict, held_out: bool) -> str:
    """A question from the training or the held-out combinations of core and wrapping."""
    while True:
        core = expand(rng, choose(rng, fact["questions"])).strip()
        wrap = choose(rng, _WRAPS)
        if split.phrasing_is_held_out(core, wrap) != held_out:
            continue
        text = expand(rng, wrap, {"q": core})
        if core.startswith(("tell me", "explain", "describe", "give me", "introduce", "list",
            "quire,", "help")):
            text = text.replace("?", ".") if rng.random() < 0.7 else text
        if rng.random() < 0.15:
            text = text.replace("quire ", "Quire ").replace("quire?", "Quire?")
        return text


def turn(rng: random.Random) -> tuple[str, str]:
    fact = choose(rng, FACTS)
    return question(rng, fact, False), capitalise_answer(expand(rng, choose(rng, fact["answers"]),
        SLOTS))


def capitalise_answer(text: str) -> str:
    """A sentence starts with a capital, except with the name quire, which has none."""
    return text if text.startswith("quire") else capitalise(text)
