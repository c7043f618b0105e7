/* SPDX-License-Identifier: Apache-2.0 */
/* phi3.c - Phi-3 and Phi-4-mini: Llama with fused qkv and gate_up, LongRoPE, partial RoPE. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "original_max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "full_attn_mod", "1" },
    { "interpolate_factor", "1" },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule hf_names[] = {
    { QR_W_ATTN_Q, QR_SLICE_Q, L "self_attn.qkv_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, L "self_attn.qkv_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, L "self_attn.qkv_proj.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "mlp.gate_up_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "mlp.gate_up_proj.weight" },
    { 0 },
};

static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_GATE, QR_SLICE_GATE, "blk.%u.ffn_up.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, "blk.%u.ffn_up.weight" },
    { 0 },
};

const struct qr_arch qr_arch_phi3 = {
    .name = "phi3",
    .hf_types = { "phi3" },
    .gguf_archs = { "phi3" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_yarn_is_longrope = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = hf_names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_ALL,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
