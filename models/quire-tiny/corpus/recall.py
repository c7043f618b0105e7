# SPDX-License-Identifier: Apache-2.0
"""Owns remembering: the user tells facts, is acknowledged, asks about them, and changes them."""
import dataclasses
import random
import re

from .expand import capitalise, choose, expand, join_list, pick
from .lexicon import Lexicon
from .recall_facts import KINDS, Kind, Values

# Kinds of which a user has only one, or that would confuse each other in one conversation.
_EXCLUDES = {"pet": ("pet kind", "two pets", "pet colour"), "pet kind": ("pet", "two pets",
    "pet colour"), "two pets": ("pet kind", "pet", "pet colour"), "age": ("herd",), "hobby": ("dislike",),
             "pet colour": ("pet", "pet kind", "two pets", "pet colour"),
             "visit": ("visit", "relation"), "relation": ("visit",), "looks": ("colour of",),
             "colour of": ("looks",)}


@dataclasses.dataclass
class Fact:
    kind: Kind
    values: Values

    def key(self) -> tuple[str, ...]:
        return (self.kind.name, *(self.values[s] for s in self.kind.identity))

    def expected(self) -> list[str]:
        return [self.values[s] for s in self.kind.expect]


def new_fact(lex: Lexicon, taken: list[Fact], kind: Kind | None = None) -> Fact:
    """A fact that does not clash with those already told."""
    rng = lex.rng
    while True:
        chosen = kind or rng.choices(KINDS, [k.weight for k in KINDS])[0]
        fact = Fact(chosen, chosen.values(lex))
        names = {f.kind.name for f in taken}
        if kind is None and fact.key() in {f.key() for f in taken}:
            continue
        if kind is None and names.intersection(_EXCLUDES.get(chosen.name, ())):
            continue
        told = {v.lower() for f in taken for s in f.kind.expect for v in (f.values[s],)}
        if {v.lower() for v in fact.expected()} & told:
            continue
        return fact


_STARTS = ["Hi! ", "Hello! ", "Hello, ", "Hi, ", "Hey, ", "By the way, ", "Just so you know, ",
    "Please remember: ", "Good morning! ",
           "I want to tell you something. ", "Guess what! ", "Oh, and ",
           "Let me introduce myself. ", "Hi there! ", "OK. ", "Well, "]
_SMALL_AFTER_COMMA = frozenset("My The There In On When Today Yesterday Remember Please People "
    "Call You This Next Tomorrow".split())


def statement(rng: random.Random, facts: list[Fact]) -> str:
    """What the user says to tell all of these facts."""
    clauses = [expand(rng, choose(rng, f.kind.say), f.values) for f in facts]
    sentences: list[str] = []
    while clauses:
        take = min(len(clauses), 1 if rng.random() < 0.5 else 2 if rng.random() < 0.8 else 3)
        sentences.append(capitalise(join_list(_one_subject(rng, clauses[:take]))) + pick(rng, [".",
            ".", ".", "!"]))
        del clauses[:take]
    text = " ".join(sentences)
    if rng.random() < 0.25:
        start = choose(rng, _STARTS)
        if start.endswith(", ") and text.split()[0] in _SMALL_AFTER_COMMA:
            text = text[0].lower() + text[1:]
        text = start + text
    if rng.random() < 0.1:
        text = text.rstrip(".!")
    return text


_SHARED_SUBJECT = re.compile(
    r"I (?:am|have|live|work|like|love|play|enjoy|study|come|own|keep|hate|bought|found|had|ate)\b")


def _one_subject(rng: random.Random, clauses: list[str]) -> list[str]:
    """"I am 34 and work as a nurse": the later clauses leave out a subject they share."""
    if len(clauses) < 2 or rng.random() < 0.4 or not all(
            _SHARED_SUBJECT.match(c) or (i == 0 and c.startswith("I'm ")) for i, c in enumerate(
                clauses)):
        return clauses
    return [clauses[0], *(c.removeprefix("I ") for c in clauses[1:])]


_GENERIC_ACKS = ["[Thank you for telling me|Thanks for telling me|Good to know|I will remember "
    "that|I will keep that in mind|Got it|Noted]"
                 "[.|!]", "[Good to know|Noted]: {summary}.",
                 "So {summary}. I will remember that.", "[I see|All right|Okay], {summary}."]


def acknowledgement(rng: random.Random, facts: list[Fact]) -> str:
    summary = join_list([expand(rng, f.kind.clause, f.values) for f in facts])
    specific = [f for f in facts if f.kind.ack]
    if specific and rng.random() < 0.6:
        name_first = [f for f in specific if f.kind.name == "name"]
        fact = name_first[0] if name_first else choose(rng, specific)
        text = expand(rng, choose(rng, fact.kind.ack), fact.values)
        if len(facts) > 1 and rng.random() < 0.4 and "?" not in text:
            text += pick(rng, [" I will remember all of that.", " I will keep it all in mind.",
                " Thanks for telling me about yourself."])
        return text
    return capitalise(expand(rng, choose(rng, _GENERIC_ACKS), {"summary": summary}))


