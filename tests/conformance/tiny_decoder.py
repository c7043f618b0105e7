# SPDX-License-Identifier: Apache-2.0
"""A decoder with options as a tiny random model: folder, GGUF file and logits in double precision.

Used by tiny_families.py and tiny_latent.py.
"""
import json
import math
import os
import random
import struct
import subprocess
import tempfile

import tiny_models as tiny
from tiny_models import GGUF_BOOL, GGUF_F32, GGUF_STR, GGUF_U32

VOCAB, HIDDEN, FFN, HEADS, KV_HEADS, HEAD, LAYERS = 48, 32, 48, 4, 2, 8, 4
EXPERTS, TOP_K, EXPERT_FFN, GROUPS, TOP_GROUPS = 8, 2, 16, 4, 2
WINDOW, THETA, EPS = 8, 10000.0, 1e-5
PROMPTS = (7, 33, 60)
ABSENT = object()  # a key that the family's config.json does not have


def to_bf16(x):
    return struct.unpack("<f", b"\0\0" + struct.pack("<f", x)[2:])[0]


def pack_bf16(values):
    return b"".join(struct.pack("<f", v)[2:] for v in values)


def relu(x):
    return max(x, 0)


def relu2(x):
    return max(x, 0) ** 2


def renamed(*pairs):
    def apply(tensors):
        out = {}
        for name, tensor in tensors.items():
            for old, new in pairs:
                name = name.replace(old, new)
            out[name] = tensor
        return out
    return apply


def fused_gguf(tensors, gates):
    """GGUF tensors with q, k and v as one, and if `gates`, gate and up."""
    out = {}
    for name, (shape, values) in tensors.items():
        for parts, whole in [(("attn_q", "attn_k", "attn_v"), "attn_qkv")] + [(("ffn_gate", "ffn_up"), "ffn_up")] * gates:
            part = name.split(".")[2] if name.startswith("blk.") else name
            if part in parts:
                name = name.replace(f".{part}.", f".{whole}.")
                before = out.get(name, ([0] + shape[1:], []))
                shape, values = [before[0][0] + shape[0]] + shape[1:], before[1] + values
        out[name] = (shape, values)
    return out


