# SPDX-License-Identifier: Apache-2.0
"""Owns stories: what the user may ask for, how it is asked, and the story that answers it."""
import dataclasses
import random
from collections.abc import Mapping

from . import split, words
from .expand import article, capitalise, choose, expand, pick
from .lexicon import Lexicon
from .story_moods import AIR, END, FAMILY_OF_MOOD, NAMED, TURN
from .story_plots import OPENINGS, PLOTS
from .story_frames import CONTINUATIONS, FITTING, LEAD_INS, TOPIC_ENDS, TOPIC_LINES, WISHES

ADJECTIVES = ("small young old clever shy lazy curious brave tiny grumpy kind hungry sleepy "
    "stubborn "
              "cheerful forgetful proud clumsy polite lonely quiet").split()
SHE_NOUNS = frozenset("witch queen princess grandmother girl mermaid nanny fairy hen cow nymph "
    "sprite".split())
HE_NOUNS = frozenset("king prince wizard grandfather boy monk postman fisherman knight rooster "
    "ferryman "
                     "snowman goat ox".split())
_OBJECT = {"he": "him", "she": "her", "they": "them"}
_POSSESSIVE = {"he": "his", "she": "her", "they": "their"}
DEFAULT_MOODS = ("happy gentle funny peaceful mysterious adventurous cheerful calm playful magical "
                 "quiet brave hopeful").split()
MAX_WORDS = 145


@dataclasses.dataclass
class Request:
    """What a story must be about; None means that the teller is free."""
    hero: str | None = None         # a noun: "fox"
    hero_adjective: str | None = None
    hero_name: str | None = None    # a name: "Mira"
    hero_count: str | None = None   # "three" with a plural noun in hero
    pal: str | None = None
    thing: str | None = None
    place: tuple[str, str, str] | None = None   # ("in a mill", "in the mill", "the mill")
    place_key: str | None = None
    mood: str | None = None
    topic: str | None = None
    pronoun: str | None = None
    plot: str | None = None         # a key of PLOTS: "a cat who lost her hat"

    def expected(self) -> list[str]:
        """The words that the story has to contain."""
        wanted = [self.hero, self.hero_name, self.pal, self.thing, self.place_key, self.mood, self.
            topic]
        return [w for w in wanted if w]


@dataclasses.dataclass
class Story:
    text: str
    slots: Mapping[str, str]
    request: Request
    hero_name: str | None
    a_hero: str
    plot: str


class _Slots(dict):
    """The slots of one story; a hero with a name is called by name or by noun, as it comes."""

    def __init__(self, rng: random.Random, values: Mapping[str, str], references: list[str]
                 ) -> None:
        super().__init__(values)
        self._rng = rng
        self._references = references

    def __getitem__(self, key: str) -> str:
        if key == "hero":
            return choose(self._rng, self._references)
        if key == "hero_s":
            name = choose(self._rng, self._references)
            return name + ("'" if name.endswith("s") and self["he"] == "they" else "'s")
        return super().__getitem__(key)


def character(lex: Lexicon) -> str:
    list_name = choose(lex.rng, ("ANIMALS", "ANIMALS", "ANIMALS", "PEOPLE", "PEOPLE", "FANTASY"))
    return lex.word(list_name)


def plural(noun: str) -> str | None:
    """The plural where a simple rule gives it."""
    if noun.endswith(("s", "x", "ch", "sh", "f", "fe", "o", "man", "mouse", "goose", "fish", "deer",
                      "sheep", "bison", "child", "salmon", "squid", "moose", "shrimp", "swine")):
        return None
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def place_forms(lex: Lexicon) -> tuple[tuple[str, str, str], str]:
    """(at a place, at the place, the place) and the word to look for."""
    rng = lex.rng
    if lex.mode == "train" and rng.random() < 0.12:
        at, name = choose(rng, words.UNIQUE_PLACES)
        return (at, at, name), name.split()[-1]
    if rng.random() < 0.08:
        town = lex.word("TOWNS")
        return (f"in {town}", f"in {town}", town), town
    noun = lex.word("PLACES")
    preposition = words.PLACE_PREPOSITION.get(noun) or choose(rng, ("in", "in", "in", "on", "by",
        "at"))
    return (f"{preposition} {article(noun)}", f"{preposition} the {noun}", f"the {noun}"), noun


