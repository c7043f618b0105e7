/* SPDX-License-Identifier: Apache-2.0 */
/* falcon.c - Falcon RW (ALiBi, sequential), 7B (parallel, MQA), 40B and 180B (parallel, GQA). */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 65024 },
    { "hidden_size", 4544 },
    { "num_hidden_layers", 32 },
    { "num_attention_heads", 71 },
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "parallel_attn", 1 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "num_hidden_layers", "n_layer" },
    { "num_attention_heads", "n_head" },
    { "num_kv_heads", "n_head_kv" },
    { "intermediate_size", "ffn_hidden_size" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_act", "activation" },
    { 0 },
};

#define L "transformer.h.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.word_embeddings.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.ln_f.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "transformer.ln_f.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "ln_attn.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "ln_attn.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ln_mlp.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "ln_mlp.bias" },
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

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_NORM, QR_SLICE_ALL, "blk.%u.attn_norm_2.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, "blk.%u.attn_norm_2.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, "blk.%u.attn_norm.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, "blk.%u.attn_norm.bias" },
    { 0 },
};

const struct qr_arch qr_arch_falcon = {
    .name = "falcon",
    .hf_types = { "falcon" },
    .gguf_archs = { "falcon" },
    .block = QR_BLOCK_PRE_NORM,
    .hf_parallel_key = "parallel_attn",
    .hf_parallel_block = QR_BLOCK_PARALLEL,
    .hf_falcon = true,
    .hf_multi_query = true,
    .activation = QR_ACT_GELU_ERF,
    .alibi_max_bias = 8,
    .hf_alibi_key = "alibi",
    .hf_alibi_twice_since = 5,
    .alibi_scaled = true,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_bias_key = "bias",
    .hf_ffn_multiplier = 4,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = names,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
