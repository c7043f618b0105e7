# SPDX-License-Identifier: Apache-2.0
"""Grades one answer; pass thresholds per category."""
import json
import re
from collections import Counter

# category -> smallest share of right answers
GATES = {"recall": 0.95, "arithmetic": 0.98, "about": 0.95, "story": 0.95, "story loops": 1.0,
    "unknown": 0.95, "everyday": 0.95, "tool call": 0.95, "tool answer": 0.95, "no tool": 0.95,
    "json": 0.95}

_NUMBER = re.compile(r"-?\d+")
_NOT_KNOWN = re.compile(
    r"\b(don't know|do not know|not told|no idea|not sure|cannot know|can't know)\b", re.IGNORECASE)
LOOP_NGRAM = 8
LOOP_TIMES = 3
MIN_STORY_WORDS = 40


def contains(answer: str, wanted: str) -> bool:
    """Whether the word or phrase stands in the answer as a whole, in any case, plural allowed."""
    pattern = rf"(?<!\w){re.escape(wanted)}(?:s|es)?(?!\w)"
    return re.search(pattern, answer, re.IGNORECASE) is not None


def tool_calls(answer: str) -> list[object]:
    """The calls of an answer; the text of a call that is no JSON stands for itself."""
    calls: list[object] = []
    for text in re.findall(r"<tool_call>\n?(.*?)\n?</tool_call>", answer, re.DOTALL):
        try:
            calls.append(json.loads(text))
        except ValueError:
            calls.append(text)
    return calls


def is_json(answer: str, value: object) -> bool:
    try:
        return json.loads(answer) == value
    except ValueError:
        return False


def loops(answer: str) -> bool:
    """Whether some eight words in a row come three times."""
    words = re.findall(r"\w+", answer.lower())
    grams = Counter(tuple(words[i:i + LOOP_NGRAM]) for i in range(len(words) - LOOP_NGRAM + 1))
    return any(count >= LOOP_TIMES for count in grams.values())


def complaint(check: dict, answer: str, finished: bool) -> str | None:
    """Why the answer is wrong, or None if it is right."""
    kind = check["kind"]
    if not finished:
        return "the answer did not end by itself"
    if kind == "tool call":
        return None if tool_calls(answer) == check["calls"] else f"does not call {check['calls']}"
    if kind == "no tool":
        return "calls a tool" if "<tool_call>" in answer else None
    if kind == "json":
        return None if is_json(answer, check["value"]) else f"is not {check['value']}"
    if kind in ("recall", "tool answer"):
        missing = [w for w in check["all"] if not contains(answer, w)]
        return f"lacks {missing}" if missing else None
    if kind == "arithmetic":
        numbers = _NUMBER.findall(answer)
        right = numbers and int(numbers[-1]) == check["number"]
        return None if right else f"is not {check['number']}"
    if kind in ("about", "everyday"):
        low = answer.lower()
        missing = [group for group in check["any"] if not any(word in low for word in group)]
        return f"lacks one of {missing}" if missing else None
    if kind == "unknown":
        return None if _NOT_KNOWN.search(answer) else "claims to know"
    if kind == "story":
        if len(answer.split()) < MIN_STORY_WORDS:
            return "is not a story"
        missing = [w for w in check["all"] if not contains(answer, w)]
        return f"lacks {missing}" if missing else None
    raise ValueError(f"unknown kind of check {kind!r}")


class Score:
    """Counts right and wrong answers by category."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.total: Counter[str] = Counter()
        self.failures: list[str] = []

    def add(self, name: str, check: dict, user: str, answer: str, finished: bool) -> None:
        kind = check["kind"]
        why = complaint(check, answer, finished)
        self._count(kind, name, why, user, answer)
        if kind == "story":
            self._count("story loops", name, "loops" if loops(answer) else None, user, answer)

    def _count(self, category: str, name: str, why: str | None, user: str, answer: str) -> None:
        self.total[category] += 1
        if why is None:
            self.right[category] += 1
        else:
            self.failures.append(
                f"{name}: {category}: {why}\n    user:   {user}\n    answer: {answer}")

    def share(self, category: str) -> float:
        return self.right[category] / self.total[category] if self.total[category] else 0.0

    def passed(self) -> bool:
        """Whether every category that was asked reached its gate."""
        return all(self.share(category) >= gate for category, gate in GATES.items()
                   if self.total[category])

    def table(self, title: str) -> str:
        lines = [f"{title:<24} {'right':>6} {'of':>6} {'share':>8} {'gate':>7}"]
        for category, gate in GATES.items():
            if not self.total[category]:
                continue
            share = self.share(category)
            lines.append(
                f"  {category:<22} {self.right[category]:>6} {self.total[category]:>6} "
                f"{share:>8.2%} {gate:>7.0%}"
                         f"{'' if share >= gate else '  MISSED'}")
        return "\n".join(lines)