class Model:
    """Llama with options:
    norm: "rms", "layer" (without bias) or "layer_bias"
    block: "pre" (norms of inputs), "output" (norms of outputs), "parallel" (one norm, both sublayers)
    rope_dim: rotated elements of a head; theta: the base, local_theta: that of windows, if not None; pairs:
    interleaved in the folder
    no_rope, windows: layer numbers; scores see `WINDOW` keys in windows
    alibi: ALiBi instead of RoPE; layers: their number
    qk: None, "head" (one weight vector for all heads), "heads" (one per head), "full" (over all heads), "unit" (no
    weights, behind RoPE, in layers with RoPE); qk_late: after RoPE
    bias: projections with a bias, of "qkvo" and "f", the feed-forward network; gated: it has a gate
    loops: the layers run so many times, with the final norm between two loops if loop_norm
    sub_norms: norms of the inputs of o and down (BitNet); act: the activation
    bf16: weights that BF16 can hold, stored so; the folder is checked in native mode, too
    moe: experts from layer `dense` on: "sigmoid" (correction, groups, a shared expert), "softmax" (two shared
    experts), "alone" (softmax, none) or "input" (the best one, whose sigmoid multiplies its input, and a shared
    expert) or "scored" (sigmoid, none); early: chosen by the layer's input; moe_step: in every n-th layer; n_experts:
    their number; groups: of "sigmoid", how many and how many of them are chosen; renormalize: weights are divided by
    their sum; average: the output of experts and shared experts is halved
    mtp: a head of multi-token prediction behind the last layer; mtp_names: its tensors in the folder, mtp_gguf: the
    name of its final norm; hidden_first: the order of its input
    scales: factors of embedding, residual and logits
    causal: an encoder if false, without an LM head, whose final states are compared
    tied: the LM head is the embedding
    unit_head: rows of the LM head are divided by their lengths; the folder repeats the vocabulary, its rows of the
    LM head with other lengths, up to this many tokens
    folder(tensors), names: changes of the tensors in the folder; config: keys of config.json, where model_type is
    `outer` and the model's keys are in text_config, if that is not None
    gguf: architecture or None; gguf_pairs: interleaved in the GGUF file; gguf_fused: q, k and v are one tensor, and
    unless it is "qkv" gate and up; keys: its metadata
    """

    def __init__(self, name, **options):
        self.name, self.norm, self.block = name, "rms", "pre"
        self.rope_dim, self.theta, self.pairs, self.no_rope, self.windows = HEAD, THETA, False, (), ()
        self.qk, self.qk_late, self.bias, self.moe, self.mtp = None, False, "", None, False
        self.mtp_names, self.mtp_gguf, self.hidden_first = (), "nextn.shared_head_norm", False
        self.n_experts, self.moe_step, self.groups, self.renormalize = EXPERTS, 1, (GROUPS, TOP_GROUPS), True
        self.local_theta, self.early, self.average = None, False, False
        self.loops, self.loop_norm = 1, True
        self.dense, self.layers, self.alibi, self.unit_head = 1, LAYERS, False, 0
        self.sub_norms, self.act, self.bf16, self.gated = False, tiny.silu, False, True
        self.scales, self.folder, self.config = (1.0, 1.0, 1.0), lambda t: t, {}
        self.gguf, self.gguf_pairs, self.keys, self.gguf_ffn_norm = None, False, [], "ffn_norm"
        self.gguf_fused, self.outer, self.causal, self.tied = False, None, True, False
        for key, value in options.items():
            assert hasattr(self, key), key
            setattr(self, key, value)
        self.w = tiny.Weights(sum(name.encode()))
        self.fill()
        if self.bf16:
            for gguf, shape, values in self.w.tensors.values():
                values[:] = [to_bf16(v) for v in values]

    # ---- Weights, by the names of Llama

    def add_norm(self, hf, gguf, size=HIDDEN):
        self.w.add(f"{hf}.weight", f"{gguf}.weight", [size], 1, 0.3)
        if self.norm == "layer_bias":
            self.w.add(f"{hf}.bias", f"{gguf}.bias", [size], 0, 0.2)

    def add_mlp(self, hf, blk, suffix, ffn, expert=None):
        for part, shape in (("gate", [ffn, HIDDEN]), ("up", [ffn, HIDDEN]), ("down", [HIDDEN, ffn])):
            if part == "gate" and not self.gated:
                continue
            name = f"{blk}ffn_{part}{suffix}.weight"
            self.w.add(f"{hf}{part}_proj.weight", name if expert is None else (name, self.n_experts), shape)
            if "f" in self.bias:
                self.w.add(f"{hf}{part}_proj.bias", f"{blk}ffn_{part}{suffix}.bias", shape[:1], 0, 0.3)

    def fill_attention(self, hf, blk):
        w = self.w
        for part, gguf, rows, cols in (("q", "q", HEADS * HEAD, HIDDEN), ("k", "k", KV_HEADS * HEAD, HIDDEN),
                                       ("v", "v", KV_HEADS * HEAD, HIDDEN), ("o", "output", HIDDEN, HEADS * HEAD)):
            w.add(f"{hf}self_attn.{part}_proj.weight", f"{blk}attn_{gguf}.weight", [rows, cols])
            if part == "o" and self.sub_norms:
                self.add_norm(f"{hf}self_attn.attn_sub_norm", f"{blk}attn_sub_norm", HEADS * HEAD)
                self.add_norm(f"{hf}mlp.ffn_sub_norm", f"{blk}ffn_sub_norm", FFN)
            if part in self.bias:
                w.add(f"{hf}self_attn.{part}_proj.bias", f"{blk}attn_{gguf}.bias", [rows], 0, 0.3)
        for part, n in (("q", HEADS), ("k", KV_HEADS)) if self.qk in ("head", "heads", "full") else ():
            shape = {"head": [HEAD], "heads": [n, HEAD], "full": [n * HEAD]}[self.qk]
            w.add(f"{hf}self_attn.{part}_norm.weight", f"{blk}attn_{part}_norm.weight", shape, 1, 0.5)

    def fill(self):
        w = self.w
        w.add("model.embed_tokens.weight", "token_embd.weight", [VOCAB, HIDDEN], 0, 1)
        if self.tied:
            w.tensors["lm_head.weight"] = (None, *w.tensors["model.embed_tokens.weight"][1:])
        elif self.causal:
            w.add("lm_head.weight", "output.weight", [VOCAB, HIDDEN])
        self.add_norm("model.norm", "output_norm")
        for i in range(self.layers + self.mtp):
            hf, blk = f"model.layers.{i}.", f"blk.{i}."
            self.fill_attention(hf, blk)
            if self.block == "output":
                self.add_norm(f"{hf}post_attention_layernorm", f"{blk}post_attention_norm")
                self.add_norm(f"{hf}post_feedforward_layernorm", f"{blk}post_ffw_norm")
            else:
                self.add_norm(f"{hf}input_layernorm", f"{blk}attn_norm")
            if self.block == "pre":
                self.add_norm(f"{hf}post_attention_layernorm", f"{blk}{self.gguf_ffn_norm}")
            if self.has_experts(i):
                w.add(f"{hf}mlp.gate.weight", f"{blk}ffn_gate_inp.weight", [self.n_experts, HIDDEN])
                if self.moe == "sigmoid":
                    w.add(f"{hf}mlp.gate.e_score_correction_bias", f"{blk}exp_probs_b.bias", [EXPERTS], 0, 0.3)
                for e in range(self.n_experts):
                    self.add_mlp(f"{hf}mlp.experts.{e}.", blk, "_exps", EXPERT_FFN, e)
                shared = 2 * EXPERT_FFN if self.moe == "softmax" else EXPERT_FFN
                if self.moe not in ("alone", "scored"):
                    self.add_mlp(f"{hf}mlp.shared_experts.", blk, "_shexp", shared)
            else:
                self.add_mlp(f"{hf}mlp.", blk, "", FFN)
        if self.mtp:
            w.add(f"model.layers.{LAYERS}.eh_proj.weight", f"blk.{LAYERS}.nextn.eh_proj.weight", [HIDDEN, 2 * HIDDEN])
            self.add_norm(f"model.layers.{LAYERS}.enorm", f"blk.{LAYERS}.nextn.enorm")
            self.add_norm(f"model.layers.{LAYERS}.hnorm", f"blk.{LAYERS}.nextn.hnorm")
            self.add_norm(f"model.layers.{LAYERS}.shared_head.norm", f"blk.{LAYERS}.{self.mtp_gguf}")

    # ---- The forward pass

    def normed(self, x, name):
        weight, bias = self.w.vector(f"{name}.weight"), self.w.vector(f"{name}.bias")
        return tiny.rms_norm(x, weight) if self.norm == "rms" else tiny.layer_norm(x, weight, bias)

    def rotate(self, x, position, layer=None):
        out, half = list(x), self.rope_dim // 2
        theta = self.local_theta if self.local_theta and layer in self.windows else self.theta
        for i in range(half):
            angle = position * theta ** (-2 * i / self.rope_dim)
            a, b = (2 * i, 2 * i + 1) if self.pairs else (i, i + half)
            out[a] = x[a] * math.cos(angle) - x[b] * math.sin(angle)
            out[b] = x[b] * math.cos(angle) + x[a] * math.sin(angle)
        return out

    def head(self, x, hf, part, h, layer, position):
        """Norm and RoPE of a head of q or k."""
        def norm(v):
            if self.qk in (None, "full"):
                return v
            weight = self.w.vector(f"{hf}self_attn.{part}_norm.weight")
            weight = weight if self.qk == "head" else weight[h * HEAD:(h + 1) * HEAD]
            return (tiny.rms_norm if self.norm == "rms" else tiny.layer_norm)(v, weight)
        plain = self.alibi or layer in self.no_rope
        if self.qk == "unit":
            return x if plain else tiny.rms_norm(self.rotate(x, position, layer), [1] * HEAD)
        turned = (lambda v: v) if plain else lambda v: self.rotate(v, position, layer)
        return norm(turned(x)) if self.qk_late else turned(norm(x))

    def project(self, hf, part, x):
        y, bias = tiny.matvec(self.w.matrix(f"{hf}{part}_proj.weight"), x), self.w.vector(f"{hf}{part}_proj.bias")
        return tiny.add(y, bias) if bias else y

    def attention(self, layer, xs):
        hf, rows = f"model.layers.{layer}.", {"q": [], "k": [], "v": []}
        for position, x in enumerate(xs):
            for part in "qkv":
                row = self.project(f"{hf}self_attn.", part, x)
                if self.qk == "full" and part != "v":
                    row = self.normed(row, f"{hf}self_attn.{part}_norm")
                heads = tiny.heads_of(row)
                rows[part].append(heads if part == "v" else
                                  [self.head(v, hf, part, h, layer, position) for h, v in enumerate(heads)])
        window = WINDOW if layer in self.windows else 0
        slopes = [2 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)] if self.alibi else None
        outs = [tiny.attend(rows["q"][i], rows["k"], rows["v"], i if self.causal else len(xs) - 1, window, slopes)
                for i in range(len(xs))]
        return [self.project(f"{hf}self_attn.", "o", self.sub_norm(y, f"{hf}self_attn.attn")) for y in outs]

    def sub_norm(self, x, name):
        return self.normed(x, f"{name}_sub_norm") if self.sub_norms else x

    def mlp(self, hf, x):
        y = self.project(hf, "up", x)
        y = [self.act(g) * u for g, u in zip(self.project(hf, "gate", x), y)] if self.gated else [self.act(u) for u in y]
        return self.project(hf, "down", self.sub_norm(y, f"{hf}ffn"))

    def grouped(self, hf, scores):
        """Experts chosen by score and correction from the groups whose two best experts have the largest sum."""
        choice, (n, used) = tiny.add(scores, self.w.vector(f"{hf}mlp.gate.e_score_correction_bias")), self.groups
        size = EXPERTS // n
        best_two = [sum(sorted(choice[g * size:(g + 1) * size])[-2:]) for g in range(n)]
        groups = sorted(range(n), key=lambda g: -best_two[g])[:used]
        return sorted((e for g in groups for e in range(g * size, (g + 1) * size)), key=lambda e: -choice[e])[:TOP_K]

    def has_experts(self, layer):
        return self.moe and layer >= self.dense and (layer + 1) % self.moe_step == 0

    def experts(self, hf, x, early):
        logits = tiny.matvec(self.w.matrix(f"{hf}mlp.gate.weight"), early if self.early else x)
        if self.moe == "input":
            best = max(range(self.n_experts), key=lambda e: logits[e])
            out = self.mlp(f"{hf}mlp.experts.{best}.", [v / (1 + math.exp(-logits[best])) for v in x])
            return tiny.add(self.mlp(f"{hf}mlp.shared_experts.", x), out)
        sigmoid = self.moe == "sigmoid"
        scores = [1 / (1 + math.exp(-s)) if self.moe in ("sigmoid", "scored") else math.exp(s) for s in logits]
        chosen = self.grouped(hf, scores) if sigmoid else sorted(range(EXPERTS), key=lambda e: -scores[e])[:TOP_K]
        total, scale = sum(scores[e] for e in (chosen if self.renormalize else range(EXPERTS))), 2.5 if sigmoid else 1.0
        outs = [[scale * scores[e] / total * y for y in self.mlp(f"{hf}mlp.experts.{e}.", x)] for e in chosen]
        return tiny.add(*outs) if self.moe in ("alone", "scored") else tiny.add(self.mlp(f"{hf}mlp.shared_experts.", x), *outs)

    def feed_forward(self, layer, x, early=None):
        hf = f"model.layers.{layer}."
        if not self.has_experts(layer):
            return self.mlp(f"{hf}mlp.", x)
        return [v / 2 if self.average else v for v in self.experts(hf, x, early)]

    def layer(self, i, xs):
        hf, residual = f"model.layers.{i}.", self.scales[1]
        plus = lambda x, y: [a + residual * b for a, b in zip(x, y)]
        if self.block == "output":
            xs = [plus(x, self.normed(a, f"{hf}post_attention_layernorm")) for x, a in zip(xs, self.attention(i, xs))]
            return [plus(x, self.normed(self.feed_forward(i, x), f"{hf}post_feedforward_layernorm")) for x in xs]
        inputs = [self.normed(x, f"{hf}input_layernorm") for x in xs]
        att = self.attention(i, inputs)
        if self.block == "parallel":
            return [plus(x, tiny.add(a, self.feed_forward(i, n))) for x, a, n in zip(xs, att, inputs)]
        early, xs = xs, [plus(x, a) for x, a in zip(xs, att)]
        return [plus(x, self.feed_forward(i, self.normed(x, f"{hf}post_attention_layernorm"), e))
                for x, e in zip(xs, early)]

    def logits(self, ids):
        """Of the model, and of its head of multi-token prediction at all tokens but the last. Of an encoder: its states."""
        table = self.w.matrix("model.embed_tokens.weight")
        xs = [[self.scales[0] * v for v in table[i]] for i in ids]
        head = self.w.matrix("lm_head.weight") if self.causal else None
        if self.unit_head:
            head = [[v / math.sqrt(sum(u * u for u in row)) for v in row] for row in head]
        for loop in range(self.loops):
            for i in range(self.layers):
                xs = self.layer(i, xs)
            if self.loop_norm or loop == self.loops - 1:
                xs = [self.normed(x, "model.norm") for x in xs]
        if not self.causal:
            return xs, []
        further = self.mtp_layer([table[i] for i in ids[1:]], xs[:-1]) if self.mtp else []
        return tuple([[self.scales[2] * y for y in tiny.matvec(head, x)] for x in rows] for rows in (xs, further))

    def mtp_layer(self, embeddings, states):
        at, rows = f"model.layers.{LAYERS}.", []
        for e, h in zip(embeddings, states):
            parts = [self.normed(e, f"{at}enorm"), self.normed(h, f"{at}hnorm")]
            both = parts[1] + parts[0] if self.hidden_first else parts[0] + parts[1]
            rows.append(tiny.matvec(self.w.matrix(f"{at}eh_proj.weight"), both))
        return [self.normed(x, f"{at}shared_head.norm") for x in self.layer(LAYERS, rows)]

    # ---- Files

    def write_folder(self, folder):
        os.mkdir(folder)
        eps = {"rms_norm_eps": EPS} if self.norm == "rms" else {"layer_norm_eps": EPS}
        config = {"vocab_size": self.unit_head or VOCAB, "hidden_size": HIDDEN, "intermediate_size": FFN, "num_attention_heads": HEADS,
                  "num_hidden_layers": self.layers, "num_key_value_heads": KV_HEADS, "hidden_act": "silu",
                  "max_position_embeddings": 256, "rope_theta": THETA, "tie_word_embeddings": self.tied,
                  "model_type": self.name, **eps, **self.config}
        config = {k: v for k, v in config.items() if v is not ABSENT}
        config = {"model_type": self.outer, "text_config": config} if self.outer else config
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(config, f)
        plain = {hf: (shape, values) for hf, (_, shape, values) in self.w.tensors.items()
                 if not (self.tied and hf == "lm_head.weight")}
        plain = self.repeated(renamed(*self.mtp_names)(plain))
        dtype, pack = ("BF16", pack_bf16) if self.bf16 else ("F32", tiny.pack_f32)
        tiny.write_safetensors(f"{folder}/model.safetensors",
                               {n: (dtype, s, pack(v)) for n, (s, v) in self.folder(plain).items()})
        rng, golden = random.Random(1), {}
        for n in PROMPTS:
            ids = [rng.randrange(VOCAB) for _ in range(n)]
            golden[f"ids.{n}"] = ("I64", [n], struct.pack(f"<{n}q", *ids))
            rows, further = self.logits(ids)
            rows = [(r * (self.unit_head // VOCAB + 1))[:self.unit_head] if self.unit_head else r for r in rows]
            golden[f"{'logits' if self.causal else 'last_hidden'}.{n}"] = ("F32", [n, len(rows[0])], b"".join(tiny.pack_f32(r) for r in rows))
            if self.mtp:
                golden[f"mtp_logits.{n}"] = ("F32", [n - 1, VOCAB], b"".join(tiny.pack_f32(r) for r in further))
        tiny.write_safetensors(f"{folder}/golden.safetensors", golden)

    def repeated(self, tensors):
        """With unit_head: token i + VOCAB is token i again, with a row of the LM head of another length."""
        for name in ("model.embed_tokens.weight", "lm_head.weight") if self.unit_head else ():
            values = tensors[name][1]
            tensors[name] = ([self.unit_head, HIDDEN], [
                (1 + i // VOCAB % 5) * v if name[0] == "l" else v
                for i in range(self.unit_head) for v in values[i % VOCAB * HIDDEN:(i % VOCAB + 1) * HIDDEN]])
        return tensors

    def to_pairs(self, hf, shape, values):
        """Rows of q and k in the order of interleaved RoPE: halves of a head alternate."""
        if not self.gguf_pairs or not any(f"self_attn.{p}_proj." in hf for p in "qk"):
            return values
        width = shape[1] if len(shape) == 2 else 1
        rows = [values[r * width:(r + 1) * width] for r in range(shape[0])]
        half = HEAD // 2
        order = [h + i + second for h in range(0, shape[0], HEAD) for i in range(half) for second in (0, half)]
        return [v for r in order for v in rows[r]]

    def write_gguf(self, path):
        norm = "attention.layer_norm_rms_epsilon" if self.norm == "rms" else "attention.layer_norm_epsilon"
        keys = [("block_count", GGUF_U32, self.layers + self.mtp), ("context_length", GGUF_U32, 256),
                ("embedding_length", GGUF_U32, HIDDEN), ("feed_forward_length", GGUF_U32, FFN),
                ("attention.head_count", GGUF_U32, HEADS), ("attention.head_count_kv", GGUF_U32, KV_HEADS),
                ("rope.freq_base", GGUF_F32, self.theta), ("rope.dimension_count", GGUF_U32, self.rope_dim),
                (norm, GGUF_F32, EPS)]
        own = [k for k, _, _ in self.keys]
        keys = [k for k in keys if k[0] not in own] + self.keys
        keys = [("general.architecture", GGUF_STR, self.gguf)] + [(f"{self.gguf}.{k}", t, v) for k, t, v in keys]
        stored = tiny.Weights(0)
        for hf, (gguf, shape, values) in self.w.tensors.items():
            stored.tensors[hf] = (gguf, shape, self.to_pairs(hf, shape, values))
        tensors = tiny.gguf_tensors(stored)
        tiny.write_gguf_file(path, keys, fused_gguf(tensors, self.gguf_fused != "qkv") if self.gguf_fused else tensors)


def check(models, quire_eval):
    """Writes the models that the functions of a list make, and checks their files. Returns an exit code."""
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, make in enumerate(models):
            model = make()
            folder = f"{scratch}/{number}_{model.name}"
            model.write_folder(folder)
            commands = [[folder]] + ([["--compute", "native", folder]] if model.bf16 else [])
            if model.gguf:
                model.write_gguf(f"{folder}/model.gguf")
                commands.append(["--gguf", f"{folder}/model.gguf", folder])
            for c in commands:
                failed |= subprocess.call([quire_eval, "golden", "--threads", "1", *c])
    return 1 if failed else 0
