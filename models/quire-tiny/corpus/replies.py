# SPDX-License-Identifier: Apache-2.0
"""Owns what the user says when quire-tiny has asked or offered something, and what comes of it."""
from . import recall, story, talk
from .expand import article, choose, expand, pick
from .lexicon import Lexicon
from .recall_facts import KINDS

Turn = tuple[str, str]
_KIND = {kind.name: kind for kind in KINDS}
_YES = ["[Yes|Yes, please|Sure|OK|Okay|Why not|Go ahead|Please do|Yes please|yes|Yeah|Of "
    "course|I would like that|Gladly|Go on|ok|sure|Yep|Oh yes|Please][.|!|]"]
_NO = ["[No|No, thanks|No, thank you|Not now|no|Nope|Later, perhaps|Maybe later|No thanks|Rather "
    "not|not really][.|!|]"]
_NO_ANSWERS = ["[All right|That is fine|No problem]! [What would you like instead?|What shall we "
    "do, then?|Just tell me what you would like.|I am here when you want one.]"]
_OFFERED = ("Shall I tell you a story", "Would you like a story", "Would you like to hear a story",
    "Would a gentle story", "Shall I?", "a story, perhaps?", "Would you like one?",
            "bedtime story?", "Would you like another", "a story instead?", "a story about it?",
            "a story about one?", "Shall I tell you one?", "a story goes well with it")
_GOOD = ["[It was|Quite|Very|Really|Pretty] [good|nice|fine|great|well][, thanks|, thank "
    "you||][.|!|]", "[Good|Great|Fine|Not bad|Okay|Wonderful][, thanks|, and yours?||][.|!|]",
    "I am [fine|good|well|great][, thanks|][.|!|]"]
_GOOD_ANSWERS = ["[I am glad to hear that|That is good to hear|How nice|Lovely]! [What shall we "
    "do?|What would you like to talk about?|Tell me something about you.|Would you like a story?]"]
_BAD = ["[Not so good|Bad|Not great|Terrible|So so|Could be better|I am tired|I am sad|Not "
    "well][, to be honest|, sadly||][.|!|]"]
_BAD_ANSWERS = ["[I am sorry to hear that|Oh dear, I am sorry]. [Do you want to tell me about "
    "it?|Would a gentle story help?|I am here, if you want to talk.]"]

# A question of the model -> the kind of fact its answer tells, and how people answer shortly.
_ASKED: list[tuple[tuple[str, ...], str, list[str]]] = [
    (("What is your name?", "your name first."), "name", ["{v}", "{v}.", "{v}!", "It's {v}.",
     "It is {v}", "I'm {v}", "I am {v}.", "My name is {v}.", "Call me {v}.", "my name is {v}"]),
    (("What is your favourite colour?",), "favourite", ["{v}", "{v}.", "It's {v}.", "I like {v}.",
     "My favourite colour is {v}.", "{v}, I think"]),
    (("Where do you live?",), "town", ["{v}", "In {v}.", "in {v}", "I live in {v}.",
     "I'm from {v}", "{v}, and you?"]),
    (("Do you have a pet?",), "pet", ["Yes, {a_pet} called {v}.", "I have {a_pet} named {v}",
     "Yes! My {pet} is called {v}.", "yes, {a_pet}, {v}", "Yes, {v}, my {pet}."]),
    (("What do you like to do?",), "hobby", ["{v}", "{V}.", "I like {v}.", "I love {v}!",
     "Mostly {v}", "{v}, I guess"]),
    (("What did you have for breakfast?",), "meal", ["{v}", "{V}.", "I had {v}.", "Just {v}.",
     "{v} and nothing else"]),
]


def _told(lex: Lexicon, kind: str) -> recall.Fact:
    fact = recall.Fact(_KIND[kind], _KIND[kind].values(lex))
    if kind == "favourite":
        fact.values = {"topic": "colour", "fav": "favourite", "v": lex.word("COLOURS")}
    elif kind == "meal":
        fact.values["meal"] = "breakfast"
    return fact


def offer_hero(answer: str) -> str | None:
    """The creature of an offer like "a story about a lazy robot"."""
    for hero in ("lazy robot", "brave mouse", "dragon and a teapot", "owl who cannot sleep"):
        if hero in answer:
            return hero
    return None


def _offered_request(answer: str, noun: str | None) -> story.Request:
    hero = offer_hero(answer)
    if hero == "lazy robot":
        return story.Request(hero="robot", hero_adjective="lazy")
    if hero == "brave mouse":
        return story.Request(hero="mouse", hero_adjective="brave")
    if hero == "dragon and a teapot":
        return story.Request(hero="dragon", thing="teapot")
    if hero:
        return story.Request(hero="owl", plot="sleepless")
    if "gentle story" in answer or "calm" in answer or "bedtime" in answer:
        return story.Request(mood="gentle" if "gentle" in answer else "calm")
    if noun and "about it?" in answer:
        return story.Request(thing=noun)
    if noun and "about one?" in answer:
        return story.Request(hero=noun)
    return story.Request()


def reply(lex: Lexicon, answer: str, avoid: frozenset[str], noun: str | None = None,
          personal: bool = True) -> tuple[list[Turn], recall.Fact | None]:
    """A turn that takes up the last answer of the model; also the fact that the user told with it.

    personal: whether the user may tell a fact; in between other facts that would confuse them.
    """
    rng = lex.rng
    last = answer.strip()
    for questions, kind, says in _ASKED if personal else ():
        if last.endswith(questions):
            if rng.random() < 0.12:
                return [(pick(rng, ["I won't tell you.", "That's a secret.", "I'd rather not say.",
                    "Guess!", "Why do you ask?"]),
                         pick(rng, ["That is fine, [we can talk about something else|you need "
                             "not tell me]! [What shall we do?|]"]))], None
            fact = _told(lex, kind)
            said = expand(rng, choose(rng, says), fact.values)
            return [(said, recall.acknowledgement(rng, [fact]))], fact
    if offer_hero(last) or any(o in last for o in _OFFERED):
        if rng.random() < 0.25:
            return [(pick(rng, _NO), pick(rng, _NO_ANSWERS))], None
        return [(pick(rng, _YES), story.tell(lex, _offered_request(last, noun), avoid).text)], None
    if "a joke?" in last:
        if rng.random() < 0.25:
            return [(pick(rng, _NO), pick(rng, _NO_ANSWERS))], None
        return [(pick(rng, _YES), choose(rng, talk.JOKES))], None
    if last.endswith(("How are you?", "And you?", "How about you?", "What about you?", "your day?",
        "are you today?")):
        good = rng.random() < 0.7
        return [(pick(rng, _GOOD if good else _BAD), pick(rng, _GOOD_ANSWERS if good else
            _BAD_ANSWERS))], None
    return [], None


def noun_of(user: str) -> str | None:
    """The thing or animal of a mention such as "I saw a fox today"."""
    words = user.rstrip(".!?").split()
    for at, word in enumerate(words[:-1]):
        if word in ("a", "an") and article(words[at + 1]).startswith(word + " "):
            return words[at + 1]
    return None

