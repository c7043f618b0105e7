#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoder families that the reference data lacks, as tiny random models.

As tiny_models.py: writes each model as a Hugging Face folder and, where converters support the family, as a
GGUF file, computes its logits in double precision, and checks both with quire-eval. The rows of MODELS are the
families; class Model has their options.

usage: tiny_families.py QUIRE_EVAL
"""
import math
import sys

import tiny_models as tiny
from tiny_decoder import (ABSENT, EPS, EXPERT_FFN, EXPERTS, FFN, GROUPS, HEAD, HEADS, HIDDEN, KV_HEADS, LAYERS, THETA,
                          TOP_GROUPS, TOP_K, WINDOW, Model, check, relu, relu2, renamed)
from tiny_models import GGUF_BOOL, GGUF_F32, GGUF_STR, GGUF_U32

# ---- Tensors of folders: name -> (shape, values)

def fused(by_head, name, then):
    """q, k and v as one tensor: [q; k; v], or for each KV head its q heads, k and v. Biases likewise."""
    def apply(tensors):
        for q in [n for n in tensors if ".self_attn.q_proj." in n]:
            kind = q.rsplit(".", 1)[1]
            parts = [tensors.pop(q.replace("q_proj", f"{p}_proj"))[1] for p in "qkv"]
            if by_head:
                sizes = [len(p) // KV_HEADS for p in parts]
                values = [v for h in range(KV_HEADS) for p, n in zip(parts, sizes) for v in p[h * n:(h + 1) * n]]
            else:
                values = [v for p in parts for v in p]
            shape = [(HEADS + 2 * KV_HEADS) * HEAD] + [HIDDEN] * (kind == "weight")
            tensors[q.split("self_attn.")[0] + f"{name}.{kind}"] = (shape, values)
        return then(tensors)
    return apply


def gate_up(tensors):
    """Gate and up as one tensor."""
    for name in [n for n in tensors if n.endswith("mlp.gate_proj.weight")]:
        up = tensors.pop(name.replace("gate_proj", "up_proj"))[1]
        tensors[name.replace("gate_proj", "gate_up_proj")] = ([2 * FFN, HIDDEN], tensors.pop(name)[1] + up)
    return tensors


def stacked_experts(tensors):
    """All experts of a layer as two tensors, [experts][in][out]; gate and up are halves of the outputs."""
    transposed = lambda values, rows, columns: [values[r * columns + c] for c in range(columns) for r in range(rows)]
    for first in [n for n in tensors if n.endswith("mlp.experts.0.gate_proj.weight")]:
        hf, both, down = first.removesuffix("0.gate_proj.weight"), [], []
        experts = sum(n.startswith(hf) for n in tensors) // 3
        for e in range(experts):
            gate, up, last = (tensors.pop(f"{hf}{e}.{part}_proj.weight")[1] for part in ("gate", "up", "down"))
            both += transposed(gate + up, 2 * EXPERT_FFN, HIDDEN)
            down += transposed(last, HIDDEN, EXPERT_FFN)
        tensors[f"{hf}gate_up_proj"] = ([experts, HIDDEN, 2 * EXPERT_FFN], both)
        tensors[f"{hf}down_proj"] = ([experts, EXPERT_FFN, HIDDEN], down)
    return tensors


def joined_experts(tensors):
    """All experts of a layer as two tensors, [experts][out][in], gate and up as one."""
    for first in [n for n in tensors if n.endswith("mlp.experts.0.gate_proj.weight")]:
        hf, both, down = first.removesuffix("0.gate_proj.weight"), [], []
        for e in range(EXPERTS):
            gate, up, last = (tensors.pop(f"{hf}{e}.{part}_proj.weight")[1] for part in ("gate", "up", "down"))
            both, down = both + gate + up, down + last
        tensors[f"{hf}gate_up_proj"] = ([EXPERTS, 2 * EXPERT_FFN, HIDDEN], both)
        tensors[f"{hf}down_proj"] = ([EXPERTS, HIDDEN, EXPERT_FFN], down)
    return tensors


WINDOWED = tuple(i for i in range(LAYERS) if (i + 1) % 4)
TYPES = ["sliding_attention" if i in WINDOWED else "full_attention" for i in range(LAYERS)]
MOE_CONFIG = {"num_experts_per_tok": TOP_K, "moe_intermediate_size": EXPERT_FFN, "first_k_dense_replace": 1,
              "n_group": GROUPS, "topk_group": TOP_GROUPS, "norm_topk_prob": True, "routed_scaling_factor": 2.5,
              "num_nextn_predict_layers": 1, "partial_rotary_factor": 0.5, "head_dim": HEAD}
MOE_KEYS = [("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
            ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN), ("expert_shared_count", GGUF_U32, 1),
            ("expert_group_count", GGUF_U32, GROUPS), ("expert_group_used_count", GGUF_U32, TOP_GROUPS),
            ("expert_weights_norm", GGUF_BOOL, True), ("expert_weights_scale", GGUF_F32, 2.5),
            ("expert_gating_func", GGUF_U32, 2), ("leading_dense_block_count", GGUF_U32, 1),
            ("nextn_predict_layers", GGUF_U32, 1)]
# the base that alpha 50 makes of 10000
ALPHA_THETA = THETA * 50 ** (HEAD / (HEAD - 2))
EXAONE3 = renamed(("model.layers.", "transformer.h."), ("model.embed_tokens", "transformer.wte"),
                  ("model.norm", "transformer.ln_f"), ("input_layernorm", "ln_1"), ("post_attention_layernorm", "ln_2"),
                  ("self_attn.o_proj", "attn.attention.out_proj"), ("self_attn.", "attn.attention."),
                  ("mlp.gate_proj", "mlp.c_fc_0"), ("mlp.up_proj", "mlp.c_fc_1"), ("mlp.down_proj", "mlp.c_proj"))
INTERNLM2 = renamed(("model.embed_tokens", "model.tok_embeddings"), ("lm_head", "output"),
                    ("input_layernorm", "attention_norm"), ("post_attention_layernorm", "ffn_norm"),
                    ("self_attn.o_proj", "attention.wo"), ("mlp.gate_proj", "feed_forward.w1"),
                    ("mlp.down_proj", "feed_forward.w2"), ("mlp.up_proj", "feed_forward.w3"))
BAILING = renamed(("model.embed_tokens", "model.word_embeddings"), ("self_attn.o_proj", "attention.dense"),
                  ("self_attn.q_norm", "attention.query_layernorm"), ("self_attn.k_norm", "attention.key_layernorm"),
                  ("mlp.gate.e_score_correction_bias", "mlp.gate.expert_bias"))

# Hy3: names of the published checkpoint, and those of the reference implementation
HY3 = renamed(("mlp.gate.weight", "mlp.router.gate.weight"), ("mlp.gate.e_score_correction_bias", "mlp.expert_bias"),
              ("mlp.shared_experts.", "mlp.shared_mlp."))
HY3_REFERENCE = renamed(("mlp.gate.e_score_correction_bias", "mlp.e_score_correction_bias"))
HY3_CONFIG = {"num_experts": EXPERTS, "num_experts_per_tok": TOP_K, "num_shared_experts": 1, "head_dim": HEAD,
              "moe_intermediate_size": EXPERT_FFN, "router_scaling_factor": 2.5}
HY3_KEYS = [(key, kind, value) for key, kind, value in MOE_KEYS if "group" not in key]
ROPE_SETS = {"full_attention": {"rope_type": "default", "rope_theta": THETA},
             "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}
WINDOW_KEYS = [("attention.sliding_window", GGUF_U32, WINDOW),
               ("attention.sliding_window_pattern", tiny.GGUF_ARRAY, [i in WINDOWED for i in range(LAYERS)])]
SOFTMAX_CONFIG = {"num_experts": EXPERTS, "num_experts_per_tok": TOP_K, "moe_intermediate_size": EXPERT_FFN,
                  "head_dim": HEAD}
SOFTMAX_KEYS = [("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
                ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN)]

# SmallThinker: the first of four layers has neither window nor RoPE
SMALLTHINKER = renamed(("mlp.gate.", "block_sparse_moe.primary_router."), ("mlp.experts.", "block_sparse_moe.experts."),
                       ("gate_proj", "gate"), ("up_proj", "up"), ("down_proj", "down"))
SMALLTHINKER_CONFIG = {"moe_num_primary_experts": EXPERTS, "moe_num_active_primary_experts": TOP_K,
                       "moe_ffn_hidden_size": EXPERT_FFN, "head_dim": HEAD, "intermediate_size": ABSENT,
                       "hidden_act": ABSENT, "sliding_window_size": WINDOW, "norm_topk_prob": True}


def smallthinker(config, keys, **options):
    return Model("smallthinker", early=True, dense=0, act=relu, gguf="smallthinker", folder=SMALLTHINKER,
                 config={**SMALLTHINKER_CONFIG, **config}, keys=SOFTMAX_KEYS + keys, **options)


VL = renamed(("model.", "model.language_model."))
VL_CONFIG = {"head_dim": HEAD, "rope_scaling": {"rope_type": "default", "mrope_interleaved": True,
                                                "mrope_section": [2, 1, 1]}}
VL_KEYS = [("attention.key_length", GGUF_U32, HEAD), ("attention.value_length", GGUF_U32, HEAD),
           ("rope.dimension_sections", tiny.GGUF_ARRAY, [2, 1, 1, 0]), ("n_deepstack_layers", GGUF_U32, 3)]

# PaddleOCR-VL and HunYuan VL, with tensors of their encoders of images
OCR_CONFIG = {"head_dim": HEAD, "compression_ratio": 1.0, "ignored_index": -100, "rope_is_neox_style": True, "use_3d_rope": True,
              "weight_share_add_bias": True, "sliding_window": None, "vision_config": {"hidden_size": 2},
              "rope_scaling": {"mrope_section": [2, 1, 1], "rope_type": "default", "type": "default"}}
HUNYUAN = (("q_norm", "query_layernorm"), ("k_norm", "key_layernorm"))
XDROPE = {"alpha": 50.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "type": "xdrope",
          "xdrope_section": [1, 1, 1, 1]}
HUNYUAN_CONFIG = {"rope_scaling": XDROPE, "attention_head_dim": HEAD, "attention_bias": False, "num_experts": 1, "norm_type": "rms",
                  "routed_scaling_factor": 1.0, "use_cla": False, "use_qk_norm": True, "text_start_id": 7, "pad_id": 0,
                  "org_vocab_size": 40, "vision_config": {"hidden_size": 2}}


def with_image_tensors(folder, *names):
    """A change of a folder's tensors: `folder`, and tensors of an encoder of images."""
    return lambda tensors: {**folder(tensors), **{name: ([2, 2], [1.0, 2.0, 3.0, 4.0]) for name in names}}


