/* SPDX-License-Identifier: Apache-2.0 */
/* bloom.c - BLOOM: ALiBi, norm after the embedding, fused qkv interleaved by head. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 250880 },
    { "hidden_size", 64 },
    { "num_hidden_layers", 2 },
    { "num_attention_heads", 8 },
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "n_embed" },
    { "num_hidden_layers", "n_layer" },
    { "num_attention_heads", "n_head" },
    { "max_position_embeddings", "seq_length" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "apply_residual_connection_post_layernorm", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "bias_dropout_fusion", NULL }, /* fused kernels of the training program */
    { "masked_softmax_fusion", NULL },
    { "skip_bias_add", NULL },
    { "offset_alibi", NULL }, /* the reference implementation does not read these */
    { "n_inner", NULL },
    { 0 },
};

#define L "transformer.h.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.word_embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, "transformer.word_embeddings_layernorm.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, "transformer.word_embeddings_layernorm.bias" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.ln_f.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "transformer.ln_f.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "input_layernorm.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "input_layernorm.bias" },
    { QR_W_ATTN_Q, QR_SLICE_HEAD_Q, L "self_attention.query_key_value.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_HEAD_Q, L "self_attention.query_key_value.bias" },
    { QR_W_ATTN_K, QR_SLICE_HEAD_K, L "self_attention.query_key_value.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_HEAD_K, L "self_attention.query_key_value.bias" },
    { QR_W_ATTN_V, QR_SLICE_HEAD_V, L "self_attention.query_key_value.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_HEAD_V, L "self_attention.query_key_value.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attention.dense.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "self_attention.dense.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "post_attention_layernorm.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.dense_h_to_4h.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.dense_h_to_4h.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.dense_4h_to_h.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.dense_4h_to_h.bias" },
    { 0 },
};

const struct qr_arch qr_arch_bloom = {
    .name = "bloom",
    .hf_types = { "bloom" },
    .gguf_archs = { "bloom" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_TANH,
    .embedding_norm = true,
    .alibi_max_bias = 8,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .q = true,
                 .k = true,
                 .v = true,
                 .o = true,
                 .ffn_in = true,
                 .ffn_down = true,
                 .norm = true },
    .hf_ffn_multiplier = 4,
    .gguf_norm = QR_NORM_LAYER,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
    .gguf_names = qr_names_gguf,
};
