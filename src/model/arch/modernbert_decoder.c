/* SPDX-License-Identifier: Apache-2.0 */
/* modernbert_decoder.c - ModernBERT as a decoder (Ettin): window in two of three layers, RoPE with
 * a base for each kind of layer, gated FFN, dense layer and norm before the output matrix. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 50368 },       { "hidden_size", 768 },
    { "num_hidden_layers", 22 },   { "num_attention_heads", 12 },
    { "intermediate_size", 1152 }, { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-5 },      { "rope_theta", 160000 },
    { "local_attention", 128 },    { "decoder_bias", 1 },
    { "tie_word_embeddings", 1 },  { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "norm_eps" },
    { "rope_theta", "global_rope_theta" },
    { "rope_local_base_freq", "local_rope_theta" },
    { "sliding_window_pattern", "global_attn_every_n_layers" },
    { 0 },
};

/* classifier_activation is the function behind the dense layer of the head, which quire computes
 * with that of the feed-forward network */
static const struct qr_hf_fixed_string fixed_strings[] = {
    { "hidden_activation", "gelu" },
    { "classifier_activation", "gelu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "*_token", NULL }, /* texts of tokens */
    { "causal_mask", "true" },
    { "is_causal", "true" },
    { "classifier_bias", NULL },    /* of the head's dense layer: the file has the tensor or not */
    { "classifier_pooling", NULL }, /* the reference implementation does not read it */
    { "deterministic_flash_attn", NULL },
    { "mlp_dropout", NULL },
    { "layer_norm_eps", NULL }, /* norm_eps is what the reference implementation reads */
    { "position_embedding_type", NULL },
    { "reference_compile", NULL },
    { "repad_logits_with_grad", NULL },
    { "sparse_pred*", NULL }, /* training */
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.embeddings.tok_embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, "model.embeddings.norm.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, "model.embeddings.norm.bias" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.final_norm.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "model.final_norm.bias" },
    { QR_W_HEAD_DENSE, QR_SLICE_ALL, "lm_head.dense.weight" },
    { QR_W_HEAD_DENSE_BIAS, QR_SLICE_ALL, "lm_head.dense.bias" },
    { QR_W_HEAD_NORM, QR_SLICE_ALL, "lm_head.norm.weight" },
    { QR_W_HEAD_NORM_BIAS, QR_SLICE_ALL, "lm_head.norm.bias" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "decoder.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "decoder.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attn_norm.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "attn_norm.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn.q_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "attn.q_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn.k_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "attn.k_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn.v_proj.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "attn.v_proj.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.Wo.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attn.Wo.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "mlp_norm.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "mlp_norm.bias" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "mlp.Wi.weight" },
    { QR_W_FFN_GATE_BIAS, QR_SLICE_GATE, L "mlp.Wi.bias" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "mlp.Wi.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_UP, L "mlp.Wi.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.Wo.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.Wo.bias" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_modernbert_decoder = {
    .name = "modernbert_decoder",
    .hf_types = { "modernbert-decoder" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_ERF,
    .gated = true,
    .embedding_norm = true,
    .skip_first_attn_norm = true,
    .head_dense = true,
    .window_period = 3,
    .hf_window = QR_WINDOW_PERIODIC_FIRST,
    .hf_half_window = true,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_norm_bias_key = "norm_bias",
    .hf_output_bias_key = "decoder_bias",
    .hf_local_rope = true,
    .hf_local_rope_since = 5,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
};
