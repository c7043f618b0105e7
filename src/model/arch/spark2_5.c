/* SPDX-License-Identifier: Apache-2.0 */
/* spark2_5.c - Spark-X2.5: gates of attention heads; windows, with a RoPE set for their layers. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 1048576 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "rope_local_base_freq", 10000 },
    { "head_dim", 256 },
    { "sliding_window", 512 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "gating", "headwise_attn_output_gate" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "attention_bias", false },
    { "mlp_bias", false },
    /* options of the publisher's runtime that change results */
    { "gsq_int4", false },
    { "hadamard_spin", false },
    { "dv_ssq", false },
    { "selective_attention_preservation", false },
    { "key_value_binding_sharpening", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "gate_attn_act_mode", "sigmoid" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "kv_focus_factor", NULL }, /* of key_value_binding_sharpening */
    { 0 },
};

#define L "model.layers.%u.self_attn."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.embedding.weight" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "q_k_v_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, L "q_k_v_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, L "q_k_v_proj.weight" },
    { QR_W_ATTN_GATE, QR_SLICE_ALL, L "g_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "out_proj.weight" },
    { 0 },
};
#undef L

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, "blk.%u.attn_gate.weight" },
    { 0 },
};

const struct qr_arch qr_arch_spark2_5 = {
    .name = "spark2_5",
    .hf_types = { "spark2_5" },
    .gguf_archs = { "spark2_5" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_ERF,
    .gated = true,
    .attention_gate = true,
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_layer_heads = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_LISTED,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
