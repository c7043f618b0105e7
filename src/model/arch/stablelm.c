/* SPDX-License-Identifier: Apache-2.0 */
/* stablelm.c - StableLM 2: LayerNorm, partial RoPE, biases on q, k, v; the 12B model is parallel,
 * with q/k norms. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 }, { "rms_norm_eps", 1e-5 }, { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.25 },   { "qk_layernorm", 0 },    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { "partial_rotary_factor", "rope_pct" },
    { 0 },
};

/* The 12B model has a norm with weights of its own for every head. */
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_Q_NORMS, QR_SLICE_ALL, "model.layers.%u.self_attn.q_layernorm.norms.%u.weight" },
    { QR_W_ATTN_K_NORMS, QR_SLICE_ALL, "model.layers.%u.self_attn.k_layernorm.norms.%u.weight" },
    { 0 },
};

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_Q_NORMS, QR_SLICE_ALL, "blk.%u.attn_q_norm.weight" },
    { QR_W_ATTN_K_NORMS, QR_SLICE_ALL, "blk.%u.attn_k_norm.weight" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "rotary_scaling_factor", "1" },
    { 0 },
};

const struct qr_arch qr_arch_stablelm = {
    .name = "stablelm",
    .hf_types = { "stablelm" },
    .gguf_archs = { "stablelm" },
    .block = QR_BLOCK_PRE_NORM,
    .hf_parallel_key = "use_parallel_residual",
    .hf_parallel_block = QR_BLOCK_PARALLEL,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEADS,
    .hf_qk_norm_key = "qk_layernorm",
    .gguf_parallel_by_norms = true,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_qkv_bias_key = "use_qkv_bias",
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
