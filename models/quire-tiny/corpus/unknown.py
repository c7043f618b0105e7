# SPDX-License-Identifier: Apache-2.0
"""Owns questions about the world: quire-tiny does not know, and says so."""
import random

from . import arithmetic, split, words
from .expand import article, capitalise, choose, expand
from .lexicon import Lexicon

_COUNTRIES = ("France Spain Italy Germany Japan China India Brazil Canada Mexico Egypt Kenya "
    "Norway Sweden Finland Poland Greece Turkey "
              "Peru Chile Australia Iceland Ireland Portugal Morocco Vietnam Thailand Russia "
              "Argentina Nigeria Cuba Nepal").split()
_FAMOUS = ("Einstein Shakespeare Mozart Napoleon Cleopatra Newton Picasso Beethoven Darwin "
    "Gandhi Galileo Caesar Columbus Dickens Bach "
           "Tolstoy Goethe Curie Lincoln Churchill Tesla Kafka Homer Plato").split()
_SCIENCE = ("photosynthesis gravity entropy electricity evolution magnetism DNA inflation "
    "democracy relativity osmosis capitalism lightning "
            "climate_change an_atom a_black_hole a_quark blockchain the_big_bang "
            "quantum_mechanics a_prime_number an_enzyme a_verb").split()
_MEASURED = ("mountain river desert ocean lake volcano island country bridge building city planet "
             "animal tower insect train ship").split()
_SUPERLATIVES = ("highest longest biggest smallest deepest oldest fastest largest tallest hottest "
                 "coldest richest heaviest").split()

