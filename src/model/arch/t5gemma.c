/* SPDX-License-Identifier: Apache-2.0 */
/* t5gemma.c - T5Gemma: encoder-decoder of Gemma 2 layers, which attend in both directions in the
 * encoder, each stack with token embeddings of its own. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 256000 },
    { "hidden_size", 2304 },
    { "intermediate_size", 9216 },
    { "num_hidden_layers", 26 },
    { "num_attention_heads", 8 },
    { "num_key_value_heads", 4 },
    { "head_dim", 256 },
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "query_pre_attn_scalar", 256 },
    { "sliding_window", 4096 },
    { "attn_logit_softcapping", 50 },
    { "final_logit_softcapping", 30 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "vocab_size", NULL },                  /* of the file; those of the stacks count */
    { "cross_attention_hidden_size", NULL }, /* a copy of the encoder's hidden_size */
    { "classifier_dropout_rate", NULL },     /* training */
    { 0 },
};

#define D "model.decoder."
#define E "model.encoder."
#define L "model.decoder.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, D "embed_tokens.weight" },
    { QR_W_ENC_TOKEN_EMBD, QR_SLICE_ALL, E "embed_tokens.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.out_proj.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, D "norm.weight" },
    { QR_W_ENC_OUTPUT_NORM, QR_SLICE_ALL, E "norm.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "pre_self_attn_layernorm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "self_attn.q_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "self_attn.q_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "self_attn.k_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "self_attn.k_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "self_attn.v_proj.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "self_attn.v_proj.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.o_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "self_attn.o_proj.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_self_attn_layernorm.weight" },
    { QR_W_CROSS_NORM, QR_SLICE_ALL, L "pre_cross_attn_layernorm.weight" },
    { QR_W_CROSS_Q, QR_SLICE_ALL, L "cross_attn.q_proj.weight" },
    { QR_W_CROSS_Q_BIAS, QR_SLICE_ALL, L "cross_attn.q_proj.bias" },
    { QR_W_CROSS_K, QR_SLICE_ALL, L "cross_attn.k_proj.weight" },
    { QR_W_CROSS_K_BIAS, QR_SLICE_ALL, L "cross_attn.k_proj.bias" },
    { QR_W_CROSS_V, QR_SLICE_ALL, L "cross_attn.v_proj.weight" },
    { QR_W_CROSS_V_BIAS, QR_SLICE_ALL, L "cross_attn.v_proj.bias" },
    { QR_W_CROSS_O, QR_SLICE_ALL, L "cross_attn.o_proj.weight" },
    { QR_W_CROSS_O_BIAS, QR_SLICE_ALL, L "cross_attn.o_proj.bias" },
    { QR_W_CROSS_POST_NORM, QR_SLICE_ALL, L "post_cross_attn_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_feedforward_layernorm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp.gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.down_proj.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { 0 },
};
#undef L
#undef E
#undef D

#define L "model.encoder.layers.%u."
static const struct qr_name_rule encoder_names[] = {
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "pre_self_attn_layernorm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "self_attn.q_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "self_attn.q_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "self_attn.k_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "self_attn.k_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "self_attn.v_proj.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "self_attn.v_proj.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.o_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "self_attn.o_proj.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_self_attn_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_feedforward_layernorm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp.gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.down_proj.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_t5gemma = {
    .name = "t5gemma",
    .hf_types = { "t5gemma" },
    .kind = QR_MODEL_ENCODER_DECODER,
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .scaled_embedding = true,
    .encoder_embedding = true,
    .window_period = 2,
    .hf_stacks = true,
    .hf_wider_encoder_since = 5,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_query_scalar = true,
    .attn_softcap = true,
    .final_softcap = true,
    .hf_gelu_is_tanh = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_encoder_names = encoder_names,
};
