/* SPDX-License-Identifier: Apache-2.0 */
/* nemotron.c - Nemotron: LayerNorm with (1 + w), squared ReLU, partial RoPE. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.5 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "norm_eps" },
    { "rms_norm_eps", "layer_norm_eps" },
    { "head_dim", "kv_channels" },
    { 0 },
};

const struct qr_arch qr_arch_nemotron = {
    .name = "nemotron",
    .hf_types = { "nemotron" },
    .gguf_archs = { "nemotron" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .hf_norm = QR_NORM_LAYER_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .gguf_norm = QR_NORM_LAYER, /* the converter adds the 1 */
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
