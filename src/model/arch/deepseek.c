/* SPDX-License-Identifier: Apache-2.0 */
/* deepseek.c - MLA families: DeepSeek V2 and V3 with group-limited MoE and shared experts, GLM 4.7
 * Flash, Mistral 4, Youtu (dense), PLM (dense, without a gate). */
#include "model/arch/arch.h"

static const struct qr_hf_default v2_defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "q_lora_rank", 1536 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 128 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 128 },
    { "n_routed_experts", 64 },
    { "n_shared_experts", 2 },
    { "moe_intermediate_size", 1407 },
    { 0 },
};

static const struct qr_hf_default v3_defaults[] = {
    { "max_position_embeddings", 4096 },
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
    { "qk_head_dim", NULL }, /* qk_nope_head_dim + qk_rope_head_dim */
    { "ep_size", NULL },     /* experts per process */
    { 0 },
};

const struct qr_arch qr_arch_deepseek_v2 = {
    .name = "deepseek_v2",
    .hf_types = { "deepseek_v2" },
    .gguf_archs = { "deepseek2" }, /* also used for V3 */
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_defaults = v2_defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_latent,
    .hf_common_names = qr_names_hf_llama,
    .gguf_mtp = true, /* of V3 and GLM 4.7 Flash */
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf_latent,
    .gguf_common_names = qr_names_gguf,
    .gguf_mtp_names = qr_names_gguf_mtp,
};

const struct qr_arch qr_arch_deepseek_v3 = {
    .name = "deepseek_v3",
    .hf_types = { "deepseek_v3", "kimi_k2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .group_top2 = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_interleave_key = "rope_interleave",
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_defaults = v3_defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_latent,
    .hf_common_names = qr_names_hf_llama,
    .hf_mtp_names = qr_names_hf_mtp,
};

static const struct qr_hf_default glm_defaults[] = {
    { "max_position_embeddings", 202752 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 1000000 },
    { "q_lora_rank", 768 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 192 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 256 },
    { "n_routed_experts", 64 },
    { "n_shared_experts", 1 },
    { "num_experts_per_tok", 4 },
    { "moe_intermediate_size", 1536 },
    { "first_k_dense_replace", 1 },
    { "n_group", 1 },
    { "topk_group", 1 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 1.8 },
    { 0 },
};

const struct qr_arch qr_arch_glm4_moe_lite = {
    .name = "glm4_moe_lite",
    .hf_types = { "glm4_moe_lite" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
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
    .hf_mtp_names = qr_names_hf_mtp,
};

static const struct qr_hf_default youtu_defaults[] = {
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 1600000 },
    { "q_lora_rank", 1536 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 128 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 128 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_ignored_key youtu_ignored_keys[] = {
    { "qk_head_dim", NULL },                 /* qk_nope_head_dim + qk_rope_head_dim */
    { "embedding_initializer_range", NULL }, /* training */
    { 0 },
};

const struct qr_arch qr_arch_youtu = {
    .name = "youtu",
    .hf_types = { "youtu" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_interleave_key = "rope_interleave",
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_defaults = youtu_defaults,
    .hf_ignored_keys = youtu_ignored_keys,
    .hf_names = qr_names_hf_latent,
    .hf_common_names = qr_names_hf_llama,
};

static const struct qr_hf_default plm_defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 100000 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 128 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 128 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

const struct qr_arch qr_arch_plm = {
    .name = "plm",
    .hf_types = { "plm" },
    .gguf_archs = { "plm" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .mla = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_interleave_key = "rope_interleave",
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_defaults = plm_defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_latent,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf_latent,
    .gguf_common_names = qr_names_gguf,
};

static const struct qr_hf_default mistral_defaults[] = {
    { "max_position_embeddings", 1048576 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "q_lora_rank", 1024 },
    { "kv_lora_rank", 256 },
    { "qk_nope_head_dim", 64 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 128 },
    { "n_routed_experts", 128 },
    { "n_shared_experts", 1 },
    { "num_experts_per_tok", 4 },
    { "moe_intermediate_size", 2048 },
    { "first_k_dense_replace", 0 },
    { "n_group", 1 },
    { "topk_group", 1 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 1 },
    { 0 },
};

/* Experts as one tensor, besides one per expert. */
#define L "model.layers.%u."
#define A L "self_attn."
static const struct qr_name_rule mistral_names[] = {
    { QR_W_LATENT_Q_A, QR_SLICE_ALL, A "q_a_proj.weight" },
    { QR_W_LATENT_Q_NORM, QR_SLICE_ALL, A "q_a_layernorm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, A "q_b_proj.weight" },
    { QR_W_LATENT_KV_A, QR_SLICE_ALL, A "kv_a_proj_with_mqa.weight" },
    { QR_W_LATENT_KV_NORM, QR_SLICE_ALL, A "kv_a_layernorm.weight" },
    { QR_W_LATENT_UK, QR_SLICE_LATENT_K | QR_SLICE_TRANSPOSED, A "kv_b_proj.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_LATENT_K, A "kv_b_proj.weight" },
    { QR_W_LATENT_UV, QR_SLICE_LATENT_V, A "kv_b_proj.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mlp.experts.down_proj" },
    { 0 },
};
#undef A
#undef L

static const struct qr_ignored_key mistral_ignored_keys[] = {
    { "qk_head_dim", NULL }, /* qk_nope_head_dim + qk_rope_head_dim */
    { "ep_size", NULL },     /* experts per process */
    { 0 },
};

const struct qr_arch qr_arch_mistral4 = {
    .name = "mistral4",
    .hf_types = { "mistral4" },
    .gguf_archs = { "mistral4" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .yarn_temperature = true,
    .mla = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_interleave_key = "rope_interleave",
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_defaults = mistral_defaults,
    .hf_ignored_keys = mistral_ignored_keys,
    .hf_names = mistral_names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf_latent,
    .gguf_common_names = qr_names_gguf,
};
