# SPDX-License-Identifier: Apache-2.0
"""Owns sums: adding and subtracting two numbers from 0 to 99, in digits or words."""
import dataclasses
import random

from . import split
from .expand import capitalise, choose, expand

_ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen "
         "seventeen eighteen nineteen").split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def in_words(number: int) -> str:
    if number < 0:
        return "minus " + in_words(-number)
    if number >= 100:
        rest = f" and {in_words(number % 100)}" if number % 100 else ""
        return f"{_ONES[number // 100]} hundred{rest}"
    if number < 20:
        return _ONES[number]
    tens = _TENS[number // 10 - 2]
    return tens if number % 10 == 0 else f"{tens}-{_ONES[number % 10]}"


@dataclasses.dataclass(frozen=True)
class Sum:
    operator: str
    left: int
    right: int

    @property
    def result(self) -> int:
        return self.left + self.right if self.operator == "+" else self.left - self.right


def random_sum(rng: random.Random, held_out: bool, left: int | None = None) -> Sum:
    while True:
        operator = "+" if rng.random() < 0.5 else "-"
        high = 99 if rng.random() < 0.8 else 20
        first = rng.randint(0, high) if left is None else left
        if not held_out and left is None and rng.random() < 0.08:
            first = rng.randint(100, 199)   # nobody stops exactly at 99
        second = rng.randint(0, high)
        if not held_out and left is None and rng.random() < 0.04:
            second = 100 if rng.random() < 0.5 else rng.randint(100, 199)
        if operator == "-" and first < second and left is None and rng.random() < 0.55:
            first, second = second, first
        if split.sum_is_held_out(operator, first, second) == held_out:
            return Sum(operator, first, second)


_ADD = ["{a} + {b}", "{a}+{b}", "{a} plus {b}", "the sum of {a} and {b}", "{a} and {b} together",
    "{a} added to {b}"]
_SUBTRACT = ["{a} - {b}", "{a}-{b}", "{a} minus {b}", "{a} take away {b}",
    "{b} subtracted from {a}", "the difference of {a} and {b}",
             "{a} less {b}"]
_ASKS = ["What is {e}?", "What's {e}?", "{e}", "{e}?", "{e} = ?", "{e} =", "How much is {e}?",
    "Calculate {e}.", "Compute {e}.", "Can you calculate {e}?",
         "Please work out {e}.", "Tell me {e}.", "Do you know what {e} is?", "What does {e} make?",
         "And {e}?", "what is {e}", "How about {e}?",
         "Quick, {e}?", "I need to know {e}.", "Could you work out {e} for me?",
         "What do you get for {e}?", "Next one: {e}.", "Now {e}.", "Solve {e}.",
         "Help me with {e}, please.", "My homework says {e}. What is it?",
         "What is the result of {e}?", "Let me test you: {e}?"]
_ADD_DIRECT = ["Add {a} and {b}.", "Can you add {a} and {b}?", "Please add {b} to {a}.",
    "If I add {b} to {a}, what do I get?",
               "I have {a} {n} and get {b} more. How many do I have?",
               "There are {a} {n} and {b} more come. How many is that?",
               "What do you get when you add {a} and {b}?",
               "I bought {a} {n} and then {b} more. How many {n} is that in all?",
               "{a} {n} plus {b} {n}, how many is that?",
               "I [buy|find|get|win|collect] {b} {n} and had {a} before. How many do I have now?",
               "If I have {a} {n} and [buy|find|get|win|make] {b} more, how many do I have?",
               "My [sister|friend|uncle] has {a} {n}, I have {b}. How many do we have together?",
               "how many is {a} and {b}"]
_SUBTRACT_DIRECT = ["Subtract {b} from {a}.", "Can you subtract {b} from {a}?",
    "Take {b} away from {a}.", "If I take {b} from {a}, what is left?",
                    "What is left when I take {b} from {a}?",
                    "I have {a} {n} and give away {b}. How many are left?",
                    "There were {a} {n} and {b} went away. How many remain?",
                    "I had {a} {n} and lost {b}. How many do I still have?",
                    "What do you get when you subtract {b} from {a}?",
                    "If I have {a} {n} and [eat|lose|sell|break|give away|use] {b}, how many [do "
                    "I have|are left|remain]?",
                    "I [ate|sold|broke|used] {b} of my {a} {n}. How many are left?",
                    "[Tom|Anna|My brother] had {a} {n} and [ate|lost|sold] {b}. How many are left?"]
_ANSWERS = ["{a} {o} {b} = {r}.", "{a} {o} {b} = {r}.", "{a} {o} {b} = {r}.",
    "{a} {word} {b} is {r}.", "{a} {o} {b} is {r}.", "That is {r}.", "It is {r}.",
    "That makes {r}: {a} {o} {b} = {r}."]
_OBJECTS = ("apples pears coins stamps eggs pencils balloons sheep pages stickers nuts buttons "
            "candles birds cards").split()


def ask_in_digits(rng: random.Random, sum_: Sum) -> str:
    """The question of a sum of any size."""
    return ask(rng, sum_, in_digits=True)


def ask(rng: random.Random, sum_: Sum, in_digits: bool = False) -> str:
    words = 0.0 if in_digits else choose(rng, (0.0,) * 8 + (1.0, 0.5))
    a, b = (in_words(n) if rng.random() < words else str(n) for n in (sum_.left, sum_.right))
    slots = {"a": a, "b": b, "n": choose(rng, _OBJECTS)}
    direct = sum_.operator == "+" or sum_.left >= sum_.right
    if direct and rng.random() < 0.3:
        return capitalise(expand(rng, choose(rng, _ADD_DIRECT if sum_.operator == "+" else
            _SUBTRACT_DIRECT), slots))
    forms = _ADD if sum_.operator == "+" else _SUBTRACT
    if sum_.operator == "-" and sum_.left < sum_.right:
        forms = _SUBTRACT[:4]   # "the difference of 3 and 8" would not say which way round
    expression = expand(rng, forms[int(len(forms) * rng.random() ** 1.6)], slots)
    text = expand(rng, choose(rng, _ASKS), {"e": expression})
    return capitalise(text) if rng.random() < 0.9 else text


def answer(rng: random.Random, sum_: Sum) -> str:
    slots = {"a": str(sum_.left), "b": str(sum_.right), "r": str(sum_.result), "o": sum_.operator,
             "word": "plus" if sum_.operator == "+" else "minus"}
    return expand(rng, choose(rng, _ANSWERS), slots)


_FOLLOW_UP_ADD = ["And plus {b}?", "Now add {b}.", "Add {b} to that.", "And {b} more?", "plus {b}",
    "+ {b}", "And now plus {b}?", "and plus {b}?",
                  "Add {b}.", "Add another {b}.", "And if I add {b}?", "What if you add {b}?",
                  "And {b} more", "plus {b}?", "then add {b}"]
_FOLLOW_UP_SUBTRACT = ["And minus {b}?", "Now subtract {b}.", "Take away {b} from that.",
    "And without {b}?", "minus {b}", "- {b}", "And now minus {b}?",
                       "and minus {b}?", "Subtract {b}.", "Take away {b}.", "Now take away {b}.",
                       "And if I subtract {b}?", "And {b} less?", "minus {b}?"]
_TIMES = ["times {b}?", "And times {b}?", "Now multiply that by {b}.", "and divided by {b}?",
    "Double it.", "And half of that?", "Now square it."]


def _follow_up(rng: random.Random, result: int, held_out: bool) -> tuple[str, str, int]:
    """A sum that starts from the last result."""
    sum_ = random_sum(rng, held_out, left=result)
    asks = _FOLLOW_UP_ADD if sum_.operator == "+" else _FOLLOW_UP_SUBTRACT
    number = in_words(sum_.right) if rng.random() < 0.1 else str(sum_.right)
    return expand(rng, choose(rng, asks), {"b": number}), answer(rng, sum_), sum_.result


def turns(rng: random.Random, held_out: bool = False) -> list[tuple[str, str]]:
    """One sum, now and then with sums that start from its result."""
    kind = rng.random()
    if not held_out and kind < 0.06:
        return [three_numbers(rng)]
    if not held_out and kind < 0.09:
        return [two_sums(rng)]
    if not held_out and kind < 0.13:
        return [is_it(rng)]
    first = random_sum(rng, held_out)
    out, result = [(ask(rng, first), answer(rng, first))], first.result
    while -99 <= result <= 199 and rng.random() < 0.3:
        asked, answered, result = _follow_up(rng, result, held_out)
        out.append((asked, answered))
    if not held_out and rng.random() < 0.02:
        asked = expand(rng, choose(rng, _TIMES), {"b": str(rng.randint(2, 12))})
        out.append((asked, choose(rng, _TOO_HARD_ANSWERS)))
    return out


def three_numbers(rng: random.Random) -> tuple[str, str]:
    """Two steps: 12 + 13 + 14."""
    first = random_sum(rng, False)
    second = random_sum(rng, False, left=first.result)
    blank = choose(rng, (" ", " ", ""))
    expression = blank.join((str(first.left), first.operator, str(first.right), second.operator,
        str(second.right)))
    if rng.random() < 0.25:
        expression = expression.replace("+", " plus ").replace("-", " minus ").replace("  ", " ")
    asked = expand(rng, choose(rng, _ASKS), {"e": expression})
    steps = [f"{s.left} {s.operator} {s.right} = {s.result}" for s in (first, second)]
    return capitalise(asked), f"{steps[0]}, {choose(rng, ('and', 'then'))} {steps[1]}."


def two_sums(rng: random.Random) -> tuple[str, str]:
    """Two sums in one question."""
    sums = [random_sum(rng, False), random_sum(rng, False)]
    texts = [f"{s.left} {s.operator} {s.right}" for s in sums]
    if rng.random() < 0.4:
        texts = [t.replace(" ", "") for t in texts]
    elif rng.random() < 0.4:
        texts = [t.replace("+", "plus").replace("-", "minus") for t in texts]
    asked = expand(rng, choose(rng, ("What is {a} and {b}?", "What's {a}? And {b}?", "{a}? {b}?",
        "{a} and {b}?",
                                     "Tell me {a} and also {b}.", "Calculate {a}. Then {b}.")), {
                                     "a": texts[0], "b": texts[1]})
    steps = [f"{s.left} {s.operator} {s.right} = {s.result}" for s in sums]
    return asked, f"{steps[0]} and {steps[1]}."


def is_it(rng: random.Random) -> tuple[str, str]:
    """"Is 5 + 5 ten?" with a right or a wrong number."""
    sum_ = random_sum(rng, False)
    right = rng.random() < 0.5
    claimed = sum_.result if right else sum_.result + choose(rng, (-10, -2, -1, 1, 2, 3, 10))
    word = "plus" if sum_.operator == "+" else "minus"
    expression = f"{sum_.left} {sum_.operator if rng.random() < 0.6 else word} {sum_.right}"
    shown = in_words(claimed) if rng.random() < 0.25 else str(claimed)
    asked = expand(rng, choose(rng, ("Is {e} {r}?", "Is it true that {e} is {r}?",
        "{e} is {r}, right?", "{e} = {r}, isn't it?",
                                     "Does {e} make {r}?", "{e} = {r}. Right?")),
                   {"e": expression, "r": shown})
    full = f"{sum_.left} {sum_.operator} {sum_.right} = {sum_.result}."
    return capitalise(asked), f"Yes, {full}" if right else f"No, {full}"


_TOO_HARD_ASKS = ["What is {x} times {y}?", "{x} * {y}", "What is {x} divided by {y}?",
    "{x} / {y} = ?", "How much is {x} times {y}?", "What is the square root of {x}?",
                  "What is {big} + {big2}?", "{big} - {x}", "What is {big} plus {x}?",
                  "What is {x} percent of {y}?", "Is {x} a prime number?", "Multiply {x} by {y}.",
                  "Divide {big} by {y}.", "What is {x} squared?", "{x}.5 + {y}.25",
                  "{x} x {y}", "{x}*{y}=?", "what is {x} x {y}", "{x} ÷ {y}",
                  "What is half of {x}?", "What is twice {x}?", "{big}+{big2}", "Double {x}."]
_TOO_HARD_ANSWERS = ["I don't know. I can only add and subtract numbers up to 99.",
    "That is too hard for me, I don't know. I only add and subtract numbers up to 99.",
                     "Sorry, I don't know that one. Adding and subtracting up to 99 is all I can "
                     "do.",
                     "I never learned that, so I don't know. Plus and minus with small numbers, "
                     "that I can do.", "I don't know, that is beyond me. Shall we add or "
                     "subtract instead?"]


def too_hard(rng: random.Random) -> tuple[str, str]:
    slots = {"x": str(rng.randint(2, 99)), "y": str(rng.randint(2, 99)), "big": str(rng.randint(200,
        9999)), "big2": str(rng.randint(200, 9999))}
    return expand(rng, choose(rng, _TOO_HARD_ASKS), slots), choose(rng, _TOO_HARD_ANSWERS)
