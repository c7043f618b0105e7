/* SPDX-License-Identifier: Apache-2.0 */
/* bailing_hybrid.c - Ling 3: KDA with bounded decays, in the last layer of each group of layers MLA
 * with gates of heads instead; sigmoid router with a correction and groups, shared experts. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 600000 },
    { "head_dim", 128 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 128 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 128 },
    { "n_shared_experts", 1 },
    { "first_k_dense_replace", 1 },
    { "norm_topk_prob", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rope_dim", "qk_rope_head_dim" },
    { "linear_num_heads", "num_attention_heads" },
    { "linear_head_dim", "head_dim" },
    { "linear_conv_kernel_dim", "short_conv_kernel_size" },
    { "gating", "gated_attention_proj_granularity_type" },
    { "n_shared_experts", "num_shared_experts" },
    { "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size" },
    { "scoring_func", "score_function" },
    { "swiglu_limits", "expert_swiglu_limit_list" },
    { "swiglu_limits_shared", "share_expert_swiglu_limit_list" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "no_kda_lora", true },
    { "use_kda_lora", false },
    { "mtp_use_kda", false },
    { "use_mla_nope", false },
    { "rope_interleave", true },
    { "moe_router_enable_expert_bias", true },
    { "norm_topk_prob", true }, /* the reference implementation always divides by the sum */
    { "scale_router_input", false },
    { "up_proj_norm", false },
    { "value_norm", false },
    { "use_nGPT", false },
    { "use_bias", false },
    { "use_qkv_bias", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "linear_attention", "kda" },
    { "topk_method", "noaux_tc" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "qk_head_dim", NULL },           /* qk_nope_head_dim + qk_rope_head_dim */
    { "partial_rotary_factor", NULL }, /* all of qk_rope_head_dim rotates, as rotary_dim says */
    { "rotary_dim", NULL },
    { "use_qk_norm", NULL }, /* KDA always has unit keys, MLA has no such norms */
    { "group_norm_size", "1" },
    { "num_kv_heads_for_linear_attn", "0" },
    { "linear_silu", "true" },
    { "max_window_layers", NULL }, /* of windows, which there are not */
    { "router_dtype", NULL },      /* the router computes in f32 */
    { "embedding_dropout", NULL }, /* training */
    { "output_dropout", NULL },
    { "mtp_loss_scaling_factor", NULL },
    { "seq_aux", NULL },
    { 0 },
};

#define L "model.layers.%u.attention."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.word_embeddings.weight" },
    { QR_W_LATENT_Q_A, QR_SLICE_ALL, L "q_a_proj.weight" },
    { QR_W_LATENT_Q_NORM, QR_SLICE_ALL, L "q_a_layernorm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "q_b_proj.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "q_proj.weight" },
    { QR_W_LATENT_KV_A, QR_SLICE_ALL, L "kv_a_proj_with_mqa.weight" },
    { QR_W_LATENT_KV_NORM, QR_SLICE_ALL, L "kv_a_layernorm.weight" },
    { QR_W_LATENT_UK, QR_SLICE_LATENT_K | QR_SLICE_TRANSPOSED, L "kv_b_proj.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_LATENT_K, L "kv_b_proj.weight" },
    { QR_W_LATENT_UV, QR_SLICE_LATENT_V, L "kv_b_proj.weight" },
    { QR_W_ATTN_GATE, QR_SLICE_ALL, L "g_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "dense.weight" },
    { QR_W_REC_Q, QR_SLICE_ALL, L "q_proj.weight" },
    { QR_W_REC_K, QR_SLICE_ALL, L "k_proj.weight" },
    { QR_W_REC_V, QR_SLICE_ALL, L "v_proj.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, L "f_proj.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, L "g_proj.weight" },
    { QR_W_REC_BETA, QR_SLICE_ALL, L "b_proj.weight" },
    { QR_W_REC_CONV_Q, QR_SLICE_ALL, L "q_conv1d.weight" },
    { QR_W_REC_CONV_K, QR_SLICE_ALL, L "k_conv1d.weight" },
    { QR_W_REC_CONV_V, QR_SLICE_ALL, L "v_conv1d.weight" },
    { QR_W_REC_A, QR_SLICE_ALL, L "A_log" },
    { QR_W_REC_DT_BIAS, QR_SLICE_ALL, L "dt_bias" },
    { QR_W_REC_NORM, QR_SLICE_ALL, L "o_norm.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, L "o_proj.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, "model.layers.%u.mlp.gate.expert_bias" },
    { 0 },
};
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_LATENT_Q_A, QR_SLICE_ALL, L "attn_q_a.weight" },
    { QR_W_LATENT_Q_NORM, QR_SLICE_ALL, L "attn_q_a_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn_q_b.weight" },
    { QR_W_LATENT_KV_A, QR_SLICE_ALL, L "attn_kv_a_mqa.weight" },
    { QR_W_LATENT_KV_NORM, QR_SLICE_ALL, L "attn_kv_a_norm.weight" },
    { QR_W_LATENT_UK, QR_SLICE_ALL, L "attn_k_b.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_TRANSPOSED, L "attn_k_b.weight" },
    { QR_W_LATENT_UV, QR_SLICE_ALL, L "attn_v_b.weight" },
    { QR_W_ATTN_GATE, QR_SLICE_ALL, L "attn_gate.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, L "ssm_f_a.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, L "ssm_g_a.weight" },
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
};

const struct qr_arch qr_arch_bailing_hybrid = {
    .name = "bailing_hybrid",
    .hf_types = { "bailing_hybrid" },
    .gguf_archs = { "bailingmoe3" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
    .attention_gate = true,
    .recurrent = &recurrent,
    .layer_limits = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID,
             .renormalize = true,
             .correction = true,
             .group_top2 = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_layer_heads = true,
    .hf_mtp_lists = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .hf_mtp_names = qr_names_hf_mtp_final_norm,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_mtp = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
    .gguf_mtp_names = qr_names_gguf_mtp_layer_norm,
};
