#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes eval/conversations.jsonl: 360 conversations from held-out words, triples and phrasings."""
import argparse
import json
import pathlib
import random
import sys

from corpus import about, arithmetic, everyday, recall, split, story, talk, unknown
from corpus.expand import choose
from corpus.lexicon import Lexicon

SEED = 20251120
COUNTS = {"recall": 80, "arithmetic": 60, "about": 50, "story": 70, "unknown": 40,
    "everyday": 60}
TurnRecord = dict


def _turn(user: str, check: dict | None = None) -> TurnRecord:
    return {"user": user, **({"check": check} if check else {})}


def _between(lex: Lexicon, rng: random.Random) -> TurnRecord:
    """Something ungraded that stands between the telling and the asking."""
    kind = rng.random()
    if kind < 0.45:
        return _turn(talk.turn(lex)[0])
    if kind < 0.65:
        return _turn(arithmetic.turns(rng, held_out=True)[0][0])
    if kind < 0.80:
        return _turn(about.question(rng, choose(rng, about.FACTS), held_out=True))
    if kind < 0.93:
        return _turn(unknown.turn(lex, held_out=True)[0])
    return _turn(story.ask(lex, story.random_request(lex)))


def recall_conversation(lex: Lexicon, rng: random.Random) -> list[TurnRecord]:
    turns: list[TurnRecord] = []
    facts: list[recall.Fact] = []
    for _ in range(choose(rng, (1, 1, 2, 2, 3))):
        fresh: list[recall.Fact] = []
        for _ in range(choose(rng, (1, 1, 2, 3))):
            fresh.append(recall.new_fact(lex, facts + fresh))
        turns.append(_turn(recall.statement(rng, fresh)))
        facts += fresh
        while rng.random() < 0.4:
            turns.append(_between(lex, rng))
    if rng.random() < 0.2:
        changed = recall.change(lex, facts)
        if changed:
            turns.append(_turn(changed[0]))
    rng.shuffle(facts)
    for fact in facts[:3]:
        turns.append(_turn(recall.question(rng, fact), {"kind": "recall", "all": fact.expected()}))
    return turns


def story_conversation(lex: Lexicon, train: Lexicon, rng: random.Random) -> list[TurnRecord]:
    """Half with held-out words, half with known words in a triple that was held out."""
    while True:
        if rng.random() < 0.5:
            request = story.random_request(lex)
            if not request.expected():
                continue
            return [_turn(story.ask(lex, request), {"kind": "story", "all": request.expected()})]
        request = story.random_request(train)
        hero = request.hero or request.hero_name
        if hero and request.place_key and request.mood and request.hero_count is None:
            if split.triple_is_held_out(hero, request.place_key, request.mood):
                check = {"kind": "story", "all": request.expected()}
                return [_turn(story.ask(train, request), check)]


def arithmetic_conversation(rng: random.Random) -> list[TurnRecord]:
    turns = []
    for _ in range(choose(rng, (1, 2, 3))):
        sum_ = arithmetic.random_sum(rng, held_out=True)
        check = {"kind": "arithmetic", "number": sum_.result}
        turns.append(_turn(arithmetic.ask(rng, sum_), check))
    return turns


def about_conversation(rng: random.Random, fact: dict) -> list[TurnRecord]:
    turns = [_turn(talk.turn(Lexicon(rng, "eval"))[0])] if rng.random() < 0.2 else []
    check = {"kind": "about", "any": fact["expect"]}
    return turns + [_turn(about.question(rng, fact, held_out=True), check)]


def unknown_conversation(lex: Lexicon, rng: random.Random) -> list[TurnRecord]:
    if rng.random() < 0.2:
        facts = [recall.new_fact(lex, [])]
        asked = recall.untold_question(lex, facts)[0]
        return [_turn(recall.statement(rng, facts)), _turn(asked, {"kind": "unknown"})]
    return [_turn(unknown.turn(lex, held_out=True)[0], {"kind": "unknown"})]


def everyday_conversation(rng: random.Random, i: int) -> list[TurnRecord]:
    """A comparison, an unfinished sentence, or the user's age in another year, by turns."""
    if i % 3 == 0:
        asked, _, truth = everyday.compare(rng, held_out=True)
        return [_turn(asked, {"kind": "everyday", "any": [[truth]]})]
    if i % 3 == 1:
        asked = everyday.unfinished(rng, held_out=True)[0]
        return [_turn(asked, {"kind": "everyday", "any": [["?", "go on", "the rest"]]})]
    age = choose(rng, [age for age in range(6, 100) if everyday.age_is_held_out(age)])
    asked, answer = everyday.age_turn(rng, age)
    wanted = answer.split()[-1].rstrip(".")
    return [_turn(f"I am {age} years old."),
            _turn(asked, {"kind": "everyday", "any": [[f"will be {wanted}", f"were {wanted}"]]})]


def conversations() -> list[dict]:
    rng = random.Random(SEED)
    lex = Lexicon(rng, "eval")
    train = Lexicon(rng, "train", 0.0, 0.0)
    asked_facts = rng.sample(about.FACTS, len(about.FACTS))
    makers = {
        "recall": lambda i: recall_conversation(lex, rng),
        "arithmetic": lambda i: arithmetic_conversation(rng),
        "about": lambda i: about_conversation(rng, asked_facts[i % len(asked_facts)]),
        "story": lambda i: story_conversation(lex, train, rng),
        "unknown": lambda i: unknown_conversation(lex, rng),
        "everyday": lambda i: everyday_conversation(rng, i),
    }
    out = []
    for category, count in COUNTS.items():
        for i in range(count):
            out.append({"id": f"{category}-{i:03d}", "category": category, "turns": makers[category]
                (i)})
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help=
        "write nothing, fail if the file is out of date")
    options = parser.parse_args()
    path = pathlib.Path(__file__).parent / "eval" / "conversations.jsonl"
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in conversations())
    if options.check:
        if path.read_text(encoding="utf-8") != text:
            print(f"{path} does not fit the word lists and composers: run make_eval.py", file=sys.
                stderr)
            return 1
        return 0
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {sum(COUNTS.values())} conversations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
