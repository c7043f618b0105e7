/* SPDX-License-Identifier: Apache-2.0 */
/* bart.c - BART: encoder-decoder, post-norm LayerNorm, learned positions with offset 2. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 50265 },       { "hidden_size", 1024 },
    { "num_hidden_layers", 12 },   { "num_attention_heads", 16 },
    { "intermediate_size", 4096 }, { "max_position_embeddings", 1024 },
    { "rms_norm_eps", 1e-5 }, /* the files have no key for it */
    { "tie_word_embeddings", 1 },  { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "d_model" },
    { "num_hidden_layers", "decoder_layers" },
    { "num_attention_heads", "decoder_attention_heads" },
    { "intermediate_size", "decoder_ffn_dim" },
    { "hidden_act", "activation_function" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "num_hidden_layers", NULL }, /* a copy of encoder_layers */
    { "normalize_embedding", "true" },
    { "extra_pos_embeddings", "2" },
    { "force_bos_token_to_be_generated", NULL }, /* generation */
    { 0 },
};

#define D "model.decoder."
#define E "model.encoder."
#define L "model.decoder.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.shared.weight" },
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, D "embed_tokens.weight" },
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, E "embed_tokens.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "final_logits_bias" },
    { QR_W_POS_EMBD, QR_SLICE_ALL, D "embed_positions.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, D "layernorm_embedding.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, D "layernorm_embedding.bias" },
    { QR_W_ENC_POS_EMBD, QR_SLICE_ALL, E "embed_positions.weight" },
    { QR_W_ENC_EMBD_NORM, QR_SLICE_ALL, E "layernorm_embedding.weight" },
    { QR_W_ENC_EMBD_NORM_BIAS, QR_SLICE_ALL, E "layernorm_embedding.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "self_attn.q_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "self_attn.q_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "self_attn.k_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "self_attn.k_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "self_attn.v_proj.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "self_attn.v_proj.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.out_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "self_attn.out_proj.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "self_attn_layer_norm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "self_attn_layer_norm.bias" },
    { QR_W_CROSS_Q, QR_SLICE_ALL, L "encoder_attn.q_proj.weight" },
    { QR_W_CROSS_Q_BIAS, QR_SLICE_ALL, L "encoder_attn.q_proj.bias" },
    { QR_W_CROSS_K, QR_SLICE_ALL, L "encoder_attn.k_proj.weight" },
    { QR_W_CROSS_K_BIAS, QR_SLICE_ALL, L "encoder_attn.k_proj.bias" },
    { QR_W_CROSS_V, QR_SLICE_ALL, L "encoder_attn.v_proj.weight" },
    { QR_W_CROSS_V_BIAS, QR_SLICE_ALL, L "encoder_attn.v_proj.bias" },
    { QR_W_CROSS_O, QR_SLICE_ALL, L "encoder_attn.out_proj.weight" },
    { QR_W_CROSS_O_BIAS, QR_SLICE_ALL, L "encoder_attn.out_proj.bias" },
    { QR_W_CROSS_POST_NORM, QR_SLICE_ALL, L "encoder_attn_layer_norm.weight" },
    { QR_W_CROSS_POST_NORM_BIAS, QR_SLICE_ALL, L "encoder_attn_layer_norm.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "fc1.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "fc1.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "fc2.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "fc2.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "final_layer_norm.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "final_layer_norm.bias" },
    { 0 },
};
#undef L
#undef E
#undef D

#define L "model.encoder.layers.%u."
static const struct qr_name_rule encoder_names[] = {
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "self_attn.q_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, L "self_attn.q_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "self_attn.k_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, L "self_attn.k_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "self_attn.v_proj.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, L "self_attn.v_proj.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.out_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "self_attn.out_proj.bias" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "self_attn_layer_norm.weight" },
    { QR_W_ATTN_POST_NORM_BIAS, QR_SLICE_ALL, L "self_attn_layer_norm.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "fc1.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "fc1.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "fc2.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "fc2.bias" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "final_layer_norm.weight" },
    { QR_W_FFN_POST_NORM_BIAS, QR_SLICE_ALL, L "final_layer_norm.bias" },
    { 0 },
};
#undef L

/* Copies of the shared embedding, and the version of a writer. */
static const char *const ignored_tensors[] = { "encoder.embed_tokens.weight",
                                               "decoder.embed_tokens.weight",
                                               "model.encoder.embed_tokens.weight",
                                               "model.decoder.embed_tokens.weight",
                                               "*coder.version",
                                               NULL };

const struct qr_arch qr_arch_bart = {
    .name = "bart",
    .hf_types = { "bart" },
    .kind = QR_MODEL_ENCODER_DECODER,
    .block = QR_BLOCK_POST_NORM,
    .activation = QR_ACT_GELU_ERF,
    .learned_positions = true,
    .position_offset = 2,
    .embedding_norm = true,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .q = true,
                 .k = true,
                 .v = true,
                 .o = true,
                 .ffn_in = true,
                 .ffn_down = true,
                 .norm = true },
    .hf_embedding_scale_key = "scale_embedding",
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_names = names,
    .hf_encoder_names = encoder_names,
};
