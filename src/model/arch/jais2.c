/* SPDX-License-Identifier: Apache-2.0 */
/* jais2.c - Jais 2: LayerNorm, squared ReLU without a gate, biases. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 500000 },
    { "attention_bias", 1 },
    { "mlp_bias", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

const struct qr_arch qr_arch_jais2 = {
    .name = "jais2",
    .hf_types = { "jais2" },
    .gguf_archs = { "jais2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
