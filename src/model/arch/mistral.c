/* SPDX-License-Identifier: Apache-2.0 */
/* mistral.c - Mistral: Llama with a sliding window in every layer; Ministral 8B: in those listed.
 * GGUF arch is llama. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 8 }, { "max_position_embeddings", 4096 * 32 },
    { "rms_norm_eps", 1e-6 },     { "rope_theta", 10000 },
    { "sliding_window", 4096 },   { 0 },
};

const struct qr_arch qr_arch_mistral = {
    .name = "mistral",
    .hf_types = { "mistral" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
};

/* Every layer has a window unless layer_types lists those that have. */
static const struct qr_hf_default ministral_defaults[] = {
    { "num_key_value_heads", 8 }, { "max_position_embeddings", 4096 * 32 },
    { "rms_norm_eps", 1e-6 },     { "rope_theta", 10000 },
    { "sliding_window", 4096 },   { "use_sliding_window", 1 },
    { "max_window_layers", 0 },   { 0 },
};

const struct qr_arch qr_arch_ministral = {
    .name = "ministral",
    .hf_types = { "ministral" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = ministral_defaults,
    .hf_names = qr_names_hf_llama,
};
