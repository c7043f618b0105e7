/* SPDX-License-Identifier: Apache-2.0 */
/* olmo3.c - OLMo 3: OLMo 2 with a window in three of four layers; RoPE scaling in the rest only.
 * The GGUF architecture is olmo2. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 }, { "rms_norm_eps", 1e-5 },   { "rope_theta", 10000 },
    { "rope_local_base_freq", 10000 },   { "sliding_window", 4096 }, { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rope_local_base_freq", "rope_theta" },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_olmo3 = {
    .name = "olmo3",
    .hf_types = { "olmo3" },
    .block = QR_BLOCK_OUTPUT_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_FULL,
    .window_period = 4,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