# Llama 4: chunks of 8192 tokens, so that prompts are within one
LLAMA4 = renamed(("mlp.gate.weight", "feed_forward.router.weight"), ("mlp.shared_experts.", "feed_forward.shared_expert."),
                 ("mlp.", "feed_forward."))


def llama4(experts, step, **options):
    return Model("llama4_text", pairs=True, no_rope=(3,), moe="input", moe_step=step, n_experts=experts, dense=0,
                 gguf="llama4", folder=lambda t: LLAMA4(stacked_experts(t)), **options,
                 config={"intermediate_size": EXPERT_FFN, "intermediate_size_mlp": FFN, "head_dim": HEAD,
                         "num_local_experts": experts, "num_experts_per_tok": 1, "interleave_moe_layer_step": step,
                         "use_qk_norm": "qk" in options},
                 keys=[("interleave_moe_layer_step", GGUF_U32, step), ("expert_count", GGUF_U32, experts),
                       ("expert_used_count", GGUF_U32, 1), ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN)])


# Cohere 2 with experts: a dense layer with RoPE, two windows, and a layer with neither; logits have a factor
DEEPSEEK_CONFIG = {"n_routed_experts": EXPERTS, "num_experts_per_tok": TOP_K, "n_shared_experts": 2,
                   "moe_intermediate_size": EXPERT_FFN, "norm_topk_prob": False, "first_k_dense_replace": 1,
                   "moe_layer_freq": 1, "scoring_func": "softmax", "aux_loss_alpha": 0.001, "seq_aux": True}
