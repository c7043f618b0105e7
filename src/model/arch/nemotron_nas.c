/* SPDX-License-Identifier: Apache-2.0 */
/* nemotron_nas.c - Llama Nemotron Super and Ultra (DeciLM): Llama with layers whose attention or
 * feed-forward network a search has removed, and sizes by layer. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

const struct qr_arch qr_arch_nemotron_nas = {
    .name = "nemotron_nas",
    .hf_types = { "nemotron-nas" },
    .gguf_archs = { "deci" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .optional_sublayers = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED, /* the converter permutes the rows of q and k */
    .gguf_names = qr_names_gguf,
};
