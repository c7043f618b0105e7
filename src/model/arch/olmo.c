/* SPDX-License-Identifier: Apache-2.0 */
/* olmo.c - OLMo: LayerNorm without parameters, clipped q, k and v. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "norm_eps" },
    { 0 },
};

const struct qr_arch qr_arch_olmo = {
    .name = "olmo",
    .hf_types = { "olmo" },
    .gguf_archs = { "olmo" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_LAYER_PLAIN,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_clip_qkv = true,
    .gguf_norm = QR_NORM_LAYER_PLAIN,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