_NP_QUESTIONS = [
    "What is {np}?", "What is {np}?", "What's {np}?", "Do you remember {np}?",
    "Do you still know {np}?", "Can you tell me {np}?",
    "Tell me {np}.", "Please tell me {np}.", "Can you remember {np}?",
    "I forgot {np}. Do you know it?", "What did I say about {np}?",
    "Could you remind me of {np}?", "Remind me of {np}, please.", "What was {np} again?",
    "And what is {np}?", "{Np}?", "So, what is {np}?",
    "Do you know {np}?", "Now tell me {np}.", "Quick question: what is {np}?",
    "Let us see if you listened. What is {np}?",
    "You know {np}, right? What is it?",
]
_DIRECT_WRAPS = ["{Q}?", "{Q}?", "{Q}?", "{Q}?", "And {q}?", "So, {q}?", "Quick question: {q}?",
    "Tell me, {q}?", "Now, {q}?", "{Q} again?", "Hey, {q}?",
                 "Do you remember? {Q}?", "I forgot: {q}?", "Let us test your memory: {q}?",
                 "One more thing: {q}?"]


def question(rng: random.Random, fact: Fact) -> str:
    if fact.kind.ask and rng.random() < (0.85 if fact.kind.np[0].startswith("the ") and fact.kind.
        name not in ("pet", "relation", "called") else 0.45):
        core = expand(rng, choose(rng, fact.kind.ask), fact.values)
        return expand(rng, choose(rng, _DIRECT_WRAPS if not core.startswith("do you") else
            _DIRECT_WRAPS[:5]), {"q": core})
    np = expand(rng, choose(rng, fact.kind.np), fact.values)
    return expand(rng, choose(rng, _NP_QUESTIONS), {"np": np})


def answer(rng: random.Random, fact: Fact) -> str:
    return expand(rng, choose(rng, fact.kind.answer), fact.values)


_BOTH = ["{A} and {b}?", "{A}, and {b}?", "{A}? And {b}?", "Tell me: {a} and {b}?",
    "So, {a} and {b}?", "Do you remember? {A} and {b}?"]


def question_about_both(rng: random.Random, first: Fact, second: Fact) -> tuple[str, str] | None:
    """"How old am I and where do I live?"; the answer has both."""
    cores = []
    for fact in (first, second):
        direct = [q for q in fact.kind.ask if not q.startswith("do you")]
        np = expand(rng, fact.kind.np[0], fact.values)
        cores.append(expand(rng, choose(rng, direct), fact.values) if direct and rng.random() < 0.6
            else f"what is {np}")
    clauses = [expand(rng, f.kind.clause, f.values) for f in (first, second)]
    return (expand(rng, choose(rng, _BOTH), {"a": cores[0], "b": cores[1]}), capitalise(
        f"{clauses[0]} and {clauses[1]}."))


_NIL = ["You have not told me {np} yet.", "I don't know {np}, you have not told me.",
    "I don't know {np} yet. Will you tell me?",
        "You have not told me that yet.", "I do not know, you have not told me yet."]


def your(text: str) -> str:
    """Turns "the name of my dog" into "the name of your dog", as the model says it."""
    text = re.sub(r"\bmy\b", "your", text)
    text = re.sub(r"\bI am\b", "you are", text)
    return re.sub(r"\bI\b", "you", text)


def untold_question(lex: Lexicon, told: list[Fact]) -> tuple[str, str]:
    """A question about something that was never told, and the honest answer."""
    rng = lex.rng
    names = {f.kind.name for f in told}
    while True:
        fact = new_fact(lex, told)
        if fact.kind.name in ("secret word", "pet kind", "hobby", "dislike", "language", "did",
            "trip") and names:
            continue   # close to something that may have been told in other words
        if fact.kind.name in names and fact.kind.name not in ("favourite", "relation", "pet"):
            continue
        np = expand(rng, choose(rng, fact.kind.np), fact.values)
        return question(rng, fact), pick(rng, _NIL, {"np": your(np)})


_SUMMARY_QUESTIONS = ["What do you know about me?", "What have I told you about me?",
    "What do you remember about me?",
                      "Tell me what you know about me.", "Tell me everything you know about me.",
                      "Can you sum up what I told you?",
                      "What did I tell you about myself?",
                      "Do you remember everything I told you?", "What have you learned about me?"]
_SUMMARY_ANSWERS = ["{Summary}.", "You told me that {summary}.", "I know that {summary}.",
    "[Of course|Sure]: {summary}."]
_SUMMARY_EMPTY = ["You have not told me anything about yourself yet.",
    "Nothing yet! Tell me something about you.",
                  "I don't know anything about you yet. What is your name?"]


