/* SPDX-License-Identifier: Apache-2.0 */
/* gemma.c - Gemma 1: scaled tied embeddings, RMSNorm with (1 + w), gated GELU. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 16 },
    { "head_dim", 256 },
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

const struct qr_arch qr_arch_gemma = {
    .name = "gemma",
    .hf_types = { "gemma" },
    .gguf_archs = { "gemma" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .scaled_embedding = true,
    .hf_norm = QR_NORM_RMS_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_gelu_is_tanh = true,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS, /* the converter adds the 1 */
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
