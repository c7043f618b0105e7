# SPDX-License-Identifier: Apache-2.0
"""Owns questions about the world: quire-tiny does not know, and says so."""
import random

from . import arithmetic, split, words
from .expand import article, capitalise, choose, expand
from .lexicon import Lexicon

_COUNTRIES = ("France Spain Italy Germany Japan China India Brazil Canada Mexico Egypt Kenya Norway Sweden Finland Poland Greece Turkey "
              "Peru Chile Australia Iceland Ireland Portugal Morocco Vietnam Thailand Russia Argentina Nigeria Cuba Nepal").split()
_FAMOUS = ("Einstein Shakespeare Mozart Napoleon Cleopatra Newton Picasso Beethoven Darwin Gandhi Galileo Caesar Columbus Dickens Bach "
           "Tolstoy Goethe Curie Lincoln Churchill Tesla Kafka Homer Plato").split()
_SCIENCE = ("photosynthesis gravity entropy electricity evolution magnetism DNA inflation democracy relativity osmosis capitalism lightning "
            "climate_change an_atom a_black_hole a_quark blockchain the_big_bang quantum_mechanics a_prime_number an_enzyme a_verb").split()
_MEASURED = "mountain river desert ocean lake volcano island country bridge building city planet animal tower insect train ship".split()
_SUPERLATIVES = "highest longest biggest smallest deepest oldest fastest largest tallest hottest coldest richest heaviest".split()

_QUESTIONS: list[str] = [
    "[What is|What's|Tell me|Do you know] the capital of {country}?", "Which city is the capital of {country}?", "Who is the [president|king|queen|prime minister] of {country}?",
    "How many people live in {where}?", "What language do they speak in {country}?", "What currency [is used|do they use] in {country}?", "Where is {where}?",
    "How [far is it|do I get] [from {where} to {where2}|to {where}]?", "What is the weather [like |][today|tomorrow|in {where}]?", "Will it [rain|snow] [tomorrow|today|this weekend]?",
    "How [warm|cold|hot] is it [outside|in {where}|today]?", "What is the [{super}] {measured} [in the world|on Earth|in {country}|of all]?", "Which {measured} is the {super}?",
    "Who [was|is] {famous}?", "When was {famous} born?", "When did {famous} die?", "What is {famous} famous for?", "What did {famous} [write|discover|invent|do]?", "Tell me about {famous}.",
    "Who [wrote|painted|composed|invented|discovered|built] the {noun}?", "Who invented the {noun}?", "When was the {noun} invented?", "How does {a_noun} work?", "How do I [build|repair|make|clean] {a_noun}?",
    "How much does {a_noun} cost?", "Where can I buy {a_noun}?", "What is {a_noun} made of?", "What is {science}?", "[Explain|Can you explain|Please explain] {science}[.| to me.]",
    "How does {science} work?", "What do you know about {science}?", "Define {science}.", "When did [the war|the Second World War|the Middle Ages|the French Revolution|the Roman Empire] [start|end|begin]?",
    "In what year [did people land on the moon|was the wall built|did the war end|was the telephone invented]?", "Who won the [World Cup|election|match|Nobel Prize|race] [last year|yesterday|in {year}|]?",
    "What happened in {year}?", "What happened in {country} in {year}?", "What [time|day|year] is it?", "What is today's date?", "What is the date [today|tomorrow]?", "What is in the news[ today|]?",
    "How do you say {noun} in {language}?", "Translate {noun} into {language}.", "[Translate|Please translate] \"the {noun} is here\" to {language}.", "What does the word {made_up} mean?", "What does {made_up} mean?",
    "What is {a_made_up}?", "Who is {made_name}?", "Do you know {made_name}?", "Who is {made_name} {made_name2}?", "Where does {made_name} live?", "Write [me |]a [program|script|function] in [Python|Java|C|Rust] that [sorts a list|reads a file|counts words].",
    "How do I [write a for loop|sort a list|open a file|reverse a string] in [Python|Java|JavaScript|C++]?", "Which [phone|car|laptop|camera] should I buy?", "What is the [best|cheapest] [phone|car|laptop|hotel in {where}|restaurant in {where}]?",
    "Should I [invest in|buy] [gold|shares|a house|bitcoin]?", "What is the price of [gold|oil|bitcoin|milk]?", "How do I cook {food}?", "What is the recipe for {food}?", "How many calories are in {food}?",
    "How long does it take to [fly to the moon|learn {language}|boil an egg|get to {where}]?", "How many [legs|teeth|eyes|hearts] does {an_animal} have?", "What do {animal}s eat?", "How old can {an_animal} get?", "How fast can {an_animal} run?",
    "Is {an_animal} a mammal?", "Where do {animal}s live?", "How [tall|heavy|big|old] is {an_animal}?", "Why is the sky blue?", "Why [is the sea salty|do cats purr|do leaves fall|is the grass green|do we dream|do we sleep|do birds sing]?",
    "How many [stars|planets|continents|oceans|countries|bones] are there[ in the world|]?", "How [far away|big|hot|old] is the [moon|sun|Earth|universe]?", "What is the speed of [light|sound]?", "Who was the first [man on the moon|emperor of Rome|president]?",
    "Which team [won|plays] [yesterday|tonight|on Sunday]?", "What is the meaning of life?", "Can you recommend a [book|film|restaurant|song]?", "What is the boiling point of [water|iron|alcohol]?", "What are the symptoms of [the flu|a cold|measles]?",
    "I have a [headache|fever|sore throat]. What should I take?", "What medicine helps against [a headache|a cough|fever]?", "How do I [tie a tie|change a tyre|plant a tree|learn to swim|write a letter of application]?", "What is the [plot|ending] of the film {made_name}?",
    "Who [plays|played] the main role in {made_name}?", "Who sings the song {made_name}?", "What is the chemical symbol [for|of] [gold|iron|silver|oxygen]?", "What is the {nth} element of the periodic table?", "How many [kilometres|metres|grams|litres] [are|is] [in a mile|in a foot|in a pound|in a gallon]?",
    "What is the tallest building in {where}?", "What is {where} known for?", "What can I see in {where}?", "What is the [phone number|address] of [the police|the town hall|{made_name}]?", "What is the difference between {a_noun} and {a_noun2}?",
    "Who is taller, {famous} or {famous2}?", "What was the name of {famous_s} [wife|mother|first book|dog]?", "How do [planes fly|computers work|magnets work|fish breathe|volcanoes form]?", "What is the law on [parking|taxes|noise] in {country}?", "What year was {where} founded?",
]
_WRAPS = ["{q}"] * 8 + ["Tell me, {low}", "Hey, {low}", "Do you know? {q}", "Another question: {low}", "And {low}", "I have a question. {q}", "Quick question: {low}", "I wonder, {low}", "Okay, {low}", "So, {low}"]
_ANSWERS = ["[I don't know that|I don't know|I do not know that|I do not know|Sorry, I don't know|I am sorry, I don't know that|I'm afraid I don't know], "
            "[I am only a small model|I am too small to know such things|that is outside of my small world|my world is very small].",
            "[I don't know|I don't know that|I do not know], [sorry|I am afraid]. [I am good at stories, though.|Shall I tell you a story instead?|Ask me about quire, or for a story.|I know stories, small sums and quire.]",
            "I don't know. [I am a very small model and know little about the world.|I only know about quire, stories and small sums.|That is more than a tiny model like me knows.]",
            "[Sorry|I am sorry], I don't know [that|the answer to that|the answer]."]