def random_request(lex: Lexicon) -> Request:
    """A request with zero to five wishes."""
    rng = lex.rng
    req = Request()
    kind = rng.random()
    if kind < 0.62:
        req.hero = character(lex)
        if rng.random() < 0.18:
            req.hero_adjective = choose(rng, ADJECTIVES)
        if rng.random() < 0.12:
            req.hero_name, req.pronoun = lex.person()
    elif kind < 0.74:
        req.hero_name, req.pronoun = lex.person()
    elif kind < 0.79:
        noun = plural(character(lex))
        if noun and noun not in split.held_out_words():
            req.hero, req.hero_count = noun, choose(rng, ("two", "three", "four", ""))
    elif kind < 0.85 and lex.mode == "train":
        req.topic = choose(rng, words.TOPICS)
    if rng.random() < 0.62 or (req.hero is None and req.hero_name is None and req.topic is None
                               and rng.random() < 0.7):
        req.thing = lex.word("THINGS")
        if rng.random() < 0.12 and (req.hero or req.hero_name):
            req.pal = character(lex)
    elif rng.random() < 0.35 and (req.hero or req.hero_name):
        req.pal = character(lex)
    alone = (req.hero or req.hero_name) and req.hero_count is None and not req.pal
    if lex.mode == "train" and alone and rng.random() < 0.2:
        req.plot = choose(rng, tuple(WISHES))
        needs_thing = any("thing" in wish for wish in WISHES[req.plot])
        req.thing = (req.thing or lex.word("THINGS")) if needs_thing else None
        if req.hero and not req.pronoun:
            req.pronoun = choose(rng, ("he", "she"))
            if req.hero in SHE_NOUNS or req.hero in HE_NOUNS:
                req.pronoun = "she" if req.hero in SHE_NOUNS else "he"
    if rng.random() < 0.38:
        req.place, req.place_key = place_forms(lex)
    if rng.random() < 0.42:
        req.mood = choose(rng, words.MOODS)
    if (req.pal and req.pal in (req.hero, req.thing)) or (req.thing and req.thing in (req.hero, req.
        place_key)):
        return random_request(lex)
    return req


def asked_hero(req: Request, rng: random.Random) -> str | None:
    """How the user names the hero."""
    if req.hero_count is not None:
        return f"{req.hero_count} {req.hero}".strip()
    noun = None
    if req.hero:
        noun = article(f"{req.hero_adjective} {req.hero}" if req.hero_adjective else req.hero)
        if req.hero_name:
            return f"{noun} {choose(rng, ('called', 'named', 'whose name is'))} {req.hero_name}"
    return noun or req.hero_name


_ASKS = [
    "Tell {story}{about}[, please||.|!]", "[Please, a|Just a|One] {bare_story}{about}[.|!|]",
    "{Bare_story}{about}[ please|]", "Let's hear {story}{about}", "Do you have {story}{about}?",
    "I'd love {story}{about}",
    "Hi, [can|could] you tell me {story}{about}?", "[Hi|Hello|Hey]! {Story}{about}, please.",
    "tell me {story}{about}",
    "[Come up with|Think of|Create|Compose|Share] {story}{about}.",
    "[Please tell|Tell|Tell|Tell] me {story}{about}.",
    "[Can|Could|Would] you [please |]tell me {story}{about}?",
    "[I would like|I want|I'd like|I would love] to hear {story}{about}.",
    "[Please write|Write] {story}{about}.",
    "[Make up|Invent] {story}{about}[, please|].", "[Do you know|Have you got] {story}{about}?",
    "{Story}{about}[, please|!|.|]", "How about {story}{about}?", "Let me hear {story}{about}.",
    "I am in the mood for {story}{about}.", "Give me {story}{about}.",
    "Can I [have|hear] {story}{about}?",
    "[Now|OK, now|And now] {story}{about}[, please|].",
    "My [daughter|son|nephew|niece] wants {story}{about}.",
    "Could I hear {story}{about}?", "I need {story}{about}.", "Read me {story}{about}.",
    "Surprise me with {story}{about}.",
]


