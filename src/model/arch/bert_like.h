/* SPDX-License-Identifier: Apache-2.0 */
/* bert_like.h - what BERT, RoBERTa and encoders like them share: options, and tensor names of
 * Hugging Face folders below the prefix M of the model. */
#ifndef QR_MODEL_ARCH_BERT_LIKE_H
#define QR_MODEL_ARCH_BERT_LIKE_H
#include "model/arch/arch.h"

/* Fields of struct qr_arch. */
#define QR_BERT_LIKE .learned_positions = true, QR_BERT_LIKE_WITHOUT_POSITIONS
#define QR_BERT_LIKE_WITHOUT_POSITIONS                                                             \
    .kind = QR_MODEL_ENCODER, .block = QR_BLOCK_POST_NORM, .embedding_norm = true,                 \
    .hf_norm = QR_NORM_LAYER,                                                                      \
    .hf_bias = {                                                                                   \
        .q = true, .k = true, .v = true, .o = true, .ffn_in = true, .ffn_down = true, .norm = true \
    }

/* Dense layer and output matrix of a classification head. */
#define QR_ROBERTA_CLASS_NAMES                                                                     \
    { QR_W_CLASS_DENSE, QR_SLICE_ALL, "classifier.dense.weight" },                                 \
        { QR_W_CLASS_DENSE_BIAS, QR_SLICE_ALL, "classifier.dense.bias" },                          \
        { QR_W_CLASS_OUT, QR_SLICE_ALL, "classifier.out_proj.weight" },                            \
    {                                                                                              \
        QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "classifier.out_proj.bias"                              \
    }

/* The masked LM head. */
#define QR_ROBERTA_LM_NAMES                                                                        \
    { QR_W_HEAD_DENSE, QR_SLICE_ALL, "lm_head.dense.weight" },                                     \
        { QR_W_HEAD_DENSE_BIAS, QR_SLICE_ALL, "lm_head.dense.bias" },                              \
        { QR_W_HEAD_NORM, QR_SLICE_ALL, "lm_head.layer_norm.weight" },                             \
        { QR_W_HEAD_NORM_BIAS, QR_SLICE_ALL, "lm_head.layer_norm.bias" },                          \
        { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.decoder.weight" },                                   \
        { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "lm_head.bias" },                                        \
    {                                                                                              \
        QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "lm_head.decoder.bias"                                     \
    }

#define QR_BERT_EMBEDDING_NAMES(M)                                                                 \
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, M "embeddings.word_embeddings.weight" },                      \
        { QR_W_POS_EMBD, QR_SLICE_ALL, M "embeddings.position_embeddings.weight" },                \
        { QR_W_TYPE_EMBD, QR_SLICE_ALL, M "embeddings.token_type_embeddings.weight" },             \
        { QR_W_EMBD_NORM, QR_SLICE_ALL, M "embeddings.LayerNorm.weight" },                         \
    {                                                                                              \
        QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, M "embeddings.LayerNorm.bias"                           \
    }

/* The feed-forward network and the norm behind it. */
#define QR_BERT_FFN_NAMES(M)                                                                       \
    { QR_W_FFN_UP, QR_SLICE_ALL, M "encoder.layer.%u.intermediate.dense.weight" },                 \
        { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, M "encoder.layer.%u.intermediate.dense.bias" },          \
        { QR_W_FFN_DOWN, QR_SLICE_ALL, M "encoder.layer.%u.output.dense.weight" },                 \
        { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, M "encoder.layer.%u.output.dense.bias" },              \
        { QR_W_FFN_POST_NORM, QR_SLICE_ALL, M "encoder.layer.%u.output.LayerNorm.weight" },        \
    {                                                                                              \
        QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, M "encoder.layer.%u.output.LayerNorm.bias"          \
    }

#define QR_BERT_LAYER_NAMES(M)                                                                     \
    { QR_W_ATTN_Q, QR_SLICE_ALL, M "encoder.layer.%u.attention.self.query.weight" },               \
        { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, M "encoder.layer.%u.attention.self.query.bias" },        \
        { QR_W_ATTN_K, QR_SLICE_ALL, M "encoder.layer.%u.attention.self.key.weight" },             \
        { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, M "encoder.layer.%u.attention.self.key.bias" },          \
        { QR_W_ATTN_V, QR_SLICE_ALL, M "encoder.layer.%u.attention.self.value.weight" },           \
        { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, M "encoder.layer.%u.attention.self.value.bias" },        \
        { QR_W_ATTN_O, QR_SLICE_ALL, M "encoder.layer.%u.attention.output.dense.weight" },         \
        { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, M "encoder.layer.%u.attention.output.dense.bias" },      \
        { QR_W_ATTN_POST_NORM, QR_SLICE_ALL,                                                       \
          M "encoder.layer.%u.attention.output.LayerNorm.weight" },                                \
        { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL,                                                  \
          M "encoder.layer.%u.attention.output.LayerNorm.bias" },                                  \
        QR_BERT_FFN_NAMES(M)

#endif
