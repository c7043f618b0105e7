/* SPDX-License-Identifier: Apache-2.0 */
/* jais.c - Jais 1 and the Jais family: GPT-2 with ALiBi, a gated feed-forward network and muP.
 * Scores are divided by the head dimension. GGUF files hold the embeddings and the LM head times
 * their factors. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 50257 },
    { "hidden_size", 768 },
    { "num_hidden_layers", 12 },
    { "num_attention_heads", 12 },
    { "max_position_embeddings", 1024 },
    { "rms_norm_eps", 1e-5 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

/* the last three: of the Jais family */
static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "n_embd" },
    { "num_hidden_layers", "n_layer" },
    { "num_attention_heads", "n_head" },
    { "intermediate_size", "n_inner" },
    { "max_position_embeddings", "n_positions" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_act", "activation_function" },
    { "embedding_multiplier", "embeddings_scale" },
    { "logit_scale", "width_scale" },
    { "embedding_multiplier", "mup_embeddings_scale" },
    { "logit_scale", "mup_output_alpha" },
    { "scale_qk_dot_by_d", "mup_scale_qk_dot_by_d" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "scale_attn_weights", true },
    { "scale_attn_by_inverse_layer_idx", false },
    { "add_cross_attention", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "hidden_act", "swiglu" },
    { "position_embedding_type", "alibi" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "reorder_and_upcast_attn", NULL }, /* order of the same products */
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
    { QR_W_ATTN_Q, QR_SLICE_Q | QR_SLICE_TRANSPOSED, L "attn.c_attn.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_Q, L "attn.c_attn.bias" },
    { QR_W_ATTN_K, QR_SLICE_K | QR_SLICE_TRANSPOSED, L "attn.c_attn.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_K, L "attn.c_attn.bias" },
    { QR_W_ATTN_V, QR_SLICE_V | QR_SLICE_TRANSPOSED, L "attn.c_attn.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_V, L "attn.c_attn.bias" },
    { QR_W_ATTN_O, QR_SLICE_TRANSPOSED, L "attn.c_proj.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "attn.c_proj.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ln_2.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "ln_2.bias" },
    { QR_W_FFN_UP, QR_SLICE_TRANSPOSED, L "mlp.c_fc.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.c_fc.bias" },
    { QR_W_FFN_GATE, QR_SLICE_TRANSPOSED, L "mlp.c_fc2.weight" },
    { QR_W_FFN_GATE_BIAS, QR_SLICE_ALL, L "mlp.c_fc2.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_TRANSPOSED, L "mlp.c_proj.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.c_proj.bias" },
    { 0 },
};
#undef L

/* Causal masks; the slopes of ALiBi, which the number of heads implies. */
static const char *const ignored_tensors[] = { "*.attn.bias", "*.attn.masked_bias",
                                               "*relative_pe.slopes", NULL };

const struct qr_arch qr_arch_jais = {
    .name = "jais",
    .hf_types = { "jais" },
    .gguf_archs = { "jais" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .alibi_max_bias = 8,
    .scaled_by_dim = true,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .q = true,
                 .k = true,
                 .v = true,
                 .o = true,
                 .ffn_in = true,
                 .ffn_down = true,
                 .norm = true },
    .hf_ffn_multiplier = 4,
    .hf_multipliers = true,
    .hf_logit_scale = true,
    .gguf_norm = QR_NORM_LAYER,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
    .gguf_names = qr_names_gguf,
};
