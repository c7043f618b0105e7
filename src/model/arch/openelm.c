/* SPDX-License-Identifier: Apache-2.0 */
/* openelm.c - OpenELM (Apple): head counts and feed-forward sizes that grow from layer to layer. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "tie_word_embeddings", 1 },
    { "head_dim", 128 },
    { "ffn_dim_divisor", 256 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "model_dim" },
    { "num_hidden_layers", "num_transformer_layers" },
    { "max_position_embeddings", "max_context_length" },
    { "rope_theta", "rope_freq_constant" },
    { "hidden_act", "activation_fn_name" },
    { "tie_word_embeddings", "share_input_output_layers" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "ffn_with_glu", true },
    { "normalize_qk_projections", true },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "normalization_layer_name", "rms_norm" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "num_gqa_groups", NULL },  /* the head counts are listed */
    { "qkv_multipliers", NULL }, /* likewise */
    { "rope_max_length", NULL }, /* of a table that grows */
    { 0 },
};

#define L "transformer.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.token_embeddings.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.norm.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attn_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "attn.qkv_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, L "attn.qkv_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, L "attn.qkv_proj.weight" },
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, L "attn.q_norm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, L "attn.k_norm.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.out_proj.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "ffn.proj_1.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "ffn.proj_1.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn.proj_2.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_openelm = {
    .name = "openelm",
    .hf_types = { "openelm" },
    .gguf_archs = { "openelm" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_size_lists = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
