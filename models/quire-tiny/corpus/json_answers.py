# SPDX-License-Identifier: Apache-2.0
"""Owns answers in JSON: the user tells something and asks for it as an object with named keys."""
import dataclasses
import json
import random

from . import split
from .expand import article, choose, expand, join_list
from .lexicon import Lexicon

_KEYS = ("name", "age", "town", "job", "colour")
_TELLS = {"name": ["[My friend is called|My neighbour is called|There is somebody called] {name}."],
    "age": ["{name} is {age} years old.", "{name} is {age}."],
    "town": ["{name} lives in {town}.", "{name} comes from {town}."],
    "job": ["{name} works as {a_job}.", "The job of {name} is {job}."],
    "colour": ["{name} likes the colour {colour}.", "The favourite colour of {name} is {colour}."]}
_ASKS = ["[Write|Give me|Tell me] [that|this] as JSON with the keys {keys}.",
    "[Answer|Reply] as JSON with the keys {keys}.", "As JSON, please, with {keys}.",
    "Make a JSON object of [that|this]: {keys}.", "Give me JSON with {keys}."]
_LATER = ["Now only {keys} as JSON.", "And as JSON with {keys} only?"]


@dataclasses.dataclass(frozen=True)
class Task:
    asked: str
    value: dict

    def answer(self) -> str:
        return json.dumps(self.value, ensure_ascii=False)

    def schema(self) -> dict:
        """A JSON Schema that the answer follows."""
        types = {key: {"type": "integer" if isinstance(value, int) else "string"}
                 for key, value in self.value.items()}
        return {"type": "object", "properties": types, "required": list(types),
                "additionalProperties": False}


def _keys(rng: random.Random, keys: list[str]) -> str:
    if rng.random() < 0.4:
        return ", ".join(keys)
    return join_list(keys)


def tasks(lex: Lexicon, held_out: bool = False) -> list[Task]:
    """A person told and asked for as JSON; now and then once more with fewer keys."""
    rng = lex.rng
    while True:
        values: dict[str, object] = {"name": lex.person()[0], "age": rng.randint(3, 99),
                                    "town": lex.word("TOWNS", 0.6),
                                    "job": lex.word("JOBS", 0.6), "colour": lex.word("COLOURS")}
        values["a_job"] = article(values["job"])
        told = ["name"] + rng.sample(_KEYS[1:], choose(rng, (1, 2, 2, 3)))
        asked_for = list(told)
        if rng.random() < 0.3:
            rng.shuffle(asked_for)
        sentences = [expand(rng, choose(rng, _TELLS[key]), values) for key in told[1:]]
        rng.shuffle(sentences)
        if rng.random() < 0.3:
            sentences.insert(0, expand(rng, choose(rng, _TELLS["name"]), values))
        ask = expand(rng, choose(rng, _ASKS), {"keys": _keys(rng, asked_for)})
        if split.phrasing_is_held_out(ask) == held_out:
            break
    out = [Task(" ".join([*sentences, ask]), {key: values[key] for key in asked_for})]
    if len(told) > 2 and rng.random() < 0.2:
        fewer = rng.sample(told, len(told) - 1)
        out.append(Task(expand(rng, choose(rng, _LATER), {"keys": _keys(rng, fewer)}),
                        {key: values[key] for key in fewer}))
    return out


def turns(lex: Lexicon) -> list[tuple[str, str]]:
    return [(task.asked, task.answer()) for task in tasks(lex)]
