# SPDX-License-Identifier: Apache-2.0
"""Owns conversations with tools: when the model calls one, and what it says about the result.

There are two tools, a calculator for numbers beyond the sums that the model knows, and the weather
of a town. Their names, parameters and descriptions vary, so that the model reads the list. The
texts are those of CHAT_TEMPLATE in bpe.py: a call is an answer, results are a turn of the user.
"""
import dataclasses
import json
import random
from collections.abc import Sequence

import bpe

from . import arithmetic, split
from .expand import capitalise, choose, expand
from .lexicon import Lexicon

Turn = tuple[str, str]

_SKIES = ["sunny", "cloudy", "rainy", "windy", "foggy", "frosty", "clear", "stormy"]
_LARGEST = 99_999


@dataclasses.dataclass(frozen=True)
class Tool:
    """One offered tool; the parameters are in the order of the calculator or weather below."""
    kind: str
    name: str
    description: str
    parameters: tuple[str, ...]

    def schema(self) -> dict:
        """The tool as a request of the chat completions API offers it."""
        types = [{"type": "string"}]
        if self.kind == "calculate":
            types = [{"type": "string", "enum": ["add", "subtract"]}, {"type": "integer"},
                     {"type": "integer"}]
        return {"type": "function", "function": {
            "name": self.name, "description": self.description, "parameters": {
                "type": "object", "properties": dict(zip(self.parameters, types)),
                "required": list(self.parameters)}}}

    def call(self, *values: object) -> dict:
        return {"name": self.name, "arguments": dict(zip(self.parameters, values))}


@dataclasses.dataclass(frozen=True)
class Task:
    """A question for a tool: the calls that are right, their results, and what the answer holds."""
    asked: str
    calls: list[dict]
    results: list[str]
    answer: str
    expected: list[str]


def system_text(tools: Sequence[Tool], before: str | None = None) -> str:
    """The text of the system turn, as the template writes it."""
    lines = "".join(json.dumps(tool.schema(), ensure_ascii=False) + "\n" for tool in tools)
    return (f"{before}\n\n" if before else "") + bpe.TOOLS_INTRODUCTION + lines + "</tools>"


def calls_text(calls: Sequence[dict]) -> str:
    return "\n".join(f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"
                     for call in calls)


def results_text(results: Sequence[str]) -> str:
    return "\n".join(f"<tool_response>\n{result}\n</tool_response>" for result in results)


def calculator(rng: random.Random) -> Tool:
    name = choose(rng, ("calculate", "calculate", "calculator", "compute", "calc", "do_sum"))
    text = expand(rng, "[Adds or subtracts|Add or subtract|Computes the sum or difference of] two "
                  "[whole |]numbers[.|]")
    names = choose(rng, (("operation", "a", "b"), ("operation", "a", "b"), ("op", "x", "y"),
                         ("operator", "left", "right"), ("operation", "first", "second")))
    return Tool("calculate", name, text, names)


def weather(rng: random.Random) -> Tool:
    name = choose(rng, ("get_weather", "get_weather", "weather", "current_weather", "weather_in",
                        "look_up_weather"))
    text = expand(rng, "[Gets|Get|Looks up|Tells] the [current |]weather [in|of|for] a "
                  "[city|town|place][.|]")
    parameter = choose(rng, ("city", "city", "town", "place", "location"))
    return Tool("weather", name, text, (parameter,))


def offered(rng: random.Random, needed: str | None = None) -> list[Tool]:
    """One or both tools in any order; the needed one is among them."""
    tools = [calculator(rng), weather(rng)]
    rng.shuffle(tools)
    if rng.random() < 0.35:
        kind = needed or choose(rng, ("calculate", "weather"))
        tools = [tool for tool in tools if tool.kind == kind]
    return tools


_SUM_ANSWERS = ["{a} {o} {b} = {r}.", "{a} {o} {b} is {r}.", "That is {r}.", "It is {r}.",
    "That makes {r}: {a} {o} {b} = {r}."]


def _number(rng: random.Random) -> int:
    return rng.randint(100, choose(rng, (999, 999, 9999, _LARGEST)))


def _sum(rng: random.Random, held_out: bool) -> arithmetic.Sum:
    while True:
        operator = choose(rng, ("+", "-"))
        left, right = _number(rng), _number(rng)
        if rng.random() < 0.25:
            right = rng.randint(2, 99)
        if operator == "-" and left < right and rng.random() < 0.8:
            left, right = right, left
        if split.sum_is_held_out(operator, left, right) == held_out:
            return arithmetic.Sum(operator, left, right)


def _sum_result(rng: random.Random, result: int) -> str:
    return str(result) if rng.random() < 0.5 else json.dumps({"result": result})


