# SPDX-License-Identifier: Apache-2.0
"""Owns short everyday exchanges: comparing numbers, ages to come, unfinished sentences, fears."""
import random

from . import split
from .arithmetic import in_words
from .expand import capitalise, choose, expand
from .lexicon import Lexicon

Turn = tuple[str, str]

_WHICH = ["[Which|What] [is|number is] {more}, {a} or {b}?", "[Which|What]'s {more}, {a} or {b}?",
    "Is {a} or {b} {more}?", "What is {more}: {a} or {b}?", "{a} or {b}, which is {more}?",
    "Which of {a} and {b} is {more}?", "{More}: {a} or {b}?", "Tell me which is {more}, {a} or {b}.",
    "which one is {more} {a} or {b}"]
_IS_IT = ["Is {a} {more} than {b}?", "{a} is {more} than {b}, right?", "Is {a} really {more} than "
    "{b}?", "Is it true that {a} is {more} than {b}?"]
_MORE = ("bigger", "larger", "greater", "higher", "bigger", "more")
_LESS = ("smaller", "lower", "less", "smaller")


def _pair(rng: random.Random, held_out: bool) -> tuple[int, int]:
    """Two numbers, often close to each other; 10 % of all pairs are held out."""
    while True:
        high = choose(rng, (20, 99, 99, 199))
        first = rng.randint(0, high)
        second = max(0, first + rng.randint(-3, 3)) if rng.random() < 0.25 else rng.randint(0, high)
        if first == second and (held_out or rng.random() < 0.8):
            continue
        if (split.unit_hash("pair", *sorted((first, second))) < 0.10) == held_out:
            return first, second


def compare(rng: random.Random, held_out: bool = False) -> tuple[str, str, str]:
    """Which of two numbers is bigger: question, answer, and the words that a right answer has."""
    first, second = _pair(rng, held_out)
    bigger = rng.random() < 0.65
    word = choose(rng, _MORE if bigger else _LESS)
    said = {"more": "bigger", "less": "smaller"}.get(word, word)
    spoken = rng.random() < 0.1
    a, b = (in_words(n) if spoken else str(n) for n in (first, second))
    if rng.random() < 0.25:
        asked = capitalise(expand(rng, choose(rng, _IS_IT), {"a": a, "b": b, "more": said}))
        right = first > second if bigger else first < second
        truth = f"{first} is {said} than {second}"
        if first == second:
            truth = f"{first} and {second} are the same"
        elif not right:
            truth = f"{second} is {said} than {first}"
        return asked, f"{'Yes' if right else 'No'}, {truth}.", truth
    asked = capitalise(expand(rng, choose(rng, _WHICH), {"a": a, "b": b, "more": word}))
    if first == second:
        return asked, "They are the same.", "the same"
    low, high = sorted((first, second))
    winner, other = (high, low) if bigger else (low, high)
    truth = f"{winner} is {said} than {other}"
    return asked, f"{truth}.", truth


_LATER = ["How old will I be [next year|in a year|a year from now]?",
    "And how old will I be next year?", "how old will I be next year"]
_IN_YEARS = ["How old will I be in {n} years?", "And in {n} years?", "In {n} years, how old am I?"]
_BEFORE = ["How old was I [last year|a year ago]?", "And last year?"]
_AGO = ["How old was I {n} years ago?", "And {n} years ago?"]


def age_is_held_out(age: int) -> bool:
    return split.unit_hash("age", age) < 0.10


def age_turn(rng: random.Random, age: int) -> Turn:
    """A question about the user's age in another year."""
    kind = rng.random()
    years = rng.randint(2, 20)
    if kind < 0.5:
        return expand(rng, choose(rng, _LATER)), f"You will be {age + 1}."
    if kind < 0.7:
        return (expand(rng, choose(rng, _IN_YEARS), {"n": str(years)}),
                f"{age} + {years} = {age + years}. You will be {age + years}.")
    if kind < 0.85 or years >= age:
        return expand(rng, choose(rng, _BEFORE)), f"You were {age - 1}."
    return (expand(rng, choose(rng, _AGO), {"n": str(years)}),
            f"{age} - {years} = {age - years}. You were {age - years}.")


