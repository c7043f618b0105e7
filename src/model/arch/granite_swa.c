/* SPDX-License-Identifier: Apache-2.0 */
/* granite_swa.c - Granite with windows, dense and MoE: attention sinks, a RoPE base per layer. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_SINKS, QR_SLICE_ALL, L "self_attn.sinks" },
    { 0 },
};

/* Gate and up of the shared expert as one tensor. */
static const struct qr_name_rule gguf_names[] = {
    { QR_W_SHARED_GATE, QR_SLICE_GATE, "blk.%u.ffn_up_shexp.weight" },
    { QR_W_SHARED_UP, QR_SLICE_UP, "blk.%u.ffn_up_shexp.weight" },
    { 0 },
};

/* GGUF files of both families */
const struct qr_arch qr_arch_granite_swa = {
    .name = "granite_swa",
    .hf_types = { "granite_swa" },
    .gguf_archs = { "granite_swa" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .divides_logits = true,
    .sinks = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX_TOPK },
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_layer_rope_theta = true,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_multipliers = true,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_LISTED,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};

/* Experts as one tensor in the names of both releases that write such stacks. */
static const struct qr_name_rule moe_names[] = {
    { QR_W_ATTN_SINKS, QR_SLICE_ALL, L "self_attn.sinks" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "block_sparse_moe.router.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "block_sparse_moe.router.layer.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "block_sparse_moe.experts.gate_up_proj" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "block_sparse_moe.input_linear.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "block_sparse_moe.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "block_sparse_moe.input_linear.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "block_sparse_moe.experts.down_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "block_sparse_moe.output_linear.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_GATE, L "shared_mlp.input_linear.weight" },
    { QR_W_SHARED_UP, QR_SLICE_UP, L "shared_mlp.input_linear.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "shared_mlp.output_linear.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_granitemoe_swa = {
    .name = "granitemoe_swa",
    .hf_types = { "granitemoe_swa" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .divides_logits = true,
    .sinks = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX_TOPK },
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_layer_rope_theta = true,
    .hf_attention_bias = true,
    .hf_multipliers = true,
    .hf_defaults = defaults,
    .hf_names = moe_names,
    .hf_common_names = qr_names_hf_llama,
};
