/* SPDX-License-Identifier: Apache-2.0 */
/* qwen2_moe.c - Qwen 1.5 and 2 MoE: experts and a gated shared expert. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 16 },
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "max_window_layers", 28 },
    { "qkv_bias", 1 },
    { "moe_intermediate_size", 1408 },
    { "shared_expert_intermediate_size", 5632 },
    { "num_experts_per_tok", 4 },
    { 0 },
};

const struct qr_arch qr_arch_qwen2_moe = {
    .name = "qwen2_moe",
    .hf_types = { "qwen2_moe" },
    .gguf_archs = { "qwen2moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .shared_gate = true },
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_qkv_bias_key = "qkv_bias",
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
