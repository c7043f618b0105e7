/* SPDX-License-Identifier: Apache-2.0 */
/* opt.c - OPT: learned positions with offset 2, ReLU. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 50272 },       { "hidden_size", 768 },
    { "num_hidden_layers", 12 },   { "num_attention_heads", 12 },
    { "intermediate_size", 3072 }, { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },      { "enable_bias", 1 },
    { "tie_word_embeddings", 1 },  { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "intermediate_size", "ffn_dim" },
    { "hidden_act", "activation_function" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "do_layer_norm_before", true },
    { "_remove_final_layer_norm", false },
    { "layer_norm_elementwise_affine", true },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "output_projection", "true" },
    { 0 },
};

#define L "model.decoder.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.decoder.embed_tokens.weight" },
    { QR_W_POS_EMBD, QR_SLICE_ALL, "model.decoder.embed_positions.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.decoder.final_layer_norm.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "model.decoder.final_layer_norm.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "self_attn_layer_norm.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "self_attn_layer_norm.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "self_attn.q_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "self_attn.q_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "self_attn.k_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "self_attn.k_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "self_attn.v_proj.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "self_attn.v_proj.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.out_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "self_attn.out_proj.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "final_layer_norm.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "final_layer_norm.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "fc1.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "fc1.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "fc2.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "fc2.bias" },
    { 0 },
};

/* Of a writer. */
static const char *const ignored_tensors[] = { "*decoder.version", NULL };

const struct qr_arch qr_arch_opt = {
    .name = "opt",
    .hf_types = { "opt" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU,
    .learned_positions = true,
    .position_offset = 2,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .norm = true },
    .hf_bias_key = "enable_bias",
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
};
