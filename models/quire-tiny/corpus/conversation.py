# SPDX-License-Identifier: Apache-2.0
"""Owns whole conversations: mixes the kinds of turns into something a person could have said."""
import dataclasses
import random
from collections.abc import Callable

from . import (about, arithmetic, everyday, json_answers, noise, persona, recall, replies, story,
               story_change, talk, tools, unknown, words)
from .expand import choose, expand
from .lexicon import Lexicon

Turn = tuple[str, str]

_CONTINUE = ["[Go on|Continue|Please continue|More, please][.|!|]", "And then?",
    "What happened [next|then|after that]?", "How does the story go on?",
    "And what happened [next|then|after that]?", "Continue the story[.|]"]


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


def story_turns(lex: Lexicon, rng: random.Random, told_plots: frozenset[str] = frozenset()) -> list[
    Turn]:
    """A story, sometimes with what people say after a story; no plot comes twice."""
    kind = rng.random()
    if kind < 0.05:
        asked, told = story_change.for_somebody(lex)
    elif kind < 0.08:
        return [story_change.short(lex, None)]
    elif kind < 0.12:
        return story_change.about_user(lex, None, "they", told_plots)
    else:
        request = story.random_request(lex)
        told = story.tell(lex, request, told_plots)
        asked = story.ask(lex, request)
    turns = [(asked, told.text)]
    plots = told_plots | {told.plot}
    for _ in range(choose(rng, (1, 2, 2, 4))):
        kind = rng.random()
        if kind < 0.07:
            turns.append((expand(rng, choose(rng, _CONTINUE)), story.continuation(lex, told)))
        elif kind < 0.18:
            turns.append(story.follow_up(lex, told))
        elif kind < 0.30:
            asked, told = story_change.again(lex, told, plots)
            turns.append((asked, told.text))
            plots |= {told.plot}
        elif kind < 0.48:
            asked, request = story_change.changed(lex, told)
            told = story.tell(lex, request, plots)
            turns.append((asked, told.text))
            plots |= {told.plot}
        elif kind < 0.51:
            turns.append(story_change.short(lex, told))
        elif kind < 0.58:
            turns.append(talk.turn(lex))
        else:
            break
    return turns


def talk_turns(lex: Lexicon, rng: random.Random, replying: float = 0.3, personal: bool = True
               ) -> tuple[list[Turn], list[recall.Fact]]:
    """Small talk; when the model has asked or offered something, the user may take it up."""
    turns = [talk.turn(lex)]
    facts: list[recall.Fact] = []
    while rng.random() < replying and len(turns) < 4:
        more, fact = replies.reply(lex, turns[-1][1], frozenset(), replies.noun_of(turns[-1][0]),
            personal)
        if not more:
            break
        turns += more
        facts += [fact] if fact else []
    return turns, facts


def distractor(lex: Lexicon, rng: random.Random, stories: float = 0.12) -> list[Turn]:
    """Something in between, about anything but the user."""
    kind = rng.random()
    if kind < stories:
        request = story.random_request(lex)
        return [(story.ask(lex, request), story.tell(lex, request).text)]
    if kind < 0.50:
        return talk_turns(lex, rng, personal=False)[0]
    if kind < 0.68:
        return arithmetic.turns(rng)[:1]
    if kind < 0.74:
        return [everyday.turn(lex)]
    if kind < 0.86:
        return [about.turn(rng)]
    return [unknown.turn(lex)]


def _without_repeats(turns: list[Turn], maker: Callable[[], list[Turn]]) -> None:
    """Adds what the maker makes; an answer that was given before is made anew."""
    said = {answer for _, answer in turns}
    for _ in range(6):
        more = maker()
        if not any(answer in said for _, answer in more):
            break
    turns += more


def recall_turns(lex: Lexicon, rng: random.Random) -> list[Turn]:
    """Facts told over one or several turns, questions about them, other things in between."""
    turns: list[Turn] = []
    facts: list[recall.Fact] = []
    stories = choose(rng, (0.0, 0.1, 0.25))
    busy = choose(rng, (0.1, 0.3, 0.5))   # how often something comes in between
    if rng.random() < 0.05:   # long memory: much comes in between
        stories, busy = 0.4, choose(rng, (0.7, 0.85))
    if rng.random() < 0.25:
        _without_repeats(turns, lambda: distractor(lex, rng, stories))
    if rng.random() < 0.2:
        small, facts = talk_turns(lex, rng, 1.0)
        turns += small
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
            _without_repeats(turns, lambda: distractor(lex, rng, stories))
    if rng.random() < 0.22:
        changed = recall.change(lex, facts)
        if changed:
            turns.append(changed)
            if rng.random() < busy:
                _without_repeats(turns, lambda: distractor(lex, rng, stories))
    asked = list(facts)
    rng.shuffle(asked)
    if len(asked) > 1 and rng.random() < 0.12:
        both = recall.question_about_both(rng, asked[0], asked[1])
        if both:
            turns.append(both)
    for fact in asked[:choose(rng, (1, 2, 3, 4))]:
        kind = rng.random()
        other = None
        if kind < 0.2:
            other = recall.confirm_turn(lex, fact) if kind < 0.08 else recall.reverse_turn(rng, fact)
        turns.append(other or (recall.question(rng, fact), recall.answer(rng, fact)))
        if fact.kind.name == "age" and rng.random() < 0.6:
            age = int(fact.values["v"])
            if not everyday.age_is_held_out(age):
                turns.append(everyday.age_turn(rng, age))
        if rng.random() < busy / 2:
            _without_repeats(turns, lambda: distractor(lex, rng, stories))
    if rng.random() < 0.2:
        turns.append(recall.untold_question(lex, facts))
    if rng.random() < 0.2 and len(facts) <= 5:
        turns.append(recall.summary_turn(rng, facts))
    names = [f for f in facts if f.kind.name == "name"]
    if names and rng.random() < 0.12:
        name = names[0].values["v"]
        pronoun = choose(rng, ("he", "she"))
        if name in words.NAMES_F or name in words.NAMES_M:
            pronoun = "she" if name in words.NAMES_F else "he"
        turns += story_change.about_user(lex, name, pronoun)
    return turns


