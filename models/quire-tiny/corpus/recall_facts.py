# SPDX-License-Identifier: Apache-2.0
"""Owns the kinds of facts that a user tells about himself, and how they are asked and answered."""
import dataclasses
from collections.abc import Callable

from .expand import article, choose
from .lexicon import Lexicon

Values = dict[str, str]


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of fact. say: clauses of the user; np: what is asked for ("my name"); ask: further
    direct questions; answer and clause: what the model says; expect: the slots an answer has."""
    name: str
    values: Callable[[Lexicon], Values]
    say: list[str]
    np: list[str]
    answer: list[str]
    clause: str
    ask: list[str] = dataclasses.field(default_factory=list)
    ack: list[str] = dataclasses.field(default_factory=list)
    expect: tuple[str, ...] = ("v",)
    identity: tuple[str, ...] = ()     # slots that make two facts of this kind different facts
    reverse: tuple[list[str], list[str]] | None = None   # "Who is Rex?"
    weight: float = 1.0
    can_change: bool = True


def _v(list_name: str) -> Callable[[Lexicon], Values]:
    return lambda lex: {"v": lex.word(list_name)}


def _name(lex: Lexicon) -> Values:
    """A first name; now and then with a second one or a family name, which belong to it."""
    first, pronoun = lex.person()
    if lex.rng.random() >= 0.15:
        return {"v": first}
    second = lex.word("TOWNS") if lex.rng.random() < 0.5 else lex.person(pronoun)[0]
    return {"v": first + choose(lex.rng, (" ", " ", " ", "-")) + second}


FAVOURITES: list[tuple[str, str, float]] = [
    ("colour", "COLOURS", 3), ("color", "COLOURS", 1), ("food", "FOODS", 3), ("animal", "ANIMALS",
     2),
    ("fruit", "FRUITS", 1), ("drink", "DRINKS", 1), ("season", "SEASONS", .5), ("flower",
     "FLOWERS", 1),
    ("sport", "HOBBIES", 1), ("city", "TOWNS", 1), ("instrument", "INSTRUMENTS", 1), ("dish",
     "FOODS", 1),
    ("month", "MONTHS", .4), ("day", "DAYS", .4), ("subject", "SUBJECTS", 1), ("hobby", "HOBBIES",
     1),
    ("dessert", "FOODS", .6), ("band", "TOWNS", .6), ("book", "NAMES_F", .6),
    ("game", "THINGS", .8),
    ("place", "TOWNS", .6), ("toy", "THINGS", .6), ("bird", "ANIMALS", .6), ("snack", "FOODS", .6),
    ("language", "LANGUAGES", .4), ("singer", "NAMES_F", .6), ("writer", "NAMES_M", .6), ("film",
     "NAMES_F", .5),
    ("song", "NAMES_F", .5), ("word", "THINGS", .5), ("teacher", "NAMES_M", .4), ("cheese",
     "TOWNS", .3),
]


def _favourite(lex: Lexicon) -> Values:
    at = lex.rng.choices(range(len(FAVOURITES)), [w for _, _, w in FAVOURITES])[0]
    topic, list_name, _ = FAVOURITES[at]
    if lex.rng.random() < 0.06:
        topic = lex.word("THINGS")
    favourite = "favorite" if topic == "color" or lex.rng.random() < 0.2 else "favourite"
    return {"topic": topic, "v": lex.word(list_name), "fav": favourite}


def _pet(lex: Lexicon) -> Values:
    kind = lex.word("PETS" if lex.rng.random() < 0.75 else "ANIMALS")
    list_name = choose(lex.rng, ("PET_NAMES", "PET_NAMES", "NAMES_F", "NAMES_M"))
    return {"pet": kind, "a_pet": article(kind), "v": lex.word(list_name)}


def _pet_colour(lex: Lexicon) -> Values:
    pet = _pet(lex)
    return {"pet": pet["pet"], "a_pet": pet["a_pet"], "name": pet["v"], "v": lex.word("COLOURS")}


def _called(lex: Lexicon) -> Values:
    thing = choose(lex.rng, ("boat", "car", "bike", "robot", "horse", "house", "teddy", "doll",
        "street", "school",
                             "team", "shop", "company", "band", "village", "ship"))
    if lex.rng.random() < 0.4:
        thing = lex.word("THINGS")
    return {"thing": thing, "v": lex.word(choose(lex.rng, ("PET_NAMES", "NAMES_F", "TOWNS")))}


def _relation_word(lex: Lexicon) -> str:
    return lex.word(choose(lex.rng, ("RELATIONS_F", "RELATIONS_M", "RELATIONS_N")))


def _relation(lex: Lexicon) -> Values:
    rel = _relation_word(lex)
    return {"rel": rel, "v": lex.person()[0]}


def _relation_value(list_name: str) -> Callable[[Lexicon], Values]:
    def values(lex: Lexicon) -> Values:
        value = lex.word(list_name)
        return {"rel": _relation_word(lex), "v": value, "a_v": article(value)}
    return values


def _job(lex: Lexicon) -> Values:
    job = lex.word("JOBS")
    return {"v": job, "a_v": article(job)}


def _age(lex: Lexicon) -> Values:
    return {"v": str(lex.rng.randint(6, 99))}


def _birthday(lex: Lexicon) -> Values:
    return {"v": lex.word("MONTHS"), "day": str(lex.rng.randint(1, 28))}


def _left(lex: Lexicon) -> Values:
    belonging = lex.word("BELONGINGS" if lex.rng.random() < 0.6 else "THINGS")
    many = belonging in ("keys", "glasses", "gloves", "headphones", "boots")
    preposition = choose(lex.rng, ("in the", "in the", "on the", "under the", "behind the",
        "next to the"))
    return {"thing": belonging, "v": lex.word(choose(lex.rng, ("SPOTS", "SPOTS", "PLACES",
        "THINGS"))),
            "prep": preposition, "is": "are" if many else "is", "it": "they" if many else "it"}


def _coloured(lex: Lexicon) -> Values:
    return {"thing": lex.word("HAVE_COLOUR" if lex.rng.random() < 0.7 else "THINGS"), "v": lex.word
        ("COLOURS")}


def _meeting(lex: Lexicon) -> Values:
    return {"v": lex.person()[0], "day": lex.word("DAYS")}


def _trip(lex: Lexicon) -> Values:
    when = choose(lex.rng, ("next week", "in summer", "tomorrow", "next month", "in May",
        "on Friday", "next year"))
    return {"v": lex.word("TOWNS"), "when": when}


def _code(lex: Lexicon) -> Values:
    digits = "".join(choose(lex.rng, "0123456789") for _ in range(choose(lex.rng, (2, 3, 4, 4, 4, 5,
        6))))
    what = choose(lex.rng, ("the code", "the door code", "the secret number", "the room number",
        "my lucky number",
                            "the number of my house", "my locker number"))
    return {"v": digits, "what": what, "your": what.replace("my ", "your ")}


def _secret_word(lex: Lexicon) -> Values:
    what = choose(lex.rng, ("the password", "the secret word", "the magic word", "the code word",
        "the word of the day"))
    return {"v": lex.word(choose(lex.rng, ("THINGS", "ANIMALS", "FOODS", "TOWNS", "NAMES_F"))),
        "what": what}


def _bought(lex: Lexicon) -> Values:
    thing = lex.word("THINGS")
    verb = choose(lex.rng, ("bought", "found", "lost", "sold", "repaired", "painted"))
    return {"v": thing, "a_v": article(thing), "verb": verb,
            "base": {"bought": "buy", "found": "find", "lost": "lose", "sold": "sell"}.get(verb,
            verb[:-2] if verb != "repaired" else "repair")}


def _meal(lex: Lexicon) -> Values:
    return {"v": lex.word(choose(lex.rng, ("FOODS", "FOODS", "FRUITS"))),
            "meal": choose(lex.rng, ("breakfast", "lunch", "dinner"))}


def _two_pets(lex: Lexicon) -> Values:
    from .story import plural
    while True:
        many = plural(lex.word("PETS"))
        first, second = lex.word("PET_NAMES"), lex.word(choose(lex.rng, ("PET_NAMES", "NAMES_M")))
        if many and first.lower() != second.lower():
            return {"many": many, "v": first, "w": second}


def _visit(lex: Lexicon) -> Values:
    when = choose(lex.rng, ("tomorrow", "next week", "on Friday", "this weekend", "today",
        "in June", "on Sunday"))
    return {**_relation(lex), "when": when}


def _looks(lex: Lexicon) -> Values:
    what = choose(lex.rng, ("eyes", "hair"))
    return {"thing": what, "v": lex.word("COLOURS"), "is": "is" if what == "hair" else "are"}


def _herd(lex: Lexicon) -> Values:
    from .story import plural
    if lex.rng.random() < 0.25:
        many = choose(lex.rng, ("brothers", "sisters", "cousins", "children", "kids", "friends",
            "uncles"))
        return {"v": choose(lex.rng, ("two", "three", "four", "five", str(lex.rng.randint(2, 12)))),
            "many": many}
    while True:
        many = plural(lex.word(choose(lex.rng, ("PETS", "ANIMALS"))))
        if many:
            return {"v": str(lex.rng.randint(2, 40)), "many": many}


KINDS: list[Kind] = [
    Kind("name", _name, ["my name is {v}", "I am {v}", "I'm {v}", "call me {v}",
        "you can call me {v}", "my name's {v}",
                         "people call me {v}", "my friends call me {v}", "{v} is my name",
                         "the name is {v}", "this is {v}"],
         ["my name"], ["Your name is {v}.", "You are {v}.", "You told me that your name is {v}.",
          "Your name is {v}, of course."],
         "your name is {v}", ["what am I called", "who am I", "what do people call me",
         "do you know who I am", "what should you call me"],
         ["Nice to meet you, {v}!", "Hello {v}, nice to meet you!", "Hi {v}! How can I help you?",
          "Welcome, {v}!",
          "{V}, what a nice name!", "Pleased to meet you, {v}. What shall we do?"], weight=5),
    Kind("pet", _pet, ["I have {a_pet} called {v}", "I have {a_pet} named {v}",
        "my {pet} is called {v}", "my {pet}'s name is {v}",
                       "I have {a_pet} and [its|his|her] name is {v}",
                       "I've got {a_pet} named {v}", "there is also my {pet} {v}",
                       "I live with {a_pet} called {v}", "my {pet} is named {v}",
                       "{v} is the name of my {pet}"],
         ["the name of my {pet}", "my {pet}'s name"], ["Your {pet} is called {v}.",
          "Your {pet}'s name is {v}.", "The name of your {pet} is {v}.",
                                                      "It is {v}, your {pet}."],
         "your {pet} is called {v}", ["what is my {pet} called", "how is my {pet} called",
         "what do I call my {pet}",
                                       "what did I name my {pet}"],
         ["{V} is a lovely name for {a_pet}!", "Say hello to {v} from me!",
          "I like the name {v}. Is {v} a good {pet}?",
          "{A_pet} called {v}, how sweet!"],
         identity=("pet",), reverse=(["who is {v}", "do you remember who {v} is"], [
             "{V} is your {pet}."]), weight=4),
    Kind("pet kind", _pet, ["I have {a_pet} called {v}", "I have {a_pet} named {v}",
        "I've got {a_pet} named {v}"],
         ["the kind of animal I have"], ["You have {a_pet}.", "You have {a_pet} called {v}."],
          "you have {a_pet} called {v}",
         ["what kind of pet do I have", "what pet do I have", "which animal do I have",
          "what sort of animal is {v}", "what animal is {v}"],
         expect=("pet",), can_change=False, weight=1),
    Kind("favourite", _favourite, ["my {fav} {topic} is {v}", "{v} is my {fav} {topic}",
        "the {topic} I like best is {v}",
                                   "my {fav} {topic} has always been {v}",
                                   "when it comes to my {fav} {topic}, I say {v}"],
         ["my {fav} {topic}"], ["Your {fav} {topic} is {v}.",
          "You said that your {fav} {topic} is {v}.", "It is {v}.",
          "Your {fav} {topic} is {v}, you told me."],
         "your {fav} {topic} is {v}", ["which {topic} do I like best",
         "what {topic} do I like most", "which {topic} is my {fav}"],
         ["{V}, a good choice!", "{V} is a fine {topic}!",
          "I will remember that your {fav} {topic} is {v}.", "{V}! I can see why."],
         identity=("topic",), weight=6),
    Kind("relation", _relation, ["my {rel} is called {v}", "my {rel}'s name is {v}",
        "my {rel} is named {v}", "I have a {rel} called {v}",
                                 "{v} is my {rel}", "the name of my {rel} is {v}"],
         ["the name of my {rel}", "my {rel}'s name"], ["Your {rel} is called {v}.",
          "Your {rel}'s name is {v}.", "The name of your {rel} is {v}."],
         "your {rel} is called {v}", ["what is my {rel} called", "who is my {rel}",
         "what did I say my {rel} is called"],
         ["{V} is a beautiful name. Say hello to your {rel}!",
          "I will remember that your {rel} is called {v}."],
         identity=("rel",), reverse=(["who is {v}", "who was {v} again"], ["{V} is your {rel}."]),
             weight=3),
    Kind("relation town", _relation_value("TOWNS"), ["my {rel} lives in {v}",
        "my {rel} has moved to {v}"], ["the town where my {rel} lives"],
         ["Your {rel} lives in {v}."], "your {rel} lives in {v}", ["where does my {rel} live",
          "in which town does my {rel} live", "which city does my {rel} live in"],
         identity=("rel",), weight=1),
    Kind("relation job", _relation_value("JOBS"), ["my {rel} is {a_v}", "my {rel} works as {a_v}"],
        ["the job of my {rel}"],
         ["Your {rel} is {a_v}.", "Your {rel} works as {a_v}."], "your {rel} is {a_v}", [
          "what does my {rel} do for a living", "what is my {rel}'s job"],
         identity=("rel",), weight=1),
    Kind("relation likes", _relation_value("FLOWERS"), ["my {rel} likes {v}", "my {rel} loves {v}"],
        ["the thing my {rel} likes"],
         ["Your {rel} likes {v}.", "You said your {rel} likes {v}."], "your {rel} likes {v}", [
          "what does my {rel} like", "what does my {rel} love"],
         identity=("rel",), weight=.6),
    Kind("job", _job, ["I work as {a_v}", "I am {a_v}", "I'm {a_v}", "my job is {v}",
        "I am {a_v} by trade", "I earn my living as {a_v}"], ["my job", "my profession"],
         ["You are {a_v}.", "You work as {a_v}.", "You told me that you are {a_v}."],
          "you work as {a_v}",
         ["what do I do for a living", "what do I work as", "where do I earn my money",
          "what work do I do"],
         ["{A_v}! That must be interesting work.", "So you are {a_v}. I would like to hear more "
          "about it!"], weight=2),
    Kind("town", _v("TOWNS"), ["I live in {v}", "my home is in {v}", "I'm living in {v}",
        "I moved to {v}", "my home town is {v}", "I am from {v}", "I come from {v}"],
         ["my home town", "the town I live in"], ["You live in {v}.", "Your home is in {v}.",
          "You told me that you live in {v}."], "you live in {v}",
         ["where do I live", "which town do I live in", "where is my home", "where am I from",
          "what city do I live in"],
         ["{V}! I hope it is a nice place to live.",
          "I have never been to {v}, but it sounds lovely."], weight=3),
    Kind("age", _age, ["I am {v} years old", "I'm {v} years old", "I turned {v} last week",
        "my age is {v}", "I am {v}"], ["my age"],
         ["You are {v} years old.", "You are {v}."], "you are {v} years old", ["how old am I",
          "how many years old am I"],
         ["{V} is a good age!", "{V} years! I am much younger than that."], weight=1.5),
    Kind("hobby", _v("HOBBIES"), ["I like {v}", "I love {v}", "my hobby is {v}", "I enjoy {v}",
        "in my free time I love {v}", "I am really into {v}"], ["my hobby"],
         ["Your hobby is {v}.", "You like {v}.", "You told me that you like {v}."], "you like {v}",
         ["what do I like to do", "what do I do in my free time", "what do I enjoy",
          "which hobby do I have"],
         ["{V} sounds like fun!", "{V}! How did you start with that?"], weight=2),
    Kind("instrument", _v("INSTRUMENTS"), ["I play the {v}", "I am learning to play the {v}",
        "I have played the {v} for years"], ["my instrument", "the instrument I play"],
         ["You play the {v}."], "you play the {v}", ["which instrument do I play",
          "what instrument do I play", "what do I play"],
         ["The {v} has such a nice sound!"], weight=1),
    Kind("birthday", _birthday, ["my birthday is in {v}", "I was born in {v}",
        "my birthday is on {v} {day}"], ["the month of my birthday"],
         ["Your birthday is in {v}."], "your birthday is in {v}", ["when is my birthday",
          "in which month is my birthday", "which month was I born in"],
         ["I will think of you in {v}!"], weight=1),
    Kind("left", _left, ["I left my {thing} {prep} {v}", "I put my {thing} {prep} {v}",
        "my {thing} {is} {prep} {v}"], ["the place where my {thing} {is}"],
         ["Your {thing} {is} {prep} {v}.", "You said that your {thing} {is} {prep} {v}."],
          "your {thing} {is} {prep} {v}",
         ["where {is} my {thing}", "where did I put my {thing}", "where did I leave my {thing}"],
         ["I will remember where your {thing} {is}."], identity=("thing",), weight=2),
    Kind("colour of", _coloured, ["my {thing} is {v}", "I have a {v} {thing}",
        "I painted my {thing} {v}"], ["the colour of my {thing}"],
         ["Your {thing} is {v}.", "It is {v}."], "your {thing} is {v}", [
          "what colour is my {thing}", "which colour does my {thing} have",
          "what color is my {thing}"],
         ["A {v} {thing}, how pretty!"], identity=("thing",), weight=1.5),
    Kind("called", _called, ["my {thing} is called {v}", "I named my {thing} {v}",
        "the name of my {thing} is {v}"], ["the name of my {thing}"],
         ["Your {thing} is called {v}.", "The name of your {thing} is {v}."],
          "your {thing} is called {v}", ["what is my {thing} called", "what did I name my {thing}"],
         ["{V} is a great name for a {thing}."], identity=("thing",), weight=1.5),
    Kind("meeting", _meeting, ["I will meet {v} on {day}", "on {day} I am meeting {v}",
        "I am seeing {v} on {day}"], ["the person I will meet on {day}"],
         ["You will meet {v} on {day}.", "On {day} you will meet {v}."],
          "you will meet {v} on {day}", ["who will I meet on {day}", "who am I meeting on {day}",
          "who do I see on {day}"],
         ["I hope you and {v} have a nice time on {day}!"], identity=("day",), weight=1),
    Kind("trip", _trip, ["I am going to {v} {when}", "I will travel to {v} {when}",
        "{when} I will visit {v}"], ["the place I am going to"],
         ["You are going to {v} {when}.", "You will travel to {v} {when}."],
          "you are going to {v} {when}", ["where am I going", "where am I going {when}",
          "which place will I visit"],
         ["{V}! Have a good trip!"], weight=1),
    Kind("allergy", _v("FOODS"), ["I am allergic to {v}", "I can't eat {v}",
        "I am not allowed to eat {v}"], ["the food I cannot eat"],
         ["You cannot eat {v}.", "You told me that you cannot eat {v}."], "you cannot eat {v}", [
          "what can I not eat", "which food do I have to avoid", "what should I not eat"],
         ["No {v} for you, then. I will remember that."], weight=1),
    Kind("dislike", _v("FOODS"), ["I don't like {v}", "I hate {v}", "I cannot stand {v}"], [
        "the food I do not like"],
         ["You do not like {v}."], "you do not like {v}", ["what do I not like",
          "which food do I dislike", "what do I hate"], ["Then I will never serve you {v}!"],
          weight=.8),
    Kind("study", _v("SUBJECTS"), ["I study {v}", "I am studying {v}", "I am a student of {v}"], [
        "the subject I study"], ["You study {v}."], "you study {v}",
         ["what do I study", "which subject do I study", "what am I studying"], [
          "{V} sounds fascinating!"], weight=1),
    Kind("language", _v("LANGUAGES"), ["I am learning {v}", "I speak {v}",
        "my mother tongue is {v}"], ["the language I told you about"], ["The language is {v}.",
        "It is {v}."],
         "you told me about {v}", ["which language did I mention",
         "which language did I talk about"], ["{V} is a beautiful language."], weight=.5),
    Kind("code", _code, ["{what} is {v}", "remember that {what} is {v}",
        "please remember that {what} is {v}", "{what}: {v}"], ["{what}"],
         ["{Your} is {v}.", "It is {v}."], "{your} is {v}", [], ["I will remember it: {v}.",
          "{V}, got it."], identity=("what",), weight=1.5),
    Kind("secret word", _secret_word, ["{what} is {v}", "remember {what}: {v}",
        "{what} for today is {v}"], ["{what}"],
         ["{What} is {v}.", "It is {v}."], "{what} is {v}", [], ["I will keep it in mind: {v}."],
          identity=("what",), weight=1.5),
    Kind("did", _bought, ["I {verb} {a_v} today", "today I {verb} {a_v}",
        "yesterday I {verb} {a_v}"], ["the thing I {verb}"], ["You {verb} {a_v}."],
        "you {verb} {a_v}",
         ["what did I {base}", "what was it that I {verb}", "do you remember what I {verb}"], [
          "{A_v}! Tell me more."], identity=("verb",), can_change=False, weight=1.5),
    Kind("meal", _meal, ["I had {v} for {meal}", "I ate {v} for {meal}",
        "there was {v} for {meal}"], ["the food I had for {meal}"], ["You had {v} for {meal}."],
         "you had {v} for {meal}", ["what did I have for {meal}", "what did I eat for {meal}"], [
         "{V}! I hope it was good."], identity=("meal",), can_change=False, weight=1),
    Kind("herd", _herd, ["I have {v} {many}", "I own {v} {many}", "I keep {v} {many}"], [
        "the number of my {many}"], ["You have {v} {many}."], "you have {v} {many}",
         ["how many {many} do I have", "how many {many} do I own"], [
          "{V} {many}! That is quite a number."], identity=("many",), weight=1),
    Kind("two pets", _two_pets, ["I have two {many} called {v} and {w}",
        "my {many} are called {v} and {w}", "I have two {many}, {v} and {w}",
                                 "I have two {many} named {v} and {w}",
                                 "we have two {many}, {v} and {w}",
                                 "my two {many} are {v} and {w}"],
         ["the names of my {many}", "my {many}' names"], ["Your {many} are called {v} and {w}.",
          "They are called {v} and {w}.", "Your {many} are {v} and {w}."],
         "your {many} are called {v} and {w}", ["what are my {many} called",
         "what are the names of my {many}", "how are my {many} called", "who are my {many}"],
         ["{V} and {w}, what a pair!", "Say hello to {v} and {w} from me!",
          "Two {many}! {V} and {w} are lovely names."],
         expect=("v", "w"), identity=("many",), can_change=False, weight=1.5),
    Kind("visit", _visit, ["my {rel} {v} is visiting {when}",
        "my {rel} {v} is coming to see me {when}", "my {rel} {v} will visit me {when}",
                           "{v}, my {rel}, is coming {when}", "I am expecting my {rel} {v} {when}"],
         ["the name of my visitor"], ["Your {rel} {v} is visiting {when}.", "{V}, your {rel}.",
          "It is your {rel} {v}, who is coming {when}."],
         "your {rel} {v} is visiting {when}", ["who is visiting", "who is visiting me",
         "who is coming", "who is coming {when}", "who will visit me"],
         ["How nice! Give my greetings to {v}.", "I hope you and {v} have a lovely time!",
          "A visit from your {rel}, how nice!"], can_change=False, weight=1),
    Kind("pet colour", _pet_colour, ["my {pet} {name} is {v}",
        "I have {a_pet} called {name}, and {name} is {v}", "my {v} {pet} is called {name}"], [
        "the colour of {name}", "the colour of my {pet}"], ["{Name} is {v}.",
        "Your {pet} {name} is {v}."], "{name} is {v}", ["what colour is {name}",
        "which colour is {name}", "what colour is my {pet}", "what color is {name}"],
         ["{Name} is {v}? How pretty!", "{A_pet} in {v}, how nice!"], identity=("name",),
         weight=1.2),
    Kind("looks", _looks, ["I have {v} {thing}", "my {thing} {is} {v}"], [
        "the colour of my {thing}"], ["Your {thing} {is} {v}.", "You have {v} {thing}."],
         "your {thing} {is} {v}", ["what colour {is} my {thing}", "what color {is} my {thing}"],
         ["{V} {thing}, that must look nice!"], identity=("thing",), can_change=False, weight=.8),
]