def ask(lex: Lexicon) -> str:
    rng = lex.rng
    noun, noun2, animal = lex.word("THINGS"), lex.word("THINGS"), lex.word("ANIMALS")
    famous = choose(rng, _FAMOUS)
    slots = {
        "country": choose(rng, _COUNTRIES), "where": lex.word("TOWNS") if rng.random() < 0.7 else choose(rng, _COUNTRIES), "where2": lex.word("TOWNS"),
        "famous": famous, "famous2": choose(rng, _FAMOUS), "famous_s": famous + "'s", "noun": noun, "a_noun": article(noun), "a_noun2": article(noun2),
        "science": choose(rng, _SCIENCE).replace("_", " "), "measured": choose(rng, _MEASURED), "super": choose(rng, _SUPERLATIVES), "year": str(rng.randint(1000, 2030)),
        "language": choose(rng, words.LANGUAGES), "made_up": lex.word("THINGS", 1.0), "a_made_up": article(lex.word("THINGS", 1.0)), "made_name": lex.person()[0],
        "made_name2": lex.word("TOWNS", 1.0), "food": lex.word("FOODS"), "animal": animal, "an_animal": article(animal), "nth": choose(rng, ("first", "third", "tenth", "last")),
    }
    question = expand(rng, choose(rng, _QUESTIONS), slots)
    low = question if question[:2] == "I " else question[0].lower() + question[1:]
    text = expand(rng, choose(rng, _WRAPS), {"q": question, "low": low})
    if rng.random() < 0.08:
        text = text.rstrip("?.").lower() if rng.random() < 0.5 else text.rstrip("?.")
    return capitalise(text) if rng.random() < 0.95 else text


def turn(lex: Lexicon, held_out: bool = False) -> tuple[str, str]:
    """A question about the world, from the training or the held-out tenth of all questions."""
    while True:
        if lex.rng.random() < 0.12:
            asked, answer = arithmetic.too_hard(lex.rng)
        else:
            asked, answer = ask(lex), expand(lex.rng, choose(lex.rng, _ANSWERS))
        if split.phrasing_is_held_out(asked) == held_out:
            return asked, answer
