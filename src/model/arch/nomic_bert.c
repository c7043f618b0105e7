/* SPDX-License-Identifier: Apache-2.0 */
/* nomic_bert.c - Nomic Embed: BERT with RoPE, a gated feed-forward network, and biases in norms
 * only. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 30528 },
    { "hidden_size", 768 },
    { "num_hidden_layers", 12 },
    { "num_attention_heads", 12 },
    { "intermediate_size", 3072 },
    { "max_position_embeddings", 2048 },
    { "type_vocab_size", 2 },
    { "rms_norm_eps", 1e-12 },
    { "rope_theta", 1000 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_size", "n_embd" },
    { "num_hidden_layers", "n_layer" },
    { "num_attention_heads", "n_head" },
    { "intermediate_size", "n_inner" },
    { "max_position_embeddings", "n_positions" },
    { "rope_theta", "rotary_emb_base" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "causal", false },
    { "prenorm", false },
    { "parallel_block", false },
    { "qkv_proj_bias", false },
    { "mlp_fc1_bias", false },
    { "mlp_fc2_bias", false },
    { "rotary_emb_interleaved", false },
    { "use_rms_norm", false },
    { "scale_attn_weights", true },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "activation_function", "swiglu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "rotary_emb_fraction", "1" },
    { "max_trained_positions", NULL },   /* of scaling, which is off */
    { "pad_vocab_size_multiple", NULL }, /* vocab_size is padded */
    { "dense_seq_output", NULL }, /* how the reference implementation computes the same function */
    { "fused_bias_fc", NULL },
    { "fused_dropout_add_ln", NULL },
    { "use_xentropy", NULL },
    { 0 },
};

#define L "encoder.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "embeddings.word_embeddings.weight" },
    { QR_W_TYPE_EMBD, QR_SLICE_ALL, "embeddings.token_type_embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, "emb_ln.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, "emb_ln.bias" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "attn.Wqkv.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, L "attn.Wqkv.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, L "attn.Wqkv.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.out_proj.weight" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "norm1.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "norm1.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.fc11.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp.fc12.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.fc2.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "norm2.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "norm2.bias" },
    { 0 },
};
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
