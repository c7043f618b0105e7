/* SPDX-License-Identifier: Apache-2.0 */
/* granitemoe.c - Granite MoE: each expert stack is one tensor, gate and up fused. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ROUTER, QR_SLICE_ALL, L "block_sparse_moe.router.layer.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "block_sparse_moe.input_linear.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "block_sparse_moe.input_linear.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "block_sparse_moe.output_linear.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_GATE, L "shared_mlp.input_linear.weight" },
    { QR_W_SHARED_UP, QR_SLICE_UP, L "shared_mlp.input_linear.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "shared_mlp.output_linear.weight" },
    { 0 },
};

const struct qr_arch qr_arch_granitemoe = {
    .name = "granitemoe",
    .hf_types = { "granitemoe", "granitemoeshared" },
    .gguf_archs = { "granitemoe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .divides_logits = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX_TOPK, .renormalize = false },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_multipliers = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
