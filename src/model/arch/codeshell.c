/* SPDX-License-Identifier: Apache-2.0 */
/* codeshell.c - CodeShell: GPT-2 with grouped queries, RoPE and matrices stored as [out][in]. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "n_embd" },
    { "num_hidden_layers", "n_layer" },
    { "num_attention_heads", "n_head" },
    { "num_key_value_heads", "num_query_groups" },
    { "intermediate_size", "n_inner" },
    { "max_position_embeddings", "n_positions" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_act", "activation_function" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "scale_attn_weights", true },
    { "group_query_attention", true },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "position_embedding_type", "rope" },
    { 0 },
};

#define L "transformer.h.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.wte.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.ln_f.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "transformer.ln_f.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "ln_1.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "ln_1.bias" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "attn.c_attn.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_Q, L "attn.c_attn.bias" },
    { QR_W_ATTN_K, QR_SLICE_K, L "attn.c_attn.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_K, L "attn.c_attn.bias" },
    { QR_W_ATTN_V, QR_SLICE_V, L "attn.c_attn.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_V, L "attn.c_attn.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.c_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attn.c_proj.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ln_2.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "ln_2.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.c_fc.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.c_fc.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.c_proj.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.c_proj.bias" },
    { 0 },
};
#undef L

/* Files of tied models may have the LM head alone. */
static const struct qr_name_rule gguf_names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "token_embd.weight" },
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "output.weight" },
    { 0 },
};

static const char *const ignored_tensors[] = { "*.attn.rotary_emb.inv_freq", NULL };

const struct qr_arch qr_arch_codeshell = {
    .name = "codeshell",
    .hf_types = { "codeshell", "kclgpt" },
    .gguf_archs = { "codeshell" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_TANH,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .q = true,
                 .k = true,
                 .v = true,
                 .o = true,
                 .ffn_in = true,
                 .ffn_down = true,
                 .norm = true },
    .hf_ffn_multiplier = 4,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
