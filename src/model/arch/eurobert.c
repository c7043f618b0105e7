/* SPDX-License-Identifier: Apache-2.0 */
/* eurobert.c - EuroBERT: an encoder of Llama's layers with bidirectional attention. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 250000 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "classifier_pooling", NULL }, /* heads for other tasks, whose tensors have no role */
    { 0 },
};

const struct qr_arch qr_arch_eurobert = {
    .name = "eurobert",
    .hf_types = { "eurobert" },
    .gguf_archs = { "eurobert" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
