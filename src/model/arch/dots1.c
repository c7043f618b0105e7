/* SPDX-License-Identifier: Apache-2.0 */
/* dots1.c - dots.llm1: q/k norm, sigmoid router with a correction, groups, shared experts. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "use_sliding_window", 1 },
    { "max_window_layers", 62 },
    { "n_group", 1 },
    { "topk_group", 1 },
    { "first_k_dense_replace", 0 },
    { "routed_scaling_factor", 1 },
    { 0 },
};

const struct qr_arch qr_arch_dots1 = {
    .name = "dots1",
    .hf_types = { "dots1" },
    .gguf_archs = { "dots1" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .group_top2 = true },
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
