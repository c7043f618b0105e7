/* SPDX-License-Identifier: Apache-2.0 */
/* mpnet.c - MPNet: RoBERTa without token types, with a relative position bias that all layers share
 * beside the learned positions. */
#include "model/arch/bert_like.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 30527 },
    { "hidden_size", 768 },
    { "num_hidden_layers", 12 },
    { "num_attention_heads", 12 },
    { "intermediate_size", 3072 },
    { "max_position_embeddings", 512 },
    { "relative_attention_num_buckets", 32 },
    { "relative_attention_max_distance", 128 }, /* the files have no key for it */
    { "rms_norm_eps", 1e-12 },
    { "tie_word_embeddings", 1 },
    { "pad_token_id", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

#define L "mpnet.encoder.layer.%u.attention."
static const struct qr_name_rule names[] = {
    QR_BERT_EMBEDDING_NAMES("mpnet."),
    { QR_W_POOLER, QR_SLICE_ALL, "mpnet.pooler.dense.weight" },
    { QR_W_POOLER_BIAS, QR_SLICE_ALL, "mpnet.pooler.dense.bias" },
    QR_ROBERTA_CLASS_NAMES,
    QR_ROBERTA_LM_NAMES,
    { QR_W_ATTN_REL_BIAS, QR_SLICE_ALL, "mpnet.encoder.relative_attention_bias.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn.q.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "attn.q.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn.k.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "attn.k.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn.v.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "attn.v.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.o.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attn.o.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "LayerNorm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "LayerNorm.bias" },
    QR_BERT_FFN_NAMES("mpnet."),
    { 0 },
};
#undef L

/* Positions 0, 1, 2, ...; a copy of lm_head.bias. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids", "lm_head.decoder.bias",
                                               NULL };

const struct qr_arch qr_arch_mpnet = {
    .name = "mpnet",
    .hf_types = { "mpnet" },
    QR_BERT_LIKE,
    .activation = QR_ACT_GELU_ERF,
    .relative_bias = true,
    .ignored_tensors = ignored_tensors,
    .hf_positions_after_pad = true,
    .hf_class_head = QR_CLASS_DENSE,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = names,
};