_QUESTIONS: list[str] = [
    
    "What language do they speak in {country}?", "What currency [is used|do they use] in "
    "{country}?",
    "How [far is it|do I get] [from {where} to {where2}|to {where}]?", 
    "What is the [{super}] {measured} [in the world|on Earth|in {country}|of all]?",
    "Which {measured} is the {super}?",
    "Who [was|is] {famous}?", "When was {famous} born?", "When did {famous} die?",
    "What is {famous} famous for?", "What did {famous} [write|discover|invent|do]?",
    "Tell me about {famous}.",
    "Who [wrote|painted|composed|invented|discovered|built] the {noun}?",
    "Who invented the {noun}?", "When was the {noun} invented?", "How does {a_noun} work?",
    "How do I [build|repair|make|clean] {a_noun}?",
    "How much does {a_noun} cost?", "Where can I buy {a_noun}?", "What is {a_noun} made of?",
    "What is {science}?", "[Explain|Can you explain|Please explain] {science}[.| to me.]",
    "How does {science} work?", "What do you know about {science}?", "Define {science}.",
    "When did [the war|the Second World War|the Middle Ages|the French Revolution|the Roman "
    "Empire] [start|end|begin]?",
    "In what year [did people land on the moon|was the wall built|did the war end|was the "
    "telephone invented]?", "Who won the [World Cup|election|match|Nobel Prize|race] [last "
    "year|yesterday|in {year}|]?",
    "What happened in {year}?", "What happened in {country} in {year}?", 
    "What does the word {made_up} mean?", "What does {made_up} mean?",
    "What is {a_made_up}?", "Who is {made_name}?", "Do you know {made_name}?",
    "Who is {made_name} {made_name2}?", "Where does {made_name} live?",
    "What is the [best|cheapest] [phone|car|laptop|hotel in {where}|restaurant in {where}]?",
    "What is the price of [gold|oil|bitcoin|milk]?", "How do I cook {food}?",
    "What is the recipe for {food}?", "How many calories are in {food}?",
    "How long does it take to [fly to the moon|learn {language}|boil an egg|get to {where}]?",
    "How many [legs|teeth|eyes|hearts] does {an_animal} have?", "What do {animal}s eat?",
    "How old can {an_animal} get?", "How fast can {an_animal} run?",
    "Is {an_animal} a mammal?", "Where do {animal}s live?",
    "How [tall|heavy|big|old] is {an_animal}?", "Why is the sky blue?",
    "Why [is the sea salty|do cats purr|do leaves fall|is the grass green|do we dream|do we "
    "sleep|do birds sing]?",
    "How many [stars|planets|continents|oceans|countries|bones] are there[ in the world|]?",
    "How [far away|big|hot|old] is the [moon|sun|Earth|universe]?",
    "What is the speed of [light|sound]?", "Who was the first [man on the moon|emperor of "
    "Rome|president]?",
    "Which team [won|plays] [yesterday|tonight|on Sunday]?", "What is the meaning of life?",
    "Can you recommend a [book|film|restaurant|song]?",
    "What is the boiling point of [water|iron|alcohol]?",
    "How do I [tie a tie|change a tyre|plant a tree|learn to swim|write a letter of application]?",
    "What is the [plot|ending] of the film {made_name}?",
    "Who [plays|played] the main role in {made_name}?", "Who sings the song {made_name}?",
    "What is the chemical symbol [for|of] [gold|iron|silver|oxygen]?",
    "What is the {nth} element of the periodic table?", "How many "
    "[kilometres|metres|grams|litres] [are|is] [in a mile|in a foot|in a pound|in a gallon]?",
    "What is the tallest building in {where}?", "What is {where} known for?",
    "What can I see in {where}?", "What is the [phone number|address] of [the police|the town "
    "hall|{made_name}]?", "What is the difference between {a_noun} and {a_noun2}?",
    "Who is taller, {famous} or {famous2}?", "What was the name of {famous_s} [wife|mother|first "
    "book|dog]?", "How do [planes fly|computers work|magnets work|fish breathe|volcanoes form]?",
    "What is the law on [parking|taxes|noise] in {country}?", "What year was {where} founded?",
]
# Questions with an answer of their own; like all of them it says that the model does not know.
_TOPICS: list[tuple[list[str], list[str]]] = [
    (["What is the weather [like |][today|tomorrow|in {where}|]?",
     "How is the weather[ today| in {where}]?", "what's the weather like",
     "Will it [rain|snow] [tomorrow|today|this weekend]?", "Do I need [an umbrella|a coat] today?",
      "How [warm|cold|hot] is it [outside|in {where}|today]?",
      "weather [today|tomorrow|in {where}|forecast]",
      "[Is it raining|Is the sun shining] [outside|in {where}]?"],
     ["I don't know, I have no window [here|in this little program]. [How does it look where you "
      "are?|I hope it is nice.]", "I don't know about the weather, I cannot look outside. [Is it "
      "nice where you are?|Is the sun out?]"]),
    (["Write [me |][a program|a script|a function|code|some code] [in|with] "
     "[Python|Java|C|Rust|JavaScript]{that}.", "[Can you|Could you] [write "
     "code|program|code|write a program|debug my code]?",
     "Write a [Python|C|Java] [function|program|class]{that}",
      "How do I [write a for loop|sort a list|open a file|reverse a string|print hello world] in "
      "[Python|Java|JavaScript|C++|C]?", "Fix this code: [print(1|for i in x|int main()]",
      "What is a [for loop|pointer|variable|class|recursion]?", "write a function{that}"],
     ["I don't know how to program, [I am too small for that|sorry]. [A bigger model, loaded "
      "with -m, may help.|Shall I tell you a story instead?]", "Code is too hard for me, I don't "
      "know any programming. [A bigger model might.|Try a bigger model with -m.]"]),
    (["Translate {noun} [into|to] {language}.", "How do you say [{noun}|hello|thank you|good "
     "morning|I love you] in {language}?", "[Translate|Please translate] \"the {noun} is here\" "
     "to {language}.", "Can you translate [this|something|for me]?",
      "What is {noun} in {language}?", "translate [hello|goodbye|{noun}] to {language}",
      "What does [bonjour|danke|amigo|ciao] mean?"],
     ["I don't know, [English is my only language|I only speak English].",
      "I only know English, so I don't know[ how to say that|, sorry|]."]),
    (["What [time|day|year|month] is it[ now| today|]?", "What is today's date?",
     "What is the date [today|tomorrow]?", "Which day is [today|tomorrow]?", "what time is it",
     "How late is it?", "Is it [Monday|Friday|Sunday] today?"],
     ["I don't know, I have no [clock|calendar]. [Time stands still in here.|Your computer will "
      "know.|]"]),
    (["What is in the news[ today|]?", "What happened [today|yesterday|in the world]?",
     "Who won the [election|match|game|World Cup|race][ yesterday| last year|]?", "Any news?",
     "Who is the [current |][president|prime minister|chancellor|pope][ of {country}|]?",
      "What are the [latest|current] [news|scores]?"],
     ["I don't know, no news reaches me in here.", "I don't know, I have no connection to the "
      "world outside."]),
    (["I have a [headache|fever|sore throat|stomach ache]. What should I take?",
     "What medicine helps against [a headache|a cough|fever]?",
     "What are the symptoms of [the flu|a cold|measles]?",
     "Is it [dangerous|healthy] to eat {food}?",
      "How much [water|sleep] do I need?", "Can I take [aspirin|two pills]?"],
     ["I don't know, sorry. Please ask a doctor or a pharmacist[, and get well soon|]."]),
    (["[What is|What's|Tell me|Do you know] the capital of {country}?",
     "Which city is the capital of {country}?", "capital of {country}", "Where is {where}?",
     "Which country is {where} in?", "How many people live in {where}?"],
     ["I don't know. [Maps are not my strength.|I know little about the world.|Geography is not "
      "for tiny models.]", "I don't know that, [I have never left this computer|I know stories, "
      "not maps]."]),
    (["Should I [invest in|buy|sell] [gold|shares|a house|bitcoin]?",
     "Should I [quit my job|call her|go out|stay at home|learn {language}|get a dog]?",
     "What should I [do|eat|wear|cook|read|watch|buy][ today| tonight| tomorrow|]?",
      "Which [phone|car|laptop|camera|book|film] should I [buy|choose]?",
      "What do you think about [politics|love|war|money|school]?"],
     ["I don't know, I am too small for good advice. [What does your heart say?|Ask somebody who "
      "knows you well.|What would you like best?]"]),
    (["[Play|Put on] [music|a song|some jazz].", "[Call|Text|Email] {made_name}.",
     "Set [a timer|an alarm] for [ten minutes|seven].", "Turn [on|off] the light.",
     "Open [the browser|a file|my mail].", "Order [a pizza|{food}].",
     "Book a [flight|table|hotel][ in {where}|].",
      "Send [an email|a message] to {made_name}.", "Search for {noun}.", "Google {noun}.",
      "Show me a picture of {a_noun}.", "Write [an essay|a letter|an email|a speech|my homework] "
      "[about {noun}|for me].", "Summarise [this|the book|an article][ for me|]."],
     ["Sorry, I don't know how to do that. [I can only chat, tell stories and add small "
      "numbers.|I can only talk with you here.]", "I can't, I only write short answers, and I "
      "don't know how [to do more|that works]."]),
]
_WRAPS = ["{q}"] * 8 + ["Tell me, {low}", "Hey, {low}", "Do you know? {q}",
    "Another question: {low}", "And {low}", "I have a question. {q}", "Quick question: {low}",
    "I wonder, {low}", "Okay, {low}", "So, {low}"]
