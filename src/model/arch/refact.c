/* SPDX-License-Identifier: Apache-2.0 */
/* refact.c - Refact: one KV head, ALiBi, LayerNorm without biases, a gated feed-forward network.
 * GGUF files call the epsilon of its norms that of RMS norms. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 49216 },
    { "hidden_size", 1024 },
    { "num_hidden_layers", 32 },
    { "num_attention_heads", 64 },
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "n_embd" },
    { "num_hidden_layers", "n_layer" },
    { "num_attention_heads", "n_head" },
    { "intermediate_size", "n_inner" },
    { "max_position_embeddings", "n_positions" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "multi_query", true },
    { "add_cross_attention", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "attention_bias_in_fp32", NULL }, /* precision of a sum */
    { "scale_attn_weights", "true" },
    { 0 },
};

/* Keys and values are halves of a tensor, and so are gate and up. */
#define L "transformer.h.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.wte.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "ln_f.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "ln_1.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn.q.weight" },
    { QR_W_ATTN_K, QR_SLICE_GATE, L "attn.kv.weight" },
    { QR_W_ATTN_V, QR_SLICE_UP, L "attn.kv.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.c_proj.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ln_2.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "mlp.gate_up_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "mlp.gate_up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.c_proj.weight" },
    { 0 },
};
#undef L

/* A causal mask. */
static const char *const ignored_tensors[] = { "transformer.bias", NULL };

const struct qr_arch qr_arch_refact = {
    .name = "refact",
    .hf_types = { "gpt_refact" },
    .gguf_archs = { "refact" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .alibi_max_bias = 8,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_multi_query = true,
    .hf_ffn_multiplier = 4,
    .hf_auto_ffn = true,
    .gguf_norm = QR_NORM_LAYER,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
    .gguf_names = qr_names_gguf,
};