def sum_task(rng: random.Random, tool: Tool, held_out: bool = False) -> Task:
    sum_ = _sum(rng, held_out)
    slots = {"a": str(sum_.left), "b": str(sum_.right), "r": str(sum_.result), "o": sum_.operator}
    call = tool.call("add" if sum_.operator == "+" else "subtract", sum_.left, sum_.right)
    return Task(arithmetic.ask_in_digits(rng, sum_), [call], [_sum_result(rng, sum_.result)],
                expand(rng, choose(rng, _SUM_ANSWERS), slots), [str(sum_.result)])


_WEATHER_ASKS = ["What is the weather [like |]in {t}?",
    "What's the weather [like |]in {t}[ today|]?",
    "How is the weather in {t}[ today| now|]?", "[Is it raining|Is the sun shining] in {t}?",
    "How [warm|cold|hot] is it in {t}[ today|]?", "weather in {t}", "Weather in {t}[?|, please.]",
    "[Please look up|Look up|Tell me|Check] the weather in {t}[.|]",
    "I am going to {t}. [How is the weather there?|Do I need a coat?|What is the weather like?]",
    "Do I need an umbrella in {t}?"]
_WEATHER_ANSWERS = ["It is {s} in {t}, with {d} degrees.", "In {t} it is {s} and {d} degrees.",
    "The weather in {t} is {s}, {d} degrees."]
_TWO_ASKS = ["What is the weather like in {t} and in {u}?", "How is the weather in {t} and {u}?",
    "[Compare|Look up] the weather in {t} and {u}."]


_WRAPS = ["{q}"] * 5 + ["Hey, {low}", "Tell me, {low}", "I have a question. {q}", "And {low}",
    "Quick question: {low}", "So, {low}", "Okay, {low}", "Next one: {low}", "Please, {low}"]


def _weather_question(rng: random.Random, towns: int, held_out: bool) -> str:
    """A question with {t} and {u} for the towns; 10 % of all phrasings are held out."""
    while True:
        asked = expand(rng, choose(rng, _WEATHER_ASKS if towns == 1 else _TWO_ASKS),
                       {"t": "{t}", "u": "{u}"})
        low = asked if asked.startswith("I ") else asked[0].lower() + asked[1:]
        asked = choose(rng, _WRAPS).replace("{q}", asked).replace("{low}", low)
        if split.phrasing_is_held_out(asked) == held_out:
            return asked


def _report(rng: random.Random, town: str) -> tuple[str, str, list[str]]:
    """The result for a town, a sentence about it, and what must be in an answer."""
    sky, degrees = choose(rng, _SKIES), rng.randint(-15, 39)
    fields = {"temperature": degrees, "sky": sky}
    if rng.random() < 0.3:
        fields = {choose(rng, ("city", "place")): town, **fields}
    result = json.dumps(fields, ensure_ascii=False)
    if rng.random() < 0.25:
        result = f"{sky}, {degrees} degrees"
    sentence = expand(rng, choose(rng, _WEATHER_ANSWERS), {"s": sky, "t": town, "d": str(degrees)})
    return result, sentence, [sky, str(degrees)]


def weather_task(lex: Lexicon, tool: Tool, held_out: bool = False) -> Task:
    """The weather of one town, or of two by parallel calls."""
    rng = lex.rng
    towns = [lex.word("TOWNS")]
    while rng.random() < 0.2 and len(towns) < 2:
        towns = list(dict.fromkeys([*towns, lex.word("TOWNS")]))
    asked = _weather_question(rng, len(towns), held_out)
    asked = expand(rng, asked, {"t": towns[0], "u": towns[-1]})
    reports = [_report(rng, town) for town in towns]
    if len(towns) == 1 and rng.random() < 0.06:
        error = json.dumps({"error": choose(rng, ("unknown place", "not found", "no data"))})
        return Task(asked, [tool.call(towns[0])], [error],
                    f"Sorry, I don't know. The tool has no weather for {towns[0]}.", ["don't know"])
    return Task(capitalise(asked), [tool.call(town) for town in towns], [r for r, _, _ in reports],
                " ".join(s for _, s, _ in reports), [w for _, _, e in reports for w in e])


def task(lex: Lexicon, tool: Tool, held_out: bool = False) -> Task:
    if tool.kind == "calculate":
        return sum_task(lex.rng, tool, held_out)
    return weather_task(lex, tool, held_out)


def turns(lex: Lexicon, tools: Sequence[Tool]) -> list[Turn]:
    """One question for one of the tools, the call, its result and the answer."""
    made = task(lex, choose(lex.rng, tools))
    return [(made.asked, calls_text(made.calls)), (results_text(made.results), made.answer)]
