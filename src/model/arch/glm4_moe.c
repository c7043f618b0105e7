/* SPDX-License-Identifier: Apache-2.0 */
/* glm4_moe.c - GLM-4.5 to 4.7: biases on q, k and v, RoPE on half a head, optional q/k norm,
 * sigmoid router with a correction, shared expert. Solar Open: the same with RoPE on whole heads,
 * without norms and dense layers; its GGUF files have the name of GLM. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 8 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.5 },
    { "use_qk_norm", 0 },
    { "n_routed_experts", 128 },
    { "num_experts_per_tok", 8 },
    { "n_shared_experts", 1 },
    { "moe_intermediate_size", 1408 },
    { "first_k_dense_replace", 1 },
    { "n_group", 1 },
    { "topk_group", 1 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 1 },
    { 0 },
};

/* The norm before the feed-forward network has the name of the attention's output norm. */
static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_NORM, QR_SLICE_ALL, "blk.%u.post_attention_norm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_glm4_moe = {
    .name = "glm4_moe",
    .hf_types = { "glm4_moe" },
    .gguf_archs = { "glm4moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .group_top2 = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_qkv_bias_key = "attention_bias",
    .hf_qk_norm_key = "use_qk_norm",
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .hf_mtp_names = qr_names_hf_mtp,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_mtp = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
    .gguf_mtp_names = qr_names_gguf_mtp,
};

static const struct qr_hf_default solar_open_defaults[] = {
    { "num_key_value_heads", 8 },
    { "head_dim", 128 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 1000000 },
    { "n_routed_experts", 128 },
    { "num_experts_per_tok", 8 },
    { "n_shared_experts", 1 },
    { "moe_intermediate_size", 1280 },
    { "first_k_dense_replace", 0 },
    { "n_group", 1 },
    { "topk_group", 1 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 1 },
    { 0 },
};

static const struct qr_hf_fixed_bool solar_open_fixed_bools[] = {
    { "use_qk_norm", false },
    { 0 },
};

const struct qr_arch qr_arch_solar_open = {
    .name = "solar_open",
    .hf_types = { "solar_open" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .group_top2 = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_qkv_bias_key = "attention_bias",
    .hf_defaults = solar_open_defaults,
    .hf_fixed_bools = solar_open_fixed_bools,
    .hf_names = qr_names_hf_llama,
};
