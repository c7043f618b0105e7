# SPDX-License-Identifier: Apache-2.0
"""Evaluation inside the trainer: runs the 360 conversations on the PyTorch network."""
import json
import pathlib
import sys

import numpy as np
import torch
from torch import Tensor

import bpe
import gguf
from model import Cache, Config, Model, rope_tables

sys.path.insert(0, str(pathlib.Path(__file__).parent / "eval"))
import grading  # noqa: E402

MAX_ANSWER = 320


def rounded_copy(model: Model, device: str) -> Model:
    """The network as the GGUF file will hold it: matrices rounded to Q8_0."""
    copy = Model(model.config).to(device)
    with torch.no_grad():
        for (_, target), (_, source) in zip(copy.named_parameters(), model.named_parameters()):
            array = source.detach().float().cpu().numpy()
            if array.ndim == 2:
                array = gguf.q8_0_round_trip(array)
            target.copy_(torch.from_numpy(np.ascontiguousarray(array)))
    return copy.eval()


def choose_token(logits: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """Greedy at temperature 0, else top-k 40 and top-p 0.95."""
    if temperature == 0:
        return logits.argmax(-1)
    top, index = (logits / temperature).topk(40, dim=-1)
    share = top.softmax(-1)
    before = share.cumsum(-1) - share
    share = torch.where(before < 0.95, share, 0.0)
    return index.gather(-1, torch.multinomial(share, 1, generator=generator)).squeeze(-1)


@torch.no_grad()
def generate(model: Model, prompts: list[list[int]], stop: int, temperature: float, generator:
    torch.Generator | None,
             fp8: bool, device: str) -> list[tuple[list[int], bool]]:
    """Answers to all prompts together: (ids without the stop token, whether the answer ended)."""
    config: Config = model.config
    longest = max(map(len, prompts))
    length = min(config.context, longest + MAX_ANSWER)
    cos, sin = rope_tables(config, device)
    cache = Cache(config, len(prompts), length, device, fp8)
    lengths = torch.tensor([len(p) for p in prompts], device=device)
    padded = torch.zeros((len(prompts), longest), dtype=torch.long, device=device)
    for row, prompt in enumerate(prompts):
        padded[row, :len(prompt)] = torch.tensor(prompt, device=device)
    # Padding keys follow each prompt; they are overwritten before they become visible.
    positions = torch.arange(longest, device=device)[None].expand(len(prompts), -1)
    hidden = model.step(padded, positions, cache, cos, sin)
    last = hidden[torch.arange(len(prompts), device=device), lengths - 1]
    done = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    out: list[Tensor] = []
    for _ in range(MAX_ANSWER):
        logits = last @ model.token_embd.weight.T
        token = choose_token(logits, temperature, generator)
        token = torch.where(done, torch.full_like(token, stop), token)
        out.append(token)
        done = done | (token == stop) | (lengths >= length - 1)
        if bool(done.all()):
            break
        position = lengths.clamp(max=length - 1)
        last = model.step(token[:, None], position[:, None], cache, cos, sin)[:, 0]
        lengths = lengths + 1
    columns = torch.stack(out, dim=1).tolist()
    answers = []
    for ids in columns:
        ended = stop in ids
        answers.append((ids[:ids.index(stop)] if ended else ids, ended))
    return answers


def load_conversations(path: pathlib.Path, limit: int | None = None) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return records[::max(1, len(records) // limit)] if limit else records


def run(model: Model, tokenizer: bpe.Tokenizer, records: list[dict], temperature: float, seed: int,
    fp8: bool,
        device: str) -> tuple[grading.Score, list[list[tuple[str, str]]]]:
    """Grades all conversations; gives the score and what was said."""
    generator = torch.Generator(device).manual_seed(seed) if temperature else None
    said: list[list[tuple[str, str]]] = [[] for _ in records]
    score = grading.Score()
    for at in range(max(len(r["turns"]) for r in records)):
        active = [i for i, r in enumerate(records) if len(r["turns"]) > at]
        for start in range(0, len(active), 100):
            part = active[start:start + 100]
            prompts = []
            for i in part:
                turns = [*said[i], (records[i]["turns"][at]["user"], None)]
                ids = bpe.render(tokenizer, records[i].get("system"), turns)[0]
                prompts.append(ids[:model.config.context - 2])
            answers = generate(model, prompts, tokenizer.im_end, temperature, generator, fp8,
                device)
            for i, (ids, ended) in zip(part, answers):
                turn, text = records[i]["turns"][at], tokenizer.decode(ids)
                said[i].append((turn["user"], text))
                if "check" in turn:
                    score.add(records[i]["id"], turn["check"], turn["user"], text, ended)
    return score, said
