#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Composes the corpus with several processes and writes it as shards of packed token rows.

A row is ROW tokens of whole conversations. Bit 15 of a token says that the model learns to predict
it, bit 14 that a new conversation begins with it.
"""
import argparse
import array
import multiprocessing
import os
import pathlib
import random
import sys
import time

import bpe
from corpus import conversation, split
from corpus.lexicon import Lexicon, Pieces

ROW = 2048
ROWS_PER_SHARD = 512
LEARN, BEGIN = 1 << 15, 1 << 14
EVAL_PATH = pathlib.Path(__file__).parent / "eval" / "conversations.jsonl"
TOOLS_EVAL_PATH = EVAL_PATH.with_name("tools.jsonl")
MAX_WAITING = 1000   # shards on disk at a time
DROPOUT_CONVERSATIONS = 0.05   # share of conversations that are tokenized with merge dropout
_POOL = 48   # conversations that wait for a row they fit into


def word_pieces(tokenizer: bpe.Tokenizer) -> Pieces:
    """What made-up words are made of; the longer tokens more often, as few other words hold them."""
    space = bpe.byte_alphabet()[ord(" ")]
    texts = [t for t in tokenizer.vocab if t.removeprefix(space).isascii()]
    starts = [t[1:] for t in texts if t[0] == space and t[1:].isalpha()]
    return Pieces(tuple(t for t in starts if t.islower()),
        tuple(t.lower() for t in starts if t.istitle()),
        tuple(t for t in texts if t.isalpha() and t.islower() for _ in range(min(len(t), 4))))


def compose_checked(lex: Lexicon, guard: split.Guard) -> conversation.Conversation:
    """The next conversation that may be trained on."""
    while True:
        try:
            made = conversation.compose(lex)
        except ValueError:      # its triple is held out
            continue
        if guard.complaint(made.text()) is None:
            return made


def encode(tokenizer: bpe.Tokenizer, made: conversation.Conversation) -> array.array:
    turns = list(made.turns)
    while True:
        ids, learn = bpe.render(tokenizer, made.system, turns)
        if len(ids) <= ROW:
            break
        turns.pop()
    out = array.array("H", [i | LEARN if l else i for i, l in zip(ids, learn)])
    out[0] |= BEGIN
    return out


def write_shards(worker: int, seed: int, directory: pathlib.Path, tokenizer_path: pathlib.Path,
    shards: int) -> None:
    """One process: writes its shards until there are enough or a file "stop" appears."""
    rng = random.Random(f"{seed}/{worker}")
    tokenizer = bpe.Tokenizer.load(tokenizer_path)
    lex = Lexicon(rng, "train", pieces=word_pieces(tokenizer))
    guard = split.Guard(EVAL_PATH, TOOLS_EVAL_PATH)
    padding = tokenizer.end_of_text
    waiting: list[array.array] = []
    for shard in range(shards):
        rows = array.array("H")
        for _ in range(ROWS_PER_SHARD):
            row = array.array("H")
            while True:
                while len(waiting) < _POOL:
                    made = compose_checked(lex, guard)
                    problem = guard.complaint(made.text())
                    assert problem is None, problem
                    dropout = rng.random() < DROPOUT_CONVERSATIONS
                    waiting.append(encode(tokenizer.with_dropout(rng) if dropout else tokenizer,
                        made))
                room = ROW - len(row)
                fit = next((i for i, w in enumerate(waiting) if len(w) <= room), None)
                if fit is None:
                    break
                row.extend(waiting.pop(fit))
            if len(row) < ROW:
                row.append(padding | BEGIN)
                row.extend([padding] * (ROW - len(row)))
            rows.extend(row)
        while len(os.listdir(directory)) > MAX_WAITING and not (directory / "stop").exists():
            time.sleep(0.5)   # bounds disk use when the trainer is slower
        if (directory / "stop").exists():
            return
        temporary = directory / f".{worker:02d}-{shard:05d}.tmp"
        with open(temporary, "wb") as file:
            rows.tofile(file)
        temporary.rename(directory / f"{worker:02d}-{shard:05d}.bin")


def train_tokenizer(path: pathlib.Path, seed: int, conversations: int, vocab_size: int) -> None:
    """Learns the tokenizer from conversations whose names are all made up.

    So no name becomes a token of its own: a known name and one that was never seen fall into the
    same kind of pieces, and the model copies both in the same way.
    """
    started = time.monotonic()
    lex = Lexicon(random.Random(f"{seed}/tokenizer"), "train", made_up_rate=0.25, made_up_names=1.0)
    guard = split.Guard(EVAL_PATH, TOOLS_EVAL_PATH)
    texts = (compose_checked(lex, guard).text() for _ in range(conversations))
    tokenizer = bpe.train(texts, vocab_size)
    tokenizer.save(path)
    print(f"tokenizer: {len(tokenizer.vocab)} tokens in {time.monotonic() - started:.1f} s", flush=
        True)


def start_workers(directory: pathlib.Path, tokenizer_path: pathlib.Path, seed: int, workers: int,
                  shards: int) -> list[multiprocessing.Process]:
    directory.mkdir(parents=True, exist_ok=True)
    split.held_out_words()   # computed once, before the processes fork
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write_shards, args=(w, seed, directory, tokenizer_path,
        shards), daemon=True)
                 for w in range(workers)]
    for process in processes:
        process.start()
    return processes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.
        RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True, help=
        "trained first if the file is not there")
    parser.add_argument("--vocab-size", type=int, default=3072)
    parser.add_argument("--tokenizer-conversations", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--shards", type=int, default=1, help="for each worker")
    options = parser.parse_args()
    if not options.tokenizer.exists():
        train_tokenizer(options.tokenizer, options.seed, options.tokenizer_conversations, options.
            vocab_size)
    started = time.monotonic()
    processes = start_workers(options.directory, options.tokenizer, options.seed, options.workers,
        options.shards)
    for process in processes:
        process.join()
    rows = len(list(options.directory.glob("*.bin"))) * ROWS_PER_SHARD
    print(f"corpus: {rows * ROW / 1e6:.1f} M tokens in {time.monotonic() - started:.1f} s", flush=
        True)
    return max(p.exitcode or 0 for p in processes)


if __name__ == "__main__":
    sys.exit(main())