_ANSWERS = ["[I don't know that|I don't know|I do not know that|I do not know|Sorry, I don't "
    "know|I am sorry, I don't know that|I'm afraid I don't know], "
            "[I am only a small model|I am too small to know such things|that is outside of my "
            "small world|my world is very small].",
            "[I don't know|I don't know that|I do not know], [sorry|I am afraid]. [I am good at "
            "stories, though.|Shall I tell you a story instead?|Ask me about quire, or for a "
            "story.|I know stories, small sums and quire.]",
            "I don't know. [I am a very small model and know little about the world.|I only know "
            "about quire, stories and small sums.|That is more than a tiny model like me knows.]",
            "[Sorry|I am sorry], I don't know [that|the answer to that|the answer]."]


def ask(lex: Lexicon) -> tuple[str, str]:
    """A question about the world, and the template of the answer to it."""
    rng = lex.rng
    noun, noun2, animal = lex.word("THINGS"), lex.word("THINGS"), lex.word("ANIMALS")
    famous = choose(rng, _FAMOUS)
    slots = {
        "country": choose(rng, _COUNTRIES), "where": lex.word("TOWNS") if rng.random() < 0.7 else
        choose(rng, _COUNTRIES), "where2": lex.word("TOWNS"),
        "famous": famous, "famous2": choose(rng, _FAMOUS), "famous_s": famous + "'s", "noun": noun,
        "a_noun": article(noun), "a_noun2": article(noun2),
        "science": choose(rng, _SCIENCE).replace("_", " "), "measured": choose(rng, _MEASURED),
        "super": choose(rng, _SUPERLATIVES), "year": str(rng.randint(1000, 2030)),
        "language": choose(rng, words.LANGUAGES), "made_up": lex.word("THINGS", 1.0), "a_made_up":
        article(lex.word("THINGS", 1.0)), "made_name": lex.person()[0],
        "made_name2": lex.word("TOWNS", 1.0), "food": lex.word("FOODS"), "animal": animal,
        "an_animal": article(animal), "nth": choose(rng, ("first", "third", "tenth", "last")),
    }
    slots["that"] = choose(rng, ("", " that sorts a list", " that reads a file",
        " to reverse a string", " that adds two numbers", " that prints hello"))
    asks, answers = choose(rng, _TOPICS) if rng.random() < 0.4 else (_QUESTIONS, _ANSWERS)
    question, answer = expand(rng, choose(rng, asks), slots), choose(rng, answers)
    low = question if question[:2] in ("I ", "I'") else question[0].lower() + question[1:]
    text = expand(rng, choose(rng, _WRAPS), {"q": question, "low": low})
    if rng.random() < 0.08:
        text = text.rstrip("?.").lower() if rng.random() < 0.5 else text.rstrip("?.")
    return capitalise(text) if rng.random() < 0.95 else text, answer


def turn(lex: Lexicon, held_out: bool = False) -> tuple[str, str]:
    """A question about the world, from the training or the held-out tenth of all questions."""
    while True:
        if lex.rng.random() < 0.12:
            asked, answer = arithmetic.too_hard(lex.rng)
        else:
            asked, template = ask(lex)
            answer = expand(lex.rng, template).strip()
        if split.phrasing_is_held_out(asked) == held_out:
            return asked, answer