def ask(lex: Lexicon, req: Request) -> str:
    """One of very many ways to ask for this story."""
    rng = lex.rng
    size = pick(rng, ["", "", "", "short ", "little ", "very short ", "nice ", "new ", "good "])
    mood_later = req.mood is not None and rng.random() < 0.35
    kind = pick(rng, ["story", "story", "story", "story", "tale", "bedtime story", "fairy tale"])
    mood = f"{req.mood} " if req.mood and not mood_later else ""
    story = article(f"{size}{mood}{kind}" if rng.random() < 0.5 else f"{mood}{size}{kind}")
    hero = asked_hero(req, rng)
    pal = article(req.pal) if req.pal else None
    thing = article(req.thing) if req.thing else None
    subjects = [s for s in (hero, pal, thing) if s]
    about = ""
    in_list = False
    if req.plot:
        slots = {"a_thing": thing or "", "bare_thing": req.thing or "", "his": _POSSESSIVE[req.
            pronoun or "they"]}
        wish = pick(rng, WISHES[req.plot], slots)
        about = f" {choose(rng, ('about', 'about', 'with', 'of'))} {hero} {wish}"
    elif req.topic:
        about = " about " + req.topic
        if thing:
            about += f" with {thing} in it"
    elif len(subjects) == 1:
        about = pick(rng, [" about ", " about ", " with ", " about "]) + subjects[0]
    elif len(subjects) == 3:
        about = choose(rng, (" about {0}, {1} and {2}", " with {0}, {1} and {2}",
            " about {0} and {1} and {2}", " about {0}, {1}, {2}",
                             " about {0} and {1} with {2}")).format(*subjects)
    elif len(subjects) == 2 and req.place and req.place[0].count(" ") > 1 and rng.random() < 0.15:
        # the place as one more thing in a list
        a_place = article(req.place_key or "")
        about = f" {choose(rng, ('with', 'about'))} {subjects[0]}, {subjects[1]} and {a_place}"
        in_list = True
    elif subjects:
        pattern = choose(rng, (" about {0} and {1}", " about {0} and {1}", " about {0} with {1}",
                               " with {0} and {1}", " in which {0} meets {1}" if pal else
                               " in which {0} finds {1}", " about {0} who has {1}"
                               if req.hero_count is None and not pal else " about {0} and {1}"))
        about = pattern.format(*subjects)
    if req.place and not in_list:
        where = choose(rng, (" {0}", " set {0}", " that takes place {0}", " that happens {0}",
            ", set {0}"))
        about += where.format(choose(rng, req.place[:2]) if rng.random() < 0.4 else req.place[0])
    if req == Request(hero=req.hero, hero_adjective=req.hero_adjective) and rng.random() < 0.08:
        return expand(rng, "[Once upon a time|once upon a time|Once][| there was {hero}| there "
            "lived {hero}][.|...|]", {"hero": hero or "a day"})
    text = expand(rng, choose(rng, _ASKS), {"story": story, "bare_story": story.split(" ", 1)[1],
        "about": about})
    if mood_later:
        more = expand(rng, choose(rng, (" Make it {m}.", ", make it {m}", " and make it {m}",
            ", but {m}", " It should be {m}.", " Please make it {m}.",
                                         " I want it to be {m}.", " Something {m}, please.")), {
                                         "m": req.mood})
        text = text.rstrip(".!?") + more if more[0] == "," or more.startswith(" and") else (text if
            text[-1] in ".!?" else text + ".") + more
    return capitalise(text)


def _usual(rng: random.Random, what: str, hero: str | None, entries: tuple[str, ...]) -> str | None:
    """What goes with this hero most often, by a hash: so that stories differ at temperature 0."""
    if hero is None or rng.random() < 0.6:
        return None
    return entries[int(split.unit_hash(what, hero.lower()) * len(entries))]


def _home(lex: Lexicon, noun: str | None) -> tuple[tuple[str, str, str], str]:
    """A place, more often than not one where such a hero is at home."""
    if lex.rng.random() < 0.6:
        for heroes, places in words.HOMES:
            if noun in heroes.split():
                known = [w for w in places.split() if w not in split.held_out_words()]
                place = choose(lex.rng, known)
                preposition = words.PLACE_PREPOSITION[place]
                return (f"{preposition} {article(place)}", f"{preposition} the {place}",
                    f"the {place}"), place
    return place_forms(lex)


