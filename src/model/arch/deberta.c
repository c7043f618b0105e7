/* SPDX-License-Identifier: Apache-2.0 */
/* deberta.c - DeBERTa 2 and 3: BERT without positions in its input, with disentangled attention. */
#include "model/arch/bert_like.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 128100 },
    { "hidden_size", 1536 },
    { "num_hidden_layers", 24 },
    { "num_attention_heads", 24 },
    { "intermediate_size", 6144 },
    { "max_position_embeddings", 512 },
    { "type_vocab_size", 0 },
    { "rms_norm_eps", 1e-7 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "pooler_hidden_act", "gelu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "pooler_dropout", NULL },     /* training */
    { "pooler_hidden_size", NULL }, /* hidden_size, of which the tensors are */
    { "cls_dropout", NULL },
    { "legacy", NULL }, /* names of the masked LM head, of which nothing is computed */
    { 0 },
};

#define L "deberta.encoder.layer.%u.attention."
static const struct qr_name_rule names[] = {
    QR_BERT_EMBEDDING_NAMES("deberta."),
    { QR_W_DISTANCE_EMBD, QR_SLICE_ALL, "deberta.encoder.rel_embeddings.weight" },
    { QR_W_DISTANCE_NORM, QR_SLICE_ALL, "deberta.encoder.LayerNorm.weight" },
    { QR_W_DISTANCE_NORM_BIAS, QR_SLICE_ALL, "deberta.encoder.LayerNorm.bias" },
    { QR_W_CLASS_DENSE, QR_SLICE_ALL, "pooler.dense.weight" },
    { QR_W_CLASS_DENSE_BIAS, QR_SLICE_ALL, "pooler.dense.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "classifier.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "classifier.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "self.query_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "self.query_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "self.key_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "self.key_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "self.value_proj.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "self.value_proj.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "output.dense.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "output.dense.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "output.LayerNorm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "output.LayerNorm.bias" },
    QR_BERT_FFN_NAMES("deberta."),
    { 0 },
};
#undef L

/* Positions 0, 1, 2, ...; heads of the pretraining, of which nothing is computed. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids",
                                               "lm_predictions.*",
                                               "mask_predictions.*",
                                               "cls.predictions.*",
                                               "deberta.embeddings.position_embeddings.weight",
                                               NULL };

const struct qr_arch qr_arch_deberta = {
    .name = "deberta",
    .hf_types = { "deberta-v2" },
    QR_BERT_LIKE_WITHOUT_POSITIONS,
    .activation = QR_ACT_GELU_ERF,
    .disentangled = true,
    .ignored_tensors = ignored_tensors,
    .hf_class_head = QR_CLASS_DENSE_GELU,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
};