DEEPSEEK_KEYS = [("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
                 ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN), ("expert_shared_count", GGUF_U32, 2),
                 ("expert_weights_scale", GGUF_F32, 1.0), ("leading_dense_block_count", GGUF_U32, 1)]
COHERE_TYPES = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
COHERE_CONFIG = {"num_experts": EXPERTS, "num_experts_per_tok": TOP_K, "intermediate_size": EXPERT_FFN,
                 "prefix_dense_intermediate_size": FFN, "first_k_dense_replace": 1, "head_dim": HEAD,
                 "layer_types": COHERE_TYPES, "sliding_window": WINDOW, "sliding_window_pattern": 4,
                 "prefix_dense_sliding_window_pattern": 1, "logit_scale": 0.5, "attention_bias": False}
COHERE_KEYS = SOFTMAX_KEYS + [
    ("attention.sliding_window", GGUF_U32, WINDOW), ("leading_dense_block_count", GGUF_U32, 1),
    ("attention.sliding_window_pattern", tiny.GGUF_ARRAY, [t[0] == "s" for t in COHERE_TYPES]),
    ("logit_scale", GGUF_F32, 0.5), ("rope.scaling.type", GGUF_STR, "none")]


def cohere2_moe(config, keys, **options):
    return Model("cohere2_moe", block="parallel", pairs=True, no_rope=(3,), windows=(1, 2), scales=(1.0, 1.0, 0.5),
                 gguf="cohere2moe", config={**COHERE_CONFIG, **config}, keys=COHERE_KEYS + keys, **options)


