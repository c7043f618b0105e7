/* SPDX-License-Identifier: Apache-2.0 */
/* cwm.c - Code World Model: Llama with a window in all but the first of every four layers. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 1000000 },
    { "num_key_value_heads", 8 },
    { "sliding_window", 8192 },
    { "head_dim", 128 },
    { 0 },
};

const struct qr_arch qr_arch_cwm = {
    .name = "cwm",
    .hf_types = { "cwm" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .window_period = 4,
    .hf_window = QR_WINDOW_PERIODIC_FIRST,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
};
