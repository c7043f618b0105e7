/* SPDX-License-Identifier: Apache-2.0 */
/* orion.c - Orion 14B: Llama with LayerNorm. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { 0 },
};

const struct qr_arch qr_arch_orion = {
    .name = "orion",
    .hf_types = { "orion" },
    .gguf_archs = { "orion" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_LAYER, /* with the key of other families for its epsilon */
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX, /* converters leave the rows of q and k in place */
    .gguf_names = qr_names_gguf,
};
