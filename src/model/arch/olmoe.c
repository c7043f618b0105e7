/* SPDX-License-Identifier: Apache-2.0 */
/* olmoe.c - OLMoE: q/k norm over all heads, MoE without renormalized weights. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "num_experts_per_tok", 8 },
    { 0 },
};

const struct qr_arch qr_arch_olmoe = {
    .name = "olmoe",
    .hf_types = { "olmoe" },
    .gguf_archs = { "olmoe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_FULL,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_clip_qkv = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
