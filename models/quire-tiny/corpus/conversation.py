# SPDX-License-Identifier: Apache-2.0
"""Owns whole conversations: mixes the kinds of turns into something a person could have said."""
import dataclasses
import random

from . import about, arithmetic, recall, story, talk, unknown
from .expand import choose, expand
from .lexicon import Lexicon

Turn = tuple[str, str]

_SYSTEM_PROMPTS = ["You are a [helpful|friendly|kind|cheerful|polite] [assistant|model|companion|chat partner][.|]", "You are quire-tiny[.|, a small model.]", "Answer [briefly|kindly|politely][.|]",
                   "You are a storyteller[.|]", "Be [nice|brief|kind|friendly][.|]", "You are a helpful assistant. Answer [briefly|in English|kindly].", "Today is a good day[.|]", "You are talking to a child[.|]",
                   "You are a [careful|calm|patient] assistant that [never invents things|helps people|tells stories]."]
_ANOTHER_STORY = ["Another [one|story][, please|][.|!]", "One more[, please|][.|!]", "Tell me another [one|story][.|]", "[Again|More|Another one][.|!|]", "Can I hear another [story|one]?", "[And one more|Next story][.|!]"]
_CONTINUE = ["[Go on|Continue|Please continue|More, please][.|!|]", "And then?", "What happened [next|then|after that]?", "How does the story go on?", "And what happened [next|then|after that]?", "Continue the story[.|]"]
_STORY_OF_ME = ["Tell me a story about me[.|, please.|]", "[Can|Could] you tell me a story about me?", "Now a story about me[.|!]", "A story with me as the hero[, please|][.|]", "Put me into a story[.|]"]


@dataclasses.dataclass
class Conversation:
    system: str | None
    turns: list[Turn]
    kind: str

    def text(self) -> str:
        """All words of it, for the checks of the split."""
        lines = [self.system or ""]
        for user, assistant in self.turns:
            lines += [user, assistant]
        return "\n".join(lines)


def story_turns(lex: Lexicon, rng: random.Random) -> list[Turn]:
    """A story, sometimes with what people say after a story."""
    request = story.random_request(lex)
    told = story.tell(lex, request)
    turns = [(story.ask(lex, request), told.text)]
    for _ in range(2):
        kind = rng.random()
        if kind < 0.12:
            turns.append((expand(rng, choose(rng, _CONTINUE)), story.continuation(lex, told)))
        elif kind < 0.28:
            turns.append(story.follow_up(lex, told))
        elif kind < 0.36:
            told = story.tell(lex, story.Request())
            turns.append((expand(rng, choose(rng, _ANOTHER_STORY)), told.text))
        else:
            break
    return turns


def distractor(lex: Lexicon, rng: random.Random, stories: float = 0.12) -> list[Turn]:
    """Something in between, about anything but the user."""
    kind = rng.random()
    if kind < stories:
        return story_turns(lex, rng)[:1]
    if kind < 0.50:
        return [talk.turn(lex)]
    if kind < 0.70:
        return arithmetic.turns(rng)[:1]
    if kind < 0.86:
        return [about.turn(rng)]
    return [unknown.turn(lex)]


def recall_turns(lex: Lexicon, rng: random.Random) -> list[Turn]:
    """Facts told over one or several turns, questions about them, other things in between."""
    turns: list[Turn] = []
    facts: list[recall.Fact] = []
    stories = choose(rng, (0.0, 0.1, 0.25))
    busy = choose(rng, (0.1, 0.3, 0.5))   # how often something comes in between
    if rng.random() < 0.05:               # long memory: the whole context between telling and asking
        stories, busy = 0.4, choose(rng, (0.7, 0.85))
    if rng.random() < 0.25:
        turns += distractor(lex, rng, stories)
    if rng.random() < 0.15:
        turns.append(recall.untold_question(lex, facts))
    if rng.random() < 0.03:
        turns.append(recall.summary_turn(rng, facts))
    for _ in range(choose(rng, (1, 1, 1, 2, 2, 3))):
        fresh: list[recall.Fact] = []
        for _ in range(choose(rng, (1, 1, 2, 2, 3, 4))):
            fresh.append(recall.new_fact(lex, facts + fresh))
        turns.append((recall.statement(rng, fresh), recall.acknowledgement(rng, fresh)))
        facts += fresh
        while rng.random() < busy:
            turns += distractor(lex, rng, stories)
    if rng.random() < 0.22:
        changed = recall.change(lex, facts)
        if changed:
            turns.append(changed)
            if rng.random() < busy:
                turns += distractor(lex, rng, stories)
    asked = list(facts)
    rng.shuffle(asked)
    for fact in asked[:choose(rng, (1, 2, 3, 4))]:
        kind = rng.random()
        other = recall.reverse_turn(rng, fact) if kind < 0.12 else recall.confirm_turn(lex, fact) if kind < 0.2 else None
        turns.append(other or (recall.question(rng, fact), recall.answer(rng, fact)))
        if rng.random() < busy / 2:
            turns += distractor(lex, rng, stories)
    if rng.random() < 0.2:
        turns.append(recall.untold_question(lex, facts))
    if rng.random() < 0.15 and len(facts) <= 5:
        turns.append(recall.summary_turn(rng, facts))
    names = [f for f in facts if f.kind.name == "name"]
    if names and rng.random() < 0.08:
        request = story.Request(hero_name=names[0].values["v"], pronoun=choose(rng, ("he", "she")))
        turns.append((expand(rng, choose(rng, _STORY_OF_ME)), story.tell(lex, request).text))
    return turns


def mixed_turns(lex: Lexicon, rng: random.Random) -> list[Turn]:
    turns: list[Turn] = []
    if rng.random() < 0.4:
        turns.append(talk.turn(lex))
    for _ in range(rng.randint(1, 6)):
        turns += distractor(lex, rng, 0.25)
    return turns


# (weight, kind)
MIX: list[tuple[float, str]] = [(0.30, "recall"), (0.24, "story"), (0.12, "arithmetic"), (0.10, "about"), (0.08, "unknown"), (0.07, "talk"), (0.09, "mixed")]


def compose(lex: Lexicon) -> Conversation:
    """One conversation of the training mix."""
    rng = lex.rng
    kind = rng.choices([k for _, k in MIX], [w for w, _ in MIX])[0]
    many = choose(rng, (1, 2, 3, 5, 8))
    if kind == "recall":
        turns = recall_turns(lex, rng)
    elif kind == "story":
        turns = story_turns(lex, rng)
        if rng.random() < 0.12:
            turns += story_turns(lex, rng)
    elif kind == "arithmetic":
        turns = [t for _ in range(many) for t in arithmetic.turns(rng)]
    elif kind == "about":
        turns = [about.turn(rng) for _ in range(many)]
    elif kind == "unknown":
        turns = [unknown.turn(lex) for _ in range((many + 1) // 2)]
    elif kind == "talk":
        turns = [talk.turn(lex) for _ in range(many)]
    else:
        turns = mixed_turns(lex, rng)
    system = expand(rng, choose(rng, _SYSTEM_PROMPTS)) if rng.random() < 0.07 else None
    if rng.random() < 0.04:   # some people never use capitals
        turns = [(user.lower(), assistant) if kind not in ("recall", "story") else (user, assistant) for user, assistant in turns]
    return Conversation(system, turns, kind)
