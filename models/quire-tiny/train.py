#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains quire-tiny on one GPU while other processes compose the corpus, and writes the GGUF file.

Everything lands in --out: quire-tiny.gguf (which --init continues from), eval.txt and samples.txt.
"""
import argparse
import dataclasses
import math
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import torch
from torch import Tensor

import bpe
import build_corpus
import evaluate
import gguf
from model import Config, Model, rope_tables

BETAS = (0.9, 0.95)
WEIGHT_DECAY = 0.1
CLIP = 1.0
WARM_UP = 0.02          # share of the time
LAST_RATE = 0.01        # share of the peak learning rate at the end
HERE = pathlib.Path(__file__).resolve().parent
TOKEN_MASK = build_corpus.BEGIN - 1


def log(text: str) -> None:
    print(text, flush=True)


class Corpus:
    """The rows that the composing processes have written so far, held on the GPU.

    Each row is used once while there are fresh ones; then rows are drawn again at random.
    """

    def __init__(self, directory: pathlib.Path, capacity: int, device: str, seed: int) -> None:
        self.directory = directory
        self.rows = torch.empty((capacity, build_corpus.ROW), dtype=torch.int16, device=device)
        self.count = 0
        self.next = 0
        self.repeated = 0
        self.generator = torch.Generator(device).manual_seed(seed)

    def load_new(self) -> None:
        for path in sorted(self.directory.glob("*.bin")):
            if self.count + build_corpus.ROWS_PER_SHARD <= len(self.rows):
                data = np.fromfile(path, dtype=np.uint16).view(np.int16).reshape(-1, build_corpus.
                    ROW)
                self.rows[self.count:self.count + len(data)] = torch.from_numpy(data).to(self.rows.
                    device)
                self.count += len(data)
                path.unlink()

    def batch(self, size: int) -> Tensor:
        if self.next + size <= self.count:
            self.next += size
            return self.rows[self.next - size:self.next].int()
        self.repeated += size
        index = torch.randint(self.count, (size,), generator=self.generator, device=self.rows.
            device)
        return self.rows[index].int()


class Trainer:
    def __init__(self, config: Config, batch: int, learning_rate: float, device: str) -> None:
        self.device = device
        self.model = Model(config).to(device)
        self.learning_rate = learning_rate
        self.cos, self.sin = (t[None, :, None, :] for t in rope_tables(config, device))
        self.fp8_rows = (torch.arange(batch, device=device) % 2 == 0)[:, None, None, None]
        # The mask function and its tensor stay the same objects, so that nothing is compiled twice.
        self.document = torch.zeros((batch, config.context), dtype=torch.int32, device=device)
        document = self.document
        self.mask_function = lambda b, h, q, k: (document[b, q] == document[b, k]) & (q >= k)
        self.use_flex = True
        matrices = [p for n, p in self.model.named_parameters() if p.dim() == 2 and n !=
            "token_embd.weight"]
        others = [p for n, p in self.model.named_parameters() if p.dim() != 2 or n ==
            "token_embd.weight"]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay":
             0.0}],
            lr=learning_rate, betas=BETAS, eps=1e-8, fused=device == "cuda")
        self.blocks = list(self.model.blk)
        self.loss = self.model.loss

    def compile(self) -> None:
        # One block is compiled; the others have the same code and shapes and share the result.
        self.blocks = [torch.compile(block, dynamic=False) for block in self.model.blk]
        self.loss = torch.compile(self.model.loss, dynamic=False)

    def forward(self, rows: Tensor) -> Tensor:
        """The loss of a batch of packed rows."""
        tokens = (rows & TOKEN_MASK).long()
        # Bit 15 is the sign once the row is an int16 that was widened.
        weights = (rows < 0).float()[:, 1:]
        targets = tokens[:, 1:]
        mask = None
        if self.use_flex:
            from torch.nn.attention.flex_attention import create_block_mask
            self.document.copy_(((rows & build_corpus.BEGIN) != 0).int().cumsum(1))
            batch, length = self.document.shape
            mask = create_block_mask(self.mask_function, batch, None, length, length, device=self.
                device)
        with torch.autocast(self.device, torch.bfloat16):
            x = self.model.token_embd(tokens)
            for block in self.blocks:
                x = block(x, self.cos, self.sin, self.fp8_rows, mask)
            # The last position has no target in its row; its weight is zero.
            targets = torch.cat((targets, targets[:, :1]), dim=1)
            weights = torch.cat((weights, torch.zeros_like(weights[:, :1])), dim=1)
            return self.loss(x, targets, weights)

    def step(self, rows: Tensor, done: float) -> Tensor:
        """One update; done is the share of the time that has passed."""
        rate = self.learning_rate * min(1.0, done / WARM_UP)
        rate *= LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self.forward(rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def warm_up(self, rows: Tensor) -> str:
        """Compiles by running one batch without an update; falls back to what works."""
        for name, flex, compiled in (("flex, compiled", True, True), ("causal, compiled", False,
            True),
                                     ("causal, eager", False, False)):
            try:
                torch._dynamo.reset()
                self.use_flex = flex
                self.blocks, self.loss = list(self.model.blk), self.model.loss
                if compiled:
                    self.compile()
                for _ in range(2):
                    loss = self.forward(rows)
                    loss.backward()
                    self.optimizer.zero_grad(set_to_none=True)
                log(f"first loss {loss.item():.3f}")
                return name
            except Exception as error:  # noqa: BLE001 - try the next way
                log(f"{name}: {type(error).__name__}: {str(error)[:1500]}")
                self.optimizer.zero_grad(set_to_none=True)
        raise SystemExit("no way to run the model works on this machine")


def train(trainer: Trainer, corpus: Corpus, workers: list, batch: int, seconds: float) -> None:
    started = time.monotonic()
    shown, steps, tokens = started, 0, 0
    while True:
        elapsed = time.monotonic() - started
        if elapsed >= seconds:
            break
        if steps % 20 == 0:
            corpus.load_new()
            if not all(w.is_alive() for w in workers):   # a check of the split has failed
                raise SystemExit("a composing process ended")
        loss = trainer.step(corpus.batch(batch), elapsed / seconds)
        steps += 1
        tokens += batch * build_corpus.ROW
        if steps % 25 == 0:
            value = loss.item()   # also keeps the queue of kernels short
            if not math.isfinite(value):
                raise SystemExit(f"step {steps}: the loss is {value}")
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                log(f"{shown - started:5.0f} s  step {steps:6d}  {tokens / 1e6:7.1f} M tokens  "
                    f"{tokens / (shown - started) / 1e6:5.2f} M/s  loss {value:.4f}  "
                    f"rows {corpus.count} ({corpus.repeated} repeated)")
    if trainer.device == "cuda":
        torch.cuda.synchronize()
    log(f"trained {steps} steps, {tokens / 1e6:.1f} M tokens in {time.monotonic() - started:.0f} s")


def grade(model: Model, tokenizer: bpe.Tokenizer, out: pathlib.Path, device: str,
          limit: int | None) -> None:
    """Grades the weights as the file holds them, and writes what was said."""
    rounded = evaluate.rounded_copy(model, device)
    records = [record for path in (build_corpus.EVAL_PATH, build_corpus.TOOLS_EVAL_PATH)
               for record in evaluate.load_conversations(path, limit)]
    with open(out / "eval.txt", "w", encoding="utf-8") as report:
        for title, temperature, fp8 in (("temp 0", 0.0, False), ("temp 0, fp8 cache", 0.0, True), (
            "temp 0.8", 0.8, False)):
            started = time.monotonic()
            score, said = evaluate.run(rounded, tokenizer, records, temperature, 1, fp8, device)
            table = score.table(title)
            log(f"{table}\n  {time.monotonic() - started:.0f} s")
            report.write(table + "\n" + "\n".join(score.failures) + "\n\n")
            if temperature:
                with open(out / "samples.txt", "w", encoding="utf-8") as samples:
                    for record, turns in zip(records, said):
                        samples.write(f"--- {record['id']}\n")
                        samples.writelines(f"U: {u}\nA: {a}\n" for u, a in turns)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.
        RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--train-seconds", type=float, default=400.0)
    parser.add_argument("--batch", type=int, default=64, help="rows of 2048 tokens")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 3))
    parser.add_argument("--tokenizer", type=pathlib.Path, default=HERE / "tokenizer.json")
    parser.add_argument("--init", type=pathlib.Path, help=
        "quire-tiny.gguf to continue from, made with the same tokenizer")
    parser.add_argument("--smoke", action="store_true", help="every step at a tiny scale")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    started = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = bpe.Tokenizer.load(options.tokenizer)
    config = dataclasses.replace(Config(), vocab_size=len(tokenizer.vocab))

    with tempfile.TemporaryDirectory(prefix="quire-tiny-") as temporary:
        shards = pathlib.Path(temporary)
        # The composing processes are forked before the GPU is touched.
        workers = build_corpus.start_workers(shards, options.tokenizer, options.seed, options.
            workers, 1_000_000)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(options.seed)
        torch.set_float32_matmul_precision("high")
        log(
            f"torch {torch.__version__}, "
                f"{torch.cuda.get_device_name() if device == 'cuda' else 'CPU'}, {options}")
        try:
            trainer = Trainer(config, options.batch, options.learning_rate, device)
            if options.init:
                shapes = {n: tuple(p.shape) for n, p in trainer.model.named_parameters()}
                weights = gguf.read(options.init, config, shapes)
                trainer.model.load_state_dict({n: torch.from_numpy(w) for n, w in weights.items()})
            log(f"{sum(p.numel() for p in trainer.model.parameters()) / 1e6:.2f} M parameters, "
                f"{time.monotonic() - started:.0f} s since the start")
            corpus = Corpus(shards, 40_000 if options.smoke else 2_000_000, device, options.seed)
            while corpus.count < 2 * options.batch:
                if not all(w.is_alive() for w in workers):
                    raise SystemExit("a composing process ended")
                time.sleep(0.2)
                corpus.load_new()
            attention = trainer.warm_up(corpus.rows[:options.batch].int())
            log(f"attention: {attention}, {time.monotonic() - started:.0f} s since the start")
            train(trainer, corpus, workers, options.batch, 15.0 if options.smoke else options.
                train_seconds)
        finally:
            (shards / "stop").touch()
            for worker in workers:
                worker.terminate()
                worker.join()

    weights = {n: p.detach().float().cpu().numpy() for n, p in trainer.model.named_parameters()}
    size = gguf.write(options.out / "quire-tiny.gguf", config, tokenizer, weights)
    log(f"quire-tiny.gguf: {size} bytes, {time.monotonic() - started:.0f} s since the start")
    if size > 12_000_000:
        raise SystemExit("the file is larger than 12 MB")
    grade(trainer.model, tokenizer, options.out, device, 30 if options.smoke else None)
    log(f"done after {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
