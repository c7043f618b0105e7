/* SPDX-License-Identifier: Apache-2.0 */
/* gptj.c - GPT-J: parallel block, interleaved partial RoPE, LM head with bias. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 50400 },
    { "hidden_size", 4096 },
    { "num_hidden_layers", 28 },
    { "num_attention_heads", 16 },
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "rope_dim", 64 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "n_embd" },
    { "num_hidden_layers", "n_layer" },
    { "num_attention_heads", "n_head" },
    { "intermediate_size", "n_inner" },
    { "max_position_embeddings", "n_positions" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_act", "activation_function" },
    { "rope_dim", "rotary_dim" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "rotary", "true" },
    { "scale_attn_weights", "true" },
    { 0 },
};

#define L "transformer.h.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.wte.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "lm_head.bias" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.ln_f.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "transformer.ln_f.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "ln_1.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "ln_1.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn.q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn.k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn.v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.out_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.fc_in.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.fc_in.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.fc_out.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.fc_out.bias" },
    { 0 },
};

/* Causal masks, and a table of sines. */
static const char *const ignored_tensors[] = { "*.attn.bias", "*.attn.masked_bias",
                                               "*.attn.embed_positions", NULL };

const struct qr_arch qr_arch_gptj = {
    .name = "gptj",
    .hf_types = { "gptj" },
    .block = QR_BLOCK_PARALLEL,
    .activation = QR_ACT_GELU_TANH,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_bias = { .ffn_in = true, .ffn_down = true, .norm = true, .output = true },
    .hf_ffn_multiplier = 4,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_names = names,
};