def gelu_tanh(x):
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


GPT2 = (("model.layers.", "transformer.h."), ("model.embed_tokens", "transformer.wte"), ("model.norm", "transformer.ln_f"),
        ("input_layernorm", "ln_1"), ("post_attention_layernorm", "ln_2"), ("self_attn.o_proj", "attn.c_proj"),
        ("mlp.down_proj", "mlp.c_proj"))
QWEN = renamed(*GPT2, ("mlp.up_proj", "mlp.w1"), ("mlp.gate_proj", "mlp.w2"))
QWEN_CONFIG = {"seq_length": 256, "max_position_embeddings": 1024, "layer_norm_epsilon": EPS, "rms_norm_eps": ABSENT,
               "rotary_emb_base": THETA, "rope_theta": ABSENT, "rotary_pct": 1.0, "kv_channels": HEAD, "no_bias": True,
               "intermediate_size": 2 * FFN, "hidden_act": ABSENT, "use_dynamic_ntk": True, "use_logn_attn": True}
CODESHELL = renamed(*GPT2, ("mlp.up_proj", "mlp.c_fc"))
CODESHELL_CONFIG = {"hidden_size": ABSENT, "num_hidden_layers": ABSENT, "num_attention_heads": ABSENT,
                    "num_key_value_heads": ABSENT, "intermediate_size": ABSENT, "hidden_act": ABSENT, "rope_theta": ABSENT,
                    "max_position_embeddings": ABSENT, "layer_norm_eps": ABSENT, "n_embd": HIDDEN, "n_layer": LAYERS,
                    "n_head": HEADS, "num_query_groups": KV_HEADS, "n_inner": FFN, "n_positions": 256,
                    "layer_norm_epsilon": EPS, "activation_function": "gelu_pytorch_tanh", "rope_scaling": None,
                    "group_query_attention": True, "position_embedding_type": "rope", "attention_softmax_in_fp32": True}


def codeshell(model_type, tied):
    model = Model("codeshell", norm="layer_bias", bias="qkvof", gated=False, act=gelu_tanh, tied=tied, gguf="codeshell",
                  gguf_fused="qkv", folder=fused(False, "attn.c_attn", CODESHELL),
                  config={**CODESHELL_CONFIG, "model_type": model_type})
    if tied:  # its GGUF file has the LM head only
        model.w.tensors["model.embed_tokens.weight"] = ("output.weight", *model.w.tensors["model.embed_tokens.weight"][1:])
    return model


