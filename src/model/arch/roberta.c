/* SPDX-License-Identifier: Apache-2.0 */
/* roberta.c - RoBERTa, XLM-RoBERTa: BERT with positions that start after the padding token. */
#include "model/arch/bert_like.h"

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

static const struct qr_name_rule names[] = {
    QR_BERT_EMBEDDING_NAMES("roberta."),
    { QR_W_POOLER, QR_SLICE_ALL, "roberta.pooler.dense.weight" },
    { QR_W_POOLER_BIAS, QR_SLICE_ALL, "roberta.pooler.dense.bias" },
    QR_ROBERTA_CLASS_NAMES,
    QR_ROBERTA_LM_NAMES,
    QR_BERT_LAYER_NAMES("roberta."),
    { 0 },
};

/* Positions 0, 1, 2, ...; a copy of lm_head.bias. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids", "lm_head.decoder.bias",
                                               NULL };

const struct qr_arch qr_arch_roberta = {
    .name = "roberta",
    .hf_types = { "roberta", "xlm-roberta", "camembert" },
    QR_BERT_LIKE,
    .activation = QR_ACT_GELU_ERF,
    .ignored_tensors = ignored_tensors,
    .hf_positions_after_pad = true,
    .hf_class_head = QR_CLASS_DENSE,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
};