def _choose_plot(rng: random.Random, req: Request, mood: str, avoid: frozenset[str]) -> str:
    """The plot that was wished for, or one that fits the mood and was not told yet."""
    if req.plot:
        return req.plot
    names: tuple[str, ...] = tuple(PLOTS)
    if rng.random() < 0.65:
        names = FITTING[FAMILY_OF_MOOD.get(mood, "warm")]
    names = tuple(n for n in names if n not in avoid) or tuple(PLOTS)
    return _usual(rng, mood, req.hero or req.hero_name, names) or choose(rng, names)


def _fill(lex: Lexicon, req: Request) -> tuple[dict[str, str], list[str], str | None]:
    """All slots of the story; the ways to refer to the hero; the hero's name.

    What the user left open is filled with listed words only: the model must copy made-up words,
    never invent them.
    """
    rng = lex.rng
    lex = lex.listed_only()
    noun, name, pronoun = req.hero, req.hero_name, req.pronoun
    if not noun and not name:
        noun = character(lex) if rng.random() < 0.75 else None
        if noun is None:
            name, pronoun = lex.person()
    if req.hero_count is not None:
        count = req.hero_count or choose(rng, ("two", "three", "four", "some"))
        a_hero, references, pronoun = f"{count} {noun}", [f"the {noun}"], "they"
    elif noun:
        if name is None and rng.random() < 0.4:
            name, pronoun = lex.person("she" if noun in SHE_NOUNS else "he" if noun in HE_NOUNS
                else None)
        if noun in SHE_NOUNS or noun in HE_NOUNS:
            pronoun = "she" if noun in SHE_NOUNS else "he"
        adjective = req.hero_adjective or (choose(rng, ADJECTIVES) if rng.random() < 0.45 else None)
        a_hero = article(f"{adjective} {noun}" if adjective else noun)
        references = [f"the {noun}"]
        if name:
            a_hero += choose(rng, (" called ", " named ", " by the name of ")) + name
            references += [name, name]
    else:
        references = [name]
        who = choose(rng, ("a girl", "a young woman", "a child") if pronoun == "she" else
                     ("a boy", "a young man", "a child"))
        a_hero = f"{who} {choose(rng, ('called', 'named'))} {name}" if rng.random() < 0.8 else name
    pronoun = pronoun or choose(rng, ("he", "she"))

    if req.pal:
        a_pal, pal = article(req.pal), f"the {req.pal}"
    elif rng.random() < 0.25:
        pal, _ = lex.person()
        a_pal = pal if rng.random() < 0.5 else f"a stranger called {pal}"
    else:
        friend = _usual(rng, "pal", noun or name, split.split_list("ANIMALS")[0]) or character(lex)
        while friend == noun:
            friend = character(lex)
        a_pal = article(choose(rng, ADJECTIVES) + " " + friend if rng.random() < 0.4 else friend)
        pal = f"the {friend}"
    thing = req.thing or _usual(rng, "thing", noun or name, split.split_list("THINGS")[0])
    thing = thing or lex.word("THINGS")
    place, place_key = (req.place, req.place_key) if req.place else _home(lex, noun)
    mood = req.mood or choose(rng, DEFAULT_MOODS)
    slots = {
        "a_hero": a_hero, "he": pronoun, "him": _OBJECT[pronoun], "his": _POSSESSIVE[pronoun],
        "was": "were" if pronoun == "they" and req.hero_count is not None else "was",
        "a_pal": a_pal, "pal": pal, "a_thing": article(thing), "thing": f"the {thing}",
        "bare_thing": thing,
        "a_thing_again": article(thing), "at": place[0], "at2": place[1], "place": place[2],
        "place_key": place_key, "hero_noun": noun or "", "mood": mood, "a_mood": article(mood),
        "topic": req.topic or "",
    }
    return slots, references, name


