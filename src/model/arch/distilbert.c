/* SPDX-License-Identifier: Apache-2.0 */
/* distilbert.c - DistilBERT: BERT without token types and pooler, with names of its own. */
#include "model/arch/bert_like.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 30522 },
    { "hidden_size", 768 },
    { "num_hidden_layers", 6 },
    { "num_attention_heads", 12 },
    { "intermediate_size", 3072 },
    { "max_position_embeddings", 512 },
    { "rms_norm_eps", 1e-12 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "dim" },
    { "num_hidden_layers", "n_layers" },
    { "num_attention_heads", "n_heads" },
    { "intermediate_size", "hidden_dim" },
    { "hidden_act", "activation" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "sinusoidal_pos_embds", NULL }, /* initial values of the table, which the file has */
    { "tie_weights_", NULL },         /* the same as tie_word_embeddings, of the first versions */
    { "qa_dropout", NULL },           /* training */
    { "seq_classif_dropout", NULL },  { 0 },
};

#define E "distilbert.embeddings."
#define L "distilbert.transformer.layer.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, E "word_embeddings.weight" },
    { QR_W_POS_EMBD, QR_SLICE_ALL, E "position_embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, E "LayerNorm.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, E "LayerNorm.bias" },
    { QR_W_CLASS_DENSE, QR_SLICE_ALL, "pre_classifier.weight" },
    { QR_W_CLASS_DENSE_BIAS, QR_SLICE_ALL, "pre_classifier.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "classifier.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "classifier.bias" },
    { QR_W_HEAD_DENSE, QR_SLICE_ALL, "vocab_transform.weight" },
    { QR_W_HEAD_DENSE_BIAS, QR_SLICE_ALL, "vocab_transform.bias" },
    { QR_W_HEAD_NORM, QR_SLICE_ALL, "vocab_layer_norm.weight" },
    { QR_W_HEAD_NORM_BIAS, QR_SLICE_ALL, "vocab_layer_norm.bias" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "vocab_projector.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "vocab_projector.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attention.q_lin.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "attention.q_lin.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attention.k_lin.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "attention.k_lin.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attention.v_lin.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "attention.v_lin.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attention.out_lin.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attention.out_lin.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "sa_layer_norm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "sa_layer_norm.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "ffn.lin1.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "ffn.lin1.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn.lin2.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "ffn.lin2.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "output_layer_norm.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "output_layer_norm.bias" },
    { 0 },
};
#undef L
#undef E

/* Positions 0, 1, 2, ... */
static const char *const ignored_tensors[] = { "*embeddings.position_ids", NULL };

const struct qr_arch qr_arch_distilbert = {
    .name = "distilbert",
    .hf_types = { "distilbert" },
    QR_BERT_LIKE,
    .activation = QR_ACT_GELU_ERF,
    .ignored_tensors = ignored_tensors,
    .hf_class_head = QR_CLASS_DENSE_RELU,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_names = names,
};