def summary_turn(rng: random.Random, facts: list[Fact]) -> tuple[str, str]:
    asked = choose(rng, _SUMMARY_QUESTIONS)
    if not facts:
        return asked, choose(rng, _SUMMARY_EMPTY)
    summary = join_list([expand(rng, f.kind.clause, f.values) for f in facts])
    return asked, expand(rng, choose(rng, _SUMMARY_ANSWERS), {"summary": summary})


_CHANGES = ["Actually, {say}.", "actually {say}", "No, {say}.", "I made a mistake: {say}.", "Sorry, that was wrong. {Say}.",
    "Correction: {say}.", "No wait, {say}.",
            "I changed my mind. {Say}.", "That is no longer true: {say}.",
            "Things have changed: {say}."]
_VALUE_CHANGES = ["{Np} is {v}, not {old}.", "Actually {np} is {v}.", "No, {np} is {v}.",
    "I meant {v}, not {old}.", "It is {v}, not {old}.", "Not {old}, {v}!",
                  "actually {np} is {v} and not {old}", "Wrong, {np} is {v}.", "{Np} is {v} now.",
                  "Sorry, I meant {v}, not {old}.", "Oh wait, {np} is {v}."]
_CHANGE_ACKS = ["[Thank you for the correction|Thanks for putting me right|All right|Okay|No "
    "problem]: {summary}.", "Then {summary}. I will remember it that way.",
                "[I see|Understood], {summary} now.", "Good that you tell me. So {summary}."]
_CHANGEABLE = ("name", "favourite", "town", "job", "left", "code", "secret word", "age", "hobby",
    "colour of", "pet colour", "pet", "relation")


def change(lex: Lexicon, facts: list[Fact]) -> tuple[str, str] | None:
    """The user corrects one of the facts; the list is updated in place."""
    rng = lex.rng
    candidates = [i for i, f in enumerate(facts) if f.kind.name in _CHANGEABLE]
    if not candidates:
        return None
    at = choose(rng, candidates)
    old = facts[at]
    others = facts[:at] + facts[at + 1:]
    fresh = new_fact(lex, others, old.kind)
    values = {**old.values, **{s: v for s, v in fresh.values.items() if s in ("v", "a_v", "prep")}}
    new = Fact(old.kind, values)
    if values["v"].lower() == old.values["v"].lower():
        return None
    if old.kind.name == "favourite":   # the value must come from the list that fits the topic
        for _ in range(200):
            fresh = new_fact(lex, others, old.kind)
            if fresh.values["topic"] == values["topic"] and fresh.values["v"] != old.values["v"]:
                new = Fact(old.kind, {**old.values, "v": fresh.values["v"]})
                break
        else:
            return None
    facts[at] = new
    np = expand(rng, choose(rng, new.kind.np), new.values)
    summary = expand(rng, new.kind.clause, new.values)
    if new.kind.np[0].startswith(("my ", "the name of")) and rng.random() < 0.4:
        text = expand(rng, choose(rng, _VALUE_CHANGES), {"np": np, "v": new.values["v"], "old": old.
            values["v"]})
        return text, expand(rng, choose(rng, _CHANGE_ACKS), {"summary": summary})
    says = new.kind.say[:1] if new.kind.name == "code" else new.kind.say[:2]
    if new.kind.name == "pet colour":
        says = [new.kind.clause]   # "actually Mia is white"
    say = expand(rng, choose(rng, says), new.values)
    return (expand(rng, choose(rng, _CHANGES), {"say": say}), expand(rng, choose(rng, _CHANGE_ACKS),
        {"summary": summary}))


def confirm_turn(lex: Lexicon, fact: Fact) -> tuple[str, str] | None:
    """"Is my name Tom?" with a right or a wrong value."""
    rng = lex.rng
    if fact.kind.name not in ("name", "favourite", "town", "pet", "relation"):
        return None
    np = expand(rng, fact.kind.np[0], fact.values)
    if fact.kind.name == "town":
        pattern = "Do I live in {x}?"
    else:
        pattern = "Is {np} {x}?"
    right = rng.random() < 0.5
    value = fact.values["v"]
    if not right:
        if fact.kind.name == "favourite":
            value = lex.word("COLOURS" if fact.values["topic"].startswith("colo") else "FOODS")
        else:
            value = lex.word("TOWNS") if fact.kind.name == "town" else lex.person()[0]
        if value.lower() == fact.values["v"].lower():
            return None
    truth = expand(rng, fact.kind.clause, fact.values)
    return (expand(rng, pattern, {"np": np, "x": value}), f"Yes, {truth}." if right else
        f"No, {truth}.")


def reverse_turn(rng: random.Random, fact: Fact) -> tuple[str, str] | None:
    if fact.kind.reverse is None:
        return None
    asks, answers = fact.kind.reverse
    return capitalise(expand(rng, choose(rng, asks), fact.values)) + "?", expand(rng, choose(rng,
        answers), fact.values)