def age_turns(lex: Lexicon, rng: random.Random) -> list[Turn]:
    """The user's age, and at once how old that makes the user in other years."""
    kind = next(kind for kind in recall.KINDS if kind.name == "age")
    while True:
        fact = recall.new_fact(lex, [], kind)
        age = int(fact.values["v"])
        if not everyday.age_is_held_out(age):
            break
    turns = [(recall.statement(rng, [fact]), recall.acknowledgement(rng, [fact]))]
    for _ in range(choose(rng, (1, 2, 3))):
        _without_repeats(turns, lambda: [everyday.age_turn(rng, age)])
    return turns


def mixed_turns(lex: Lexicon, rng: random.Random) -> list[Turn]:
    turns: list[Turn] = []
    if rng.random() < 0.4:
        turns += talk_turns(lex, rng)[0]
    for _ in range(rng.randint(1, 6)):
        _without_repeats(turns, lambda: distractor(lex, rng, 0.25))
    return turns


def tool_conversation(lex: Lexicon) -> Conversation:
    """Tools are offered; some questions are for them, the others are answered as ever."""
    rng = lex.rng
    offered = tools.offered(rng)
    before = persona.random_persona(lex) if rng.random() < 0.15 else None
    typist = noise.Typist(rng)
    turns: list[Turn] = []
    for _ in range(choose(rng, (1, 1, 2, 3))):
        if rng.random() < 0.7:
            (asked, call), result = tools.turns(lex, offered)
            turns += [(typist.type(asked), call), result]
        else:
            others: list[Turn] = []
            _without_repeats(others, lambda: distractor(lex, rng, 0.05))
            if any(_fits(offered, asked) for asked, _ in others):
                continue
            turns += [(typist.type(asked), answer) for asked, answer in others]
    if not turns:
        turns = list(talk_turns(lex, rng, 0.0)[0])
    # The part that a system prompt asks for would have to be in the answers, so only plain ones.
    prompt = before.prompt if before and not before.cries and not before.who else None
    return Conversation(tools.system_text(offered, prompt), turns, "tools")


def _fits(offered: list[tools.Tool], asked: str) -> bool:
    """Whether a question that was composed without tools is one for an offered tool."""
    low = asked.lower()
    marks = {"weather": ("weather", "rain", "sun ", "warm", "cold", "hot", "umbrella", "coat"),
             "calculate": tuple("0123456789")}
    return any(mark in low for tool in offered for mark in marks[tool.kind])


# Share of conversations with tools; those of the mix have none.
TOOLS_SHARE = 0.18

# (weight, kind)
MIX: list[tuple[float, str]] = [(0.28, "recall"), (0.22, "story"), (0.11, "arithmetic"), (0.12,
    "about"), (0.06, "unknown"), (0.06, "everyday"), (0.05, "age"), (0.05, "talk"), (0.07, "mixed"),
    (0.12, "json")]


def compose(lex: Lexicon) -> Conversation:
    """One conversation of the training mix."""
    rng = lex.rng
    if rng.random() < TOOLS_SHARE:
        return tool_conversation(lex)
    kind = rng.choices([k for _, k in MIX], [w for w, _ in MIX])[0]
    makers: dict[str, Callable[[], list[Turn]]] = {
        "recall": lambda: recall_turns(lex, rng), "story": lambda: story_turns(lex, rng),
        "arithmetic": lambda: arithmetic.turns(rng),
        "about": lambda: [about.turn(rng)], "unknown": lambda: [unknown.turn(lex)],
        "everyday": lambda: [everyday.turn(lex)], "age": lambda: age_turns(lex, rng),
        "talk": lambda: talk_turns(lex, rng, 0.5)[0],
        "mixed": lambda: mixed_turns(lex, rng), "json": lambda: json_answers.turns(lex)}
    once = {"recall": 1, "age": 1, "mixed": 1, "story": choose(rng, (1,) * 8 + (2,))}
    many = once.get(kind) or choose(rng, (1, 2, 3, 5, 8))
    turns: list[Turn] = []
    for _ in range(many):
        _without_repeats(turns, makers[kind])
    played = persona.random_persona(lex) if rng.random() < 0.07 else None
    if played and kind == "json":   # an exclamation before an object would not be JSON
        played = None
    if played:
        turns = [(user, played.colour(rng, answer)) for user, answer in turns]
        if played.who and rng.random() < 0.5:
            turns.insert(choose(rng, (0, len(turns))), played.who)
    typist = noise.Typist(rng)
    turns = [(typist.type(user), answer) for user, answer in turns]
    return Conversation(played.prompt if played else None, turns, kind)
