/* SPDX-License-Identifier: Apache-2.0 */
/* olmo_hybrid.c - OLMo hybrid: gated delta net in blocks with norms of the input, attention in
 * blocks with norms of the output. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 65536 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 500000 },
    { "linear_conv_kernel_dim", 4 },
    { "linear_allow_neg_eigval", 1 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "linear_a_log_*", NULL }, /* initialization */
    { "linear_dt_*", NULL },
    { 0 },
};

#define L "model.layers.%u.linear_attn."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_NORM, QR_SLICE_ALL, "model.layers.%u.attention_layer_norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, "model.layers.%u.feedforward_layer_norm.weight" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, "model.layers.%u.feedforward_layer_norm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, "model.layers.%u.post_feedforward_layernorm.weight" },
    { QR_W_REC_Q, QR_SLICE_ALL, L "q_proj.weight" },
    { QR_W_REC_K, QR_SLICE_ALL, L "k_proj.weight" },
    { QR_W_REC_V, QR_SLICE_ALL, L "v_proj.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, L "g_proj.weight" },
    { QR_W_REC_BETA, QR_SLICE_ALL, L "b_proj.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, L "a_proj.weight" },
    { QR_W_REC_CONV_Q, QR_SLICE_ALL, L "q_conv1d.weight" },
    { QR_W_REC_CONV_K, QR_SLICE_ALL, L "k_conv1d.weight" },
    { QR_W_REC_CONV_V, QR_SLICE_ALL, L "v_conv1d.weight" },
    { QR_W_REC_A, QR_SLICE_ALL, L "A_log" },
    { QR_W_REC_DT_BIAS, QR_SLICE_ALL, L "dt_bias" },
    { QR_W_REC_NORM, QR_SLICE_ALL, L "o_norm.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, L "o_proj.weight" },
    { 0 },
};

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_DELTA,
                .output = QR_RECURRENT_OUT_NORM_GATE,
                .norm_eps = 1e-5f },
    .mixer = QR_MIXER_RECURRENT,
    .head_norm = true,
    .attention_output_norm = true,
};

const struct qr_arch qr_arch_olmo_hybrid = {
    .name = "olmo_hybrid",
    .hf_types = { "olmo_hybrid" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_FULL,
    .recurrent = &recurrent,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
