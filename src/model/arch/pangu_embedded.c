/* SPDX-License-Identifier: Apache-2.0 */
/* pangu_embedded.c - openPangu Embedded: Llama with biases of the attention's projections. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 8 }, { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-5 },     { "rope_theta", 16000000 },
    { "attention_bias", 1 },      { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "attention_bias", "bias" },
    { 0 },
};

const struct qr_arch qr_arch_pangu_embedded = {
    .name = "pangu_embedded",
    .hf_types = { "PanguEmbedded" },
    .gguf_archs = { "pangu-embedded" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