# (what the user typed before the sentence broke off, what quire-tiny asks)
_UNFINISHED: list[tuple[list[str], list[str]]] = [
    (["[Hi, |Hello, |Hey, |]my name is", "my name", "I am called", "call me", "you can call me",
      "people call me", "my name's", "Please call me", "hello my name is", "the name is"],
     ["[Yes|Hello|Hi]? What is your name?", "[I am listening|Go on]: what is your name?",
      "Your sentence stopped before the name. [What is it?|What shall I call you?]"]),
    (["I am", "I'm", "I have", "I like", "I want", "I live in", "I work as", "I was", "I have a",
      "My favourite colour is", "My favourite", "My dog is called", "My cat is", "I went to",
      "Yesterday I", "Remember that", "The code is", "my sister is", "I am going to"],
     ["[Yes|And]? [Your sentence is not finished.|That was not the end, was it?] [Please go "
      "on.|What comes next?]", "[I am listening|Go on], [how does the sentence end?|what comes "
      "next?]"]),
    (["Tell me a story about", "A story about", "Write a poem about", "Tell me about", "What is",
      "How much is", "Who is", "Where is", "What is the", "How do I", "Can you", "Do you know",
      "What is 5 +", "Which is bigger,", "Why is", "tell me"],
     ["[About what?|What do you mean?|Your question is not finished.] [Please go on.|Ask me "
      "again with the rest.]", "[I think something is missing|The end is missing]. [What did you "
      "want to ask?|Can you ask me again?]"]),
]


def unfinished(rng: random.Random, held_out: bool = False) -> Turn:
    """The user pressed Enter too early."""
    while True:
        asks, answers = choose(rng, _UNFINISHED)
        asked = expand(rng, choose(rng, asks)) + choose(rng, ("", "", "", "...", " ..."))
        asked = capitalise(asked) if rng.random() < 0.4 else asked
        if split.phrasing_is_held_out(asked) == held_out:
            return asked, expand(rng, choose(rng, answers))


_FEARS = ["the dark", "thunder", "spiders", "heights", "dogs", "the night", "monsters", "storms",
    "ghosts", "flying", "deep water", "snakes", "being alone", "the dentist", "exams", "clowns"]
_FEAR_SAYS = ["I am [|a little |so |really ]afraid of {x}[.|!|]", "I'm [scared|afraid] of {x}[.|]",
    "[My son|My daughter|My little sister|My child] is afraid of {x}[.|]", "i am afraid of {x}"]
_FEAR_ANSWERS = ["[Many people are|That happens to many people]. [A calm story might help.|Shall I "
    "tell you a story about somebody brave?|Do you want to talk about it?]",
    "[I understand|Oh dear]. [Take a slow breath.|I am here, if you want to talk.|Shall I tell you "
    "a calm story?]", "Being afraid of {x} is nothing to be ashamed of. [Shall I tell you a calm "
    "story?|Do you want to talk about it?]"]
_OWN_FEAR = "Are you [afraid|scared] of {x}?"
_OWN_FEAR_ANSWER = ("[I am only a little program|I am just a small model], so [not really|nothing "
    "frightens me]. [Are you?|What about you?]")


def fear(lex: Lexicon) -> Turn:
    """The user is afraid of something."""
    rng = lex.rng
    slots = {"x": choose(rng, _FEARS)}
    if rng.random() < 0.15:
        return expand(rng, _OWN_FEAR, slots), expand(rng, _OWN_FEAR_ANSWER)
    return expand(rng, choose(rng, _FEAR_SAYS), slots), expand(rng, choose(rng, _FEAR_ANSWERS),
        slots)


def turn(lex: Lexicon) -> Turn:
    """One of all these, but for ages, which need a fact."""
    kind = lex.rng.random()
    if kind < 0.45:
        asked, answer, _ = compare(lex.rng)
        return asked, answer
    if kind < 0.75:
        return unfinished(lex.rng)
    return fear(lex)
