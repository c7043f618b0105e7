/* SPDX-License-Identifier: Apache-2.0 */
/* roberta.c - RoBERTa, XLM-RoBERTa: BERT with positions that start after the padding token. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 50265 },
    { "hidden_size", 768 },
    { "num_hidden_layers", 12 },
    { "num_attention_heads", 12 },
    { "intermediate_size", 3072 },
    { "max_position_embeddings", 512 },
    { "type_vocab_size", 2 },
    { "rms_norm_eps", 1e-12 },
    { "tie_word_embeddings", 1 },
    { "pad_token_id", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "is_decoder", false },
    { "add_cross_attention", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "position_embedding_type", "absolute" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "directionality", "bidi" },
    { 0 },
};

#define E "roberta.embeddings."
#define L "roberta.encoder.layer.%u."
#define H "lm_head."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, E "word_embeddings.weight" },
    { QR_W_POS_EMBD, QR_SLICE_ALL, E "position_embeddings.weight" },
    { QR_W_TYPE_EMBD, QR_SLICE_ALL, E "token_type_embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, E "LayerNorm.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, E "LayerNorm.bias" },
    { QR_W_POOLER, QR_SLICE_ALL, "roberta.pooler.dense.weight" },
    { QR_W_POOLER_BIAS, QR_SLICE_ALL, "roberta.pooler.dense.bias" },
    { QR_W_CLASS_DENSE, QR_SLICE_ALL, "classifier.dense.weight" },
    { QR_W_CLASS_DENSE_BIAS, QR_SLICE_ALL, "classifier.dense.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "classifier.out_proj.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "classifier.out_proj.bias" },
    { QR_W_HEAD_DENSE, QR_SLICE_ALL, H "dense.weight" },
    { QR_W_HEAD_DENSE_BIAS, QR_SLICE_ALL, H "dense.bias" },
    { QR_W_HEAD_NORM, QR_SLICE_ALL, H "layer_norm.weight" },
    { QR_W_HEAD_NORM_BIAS, QR_SLICE_ALL, H "layer_norm.bias" },
    { QR_W_OUTPUT, QR_SLICE_ALL, H "decoder.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, H "bias" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, H "decoder.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attention.self.query.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "attention.self.query.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attention.self.key.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "attention.self.key.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attention.self.value.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "attention.self.value.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attention.output.dense.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attention.output.dense.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "attention.output.LayerNorm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "attention.output.LayerNorm.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "intermediate.dense.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "intermediate.dense.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "output.dense.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "output.dense.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "output.LayerNorm.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "output.LayerNorm.bias" },
    { 0 },
};
#undef H
#undef L
#undef E

/* Positions 0, 1, 2, ...; a copy of lm_head.bias. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids", "lm_head.decoder.bias",
                                               NULL };

const struct qr_arch qr_arch_roberta = {
    .name = "roberta",
    .hf_types = { "roberta", "xlm-roberta", "camembert" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_POST_NORM,
    .activation = QR_ACT_GELU_ERF,
    .learned_positions = true,
    .embedding_norm = true,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .q = true,
                 .k = true,
                 .v = true,
                 .o = true,
                 .ffn_in = true,
                 .ffn_down = true,
                 .norm = true },
    .hf_positions_after_pad = true,
    .hf_class_head = QR_CLASS_DENSE,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
};
