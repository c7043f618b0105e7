/* SPDX-License-Identifier: Apache-2.0 */
/* t5.c - T5: encoder-decoder, relative position bias, unscaled attention; v1.1 and mT5 gated. Its
 * encoder alone is a family of embedding models. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 32128 },
    { "hidden_size", 512 },
    { "num_hidden_layers", 6 },
    { "num_attention_heads", 8 },
    { "head_dim", 64 },
    { "intermediate_size", 2048 },
    { "max_position_embeddings", 512 }, /* training length; positions are unbounded */
    { "relative_attention_num_buckets", 32 },
    { "relative_attention_max_distance", 128 },
    { "rms_norm_eps", 1e-6 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

/* The encoder alone has these without the first two. */
enum { DECODER_ALIASES = 2 };
static const struct qr_hf_alias aliases[] = {
    { "num_hidden_layers", "num_decoder_layers" },
    { "encoder_layers", "num_layers" },
    { "num_hidden_layers", "num_layers" },
    { "hidden_size", "d_model" },
    { "head_dim", "d_kv" },
    { "intermediate_size", "d_ff" },
    { "num_attention_heads", "num_heads" },
    { "max_position_embeddings", "n_positions" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_act", "feed_forward_proj" },
    { 0 },
};

/* The encoder-decoder has these without the first two. */
enum { ENCODER_IGNORED = 2 };
static const struct qr_ignored_key ignored_keys[] = {
    { "num_decoder_layers", NULL }, /* of the encoder-decoder that the encoder was part of */
    { "scale_decoder_outputs", NULL },
    { "dense_act_fn", NULL }, /* both follow from feed_forward_proj */
    { "is_gated_act", NULL },
    { 0 },
};

#define L "decoder.block.%u.layer."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "shared.weight" },
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "decoder.embed_tokens.weight" },
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "encoder.embed_tokens.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "decoder.final_layer_norm.weight" },
    { QR_W_ENC_OUTPUT_NORM, QR_SLICE_ALL, "encoder.final_layer_norm.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "0.layer_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "0.SelfAttention.q.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "0.SelfAttention.k.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "0.SelfAttention.v.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "0.SelfAttention.o.weight" },
    { QR_W_ATTN_REL_BIAS, QR_SLICE_ALL, L "0.SelfAttention.relative_attention_bias.weight" },
    { QR_W_CROSS_NORM, QR_SLICE_ALL, L "1.layer_norm.weight" },
    { QR_W_CROSS_Q, QR_SLICE_ALL, L "1.EncDecAttention.q.weight" },
    { QR_W_CROSS_K, QR_SLICE_ALL, L "1.EncDecAttention.k.weight" },
    { QR_W_CROSS_V, QR_SLICE_ALL, L "1.EncDecAttention.v.weight" },
    { QR_W_CROSS_O, QR_SLICE_ALL, L "1.EncDecAttention.o.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "2.layer_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "2.DenseReluDense.wi_0.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "2.DenseReluDense.wi_1.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "2.DenseReluDense.wi.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "2.DenseReluDense.wo.weight" },
    { 0 },
};
#undef L

#define L "encoder.block.%u.layer."
static const struct qr_name_rule encoder_names[] = {
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "0.layer_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "0.SelfAttention.q.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "0.SelfAttention.k.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "0.SelfAttention.v.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "0.SelfAttention.o.weight" },
    { QR_W_ATTN_REL_BIAS, QR_SLICE_ALL, L "0.SelfAttention.relative_attention_bias.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "1.layer_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "1.DenseReluDense.wi_0.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "1.DenseReluDense.wi_1.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "1.DenseReluDense.wi.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "1.DenseReluDense.wo.weight" },
    { 0 },
};
#undef L

#define L "dec.blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "token_embd.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "output.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "dec.output_norm.weight" },
    { QR_W_ENC_OUTPUT_NORM, QR_SLICE_ALL, "enc.output_norm.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attn_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn_q.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn_k.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn_v.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn_o.weight" },
    { QR_W_ATTN_REL_BIAS, QR_SLICE_ALL, L "attn_rel_b.weight" },
    { QR_W_CROSS_NORM, QR_SLICE_ALL, L "cross_attn_norm.weight" },
    { QR_W_CROSS_Q, QR_SLICE_ALL, L "cross_attn_q.weight" },
    { QR_W_CROSS_K, QR_SLICE_ALL, L "cross_attn_k.weight" },
    { QR_W_CROSS_V, QR_SLICE_ALL, L "cross_attn_v.weight" },
    { QR_W_CROSS_O, QR_SLICE_ALL, L "cross_attn_o.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "ffn_gate.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "ffn_up.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn_down.weight" },
    { 0 },
};
#undef L

#define L "enc.blk.%u."
static const struct qr_name_rule gguf_encoder_names[] = {
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attn_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn_q.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn_k.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn_v.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn_o.weight" },
    { QR_W_ATTN_REL_BIAS, QR_SLICE_ALL, L "attn_rel_b.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "ffn_gate.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "ffn_up.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn_down.weight" },
    { 0 },
};
#undef L

static const struct qr_name_rule encoder_only_names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "shared.weight" },
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "encoder.embed_tokens.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "encoder.final_layer_norm.weight" },
    { 0 },
};

static const struct qr_name_rule gguf_encoder_only_names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "token_embd.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "enc.output_norm.weight" },
    { 0 },
};

/* Copies of the shared embedding; the first checkpoints have an unused bias. */
static const char *const ignored_tensors[] = { "encoder.embed_tokens.weight",
                                               "decoder.embed_tokens.weight",
                                               "*.EncDecAttention.relative_attention_bias.weight",
                                               "*.cross_attn_rel_b.weight", NULL };

const struct qr_arch qr_arch_t5_encoder = {
    .name = "t5_encoder",
    .gguf_archs = { "t5encoder" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU,
    .gated_activation = QR_ACT_GELU_TANH,
    .unscaled_attention = true,
    .relative_bias = true,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS,
    .hf_gate_in_name = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases + DECODER_ALIASES,
    .hf_names = encoder_only_names,
    .hf_common_names = encoder_names,
    .gguf_norm = QR_NORM_RMS,
    .gguf_names = gguf_encoder_only_names,
    .gguf_common_names = gguf_encoder_names,
};

const struct qr_arch qr_arch_t5 = {
    .name = "t5",
    .hf_types = { "t5", "mt5" },
    .gguf_archs = { "t5" },
    .hf_variant = { "architectures", "T5EncoderModel", &qr_arch_t5_encoder },
    .kind = QR_MODEL_ENCODER_DECODER,
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU,
    .gated_activation = QR_ACT_GELU_TANH,
    .unscaled_attention = true,
    .relative_bias = true,
    .scaled_tied_head = true,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS,
    .hf_gate_in_name = true,
    .gguf_norm = QR_NORM_RMS,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys + ENCODER_IGNORED,
    .hf_aliases = aliases,
    .hf_names = names,
    .hf_encoder_names = encoder_names,
    .gguf_names = gguf_names,
    .gguf_encoder_names = gguf_encoder_names,
};
