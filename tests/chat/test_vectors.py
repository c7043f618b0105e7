#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Embeddings and scores by quire-chat --embed and --rerank, of a small encoder of random weights.

usage: test_vectors.py QUIRE_CHAT SOURCE_DIR
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import time

PROGRAM, SOURCE = sys.argv[1:]
sys.path.insert(0, os.path.join(SOURCE, "tests", "serve"))
import tiny_bert  # noqa: E402

LINES = ["the fox " * (i % 9 + 1) for i in range(100)]
failed = 0


def check(what, passed):
    global failed
    if not passed:
        print("FAILED:", what)
        failed += 1


def run(*arguments, text="", code=0):
    """Standard output and error; the exit code must be `code`."""
    done = subprocess.run([PROGRAM, "-t", "2", *arguments], input=text, capture_output=True, text=True, timeout=120,
                          check=False)
    check(f"exit code {done.returncode}, not {code}, of {arguments}: {done.stderr}", done.returncode == code)
    return done.stdout, done.stderr


def vectors(*arguments, text=""):
    return [[float(v) for v in line.split(" ")] for line in run(*arguments, text=text)[0].splitlines()]


def length(v):
    return math.sqrt(sum(x * x for x in v))


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) < 1e-6 for x, y in zip(a, b))


def check_embeddings(model):
    embed = "-q", "-m", model, "--embed"
    alone = run(*embed, "the big fox")[0]
    batch = run(*embed, text="\n".join(["a hill", "the big fox", *LINES]))[0].splitlines()
    check("the same bits alone and among others", alone == batch[1] + "\n")
    check("a vector per line, also the last one without an end", len(batch) == len(LINES) + 2)
    check("line ends of other systems", run(*embed, text="the big fox\r\n")[0] == alone)
    raw = vectors(*embed, "--no-normalize", "the big fox")[0]
    check("the width of the model", len(raw) == tiny_bert.WIDTH)
    check("length 1", near([x / length(raw) for x in raw], vectors(*embed, "the big fox")[0]))
    first = raw[:5]
    check("the first numbers", near([x / length(first) for x in first],
                                    vectors(*embed, "--dimensions", "5", "-p", "the big fox")[0]))
    by_name = {name: vectors(*embed, "--no-normalize", "--pooling", name, "the big fox")[0]
               for name in ("mean", "cls", "last")}
    check("the model's pooling is the mean", by_name["mean"] == raw)
    check("different poolings", by_name["cls"] != raw and by_name["last"] not in (raw, by_name["cls"]))
    event = json.loads(run(*embed, "--json", "the big fox")[0])
    check("the event", event["event"] == "embedding" and event["index"] == 0 and event["prompt_tokens"] == 5
          and event["embedding"] == [float(x) for x in alone.split(" ")])
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("the big\nfox\n")
        file.flush()
        check("a file is one text", run(*embed, "-f", file.name)[0] == alone)


def check_decoder():
    """The bundled model: hidden states of a decoder."""
    both = vectors("-q", "--embed", text="Hello!\nGood morning\n")
    check("a decoder", len(both) == 2 and all(abs(length(v) - 1) < 1e-5 for v in both) and both[0] != both[1])


def check_conversation(model):
    """A program that waits for each vector before it writes the next line."""
    with subprocess.Popen([PROGRAM, "-q", "-m", model, "--embed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        for line in LINES[:3]:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            check("an answer to each line", len(process.stdout.readline().split(" ")) == tiny_bert.WIDTH)
            time.sleep(0.01)
        process.stdin.close()
        check("the end of input", process.wait(60) == 0)


def check_scores(reranker, classifier):
    rerank = "-q", "-m", reranker, "--rerank", "who lives here?"
    scores = run(*rerank, text="the hill\nthe fox\n")[0].splitlines()
    check("a number per line", len(scores) == 2 and all(0 < float(s) < 1 for s in scores))
    event = json.loads(run(*rerank, "--json", "the fox")[0])
    check("the event of a score", event["event"] == "score" and event["score"] == float(scores[1]))
    check("several labels", "gives 3 scores" in run("-m", classifier, "--rerank", "q", "x", code=65)[1])
    check("no reranker", "gives 0 scores" in run("--rerank", "q", "x", code=65)[1])


def check_bad_input(model):
    embed = "-q", "-m", model, "--embed"
    out, err = run(*embed, "--dimensions", "2", text="the fox\n\nhill\n", code=65)
    check("an empty line", len(out.splitlines()) == 1 and "line 2: the text is empty" in err)
    check("a long line", "line 1: " in run(*embed, text="the fox " * 100, code=65)[1])
    check("a long text", "tokens" in run(*embed, "the fox " * 100, code=65)[1])
    check("dimensions", "--dimensions 99 is above" in run(*embed, "--dimensions", "99", "x", code=64)[1])
    check("a pooling", "--pooling" in run(*embed, "--pooling", "first", "x", code=64)[1])
    check("no pooler", "pooler" in run("-q", "--embed", "--pooling", "pooler", "x", code=65)[1])
    check("both", "one of" in run("--embed", "--rerank", "q", "x", code=64)[1])
    check("interactive", "--interactive" in run("--embed", "-i", "x", code=64)[1])
    check("an empty query", "query is empty" in run("--rerank", "", "x", code=64)[1])
    for option in ("--pooling", "cls"), ("--dimensions", "3"), ("--no-normalize",):
        check("an option without effect", "without --embed" in run(*option, "x", code=64)[1])
    check("an encoder in a conversation", "give --embed" in run("-m", model, "Hello!", code=65)[1])


def main():
    with tempfile.TemporaryDirectory() as scratch:
        encoder, reranker, classifier = (tiny_bert.write(f"{scratch}/{labels}", labels) for labels in (0, 1, 3))
        check_embeddings(encoder)
        check_decoder()
        check_conversation(encoder)
        check_scores(reranker, classifier)
        check_bad_input(encoder)
    print("failed:", failed)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
