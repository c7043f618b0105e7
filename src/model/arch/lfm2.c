/* SPDX-License-Identifier: Apache-2.0 */
/* lfm2.c - LFM2 and LFM2-MoE: gated short convolutions, some layers with attention. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 128000 }, { "rms_norm_eps", 1e-5 }, { "rope_theta", 1000000 },
    { "tie_word_embeddings", 1 },          { "conv_L_cache", 3 },    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "norm_eps" },
    { "rms_norm_eps", "block_norm_eps" },
    { "intermediate_size", "block_ff_dim" },
    { "tie_word_embeddings", "tie_embedding" },
    { "rope_theta", "theta" },
    { "first_k_dense_replace", "num_dense_layers" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "conv_bias", false },      /* of projections and convolutions */
    { "use_expert_bias", true }, /* a bias for the choice of experts */
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    /* sizes that hidden_size implies, and initialization */
    { "block_dim", NULL },
    { "conv_dim", NULL },
    { "conv_dim_out", NULL },
    { "block_mlp_init_scale", NULL },
    { "block_out_init_scale", NULL },
    { "block_use_swiglu", "true" },
    { "block_use_xavier_init", NULL },
    { "conv_use_xavier_init", NULL },
    { "use_pos_enc", "true" },
    { "num_heads", NULL },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.embedding_norm.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "operator_norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.out_proj.weight" },
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, L "self_attn.q_layernorm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, L "self_attn.k_layernorm.weight" },
    { QR_W_REC_K, QR_SLICE_THIRD_0, L "conv.in_proj.weight" },
    { QR_W_REC_Q, QR_SLICE_THIRD_1, L "conv.in_proj.weight" },
    { QR_W_REC_V, QR_SLICE_THIRD_2, L "conv.in_proj.weight" },
    { QR_W_REC_CONV_V, QR_SLICE_ALL, L "conv.conv.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, L "conv.out_proj.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "feed_forward.w1.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "feed_forward.w3.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "feed_forward.w2.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "feed_forward.gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "feed_forward.expert_bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "feed_forward.experts.%u.w1.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "feed_forward.experts.%u.w3.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "feed_forward.experts.%u.w2.weight" },
    { 0 },
};
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "token_embd_norm.weight" },
    { QR_W_REC_K, QR_SLICE_THIRD_0, L "shortconv.in_proj.weight" },
    { QR_W_REC_Q, QR_SLICE_THIRD_1, L "shortconv.in_proj.weight" },
    { QR_W_REC_V, QR_SLICE_THIRD_2, L "shortconv.in_proj.weight" },
    { QR_W_REC_CONV_V, QR_SLICE_ALL, L "shortconv.conv.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, L "shortconv.out_proj.weight" },
    { 0 },
};
#undef L

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_SHORT_CONV, .output = QR_RECURRENT_OUT_PLAIN },
    .mixer = QR_MIXER_RECURRENT,
};

const struct qr_arch qr_arch_lfm2 = {
    .name = "lfm2",
    .hf_types = { "lfm2" },
    .gguf_archs = { "lfm2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .recurrent = &recurrent,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_auto_ffn = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};

const struct qr_arch qr_arch_lfm2_moe = {
    .name = "lfm2_moe",
    .hf_types = { "lfm2_moe" },
    .gguf_archs = { "lfm2moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .recurrent = &recurrent,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .renormalize = true, .correction = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
