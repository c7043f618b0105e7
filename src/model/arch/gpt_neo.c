/* SPDX-License-Identifier: Apache-2.0 */
/* gpt_neo.c - GPT-Neo: learned positions, sliding window in local layers, unscaled attention. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 50257 },
    { "hidden_size", 2048 },
    { "num_hidden_layers", 24 },
    { "num_attention_heads", 16 },
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "sliding_window", 256 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "num_hidden_layers", "num_layers" },
    { "num_attention_heads", "num_heads" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_act", "activation_function" },
    { "sliding_window", "window_size" },
    { "layer_types", "attention_layers" },
    { 0 },
};

#define L "transformer.h.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.wte.weight" },
    { QR_W_POS_EMBD, QR_SLICE_ALL, "transformer.wpe.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.ln_f.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "transformer.ln_f.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "ln_1.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "ln_1.bias" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn.attention.q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn.attention.k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn.attention.v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.attention.out_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attn.attention.out_proj.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ln_2.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "ln_2.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.c_fc.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.c_fc.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.c_proj.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.c_proj.bias" },
    { 0 },
};

/* Causal masks. */
static const char *const ignored_tensors[] = { "*.attn.attention.bias",
                                               "*.attn.attention.masked_bias", NULL };

const struct qr_arch qr_arch_gpt_neo = {
    .name = "gpt_neo",
    .hf_types = { "gpt_neo" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_TANH,
    .unscaled_attention = true,
    .learned_positions = true,
    .hf_window = QR_WINDOW_LOCAL,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .o = true, .ffn_in = true, .ffn_down = true, .norm = true },
    .hf_ffn_multiplier = 4,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = names,
};
