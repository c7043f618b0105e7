/* SPDX-License-Identifier: Apache-2.0 */
/* muse_glimmer.c - Muse Glimmer: normed embeddings, gated attention, q and k with norms without
 * weights, sandwich norms, three windowed layers with RoPE and one full without. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 202048 },
    { "hidden_size", 6656 },
    { "intermediate_size", 19968 },
    { "num_hidden_layers", 52 },
    { "num_attention_heads", 32 },
    { "num_key_value_heads", 2 },
    { "head_dim", 128 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "post_norm_eps", 1e-8 },
    { "rope_theta", 500000 },
    { "sliding_window", 2048 },
    { "qk_scale_factor", 3.87 },
    { "logit_scale", 0.19611613513818404 },
    { "final_logit_softcapping", 20 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "logit_scale", "output_multiplier" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "attention_bias", false },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, L "self_attn.gate_proj.weight" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_feedforward_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { 0 },
};
#undef L

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, "blk.%u.attn_gate.weight" },
    { 0 },
};

const struct qr_arch qr_arch_muse_glimmer = {
    .name = "muse_glimmer",
    .hf_types = { "muse_glimmer_text" },
    .gguf_archs = { "muse-glimmer" },
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_PLAIN,
    .embedding_norm = true,
    .embedding_norm_plain = true,
    .post_norm_eps = 1e-8f,
    .attention_gate = true,
    .rope_in_windows_only = true,
    .final_softcap = true,
    .window_period = 4,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_windows_from_last = true,
    .hf_norm = QR_NORM_RMS_PLUS1_LAYERS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_layer_rope_theta = true,
    .hf_logit_scale = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_qk_norm = QR_QK_NORM_HEAD, /* q weights: the scale factor */
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
