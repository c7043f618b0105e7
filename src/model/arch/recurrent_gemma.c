/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_gemma.c - RecurrentGemma (Griffin): RG-LRU layers, every third one attention with a
 * window. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 256000 },         { "hidden_size", 2560 },
    { "intermediate_size", 15360 },   { "num_hidden_layers", 26 },
    { "num_attention_heads", 10 },    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-6 },         { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.5 }, { "conv1d_width", 4 },
    { "sliding_window", 2048 },       { "final_logit_softcapping", 30 },
    { "tie_word_embeddings", 1 },     { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "sliding_window", "attention_window_size" },
    { "final_logit_softcapping", "logits_soft_cap" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "embeddings_scale_by_sqrt_dim", true },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "_block_types", NULL },          /* a copy of block_types */
    { "w_init_variance_scale", NULL }, /* initialization */
    { "final_w_init_variance_scale", NULL },
    { 0 },
};

#define L "model.layers.%u."
#define T L "temporal_block."
static const struct qr_name_rule names[] = {
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.final_norm.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "temporal_pre_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, T "q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, T "k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, T "v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, T "o_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, T "q_proj.bias" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, T "k_proj.bias" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, T "v_proj.bias" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, T "o_proj.bias" },
    { QR_W_REC_V, QR_SLICE_ALL, T "linear_x.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, T "linear_y.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, T "linear_out.weight" },
    { QR_W_REC_V_BIAS, QR_SLICE_ALL, T "linear_x.bias" },
    { QR_W_REC_Z_BIAS, QR_SLICE_ALL, T "linear_y.bias" },
    { QR_W_REC_OUT_BIAS, QR_SLICE_ALL, T "linear_out.bias" },
    { QR_W_REC_CONV_V, QR_SLICE_ALL, T "conv_1d.weight" },
    { QR_W_REC_CONV_V_BIAS, QR_SLICE_ALL, T "conv_1d.bias" },
    { QR_W_REC_A, QR_SLICE_ALL, T "rg_lru.recurrent_param" },
    { QR_W_REC_GATE_I, QR_SLICE_TRANSPOSED, T "rg_lru.input_gate_weight" },
    { QR_W_REC_GATE_A, QR_SLICE_TRANSPOSED, T "rg_lru.recurrent_gate_weight" },
    { QR_W_REC_GATE_I_BIAS, QR_SLICE_ALL, T "rg_lru.input_gate_bias" },
    { QR_W_REC_GATE_A_BIAS, QR_SLICE_ALL, T "rg_lru.recurrent_gate_bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "channel_pre_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp_block.gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp_block.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp_block.down_proj.weight" },
    { QR_W_FFN_GATE_BIAS, QR_SLICE_ALL, L "mlp_block.gate_proj.bias" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp_block.up_proj.bias" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp_block.down_proj.bias" },
    { 0 },
};
#undef T
#undef L

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_RG_LRU,
                .output = QR_RECURRENT_OUT_GATED,
                .gelu_gate = true,
                .bias = true,
                .conv_bias = true },
    .mixer = QR_MIXER_RECURRENT,
};

const struct qr_arch qr_arch_recurrent_gemma = {
    .name = "recurrent_gemma",
    .hf_types = { "recurrent_gemma" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .half_ffn = true,
    .scaled_embedding = true,
    .bf16_embedding_scale = true,
    .recurrent = &recurrent,
    .final_softcap = true,
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_RMS_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .o = true, .ffn_in = true, .ffn_down = true },
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
