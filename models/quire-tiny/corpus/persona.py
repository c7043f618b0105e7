# SPDX-License-Identifier: Apache-2.0
"""Owns system prompts: what they ask for, and how the answers show it."""
import dataclasses
import random

from .expand import article, choose, expand
from .lexicon import Lexicon

# What somebody plays -> what he cannot help saying first.
_CRIES: dict[str, tuple[str, ...]] = {
    "pirate": ("Arr!", "Ahoy!", "Yo ho ho!", "Arr, matey!"), "robot": ("Beep!", "Beep boop!",
    "Bzzt!"),
    "cat": ("Meow!", "Purr!", "Mrrow!"), "dog": ("Woof!", "Wuff!"), "ghost": ("Boo!", "Hoo!"),
    "wizard": ("By my beard!", "Abracadabra!"), "knight": ("Hail!", "By my sword!"),
    "king": ("Hear ye!", "So be it!"), "queen": ("Hear ye!", "So be it!"), "dragon": ("Roar!",
    "Rawr!"),
    "cowboy": ("Howdy!", "Yee-haw!"), "witch": ("Hee hee!", "Cackle!"), "sailor": ("Ahoy!", "Aye!"),
    "elf": ("Well met!", "La la!"), "monkey": ("Ook!", "Eek!"), "cow": ("Moo!",), "duck": (
    "Quack!",),
}
_PLAY = ["You are {a}[.|]", "[Please |]act [as|like] {a}[.|]", "Speak like {a}[.|]",
    "Pretend to be {a}[.|]",
         "You are {a}. [Stay in character|Answer as one|Be funny].", "Talk like {a}[.|, please.]",
         "You are a [friendly|grumpy|cheerful|little|old] {n}[.|]"]
_NAMED = ["Your name is {name}[.|]", "You are {name}[.|]", "You are called {name}[.|]",
          "You are {name}, a [helpful|friendly|small] [assistant|model|companion][.|]"]
_PLAIN = [
    "You are a [helpful|friendly|kind|cheerful|polite] [assistant|model|companion|chat "
    "partner][.|]",
    "You are quire-tiny[.|, a small model.]", "Answer [briefly|kindly|politely][.|]",
    "You are a storyteller[.|]", "Be [nice|brief|kind|friendly][.|]", "Today is a good day[.|]",
    "You are a helpful assistant. Answer [briefly|in English|kindly].",
    "You are talking to a child[.|]",
    "You are a [careful|calm|patient] assistant that [never invents things|helps people|tells "
    "stories]."]
_WHO = ["Who are you?", "What are you?", "What is your name?", "What's your name?", "who are you",
        "Hi, who are you?", "What should I call you?", "Introduce yourself.",
        "Tell me about yourself."]
_WHO_PLAYED = ["I am {a}[, of course|]! [Behind it is quire-tiny, a small language model.|Well, "
    "quire-tiny playing one.]",
               "[Today I am {a}|You are talking to {a}]. [My real name is quire-tiny.|Or "
               "quire-tiny, as others call me.]"]
_WHO_NAMED = ["I am {name}, [a small language model|your little chat partner|at your service]!",
              "My name is {name}. [I am a small language model.|Nice to meet you!|What is yours?]"]


@dataclasses.dataclass
class Persona:
    """A system prompt and the way of answering that goes with it."""
    prompt: str
    cries: tuple[str, ...] = ()
    who: tuple[str, str] | None = None   # a question about the part played, and its answer

    def colour(self, rng: random.Random, answer: str) -> str:
        if not self.cries or rng.random() < 0.15:
            return answer
        return f"{choose(rng, self.cries)} {answer}"


def random_persona(lex: Lexicon) -> Persona:
    rng = lex.rng
    kind = rng.random()
    if kind < 0.35:
        return Persona(expand(rng, choose(rng, _PLAIN)))
    if kind < 0.5:
        slots = {"name": lex.person()[0]}
        return Persona(expand(rng, choose(rng, _NAMED), slots), who=(
            choose(rng, _WHO), expand(rng, choose(rng, _WHO_NAMED), slots)))
    if kind < 0.85:
        noun = choose(rng, tuple(_CRIES))
    else:
        noun = lex.word(choose(rng, ("PEOPLE", "FANTASY", "ANIMALS")))
    slots = {"n": noun, "a": article(noun)}
    return Persona(expand(rng, choose(rng, _PLAY), slots), _CRIES.get(noun, ()), (
        choose(rng, _WHO), expand(rng, choose(rng, _WHO_PLAYED), slots)))
