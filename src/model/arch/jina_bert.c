/* SPDX-License-Identifier: Apache-2.0 */
/* jina_bert.c - Jina Embeddings 2: BERT with ALiBi, a gated feed-forward network and, in some
 * models, norms of q and k and a second norm behind attention. */
#include "model/arch/arch.h"

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
    { "position_embedding_type", "alibi" },
    { "feed_forward_type", "geglu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "emb_pooler", "mean" }, /* the default, unless 1_Pooling has another one */
    { 0 },
};

#define E    "bert.embeddings."
#define L    "bert.encoder.layer.%u."
#define SELF L "attention.self."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, E "word_embeddings.weight" },
    { QR_W_TYPE_EMBD, QR_SLICE_ALL, E "token_type_embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, E "LayerNorm.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, E "LayerNorm.bias" },
    { QR_W_POOLER, QR_SLICE_ALL, "bert.pooler.dense.weight" },
    { QR_W_POOLER_BIAS, QR_SLICE_ALL, "bert.pooler.dense.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, SELF "query.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, SELF "query.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, SELF "key.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, SELF "key.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, SELF "value.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, SELF "value.bias" },
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, SELF "layer_norm_q.weight" },
    { QR_W_ATTN_Q_NORM_BIAS, QR_SLICE_ALL, SELF "layer_norm_q.bias" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, SELF "layer_norm_k.weight" },
    { QR_W_ATTN_K_NORM_BIAS, QR_SLICE_ALL, SELF "layer_norm_k.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attention.output.dense.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attention.output.dense.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "attention.output.LayerNorm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "attention.output.LayerNorm.bias" },
    { QR_W_ATTN_POST_NORM_2, QR_SLICE_ALL, L "layer_norm_1.weight" },
    { QR_W_ATTN_POST_NORM_2_BIAS, QR_SLICE_ALL, L "layer_norm_1.bias" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "mlp.gated_layers.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "mlp.gated_layers.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.wo.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.wo.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "mlp.layernorm.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "mlp.layernorm.bias" },
    /* with the second norm; the activation is that of the second half */
    { QR_W_FFN_GATE, QR_SLICE_UP, L "mlp.up_gated_layer.weight" },
    { QR_W_FFN_UP, QR_SLICE_GATE, L "mlp.up_gated_layer.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.down_layer.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.down_layer.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "layer_norm_2.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "layer_norm_2.bias" },
    { 0 },
};
#undef SELF
#undef L
#undef E

#define L "blk.%u."
#define GGUF_NAMES                                                                                 \
    { QR_W_TYPE_EMBD, QR_SLICE_ALL, "token_types.weight" },                                        \
        { QR_W_ATTN_Q_NORM_BIAS, QR_SLICE_ALL, L "attn_q_norm.bias" },                             \
        { QR_W_ATTN_K_NORM_BIAS, QR_SLICE_ALL, L "attn_k_norm.bias" },                             \
        { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "attn_output_norm.weight" },                        \
        { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "attn_output_norm.bias" },                     \
        { QR_W_ATTN_POST_NORM_2, QR_SLICE_ALL, L "attn_norm_2.weight" },                           \
        { QR_W_ATTN_POST_NORM_2_BIAS, QR_SLICE_ALL, L "attn_norm_2.bias" },                        \
        { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "layer_output_norm.weight" },                        \
    {                                                                                              \
        QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "layer_output_norm.bias"                          \
    }
static const struct qr_name_rule gguf_names[] = { GGUF_NAMES, { 0 } };

/* Newer converters keep gate and up in one tensor. */
static const struct qr_name_rule gguf_gate_up_names[] = {
    GGUF_NAMES,
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "ffn_up.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "ffn_up.weight" },
    { 0 },
};
static const struct qr_name_rule gguf_up_gate_names[] = {
    GGUF_NAMES,
    { QR_W_FFN_GATE, QR_SLICE_UP, L "ffn_up.weight" },
    { QR_W_FFN_UP, QR_SLICE_GATE, L "ffn_up.weight" },
    { 0 },
};
#undef GGUF_NAMES
#undef L

/* Positions 0, 1, 2, ..., and heads for pretraining, which embeddings do not need. */
static const char *const ignored_tensors[] = { "*embeddings.position_ids", "cls.*", NULL };

const struct qr_arch qr_arch_jina_bert = {
    .name = "jina_bert",
    .gguf_archs = { "jina-bert-v2" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_POST_NORM,
    .activation = QR_ACT_GELU_ERF,
    .gated = true,
    .embedding_norm = true,
    .norms_by_tensors = true,
    .alibi_max_bias = 8,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NONE,
    .hf_bias = { .q = true, .k = true, .v = true, .o = true, .ffn_down = true, .norm = true },
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_names = gguf_names,
    .gguf_fused_names = { gguf_gate_up_names, gguf_up_gate_names },
    .gguf_common_names = qr_names_gguf,
};
