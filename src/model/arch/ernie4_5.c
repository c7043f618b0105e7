/* SPDX-License-Identifier: Apache-2.0 */
/* ernie4_5.c - ERNIE 4.5 (dense): Llama with interleaved RoPE and optional biases. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "head_dim", 128 },      { "max_position_embeddings", 131072 }, { "rms_norm_eps", 1e-5 },
    { "rope_theta", 500000 }, { "tie_word_embeddings", 1 },          { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "compression_ratio", "1" }, /* divides positions */
    { 0 },
};

const struct qr_arch qr_arch_ernie4_5 = {
    .name = "ernie4_5",
    .hf_types = { "ernie4_5" },
    .gguf_archs = { "ernie4_5" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_bias_key = "use_bias",
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
