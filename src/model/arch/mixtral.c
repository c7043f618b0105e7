/* SPDX-License-Identifier: Apache-2.0 */
/* mixtral.c - Mixtral: Mistral with experts. GGUF arch is llama. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 8 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 1000000 },
    { "num_experts_per_tok", 2 },
    { "num_local_experts", 8 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ROUTER, QR_SLICE_ALL, L "block_sparse_moe.gate.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "block_sparse_moe.experts.%u.w1.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "block_sparse_moe.experts.%u.w3.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "block_sparse_moe.experts.%u.w2.weight" },
    { 0 },
};

const struct qr_arch qr_arch_mixtral = {
    .name = "mixtral",
    .hf_types = { "mixtral" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true },
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
