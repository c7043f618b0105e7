/* SPDX-License-Identifier: Apache-2.0 */
/* ministral3.c - Ministral 3: Mistral with YaRN and queries that grow with their position. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 262144 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 1000000 },
    { "num_key_value_heads", 8 },
    { 0 },
};

const struct qr_arch qr_arch_ministral3 = {
    .name = "ministral3",
    .hf_types = { "ministral3" },
    .gguf_archs = { "mistral3" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .yarn_temperature = true,
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf,
};
