/* SPDX-License-Identifier: Apache-2.0 */
/* kimi_linear.c - Kimi Linear: delta attention with a decay per key element, MLA without positions,
 * experts. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 1048576 },
    { "rms_norm_eps", 1e-5 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 128 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 128 },
    { "norm_topk_prob", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "max_position_embeddings", "model_max_length" },
    { "linear_num_heads", "linear_attn_config.num_heads" },
    { "linear_head_dim", "linear_attn_config.head_dim" },
    { "linear_conv_kernel_dim", "linear_attn_config.short_conv_kernel_size" },
    { "full_attn_layers", "linear_attn_config.full_attn_layers" },
    { "n_group", "num_expert_group" },
    { "n_shared_experts", "num_shared_experts" },
    { "norm_topk_prob", "moe_renormalize" },
    { "scoring_func", "moe_router_activation_func" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "mla_use_nope", true },
    { "attention_bias", false },
    { "mlp_bias", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "qk_head_dim", NULL },                   /* qk_nope_head_dim + qk_rope_head_dim */
    { "linear_attn_config.kda_layers", NULL }, /* all others */
    { "use_grouped_topk", "true" },
    { "rope_*", NULL }, /* no layer rotates */
    { 0 },
};

#define L   "model.layers.%u.self_attn."
#define MOE "model.layers.%u.block_sparse_moe."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "q_proj.weight" },
    { QR_W_LATENT_KV_A, QR_SLICE_ALL, L "kv_a_proj_with_mqa.weight" },
    { QR_W_LATENT_KV_NORM, QR_SLICE_ALL, L "kv_a_layernorm.weight" },
    { QR_W_LATENT_UK, QR_SLICE_LATENT_K | QR_SLICE_TRANSPOSED, L "kv_b_proj.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_LATENT_K, L "kv_b_proj.weight" },
    { QR_W_LATENT_UV, QR_SLICE_LATENT_V, L "kv_b_proj.weight" },
    { QR_W_REC_Q, QR_SLICE_ALL, L "q_proj.weight" },
    { QR_W_REC_K, QR_SLICE_ALL, L "k_proj.weight" },
    { QR_W_REC_V, QR_SLICE_ALL, L "v_proj.weight" },
    { QR_W_REC_DT_A, QR_SLICE_ALL, L "f_a_proj.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, L "f_b_proj.weight" },
    { QR_W_REC_Z_A, QR_SLICE_ALL, L "g_a_proj.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, L "g_b_proj.weight" },
    { QR_W_REC_BETA, QR_SLICE_ALL, L "b_proj.weight" },
    { QR_W_REC_CONV_Q, QR_SLICE_ALL, L "q_conv1d.weight" },
    { QR_W_REC_CONV_K, QR_SLICE_ALL, L "k_conv1d.weight" },
    { QR_W_REC_CONV_V, QR_SLICE_ALL, L "v_conv1d.weight" },
    { QR_W_REC_A, QR_SLICE_ALL, L "A_log" },
    { QR_W_REC_DT_BIAS, QR_SLICE_ALL, L "dt_bias" },
    { QR_W_REC_NORM, QR_SLICE_ALL, L "o_norm.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, L "o_proj.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, MOE "gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, MOE "up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, MOE "down_proj.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, MOE "gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, MOE "gate.e_score_correction_bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, MOE "experts.%u.w1.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, MOE "experts.%u.w3.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, MOE "experts.%u.w2.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, MOE "shared_experts.gate_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, MOE "shared_experts.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, MOE "shared_experts.down_proj.weight" },
    { 0 },
};
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_LATENT_KV_A, QR_SLICE_ALL, L "attn_kv_a_mqa.weight" },
    { QR_W_LATENT_KV_NORM, QR_SLICE_ALL, L "attn_kv_a_norm.weight" },
    { QR_W_LATENT_UK, QR_SLICE_ALL, L "attn_k_b.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_TRANSPOSED, L "attn_k_b.weight" },
    { QR_W_LATENT_UV, QR_SLICE_ALL, L "attn_v_b.weight" },
    { QR_W_REC_DT_A, QR_SLICE_ALL, L "ssm_f_a.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, L "ssm_f_b.weight" },
    { QR_W_REC_Z_A, QR_SLICE_ALL, L "ssm_g_a.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, L "ssm_g_b.weight" },
    QR_NAMES_GGUF_KDA,
    { 0 },
};
#undef L

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_DELTA,
                .output = QR_RECURRENT_OUT_NORM_GATE,
                .vector_decay = true,
                .sigmoid_gate = true },
    .mixer = QR_MIXER_RECURRENT,
    .head_norm = true,
    .low_rank_gate = true,
};

const struct qr_arch qr_arch_kimi_linear = {
    .name = "kimi_linear",
    .hf_types = { "kimi_linear" },
    .gguf_archs = { "kimi-linear" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
    .recurrent = &recurrent,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID,
             .renormalize = true,
             .correction = true,
             .group_top2 = true },
    .hf_norm = QR_NORM_RMS,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
