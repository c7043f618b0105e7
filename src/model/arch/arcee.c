/* SPDX-License-Identifier: Apache-2.0 */
/* arcee.c - Arcee (AFM): Llama with squared ReLU instead of a gate. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { 0 },
};

const struct qr_arch qr_arch_arcee = {
    .name = "arcee",
    .hf_types = { "arcee" },
    .gguf_archs = { "arcee" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
