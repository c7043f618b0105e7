#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the composers of quire-tiny: the chat template in bpe.py against the texts that the
composers write, right and wrong answers against the grader, the evaluations against the word lists.

Usage: quire_tiny.py QUIRE_EVAL
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[2] / "models" / "quire-tiny"
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE / "eval")]
import bpe  # noqa: E402
import grading  # noqa: E402
from corpus import tools  # noqa: E402
from corpus.lexicon import Lexicon  # noqa: E402

CASES = 60


def plain(system: str | None, turns: list[tuple[str, str | None]]) -> str:
    """A conversation in ChatML, written out without a template."""
    text = "" if system is None else f"<|im_start|>system\n{system}<|im_end|>\n"
    for user, assistant in turns:
        text += f"<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
        text += "" if assistant is None else f"{assistant}<|im_end|>\n"
    return text


def template_file(lex: Lexicon) -> dict:
    """Cases for `quire-eval template`: one conversation with tools, and one without."""
    rng = lex.rng
    offered = tools.offered(rng)
    task = tools.task(lex, rng.choice(offered))
    before = rng.choice([None, "Be kind."])
    as_text = rng.random() < 0.5
    start = [{"role": "system", "content": before}] if before else []
    start += [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello!"}]
    asked = [{"role": "user", "content": task.asked}]
    calls = [{"id": f"call-{i}", "type": "function", "function": {
        "name": call["name"], "arguments": json.dumps(call["arguments"], ensure_ascii=False)
        if as_text else call["arguments"]}} for i, call in enumerate(task.calls)]
    answered = [{"role": "assistant", "content": None, "tool_calls": calls}]
    answered += [{"role": "tool", "tool_call_id": f"call-{i}", "content": result}
                 for i, result in enumerate(task.results)]
    turns = [("Hi!", "Hello!"), (task.asked, tools.calls_text(task.calls)),
             (tools.results_text(task.results), None)]
    return {
        "bos_token": "", "eos_token": "", "tools": [tool.schema() for tool in offered],
        "conversations": {"called": start + asked + answered, "plain": start + asked},
        "cases": {
            "called+gen+tools": {"rendered": plain(tools.system_text(offered, before), turns)},
            "plain+gen": {"rendered": plain(before, [("Hi!", "Hello!"), (task.asked, None)])}}}


def check_template(program: str) -> None:
    lex = Lexicon(random.Random(1), "eval")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i in range(CASES):
            path = pathlib.Path(folder) / f"{i}.expected.json"
            path.write_text(json.dumps(template_file(lex)), encoding="utf-8")
            (path.parent / f"{i}.jinja").write_text(bpe.CHAT_TEMPLATE, encoding="utf-8")
            paths.append(str(path))
        done = subprocess.run([program, "template", *paths], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    print(f"template: {2 * CASES} conversations")


def check_grader() -> None:
    """The answers that the composers would give are right, another answer is wrong."""
    count = 0
    for line in (HERE / "eval" / "tools.jsonl").read_text(encoding="utf-8").splitlines():
        for turn in json.loads(line)["turns"]:
            check = turn["check"]
            right, wrong = "Hello!", tools.calls_text([{"name": "none", "arguments": {}}])
            if check["kind"] == "tool call":
                right, wrong = tools.calls_text(check["calls"]), "Hello!"
            elif check["kind"] == "tool answer":
                right, wrong = " ".join(check["all"]), "Hello!"
            elif check["kind"] == "json":
                right, wrong = json.dumps(check["value"]), "{}"
            assert grading.complaint(check, right, True) is None, (check, right)
            assert grading.complaint(check, wrong, True) is not None, (check, wrong)
            count += 1
    assert count > 200
    print(f"grader: {count} answers")


def main() -> int:
    check_template(sys.argv[1])
    check_grader()
    for name in ("make_eval.py", "make_tools_eval.py"):
        subprocess.run([sys.executable, str(HERE / name), "--check"], check=True)
    print("evaluations: up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
