/* SPDX-License-Identifier: Apache-2.0 */
/* granite.c - Granite: Llama with embedding, attention, residual and logit multipliers. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

const struct qr_arch qr_arch_granite = {
    .name = "granite",
    .hf_types = { "granite" },
    .gguf_archs = { "granite" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .divides_logits = true,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_multipliers = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