MODELS = (
    lambda: Model("llama_bidirec", causal=False, gguf="llama-embed", gguf_pairs=True, folder=renamed(("model.", "")),
                  config={"pooling": "avg", "temperature": 0.02}, keys=[("pooling_type", GGUF_U32, 1)]),
    lambda: Model("nanbeige", loops=2, layers=2, gguf="nanbeige", gguf_pairs=True,
                  config={"num_loops": 2, "skip_loop_final_norm": False, "loop_loss_weights": [], "head_dim": HEAD,
                          "kv_channels": HEAD},
                  keys=[("num_loops", GGUF_U32, 2), ("skip_loop_final_norm", GGUF_BOOL, False)]),
    lambda: Model("nanbeige", loops=3, loop_norm=False, layers=2, gguf="nanbeige", gguf_pairs=True,
                  config={"num_loops": 3, "skip_loop_final_norm": True, "head_dim": HEAD},
                  keys=[("num_loops", GGUF_U32, 3), ("skip_loop_final_norm", GGUF_BOOL, True)]),
    lambda: Model("nanbeige", gguf="nanbeige", gguf_pairs=True),
    lambda: cohere2_moe({"num_shared_experts": 2, "expert_selection_fn": "softmax", "rms_norm_eps": None},
                        [("expert_shared_count", GGUF_U32, 2), ("expert_gating_func", GGUF_U32, 1)],
                        norm="layer", moe="softmax", average=True),
    lambda: cohere2_moe({"num_shared_experts": 0, "expert_selection_fn": "sigmoid", "num_nextn_predict_layers": 1},
                        [("expert_gating_func", GGUF_U32, 2), ("expert_weights_norm", GGUF_BOOL, True),
                         ("nextn_predict_layers", GGUF_U32, 1)], moe="scored", mtp=True),
    lambda: Model("cohere2_moe", block="parallel", pairs=True, no_rope=(0, 3), windows=(1, 2), moe="softmax",
                  scales=(1.0, 1.0, 0.5), config={
                      **COHERE_CONFIG, "num_shared_experts": 2, "shared_expert_combination_strategy": "sum",
                      "prefix_dense_sliding_window_pattern": 4}),
    lambda: llama4(EXPERTS, 1, qk="unit"),
    lambda: llama4(128, 2),  # files have no key for the norm: those with 128 experts have none
    lambda: Model("llama4_text", pairs=True, qk="unit", gguf="llama4", folder=LLAMA4,  # MobileLLM
                  config={"intermediate_size": 3, "intermediate_size_mlp": FFN, "num_local_experts": 0, "head_dim": HEAD,
                          "attention_chunk_size": None, "layer_types": ["full_attention"] * LAYERS,
                          "no_rope_layers": [1] * LAYERS},
                  keys=[("attention.sliding_window", GGUF_U32, 0), ("interleave_moe_layer_step", GGUF_U32, 0),
                        ("expert_feed_forward_length", GGUF_U32, FFN)]),
    lambda: Model("smollm3", no_rope=(3,), gguf="smollm3", gguf_pairs=True),
    lambda: Model("smollm3", no_rope=(0, 2), config={"no_rope_layers": [0, 1, 0, 1]}),
    lambda: Model("exaone4", block="output", qk="head", windows=WINDOWED, no_rope=(3,), gguf="exaone4",
                  config={"sliding_window": WINDOW, "sliding_window_pattern": 4},
                  keys=[("attention.sliding_window", GGUF_U32, WINDOW)]),
    lambda: Model("exaone4", block="output", qk="head", gguf="exaone4",  # no windows: RoPE in all layers
                  config={"sliding_window": None, "layer_types": ["full_attention"] * LAYERS}),
    lambda: Model("exaone", gguf="exaone", folder=EXAONE3,
                  config={"num_layers": LAYERS, "num_hidden_layers": ABSENT, "layer_norm_epsilon": EPS,
                          "rms_norm_eps": ABSENT, "activation_function": "silu", "hidden_act": ABSENT}),
    lambda: Model("glm4_moe", rope_dim=HEAD // 2, qk="head", bias="qkv", moe="sigmoid", mtp=True, gguf="glm4moe",
                  gguf_ffn_norm="post_attention_norm", keys=MOE_KEYS,
                  config={**MOE_CONFIG, "n_routed_experts": EXPERTS, "n_shared_experts": 1, "use_qk_norm": True,
                          "attention_bias": True}),
    lambda: Model("glm4_moe", rope_dim=HEAD // 2, bias="qkv", moe="sigmoid", mtp=True, gguf="glm4moe",
                  gguf_ffn_norm="post_attention_norm", keys=MOE_KEYS,
                  config={**MOE_CONFIG, "n_routed_experts": EXPERTS, "n_shared_experts": 1, "attention_bias": True}),
    lambda: Model("bailing_moe", moe="softmax", dense=0, gguf="bailingmoe", gguf_pairs=True,
                  folder=fused(False, "attention.query_key_value", BAILING),
                  config={"num_experts": EXPERTS, "num_experts_per_tok": TOP_K, "num_shared_experts": 2,
                          "moe_intermediate_size": EXPERT_FFN, "norm_topk_prob": True, "first_k_dense_replace": 0},
                  keys=[("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
                        ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN), ("expert_shared_count", GGUF_U32, 2),
                        ("expert_weights_norm", GGUF_BOOL, True), ("expert_weights_scale", GGUF_F32, 1.0),
                        ("leading_dense_block_count", GGUF_U32, 0), ("rope.scaling.type", GGUF_STR, "none")]),
    lambda: Model("deepseek", moe="softmax", renormalize=False, gguf="deepseek", gguf_pairs=True,
                  config=DEEPSEEK_CONFIG, keys=[*DEEPSEEK_KEYS, ("rope.scaling.type", GGUF_STR, "none")]),
    # the text of DeepSeek-OCR, whose folder is taken as one of DeepSeek MoE here
    lambda: Model("deepseek", moe="softmax", renormalize=False, gguf="deepseek2-ocr", config=DEEPSEEK_CONFIG,
                  keys=[*DEEPSEEK_KEYS, ("rope.dimension_count", GGUF_U32, 0), ("attention.sliding_window", GGUF_U32, 0),
                        ("expert_gating_func", GGUF_U32, 1), ("vocab_size", GGUF_U32, tiny.VOCAB)]),
    lambda: Model("bailing_moe_v2", rope_dim=HEAD // 2, qk="head", moe="sigmoid", mtp=True, gguf="bailingmoe2",
                  mtp_names=(("shared_head.norm", "final_layernorm"),), mtp_gguf="layer_output_norm",
                  folder=fused(False, "attention.query_key_value", BAILING), keys=MOE_KEYS,
                  config={**MOE_CONFIG, "num_experts": EXPERTS, "num_shared_experts": 1, "score_function": "sigmoid",
                          "use_qk_norm": True, "moe_router_enable_expert_bias": True}),
    lambda: Model("dots1", qk="head", moe="sigmoid", gguf="dots1", keys=MOE_KEYS[:-1],
                  config={**MOE_CONFIG, "n_routed_experts": EXPERTS, "n_shared_experts": 1, "attention_bias": False,
                          "num_nextn_predict_layers": ABSENT, "partial_rotary_factor": ABSENT, "sliding_window": None,
                          "scoring_func": "sigmoid"}),
    lambda: Model("solar_open", moe="sigmoid", dense=0, gguf="glm4moe", gguf_ffn_norm="post_attention_norm",
                  folder=joined_experts, keys=MOE_KEYS[:-2],
                  config={**MOE_CONFIG, "n_routed_experts": EXPERTS, "n_shared_experts": 1, "first_k_dense_replace": 0,
                          "num_nextn_predict_layers": ABSENT, "partial_rotary_factor": 1.0}),
    lambda: Model("hy_v3", qk="head", moe="sigmoid", groups=(1, 1), mtp=True, gguf="hy_v3", folder=HY3, keys=HY3_KEYS,
                  mtp_names=(("shared_head.norm", "final_layernorm"),),
                  config={**HY3_CONFIG, "first_k_dense_replace": 1, "route_norm": True, "qk_norm": True,
                          "num_nextn_predict_layers": 1, "expert_hidden_dim": EXPERT_FFN}),
    lambda: Model("hy_v3", qk="head", moe="sigmoid", groups=(1, 1), dense=2,
                  folder=lambda t: HY3_REFERENCE(joined_experts(t)),
                  config={**HY3_CONFIG, "mlp_layer_types": ["dense"] * 2 + ["sparse"] * (LAYERS - 2)}),
    lambda: Model("mellum", qk="head", moe="alone", dense=0, windows=WINDOWED, local_theta=500.0, gguf="mellum",
                  config={**SOFTMAX_CONFIG, "layer_types": TYPES, "sliding_window": WINDOW, "rope_theta": ABSENT,
                          "rope_parameters": ROPE_SETS, "norm_topk_prob": True},
                  keys=SOFTMAX_KEYS + WINDOW_KEYS + [("rope.freq_base_swa", GGUF_F32, 500.0)]),
    lambda: smallthinker({"rope_layout": [0, 1, 1, 1], "sliding_window_layout": [0, 1, 1, 1]},
                         [("attention.sliding_window", GGUF_U32, WINDOW), ("expert_gating_func", GGUF_U32, 2)],
                         moe="scored", windows=(1, 2, 3), no_rope=(0,)),
    lambda: smallthinker({"rope_layout": [1] * LAYERS, "sliding_window_layout": [0] * LAYERS,
                          "moe_primary_router_apply_softmax": True}, [("expert_gating_func", GGUF_U32, 1)], moe="alone"),
    lambda: Model("flex_olmo", block="output", qk="full", moe="alone", dense=0, renormalize=False,
                  folder=joined_experts, config={"num_experts": EXPERTS, "num_experts_per_tok": TOP_K,
                                                 "intermediate_size": EXPERT_FFN}),
    lambda: Model("ministral", windows=WINDOWED, config={"layer_types": TYPES, "sliding_window": WINDOW}),
    lambda: Model("ministral", windows=range(LAYERS), config={"sliding_window": WINDOW}),
    lambda: Model("helium", pairs=True, bias="qkv", config={"head_dim": HEAD, "attention_bias": True}),
    lambda: Model("maincoder", pairs=True, qk="head", qk_late=True, gguf="maincoder", config={"head_dim": HEAD}),
    lambda: Model("PanguEmbedded", bias="qkvo", gguf="pangu-embedded", config={"bias": True}),
    lambda: Model("cohere", norm="layer", block="parallel", pairs=True, scales=(1, 1, 0.25), gguf="command-r",
                  config={"logit_scale": 0.25}, keys=[("logit_scale", GGUF_F32, 0.25)]),
    lambda: Model("cohere", norm="layer", block="parallel", pairs=True, qk="heads", gguf="command-r",
                  config={"logit_scale": 1.0, "use_qk_norm": True}, keys=[("logit_scale", GGUF_F32, 1.0)]),
    lambda: Model("hunyuan_v1_dense", qk="head", qk_late=True, theta=ALPHA_THETA, gguf="hunyuan-dense",
                  folder=renamed(("q_norm", "query_layernorm"), ("k_norm", "key_layernorm")),
                  config={"rope_scaling": {"type": "dynamic", "alpha": 50.0, "factor": 1.0}, "use_qk_norm": True}),
    lambda: Model("mimo", bias="qkv", mtp=True, hidden_first=True, config={"num_nextn_predict_layers": 1},
                  mtp_names=((f"model.layers.{LAYERS}.", "model.mtp_layers.0."), ("enorm", "token_layernorm"),
                             ("hnorm", "hidden_layernorm"), ("eh_proj", "input_proj"),
                             ("shared_head.norm", "final_layernorm"))),
    lambda: Model("minicpm", scales=(12.0, 1.4 / math.sqrt(LAYERS), 16 / HIDDEN), gguf="minicpm", gguf_pairs=True,
                  config={"scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 16},
                  keys=[("embedding_scale", GGUF_F32, 12), ("residual_scale", GGUF_F32, 1.4 / math.sqrt(LAYERS)),
                        ("logit_scale", GGUF_F32, HIDDEN / 16)]),
    lambda: Model("minicpm", scales=(12.0, 1.4 / math.sqrt(LAYERS), 256 / HIDDEN), gguf="minicpm", gguf_pairs=True,
                  config={"scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256}),  # older files lack the keys
    lambda: Model("bitnet", sub_norms=True, act=relu2, bf16=True, config={"hidden_act": "relu2"}, gguf="bitnet",
                  keys=[("hidden_activation", GGUF_STR, "relu2"), ("rope.scaling.type", GGUF_STR, "linear"),
                        ("rope.scaling.factor", GGUF_F32, 1)]),
    lambda: Model("bitnet", sub_norms=True, gguf="bitnet", config={"hidden_act": "silu"}),
    lambda: Model("internlm2", gguf="internlm2", gguf_pairs=True,
                  folder=fused(True, "attention.wqkv", INTERNLM2),
                  config={"bias": False, "rope_scaling": {"type": "dynamic", "factor": 2.0}}),
    lambda: Model("internlm3", bias="qkv", gguf="llama", gguf_pairs=True,
                  config={"bias": False, "qkv_bias": True, "rope_scaling": {"rope_type": "dynamic", "factor": 6.0}}),
    lambda: codeshell("codeshell", tied=False),
    lambda: codeshell("kclgpt", tied=True),
    lambda: Model("qwen", bias="qkv", gguf="qwen", gguf_fused="qkv", folder=fused(False, "attn.c_attn", QWEN),
                  config=QWEN_CONFIG, keys=[("feed_forward_length", GGUF_U32, 2 * FFN)]),
    lambda: Model("orion", norm="layer_bias", gguf="orion", config={"layer_norm_eps": ABSENT, "rms_norm_eps": EPS}),
    lambda: Model("xverse", gguf="xverse", gguf_pairs=True),
    lambda: Model("glm", rope_dim=HEAD // 2, pairs=True, bias="qkv", gguf="chatglm", gguf_fused=True, folder=gate_up,
                  config={"partial_rotary_factor": 0.5, "head_dim": HEAD, "attention_bias": True}),
    lambda: Model("qwen2_5_vl_text", bias="qkv", gguf="qwen2vl", outer="qwen2_5_vl",
                  config={"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}, "use_sliding_window": False,
                          "vision_start_token_id": 5},
                  keys=[("rope.dimension_sections", tiny.GGUF_ARRAY, [1, 1, 2, 0])]),
    lambda: Model("qwen2_5_vl", bias="qkv",  # older files, with all keys in one object
                  config={"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}, "vision_config": {"depth": 2}}),
    lambda: Model("qwen3_vl_text", qk="head", gguf="qwen3vl", outer="qwen3_vl", folder=VL, config={**VL_CONFIG},
                  keys=VL_KEYS),
    lambda: Model("qwen3_vl_moe_text", qk="head", moe="alone", dense=0, gguf="qwen3vlmoe", outer="qwen3_vl_moe",
                  folder=lambda t: VL(stacked_experts(t)),
                  config={**VL_CONFIG, "num_experts": EXPERTS, "num_experts_per_tok": TOP_K, "decoder_sparse_step": 1,
                          "moe_intermediate_size": EXPERT_FFN, "norm_topk_prob": True, "mlp_only_layers": []},
                  keys=VL_KEYS + [("expert_count", GGUF_U32, EXPERTS), ("expert_used_count", GGUF_U32, TOP_K),
                                  ("expert_feed_forward_length", GGUF_U32, EXPERT_FFN)]),
    lambda: Model("paddleocr_vl", gguf="paddleocr", config=OCR_CONFIG, keys=VL_KEYS[:3],
                  folder=with_image_tensors(dict, "mlp_AR.linear_1.weight", "visual.vision_model.head.weight")),
    lambda: Model("paddleocr_vl_text", outer="paddleocr_vl", bias="qkvof", tied=True,
                  folder=with_image_tensors(VL, "model.projector.linear_1.weight", "model.visual.head.weight"),
                  config={"head_dim": HEAD, "use_bias": True, "rope_theta": ABSENT, "rope_parameters": {
                      "mrope_section": [2, 1, 1], "rope_theta": THETA, "rope_type": "default", "type": "default"}}),
    lambda: Model("hunyuan_vl", qk="head", qk_late=True, theta=ALPHA_THETA, tied=True, gguf="hunyuan_vl",
                  folder=with_image_tensors(renamed(*HUNYUAN), "vit.perceive.mlp.weight"), config=HUNYUAN_CONFIG,
                  keys=[("rope.freq_base", GGUF_F32, THETA), ("rope.scaling.alpha", GGUF_F32, 50.0), VL_KEYS[0], VL_KEYS[1],
                        ("rope.scaling.type", GGUF_STR, "none"), ("rope.scaling.factor", GGUF_F32, 1.0),
                        ("rope.scaling.original_context_length", GGUF_U32, 256),
                        ("rope.dimension_sections", tiny.GGUF_ARRAY, [1, 1, 1, 1])]),
    lambda: Model("hunyuan_vl_text", outer="hunyuan_vl", qk="head", qk_late=True, theta=ALPHA_THETA,
                  folder=renamed(*HUNYUAN, ("model.", "model.language_model.")),
                  config={"rope_theta": ABSENT, "head_dim": HEAD, "rope_parameters": {
                      "alpha": 50.0, "mrope_section": [2, 1, 1], "rope_theta": THETA, "rope_type": "dynamic", "factor": 1.0}}),
    lambda: Model("baichuan", gguf="baichuan", gguf_pairs=True, folder=fused(False, "self_attn.W_pack", dict)),
    lambda: Model("baichuan", unit_head=125696, folder=fused(False, "self_attn.W_pack", dict),
                  config={"z_loss_weight": 0}),
    lambda: Model("baichuan", alibi=True, layers=40, gguf="baichuan", gguf_pairs=True,
                  folder=fused(False, "self_attn.W_pack", dict),
                  config={"max_position_embeddings": ABSENT, "model_max_length": 256, "rope_theta": ABSENT}),
)

if __name__ == "__main__":
    sys.exit(check(MODELS, sys.argv[1]))
