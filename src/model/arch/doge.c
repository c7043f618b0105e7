/* SPDX-License-Identifier: Apache-2.0 */
/* doge.c - Doge: a bias of keys from the values, residuals with weights. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "keep_window_size", 2048 },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "is_moe", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "num_experts", NULL }, /* read if is_moe is true only */
    { "num_experts_per_tok", NULL },
    { "norm_topk_prob", NULL },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_KEY_DT, QR_SLICE_ALL, L "self_attn.dt_proj.weight" },
    { QR_W_ATTN_KEY_DT_BIAS, QR_SLICE_ALL, L "self_attn.dt_proj.bias" },
    { QR_W_ATTN_KEY_A, QR_SLICE_ALL, L "self_attn.A" },
    { QR_W_ATTN_RESIDUAL, QR_SLICE_ALL, L "input_residual" },
    { QR_W_FFN_RESIDUAL, QR_SLICE_ALL, L "post_attention_residual" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_doge = {
    .name = "doge",
    .hf_types = { "doge" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .key_bias = true,
    .residual_weights = true,
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_keep_window = true,
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
