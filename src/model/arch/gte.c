/* SPDX-License-Identifier: Apache-2.0 */
/* gte.c - GTE 1.5 and mGTE, Snowflake Arctic Embed 2: BERT with RoPE and a gated feed-forward
 * network, of whose two halves the gate is the second. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 30528 },
    { "hidden_size", 768 },
    { "num_hidden_layers", 12 },
    { "num_attention_heads", 12 },
    { "intermediate_size", 3072 },
    { "max_position_embeddings", 2048 },
    { "type_vocab_size", 1 },
    { "rms_norm_eps", 1e-12 },
    { "rope_theta", 10000 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "logn_attention_scale", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "position_embedding_type", "rope" },
    { "layer_norm_type", "layer_norm" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "logn_attention_clip1", NULL }, /* of logn_attention_scale, which is off */
    { "pack_qkv", NULL },             /* whether q, k and v are one tensor, which its name says */
    { "unpad_inputs", NULL }, /* how the reference implementation computes the same function */
    { "use_memory_efficient_attention", NULL },
    { "matryoshka_dimensions", NULL }, /* to which a caller may cut embeddings */
    { 0 },
};

#define L "new.encoder.layer.%u."
#define H "lm_head."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "new.embeddings.word_embeddings.weight" },
    { QR_W_TYPE_EMBD, QR_SLICE_ALL, "new.embeddings.token_type_embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, "new.embeddings.LayerNorm.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, "new.embeddings.LayerNorm.bias" },
    { QR_W_POOLER, QR_SLICE_ALL, "new.pooler.dense.weight" },
    { QR_W_POOLER_BIAS, QR_SLICE_ALL, "new.pooler.dense.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "classifier.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "classifier.bias" },
    { QR_W_HEAD_DENSE, QR_SLICE_ALL, H "dense.weight" },
    { QR_W_HEAD_DENSE_BIAS, QR_SLICE_ALL, H "dense.bias" },
    { QR_W_HEAD_NORM, QR_SLICE_ALL, H "norm.weight" },
    { QR_W_HEAD_NORM_BIAS, QR_SLICE_ALL, H "norm.bias" },
    { QR_W_OUTPUT, QR_SLICE_ALL, H "decoder.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, H "decoder.bias" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "attention.qkv_proj.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attention.q_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_Q, L "attention.qkv_proj.bias" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "attention.q_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_K, L "attention.qkv_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attention.k_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_K, L "attention.qkv_proj.bias" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "attention.k_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_V, L "attention.qkv_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attention.v_proj.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_V, L "attention.qkv_proj.bias" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "attention.v_proj.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attention.o_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attention.o_proj.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "attn_ln.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "attn_ln.bias" },
    { QR_W_FFN_UP, QR_SLICE_GATE, L "mlp.up_gate_proj.weight" }, /* the first half */
    { QR_W_FFN_GATE, QR_SLICE_UP, L "mlp.up_gate_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.down_proj.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.down_proj.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "mlp_ln.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "mlp_ln.bias" },
    { 0 },
};
#undef H
#undef L

/* Positions 0, 1, 2, ...; without ...ForSequenceClassification, weights of tokens for sparse
 * retrieval. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids", "classifier.*", NULL };

const struct qr_arch qr_arch_gte = {
    .name = "gte",
    .hf_types = { "new", "gte" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_POST_NORM,
    .activation = QR_ACT_GELU_ERF,
    .gated = true,
    .embedding_norm = true,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_ntk_rope = true,
    .hf_bias = { .q = true, .k = true, .v = true, .o = true, .ffn_down = true, .norm = true },
    .hf_class_head = QR_CLASS_POOLER,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
};
