# SPDX-License-Identifier: Apache-2.0
"""Owns what people ask for after a story: the same but funnier, shorter, about me."""
import dataclasses

from . import split, story
from .expand import article, capitalise, choose, expand, pick
from .lexicon import Lexicon

_COMPARATIVES = {
    "funny": "funnier", "sad": "sadder", "scary": "scarier", "happy": "happier", "calm": "calmer",
    "cosy": "cosier",
    "silly": "sillier", "spooky": "spookier", "gentle": "gentler", "strange": "stranger", "wild":
    "wilder",
    "exciting": "more exciting", "mysterious": "more mysterious", "romantic": "more romantic",
    "magical": "more magical", "adventurous": "more adventurous", "peaceful": "more peaceful",
    "cheerful": "more cheerful"}
_MOOD_ASKS = ["Make it {more}[.|!|, please.|]", "[Can|Could] you make it {more}?",
    "{More}[, please|!|.|]", "A bit {more}[, please|][.|]",
              "Now make it {m}[.|!|]", "[The same|The same story|That], but {m}[, please|][.|]",
              "It should be {more}[.|]", "make it {more}",
              "Now {a_m} one[, please|][.|]", "Tell it again, but {more}[.|]",
              "Something {more}, please."]
_HERO_ASKS = ["With {a} this time[.|, please.|]", "[Now|And now|OK, now] with {a}[.|, please.|!|]",
    "[The same|That] with {a}[.|, please.|]",
              "And one with {a}?", "With {a} instead[.|]",
              "[Now one|One|Another one|Another] about {a}[.|, please.|]",
              "What about one with {a}?",
              "with {a}", "The same story with {a}[.|]", "Can {a} be the hero?", "How about {a}?",
              "Put {a} in it[.|!|]"]
_PLACE_ASKS = ["[Now|And now|This time] {at}[.|, please.|]", "The same, but {at}[.|]",
    "Can it be {at}?", "Let it happen {at}[.|]"]
_THING_ASKS = ["[Now|And] with {a}[.|, please.|]", "There should be {a} in it[.|]",
    "Add {a}[.|, please.|]", "Put {a} in it[.|]"]
_AGAIN_ASKS = ["Another [one|story][, please|][.|!]", "One more[, please|][.|!]",
    "Tell me another [one|story][.|]", "another one", "one more story",
               "[Again|More|Another one][.|!|]", "Can I hear another [story|one]?",
               "[And one more|Next story][.|!]", "A different one[, please|][.|]",
               "A new story[, please|][.|]", "[Do you have|Have you got] another one?",
               "more stories", "next", "One more story[, please|][.|!]"]
_SHORT_ASKS = ["[Shorter|A shorter one|Make it shorter][, please|][.|!|]", "That was too long[.|]",
    "[Can|Could] you make it shorter?", "A very short story[, please|][.|]",
               "Tell me a very short story[.|]", "A tiny story, please.",
               "[Give me|Tell me] a [tiny|mini] story[.|]"]
_LONG_ASKS = ["[Longer|A longer one|Make it longer][, please|][.|!|]",
    "Tell me a longer [one|story][.|]", "That was too short[.|]", "A long story[, please|][.|]",
    "Tell me a long story[.|]"]
_ME_ASKS = ["Tell me a story about me[.|, please.|]", "[Can|Could] you tell me a story about me?",
    "[Now a|A|a] story about me[.|!|]",
            "A story with me as the hero[, please|][.|]", "Put me into a story[.|]",
            "Make me the hero[.|]", "Write a story about me[.|]",
            "I want a story about me[.|]", "Can I be in a story?", "story about me please"]
_ASK_NAME = ["[Gladly|With pleasure|I would love to]! [What is your name?|But first, what is "
    "your name?]", "A story about you? Then tell me your name first."]
_FOR_ASKS = ["[Can|Could] you tell [me |]a [bedtime |]story for my {rel} {name}? {She} "
    "[likes|loves] {many}.", "My {rel} {name} [loves|likes] {many}. [Tell|Do you have] a story "
    "for {her}[.|?]",
             "A [bedtime |]story for {name}, please. {She} likes {many}.",
             "I need a [bedtime |]story for my {rel} {name}, something with {a}.",
             "Tell a story for my {rel} {name} about {a}.",
             "{name} wants a story about {a}[.|, please.|]"]
_FOR_LEADS = ["This one is for {name}. ", "Here is a story for {name}. ", "For {name}: ",
    "Good evening, {name}! "]

# A few lines with a beginning and an end, for those who want it really short.
_SHORT_STORIES = [
    "{A_hero} lived {at} and owned nothing but {a_thing}. One cold night {a_pal} knocked and "
    "asked for a bed. {Hero} had none, so they [sat by the fire and "
    "took turns looking at|told each other stories about] {thing} until morning. They were never "
    "lonely again.",
    "{At} there lived {a_hero} who was always in a hurry. One day {he} fell over {a_thing}. "
    "\"[Sit down for once|You look tired],\" said {a_pal}, who had seen it all. "
    "{Hero} sat down. For the first time {he} heard the birds, and {he} stayed until evening.",
    "Every evening {a_hero} looked out over {place} and wished for a friend. One evening {a_pal} "
    "looked back. They waved. The next day they met halfway, and one had "
    "brought {a_thing}, and the other had brought cake. That was enough for a long friendship.",
    "{A_hero} {at} found {a_thing} and did not know what it was. \"It is a hat,\" said one. \"It "
    "is a boat,\" said another. Then {a_pal} came and said, \"It is yours, I "
    "lost it for you.\" {Hero} laughed all day, and they shared it from then on.",
    "Once {a_hero} painted the door of {his} house {at} so brightly that {a_pal} took it for the "
    "sunrise and began to sing. {Hero} came out with {a_thing} and "
    "played along. Since then the day starts twice there, and nobody minds.",
]


