/* SPDX-License-Identifier: Apache-2.0 */
/* bailing_moe.c - Ling: fused qkv, softmax router and shared experts. Ling 2: q/k norm, RoPE on
 * half a head, sigmoid router with a correction and groups. Keys of config.json tell them apart. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 16384 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "n_shared_experts", 0 },
    { "first_k_dense_replace", 0 },
    { "use_qk_norm", 0 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "n_shared_experts", "num_shared_experts" },
    { "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size" },
    { "scoring_func", "score_function" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "use_bias", false },
    { "norm_head", false },
    { "use_sliding_window", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "rotary_dim", NULL },        /* partial_rotary_factor counts */
    { "max_window_layers", NULL }, /* of windows, which are off */
    { "sliding_window", NULL },
    { "use_rmsnorm", "true" },
    { "router_dtype", NULL }, /* the router computes in f32 */
    { "router_type", "topN" },
    { "output_dropout", NULL }, /* training */
    { "mtp_loss_scaling_factor", NULL },
    { "moe_router_bias_update_rate", NULL },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.word_embeddings.weight" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "attention.query_key_value.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, L "attention.query_key_value.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, L "attention.query_key_value.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_Q, L "attention.query_key_value.bias" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_K, L "attention.query_key_value.bias" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_V, L "attention.query_key_value.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attention.dense.weight" },
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, L "attention.query_layernorm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, L "attention.key_layernorm.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.gate.expert_bias" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_bailing_moe = {
    .name = "bailing_moe",
    .hf_types = { "bailing_moe", "bailing_moe_v2" },
    .gguf_archs = { "bailingmoe2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true, .group_top2 = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_qkv_bias_key = "use_qkv_bias",
    .hf_qk_norm_key = "use_qk_norm",
    .hf_correction_key = "moe_router_enable_expert_bias",
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .hf_mtp_names = qr_names_hf_mtp_final_norm,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_mtp = true,
    .gguf_names = qr_names_gguf,
    .gguf_mtp_names = qr_names_gguf_mtp_layer_norm,
};

/* GGUF files of Ling 1 */
const struct qr_arch qr_arch_bailing_moe_v1 = {
    .name = "bailing_moe_v1",
    .gguf_archs = { "bailingmoe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true },
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf,
};
