/* SPDX-License-Identifier: Apache-2.0 */
/* mimo_v2_flash.c - MiMo V2 Flash: windowed layers with sinks and more key-value heads, scaled
 * values, sigmoid router with a correction. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 262144 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 5000000 },
    { "rope_local_base_freq", 10000 },
    { "partial_rotary_factor", 0.334 },
    { "norm_topk_prob", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "layer_types", "hybrid_layer_pattern" },
    { "rms_norm_eps", "layernorm_epsilon" },
    { "rope_local_base_freq", "swa_rope_theta" },
    { "sliding_window", "sliding_window_size" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "attention_chunk_size", NULL }, /* not read: the window is sliding_window */
    { "hybrid_block_size", NULL },    /* the layers are listed */
    { 0 },
};

static const char *const ignored_tensors[] = {
    "model.mtp.*", /* heads of multi-token prediction */
    NULL,
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "attention_projection_layout", "split" },
    { 0 },
};

static const struct qr_name_rule names[] = {
    { QR_W_ATTN_SINKS, QR_SLICE_ALL, "model.layers.%u.self_attn.attention_sink_bias" },
    { QR_W_ATTN_SINKS, QR_SLICE_ALL, "model.layers.%u.self_attn.sinks" },
    { 0 },
};

#define L "model.mtp.layers.%u."
static const struct qr_name_rule mtp_names[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, L "enorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, L "hnorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, L "eh_proj.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_mlp_layernorm.weight" },
    { QR_W_MTP_NORM, QR_SLICE_ALL, L "final_layernorm.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_mimo_v2_flash = {
    .name = "mimo_v2_flash",
    .hf_types = { "mimo_v2_flash" },
    .gguf_archs = { "mimo2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .sinks_in_windows = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID,
             .correction = true,
             .renormalize = true,
             .group_top2 = true },
    .ignored_tensors = ignored_tensors,
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_qkv_bias_key = "attention_bias",
    .hf_value_scale = true,
    .hf_window_heads = true,
    .hf_window_flags = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .hf_mtp_names = mtp_names,
    .hf_mtp_layers = "model.mtp.layers.",
    .mtp_heads = QR_MTP_HEADS_OF_MODEL,
    .mtp_window = true,
    .gguf_mtp = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
    .gguf_mtp_names = qr_names_gguf_mtp_heads,
};
