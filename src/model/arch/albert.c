/* SPDX-License-Identifier: Apache-2.0 */
/* albert.c - ALBERT: BERT whose layers share one set of weights, with narrow embeddings. */
#include "model/arch/bert_like.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 30000 },
    { "embedding_size", 128 },
    { "hidden_size", 4096 },
    { "num_hidden_layers", 12 },
    { "num_attention_heads", 64 },
    { "intermediate_size", 16384 },
    { "max_position_embeddings", 512 },
    { "type_vocab_size", 2 },
    { "rms_norm_eps", 1e-12 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "position_embedding_type", "absolute" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "classifier_dropout_prob", NULL }, /* training */
    { "down_scale_factor", NULL },       /* the reference implementation does not read these */
    { "gap_size", NULL },
    { "net_structure_type", NULL },
    { "num_memory_blocks", NULL },
    { 0 },
};

#define L "albert.encoder.albert_layer_groups.0.albert_layers.%u."
static const struct qr_name_rule names[] = {
    QR_BERT_EMBEDDING_NAMES("albert."),
    { QR_W_EMBD_PROJ, QR_SLICE_ALL, "albert.encoder.embedding_hidden_mapping_in.weight" },
    { QR_W_EMBD_PROJ_BIAS, QR_SLICE_ALL, "albert.encoder.embedding_hidden_mapping_in.bias" },
    { QR_W_POOLER, QR_SLICE_ALL, "albert.pooler.weight" },
    { QR_W_POOLER_BIAS, QR_SLICE_ALL, "albert.pooler.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "classifier.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "classifier.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attention.query.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "attention.query.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attention.key.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "attention.key.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attention.value.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "attention.value.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attention.dense.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attention.dense.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "attention.LayerNorm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "attention.LayerNorm.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "ffn.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "ffn.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn_output.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "ffn_output.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "full_layer_layer_norm.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "full_layer_layer_norm.bias" },
    { 0 },
};
#undef L

/* Positions 0, 1, 2, ...; heads of the pretraining, of which nothing is computed. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids", "predictions.*",
                                               "sop_classifier.*", NULL };

const struct qr_arch qr_arch_albert = {
    .name = "albert",
    .hf_types = { "albert" },
    QR_BERT_LIKE,
    .activation = QR_ACT_GELU_TANH,
    .one_layer = true,
    .embedding_projection = true,
    .ignored_tensors = ignored_tensors,
    .hf_class_head = QR_CLASS_POOLER,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
};