def _noun_of(told: story.Story) -> str | None:
    """The hero of the story as a noun, if it had one."""
    if told.request.hero:
        return told.request.hero
    words_of = str(told.slots["hero_noun"])
    return words_of or None


def changed(lex: Lexicon, told: story.Story) -> tuple[str, story.Request]:
    """A wish to change the story just told, and the request that comes of it."""
    rng = lex.rng
    old, was = told.request, told.slots
    hero = _noun_of(told)
    request = story.Request(
        hero=hero, hero_adjective=old.hero_adjective, hero_name=old.hero_name or (None if hero else
            told.hero_name),
        hero_count=old.hero_count, pal=old.pal, thing=was["bare_thing"], topic=None,
        place=(was["at"], was["at2"], was["place"]), place_key=was["place_key"],
        pronoun=was["he"] if was["he"] != "they" else None)
    kind = rng.random()
    if kind < 0.5:
        mood = choose(rng, tuple(_COMPARATIVES))
        request = dataclasses.replace(request, mood=mood)
        slots = {"more": _COMPARATIVES[mood], "m": mood, "a_m": article(mood)}
        return pick(rng, _MOOD_ASKS, slots), request
    if kind < 0.8:
        noun = story.character(lex)
        if rng.random() < 0.5:   # the rest may change as well
            request = story.Request(thing=request.thing)
        request = dataclasses.replace(request, hero=noun, hero_adjective=None, hero_name=None,
            hero_count=None, pronoun=None)
        if request.pal == noun or request.thing == noun:
            request = story.Request(hero=noun)
        return pick(rng, _HERO_ASKS, {"a": article(noun)}), request
    if kind < 0.92:
        place, key = story.place_forms(lex)
        if request.thing == key:
            request.thing = None
        return pick(rng, _PLACE_ASKS, {"at": place[0]}), dataclasses.replace(request, place=place,
            place_key=key)
    thing = lex.word("THINGS")
    if thing in (request.hero, request.pal, request.place_key):
        thing = "lantern"
    return pick(rng, _THING_ASKS, {"a": article(thing)}), dataclasses.replace(request, thing=thing)


def again(lex: Lexicon, told: story.Story, avoid: frozenset[str]) -> tuple[str, story.Story]:
    """Another story: of the same mood if one was asked for, with another plot."""
    request = story.Request(mood=told.request.mood if lex.rng.random() < 0.7 else None)
    kind = lex.rng.random()
    if kind < 0.75:
        return pick(lex.rng, _AGAIN_ASKS), story.tell(lex, request, avoid)
    return pick(lex.rng, _LONG_ASKS), story.tell(lex, request, avoid)


def short(lex: Lexicon, told: story.Story | None) -> tuple[str, str]:
    """A story of a few lines, about what was told before if there was something."""
    rng = lex.rng
    fresh = told or story.tell(lex, story.Request())
    text = pick(rng, _SHORT_STORIES, fresh.slots)
    ask = choose(rng, _SHORT_ASKS if told else _SHORT_ASKS[3:])
    return pick(rng, [ask]), capitalise(text)


def about_user(lex: Lexicon, name: str | None, pronoun: str, avoid: frozenset[str] = frozenset()
               ) -> list[tuple[str, str]]:
    """A story with the user as the hero; asks for the name if it was not told."""
    rng = lex.rng
    asked = pick(rng, _ME_ASKS)
    turns = []
    if name is None:
        name, pronoun = lex.person()
        turns.append((asked, pick(rng, _ASK_NAME)))
        asked = expand(rng, choose(rng, ("{n}", "{n}.", "My name is {n}.", "I am {n}.", "I'm {n}",
            "It's {n}.", "{n}!")), {"n": name})
    request = story.Request(hero_name=name, pronoun=pronoun)
    turns.append((asked, story.tell(lex, request, avoid).text))
    return turns


def for_somebody(lex: Lexicon) -> tuple[str, story.Story]:
    """A story for a child, about what the child likes."""
    rng = lex.rng
    noun = story.character(lex)
    many = story.plural(noun)
    while many is None or many in split.held_out_words():
        noun = story.character(lex)
        many = story.plural(noun)
    name, pronoun = lex.person()
    rel = choose(rng, ["sister", "daughter", "niece"] if pronoun == "she" else ["son", "nephew",
        "brother", "boy"])
    slots = {"rel": rel, "name": name, "she": pronoun, "her": "her" if pronoun == "she" else "him",
        "many": many, "a": article(noun)}
    asked = pick(rng, _FOR_ASKS, slots)
    told = story.tell(lex, story.Request(hero=noun))
    return capitalise(asked), dataclasses.replace(told, text=pick(rng, _FOR_LEADS, slots) + told.
        text)
