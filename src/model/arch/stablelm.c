/* SPDX-License-Identifier: Apache-2.0 */
/* stablelm.c - StableLM 2: LayerNorm, partial RoPE, biases on q, k, v; some models parallel. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.25 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { "partial_rotary_factor", "rope_pct" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "qk_layernorm", false },
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
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_qkv_bias_key = "use_qkv_bias",
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
