/* SPDX-License-Identifier: Apache-2.0 */
/* helium.c - Helium (Kyutai): Llama with interleaved RoPE. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 20 }, { "head_dim", 128 },      { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-8 },      { "rope_theta", 100000 }, { 0 },
};

const struct qr_arch qr_arch_helium = {
    .name = "helium",
    .hf_types = { "helium" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_qkv_bias_key = "attention_bias",
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
};