def tell(lex: Lexicon, req: Request, avoid: frozenset[str] = frozenset()) -> Story:
    """Tells the story of this request, if it can with a plot that is not among those to avoid."""
    rng = lex.rng
    while True:
        values, references, name = _fill(lex, req)
        key = (req.hero or name or references[0], values["place_key"], values["mood"])
        fixed = req.place is not None and req.mood is not None and (req.hero or req.hero_name)
        if lex.mode == "eval" or not split.triple_is_held_out(*key):
            break
        if fixed:
            raise ValueError(f"the triple {key} is held out")
    slots = _Slots(rng, values, references)
    family = FAMILY_OF_MOOD.get(values["mood"], "warm")

    opening = [pick(rng, OPENINGS, slots)]
    named = [pick(rng, NAMED, slots)] if req.mood or rng.random() < 0.15 else []
    air = [pick(rng, AIR[family], slots)] if rng.random() < 0.6 else []
    plot_name = _choose_plot(rng, req, values["mood"], avoid)
    sentences = PLOTS[plot_name]
    for _ in range(4):   # the choices differ in length
        plot = [expand(rng, s if isinstance(s, str) else choose(rng, s), slots) for s in sentences]
        if len(" ".join(plot).split()) <= MAX_WORDS - 30:
            break
    turn = [pick(rng, TURN[family], slots)] if rng.random() < 0.45 else []
    end = [pick(rng, END[family], slots)] if req.mood or rng.random() < 0.7 else []
    if req.topic:
        opening.insert(0, pick(rng, TOPIC_LINES, slots))
        end = [pick(rng, TOPIC_ENDS, slots)] if rng.random() < 0.5 else end
    # The optional sentences give way first: a short story stays short.
    for optional in (turn, air, end):
        if len(" ".join(opening + named + air + plot + turn + end).split()) > MAX_WORDS:
            optional.clear()
    middle = len(plot) // 2
    paragraphs = [opening + named + air, plot[:middle] + turn + plot[middle:] + end]
    glue = "\n\n" if rng.random() < 0.25 else " "
    text = glue.join(" ".join(map(_capital_sentence, p)) for p in paragraphs)
    if rng.random() < 0.2:
        lead = pick(rng, LEAD_INS)
        text = (lead if glue == " " else lead.strip() + "\n\n") + text
    return Story(text, slots, req, name, values["a_hero"], plot_name)


def _capital_sentence(sentence: str) -> str:
    return capitalise(sentence)


def continuation(lex: Lexicon, story: Story) -> str:
    return pick(lex.rng, CONTINUATIONS, story.slots)


FOLLOW_UPS = [
    (["[What was|What's] the story about?", "Who was in the story?", "What was that story about?"],
     ["It was about {a_hero}, {pal} and {thing}.", "The story was about {a_hero}, {pal} and "
      "{thing}."]),
    (["Where did [it|the story] take place?", "Where was that?", "Where did it happen?"],
     ["It took place {at2}.", "All of it happened {at2}."]),
    (["Who was the hero?", "Who was the main character?", "Who was it about?",
     "Who is the hero of the story?"],
     ["The hero was {a_hero}.", "It was about {a_hero}."]),
    (["Who was the friend?", "Who else was in [it|the story]?", "Who did {hero} meet?"],
     ["{A_pal} was in it, too.", "There was also {a_pal}."]),
    (["Which thing was in the story?", "What thing was it about again?"],
     ["It was {a_thing}.", "There was {a_thing} in it."]),
]
NAME_FOLLOW_UPS = (["What was the {noun} called?", "What was the name of the {noun}?",
    "And the name of the {noun}?"],
                   ["The {noun} was called {name}.", "{name}. That was the name of the {noun}."],
                   ["The {noun} had no name in the story.", "I did not give the {noun} a name."])


def follow_up(lex: Lexicon, story: Story) -> tuple[str, str]:
    """A question about the story just told, and its answer."""
    rng = lex.rng
    if story.request.hero and story.request.hero_count is None and rng.random() < 0.6:
        asks, named, nameless = NAME_FOLLOW_UPS
        slots = {"noun": story.request.hero, "name": story.hero_name or ""}
        return pick(rng, asks, slots), pick(rng, named if story.hero_name else nameless, slots)
    asks, answers = choose(rng, FOLLOW_UPS)
    return pick(rng, asks, story.slots), pick(rng, answers, story.slots)
