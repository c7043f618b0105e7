/* SPDX-License-Identifier: Apache-2.0 */
/* gpt_neox.c - GPT-NeoX (Pythia): parallel block with two norms, fused qkv, partial RoPE. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.25 },
    { "attention_bias", 1 },
    { "use_parallel_residual", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { "rope_theta", "rotary_emb_base" },
    { "partial_rotary_factor", "rotary_pct" },
    { 0 },
};

#define L "gpt_neox.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "gpt_neox.embed_in.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "embed_out.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "gpt_neox.final_layer_norm.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "gpt_neox.final_layer_norm.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "input_layernorm.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "input_layernorm.bias" },
    { QR_W_ATTN_Q, QR_SLICE_HEAD_Q, L "attention.query_key_value.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_HEAD_Q, L "attention.query_key_value.bias" },
    { QR_W_ATTN_K, QR_SLICE_HEAD_K, L "attention.query_key_value.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_HEAD_K, L "attention.query_key_value.bias" },
    { QR_W_ATTN_V, QR_SLICE_HEAD_V, L "attention.query_key_value.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_HEAD_V, L "attention.query_key_value.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attention.dense.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attention.dense.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "post_attention_layernorm.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.dense_h_to_4h.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.dense_h_to_4h.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.dense_4h_to_h.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.dense_4h_to_h.bias" },
    { 0 },
};

/* Causal masks. */
static const char *const ignored_tensors[] = { "*.attention.bias", "*.attention.masked_bias",
                                               NULL };

const struct qr_arch qr_arch_gpt_neox = {
    .name = "gpt_neox",
    .hf_types = { "gpt_neox" },
    .gguf_archs = { "gptneox" },
    .block = QR_BLOCK_PRE_NORM,
    .hf_parallel_key = "use_parallel_residual",
    .hf_parallel_block = QR_BLOCK_PARALLEL_2NORM,
    .activation = QR_ACT_GELU_ERF,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_bias = { .ffn_in = true, .ffn_down = true, .norm = true },
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = names,
    .gguf_names = qr_names_gguf,
};
