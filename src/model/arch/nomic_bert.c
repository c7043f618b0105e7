/* SPDX-License-Identifier: Apache-2.0 */
/* nomic_bert.c - Nomic Embed: BERT with RoPE. Versions 1 and 1.5 have a gated feed-forward network,
 * and biases in norms only. Version 2 has biases everywhere and a plain feed-forward network with
 * GELU, in every other layer a mixture of experts; GGUF files of Jina Embeddings 3 are the same
 * without experts. */
#include "model/arch/arch.h"

#define DEFAULTS(vocab, types, theta)                                                              \
    { "vocab_size", vocab }, { "hidden_size", 768 }, { "num_hidden_layers", 12 },                  \
        { "num_attention_heads", 12 }, { "intermediate_size", 3072 },                              \
        { "max_position_embeddings", 2048 }, { "type_vocab_size", types },                         \
        { "rms_norm_eps", 1e-12 }, { "rope_theta", theta },                                        \
    {                                                                                              \
        "tie_word_embeddings", 1                                                                   \
    }
static const struct qr_hf_default defaults[] = { DEFAULTS(30528, 2, 1000), { 0 } };
static const struct qr_hf_default moe_defaults[] = { DEFAULTS(250048, 1, 10000), { 0 } };
#undef DEFAULTS

/* the last two: of version 2 */
static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_size", "n_embd" },
    { "num_hidden_layers", "n_layer" },
    { "num_attention_heads", "n_head" },
    { "intermediate_size", "n_inner" },
    { "max_position_embeddings", "n_positions" },
    { "rope_theta", "rotary_emb_base" },
    { "num_experts_per_tok", "moe_top_k" },
    { "norm_topk_prob", "moe_normalize_expert_weights" },
    { 0 },
};

#define FIXED_BOOLS(biases)                                                                        \
    { "causal", false }, { "prenorm", false }, { "parallel_block", false },                        \
        { "qkv_proj_bias", biases }, { "mlp_fc1_bias", biases }, { "mlp_fc2_bias", biases },       \
        { "rotary_emb_interleaved", false }, { "use_rms_norm", false },                            \
    {                                                                                              \
        "scale_attn_weights", true                                                                 \
    }
static const struct qr_hf_fixed_bool fixed_bools[] = { FIXED_BOOLS(false), { 0 } };
static const struct qr_hf_fixed_bool moe_fixed_bools[] = { FIXED_BOOLS(true),
                                                           { "expert_choice_router", false },
                                                           { 0 } };
#undef FIXED_BOOLS

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "activation_function", "swiglu" },
    { 0 },
};
static const struct qr_hf_fixed_string moe_fixed_strings[] = {
    { "activation_function", "gelu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "rotary_emb_fraction", "1" },
    { "ffn_div", "1" },                  /* experts have intermediate_size / ffn_div rows */
    { "max_trained_positions", NULL },   /* of scaling, which is off */
    { "pad_vocab_size_multiple", NULL }, /* vocab_size is padded */
    { "dense_seq_output", NULL }, /* how the reference implementation computes the same function */
    { "fused_bias_fc", NULL },
    { "fused_dropout_add_ln", NULL },
    { "use_xentropy", NULL },
    { "moe_impl", NULL },
    { 0 },
};

#define L   "encoder.layers.%u."
#define MLP L "mlp."
#define NAMES                                                                                      \
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "embeddings.word_embeddings.weight" },                        \
        { QR_W_TYPE_EMBD, QR_SLICE_ALL, "embeddings.token_type_embeddings.weight" },               \
        { QR_W_EMBD_NORM, QR_SLICE_ALL, "emb_ln.weight" },                                         \
        { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, "emb_ln.bias" },                                      \
        { QR_W_ATTN_Q, QR_SLICE_Q, L "attn.Wqkv.weight" },                                         \
        { QR_W_ATTN_K, QR_SLICE_K, L "attn.Wqkv.weight" },                                         \
        { QR_W_ATTN_V, QR_SLICE_V, L "attn.Wqkv.weight" },                                         \
        { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.out_proj.weight" },                                   \
        { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "norm1.weight" },                                   \
        { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "norm1.bias" },                                \
        { QR_W_FFN_DOWN, QR_SLICE_ALL, MLP "fc2.weight" },                                         \
        { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "norm2.weight" },                                    \
    {                                                                                              \
        QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "norm2.bias"                                      \
    }
static const struct qr_name_rule names[] = {
    NAMES,
    { QR_W_FFN_UP, QR_SLICE_ALL, MLP "fc11.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, MLP "fc12.weight" },
    { 0 },
};
static const struct qr_name_rule moe_names[] = {
    NAMES,
    { QR_W_ATTN_Q_BIAS, QR_SLICE_Q, L "attn.Wqkv.bias" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_K, L "attn.Wqkv.bias" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_V, L "attn.Wqkv.bias" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attn.out_proj.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, MLP "fc1.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, MLP "fc1.bias" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, MLP "fc2.bias" },
    { QR_W_ROUTER, QR_SLICE_ALL, MLP "router.layer.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_FLAT, MLP "experts.mlp.w1" },
    { QR_W_EXPERT_DOWN, QR_SLICE_FLAT | QR_SLICE_TRANSPOSED, MLP "experts.mlp.w2" },
    { QR_W_EXPERT_SUM_BIAS, QR_SLICE_ALL, MLP "experts.bias" },
    { 0 },
};
#undef NAMES
#undef MLP
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_TYPE_EMBD, QR_SLICE_ALL, "token_types.weight" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "attn_output_norm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "attn_output_norm.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "layer_output_norm.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "layer_output_norm.bias" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_nomic_bert = {
    .name = "nomic_bert",
    .hf_types = { "nomic_bert" },
    .gguf_archs = { "nomic-bert" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_POST_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .embedding_norm = true,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_variant = { "activation_function", "gelu", &qr_arch_nomic_bert_moe },
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};

const struct qr_arch qr_arch_nomic_bert_moe = {
    .name = "nomic_bert_moe",
    .gguf_archs = { "nomic-bert-moe", "jina-bert-v3" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_POST_NORM,
    .activation = QR_ACT_GELU_ERF,
    .embedding_norm = true,
    .has_moe = true,
    .moe = { .sum_bias = true },
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .q = true,
                 .k = true,
                 .v = true,
                 .o = true,
                 .ffn_in = true,
                 .ffn_down = true,
                 .norm = true },
    .hf_defaults = moe_defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = moe_fixed_bools,
    .hf_fixed_strings = moe_fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = moe_names,
    .gguf_moe_every = true,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
