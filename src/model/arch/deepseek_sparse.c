/* SPDX-License-Identifier: Apache-2.0 */
/* deepseek_sparse.c - MLA families with DeepSeek sparse attention (DSA): DeepSeek V3.2, GLM-5. */
#include "model/arch/arch.h"

static const struct qr_hf_default deepseek_defaults[] = {
    { "max_position_embeddings", 163840 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "q_lora_rank", 1536 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 128 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 128 },
    { "n_routed_experts", 256 },
    { "n_shared_experts", 1 },
    { "num_experts_per_tok", 8 },
    { "moe_intermediate_size", 2048 },
    { "first_k_dense_replace", 3 },
    { "n_group", 8 },
    { "topk_group", 4 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 2.5 },
    { "index_n_heads", 64 },
    { "index_head_dim", 128 },
    { "index_topk", 2048 },
    { 0 },
};

static const struct qr_hf_default glm_defaults[] = {
    { "max_position_embeddings", 202752 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 1000000 },
    { "q_lora_rank", 2048 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 192 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 256 },
    { "n_routed_experts", 256 },
    { "n_shared_experts", 1 },
    { "num_experts_per_tok", 8 },
    { "moe_intermediate_size", 2048 },
    { "first_k_dense_replace", 3 },
    { "n_group", 1 },
    { "topk_group", 1 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 2.5 },
    { "index_n_heads", 32 },
    { "index_head_dim", 128 },
    { "index_topk", 2048 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rope_dim", "qk_rope_head_dim" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "attention_bias", false },
    { "mlp_bias", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "qk_head_dim", NULL },                   /* qk_nope_head_dim + qk_rope_head_dim */
    { "ep_size", NULL },                       /* experts per process */
    { "index_share_for_mtp_iteration", NULL }, /* of layers that are not computed */
    { "moe_router_dtype", NULL },              /* scores of experts are always f32 */
    { 0 },
};

const struct qr_arch qr_arch_deepseek_v32 = {
    .name = "deepseek_v32",
    .hf_types = { "deepseek_v32" },
    .gguf_archs = { "deepseek32" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
    .has_index = true,
    .index = { .weighted = true, .low_rank_q = true, .layer_norm = true },
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .group_top2 = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_interleave_key = "rope_interleave",
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_defaults = deepseek_defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_latent,
    .hf_common_names = qr_names_hf_llama,
    .gguf_mtp = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf_latent,
    .gguf_common_names = qr_names_gguf,
};

const struct qr_arch qr_arch_glm_moe_dsa = {
    .name = "glm_moe_dsa",
    .hf_types = { "glm_moe_dsa" },
    .gguf_archs = { "glm-dsa" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
    .has_index = true,
    .index = { .weighted = true, .low_rank_q = true, .layer_norm = true, .interleaved = true },
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .group_top2 = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_interleave_key = "rope_interleave",
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_defaults = glm_defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_latent,
    .hf_common_names = qr_names_hf_llama,
    .gguf_mtp = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf_latent,
    .gguf_common_names = qr_names_gguf,
};
