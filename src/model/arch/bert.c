/* SPDX-License-Identifier: Apache-2.0 */
/* bert.c - BERT: encoder, post-norm LayerNorm, learned positions, token types, pooler, MLM head. */
#include "model/arch/bert_like.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 30522 },       { "hidden_size", 768 },
    { "num_hidden_layers", 12 },   { "num_attention_heads", 12 },
    { "intermediate_size", 3072 }, { "max_position_embeddings", 512 },
    { "type_vocab_size", 2 },      { "rms_norm_eps", 1e-12 },
    { "tie_word_embeddings", 1 },  { 0 },
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
    { "pooler_*", NULL }, /* sizes of a pooler that the reference implementation does not have */
    { 0 },
};

#define E "bert.embeddings."
#define L "bert.encoder.layer.%u."
#define H "cls.predictions."
static const struct qr_name_rule names[] = {
    QR_BERT_EMBEDDING_NAMES("bert."),
    { QR_W_POOLER, QR_SLICE_ALL, "bert.pooler.dense.weight" },
    { QR_W_POOLER_BIAS, QR_SLICE_ALL, "bert.pooler.dense.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "classifier.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "classifier.bias" },
    { QR_W_HEAD_DENSE, QR_SLICE_ALL, H "transform.dense.weight" },
    { QR_W_HEAD_DENSE_BIAS, QR_SLICE_ALL, H "transform.dense.bias" },
    { QR_W_HEAD_NORM, QR_SLICE_ALL, H "transform.LayerNorm.weight" },
    { QR_W_HEAD_NORM_BIAS, QR_SLICE_ALL, H "transform.LayerNorm.bias" },
    { QR_W_OUTPUT, QR_SLICE_ALL, H "decoder.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, H "bias" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, H "decoder.bias" },
    QR_BERT_LAYER_NAMES("bert."),
    /* norm names of the first checkpoints */
    { QR_W_EMBD_NORM, QR_SLICE_ALL, E "LayerNorm.gamma" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, E "LayerNorm.beta" },
    { QR_W_HEAD_NORM, QR_SLICE_ALL, H "transform.LayerNorm.gamma" },
    { QR_W_HEAD_NORM_BIAS, QR_SLICE_ALL, H "transform.LayerNorm.beta" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "attention.output.LayerNorm.gamma" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "attention.output.LayerNorm.beta" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "output.LayerNorm.gamma" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "output.LayerNorm.beta" },
    { 0 },
};
#undef H
#undef L
#undef E

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_TYPE_EMBD, QR_SLICE_ALL, "token_types.weight" },
    { QR_W_CLASS_DENSE, QR_SLICE_ALL, "cls.weight" },
    { QR_W_CLASS_DENSE_BIAS, QR_SLICE_ALL, "cls.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "cls.output.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "cls.output.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "attn_output_norm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "attn_output_norm.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "layer_output_norm.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "layer_output_norm.bias" },
    { 0 },
};
#undef L

/* Positions 0, 1, 2, ...; the head for next sentence prediction; a copy of predictions.bias. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids", "cls.seq_relationship.*",
                                               "cls.predictions.decoder.bias", NULL };

const struct qr_arch qr_arch_bert = {
    .name = "bert",
    .hf_types = { "bert" },
    .gguf_archs = { "bert" },
    QR_BERT_LIKE,
    .activation = QR_ACT_GELU_ERF,
    .ignored_tensors = ignored_tensors,
    .gguf_norm = QR_NORM_LAYER,
    .hf_class_head = QR_CLASS_POOLER,
    .hf_variant = { "position_embedding_type", "alibi", &qr_arch_jina_bert },
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
