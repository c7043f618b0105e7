# SPDX-License-Identifier: Apache-2.0
"""The network: a small Llama with a training path and a KV-cache decode path."""
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FP8_MAX = 448.0


@dataclasses.dataclass(frozen=True)
class Config:
    vocab_size: int = 3072
    width: int = 384
    layers: int = 7
    heads: int = 6
    kv_heads: int = 2
    head_size: int = 64
    hidden: int = 832
    context: int = 2048
    rope_base: float = 10000.0
    norm_eps: float = 1e-5


def rope_tables(config: Config, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """cos and sin of [position, head_size / 2] for the half-split form of RoPE."""
    half = config.head_size // 2
    frequency = config.rope_base ** (-torch.arange(half, device=device, dtype=torch.float32) / half)
    angle = torch.arange(config.context, device=device, dtype=torch.float32)[:, None] * frequency[
        None, :]
    return angle.cos(), angle.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Half-split RoPE: value i is paired with value i + head_size / 2."""
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


def round_fp8(x: Tensor) -> Tensor:
    """Rounds x as an fp8_e4m3 KV cache with scale 1 does."""
    return x.clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fn).to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        q_size, kv_size = config.heads * config.head_size, config.kv_heads * config.head_size
        self.attn_norm = RMSNorm(config.width, config.norm_eps)
        self.attn_q = nn.Linear(config.width, q_size, bias=False)
        self.attn_k = nn.Linear(config.width, kv_size, bias=False)
        self.attn_v = nn.Linear(config.width, kv_size, bias=False)
        self.attn_output = nn.Linear(q_size, config.width, bias=False)
        self.ffn_norm = RMSNorm(config.width, config.norm_eps)
        self.ffn_gate = nn.Linear(config.width, config.hidden, bias=False)
        self.ffn_up = nn.Linear(config.width, config.hidden, bias=False)
        self.ffn_down = nn.Linear(config.hidden, config.width, bias=False)

    def qkv(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values as [batch, token, head, head_size], rotated."""
        batch, tokens, _ = x.shape
        normed = self.attn_norm(x)
        size = self.config.head_size
        q = self.attn_q(normed).view(batch, tokens, self.config.heads, size)
        k = self.attn_k(normed).view(batch, tokens, self.config.kv_heads, size)
        v = self.attn_v(normed).view(batch, tokens, self.config.kv_heads, size)
        return rotate(q, cos, sin), rotate(k, cos, sin), v

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Output projection and feed-forward; attended is [batch, head, token, head_size]."""
        batch, _, tokens, _ = attended.shape
        x = x + self.attn_output(attended.transpose(1, 2).reshape(batch, tokens, -1))
        normed = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(normed)) * self.ffn_up(normed))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, fp8_rows: Tensor,
                mask: object) -> Tensor:
        """The training path. mask: a BlockMask for flex attention, or None for plain causal."""
        q, k, v = self.qkv(x, cos, sin)
        # In half of the rows keys and values are rounded as an fp8 cache would, with the gradient
        # passed straight through, so that the model keeps its answers with such a cache.
        k = k + (torch.where(fp8_rows, round_fp8(k), k) - k).detach()
        v = v + (torch.where(fp8_rows, round_fp8(v), v) - v).detach()
        group = self.config.heads // self.config.kv_heads
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        if mask is None:
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            from torch.nn.attention.flex_attention import flex_attention
            attended = flex_attention(q, k, v, block_mask=mask)
        return self.finish(x, attended)


class Cache:
    """Keys and values of a batch of conversations while they are generated."""

    def __init__(self, config: Config, batch: int, length: int, device: torch.device | str, fp8:
        bool) -> None:
        shape = (batch, length, config.kv_heads, config.head_size)
        self.k = [torch.zeros(shape, device=device) for _ in range(config.layers)]
        self.v = [torch.zeros(shape, device=device) for _ in range(config.layers)]
        self.fp8 = fp8
        self.length = length
        self.rows = torch.arange(batch, device=device)[:, None]

    def put(self, layer: int, positions: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if self.fp8:
            k, v = round_fp8(k), round_fp8(v)
        self.k[layer][self.rows, positions] = k.float()
        self.v[layer][self.rows, positions] = v.float()
        return self.k[layer].transpose(1, 2), self.v[layer].transpose(1, 2)


class Model(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.token_embd = nn.Embedding(config.vocab_size, config.width)
        self.blk = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.output_norm = RMSNorm(config.width, config.norm_eps)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                into_residual = name.endswith(("attn_output.weight", "ffn_down.weight"))
                std = 0.02 / math.sqrt(2 * config.layers) if into_residual else 0.02
                nn.init.normal_(parameter, std=std)

    def loss(self, x: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Mean cross entropy of the last hidden states over the weighted targets."""
        logits = F.linear(self.output_norm(x), self.token_embd.weight)
        losses = F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), reduction="none")
        weights = weights.flatten()
        return (losses * weights).sum() / weights.sum().clamp_min(1)

    @torch.no_grad()
    def step(self, tokens: Tensor, positions: Tensor, cache: Cache, cos: Tensor,
             sin: Tensor) -> Tensor:
        """Hidden states of [batch, token] tokens at their positions, after the last norm."""
        x = self.token_embd(tokens)
        cos, sin = cos[positions][:, :, None], sin[positions][:, :, None]
        seen = torch.arange(cache.length, device=tokens.device)[None, None, :] <= positions[:, :,
            None]
        group = self.config.heads // self.config.kv_heads
        for layer, block in enumerate(self.blk):
            q, k, v = block.qkv(x, cos, sin)
            keys, values = cache.put(layer, positions, k, v)
            attended = F.scaled_dot_product_attention(
                q.transpose(1, 2), keys.repeat_interleave(group, dim=1), values.repeat_interleave(
                    group, dim=1),
                attn_mask=seen[:, None])
            x = block.finish(x, attended)
        return self.output_norm(x)
