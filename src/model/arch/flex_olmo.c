/* SPDX-License-Identifier: Apache-2.0 */
/* flex_olmo.c - FlexOlmo: the block and attention of OLMo 2 with the experts of OLMoE. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 500000 },
    { "num_experts", 7 },
    { "num_experts_per_tok", 5 },
    { "norm_topk_prob", 0 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_flex_olmo = {
    .name = "flex_olmo",
    .hf_types = { "flex_olmo" },
    .block = QR_BLOCK_OUTPUT_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_FULL,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
