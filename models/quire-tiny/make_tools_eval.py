#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes eval/tools.jsonl: 150 conversations with tools or JSON, of held-out words and phrasings.

A record with tools has them twice: as a request offers them ("tools") and as the template writes
them ("system"). A turn with "results" is what a host sends back after the call before it.
"""
import argparse
import json
import pathlib
import random
import sys

from corpus import about, everyday, json_answers, talk, tools
from corpus.expand import choose
from corpus.lexicon import Lexicon

SEED = 20261123
COUNTS = {"sums": 30, "weather": 40, "other": 30, "json": 50}
PATH = pathlib.Path(__file__).parent / "eval" / "tools.jsonl"


def _task_record(lex: Lexicon, kind: str) -> dict:
    offered = tools.offered(lex.rng, kind)
    tool = next(tool for tool in offered if tool.kind == kind)
    task = tools.task(lex, tool, held_out=True)
    return {"system": tools.system_text(offered), "tools": [tool.schema() for tool in offered],
            "turns": [{"user": task.asked, "check": {"kind": "tool call", "calls": task.calls}},
                      {"user": tools.results_text(task.results), "results": task.results,
                       "check": {"kind": "tool answer", "all": task.expected}}]}


def _other_record(lex: Lexicon, at: int) -> dict:
    """Tools are offered, and the question is for none of them."""
    rng = lex.rng
    offered = tools.offered(rng, "weather")
    if at % 3 == 0:
        asked = talk.turn(lex)[0]
    elif at % 3 == 1:
        asked = about.question(rng, choose(rng, about.FACTS), held_out=True)
    else:
        asked = everyday.unfinished(rng, held_out=True)[0]
    return {"system": tools.system_text(offered), "tools": [tool.schema() for tool in offered],
            "turns": [{"user": asked, "check": {"kind": "no tool"}}]}


def _json_record(lex: Lexicon) -> dict:
    tasks = json_answers.tasks(lex, held_out=True)
    return {"turns": [{"user": task.asked, "schema": task.schema(),
                       "check": {"kind": "json", "value": task.value}} for task in tasks]}


def conversations() -> list[dict]:
    lex = Lexicon(random.Random(SEED), "eval")
    makers = {"sums": lambda i: _task_record(lex, "calculate"),
              "weather": lambda i: _task_record(lex, "weather"),
              "other": lambda i: _other_record(lex, i), "json": lambda i: _json_record(lex)}
    return [{"id": f"{category}-{i:03d}", "category": category, **makers[category](i)}
            for category, count in COUNTS.items() for i in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help=
        "write nothing, fail if the file is out of date")
    options = parser.parse_args()
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in conversations())
    if options.check:
        if PATH.read_text(encoding="utf-8") != text:
            print(f"{PATH} does not fit the composers: run make_tools_eval.py", file=sys.stderr)
            return 1
        return 0
    PATH.write_text(text, encoding="utf-8")
    print(f"{PATH}: {sum(COUNTS.values())} conversations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
