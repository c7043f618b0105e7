/* SPDX-License-Identifier: Apache-2.0 */
/* xverse.c - XVERSE, dense: Llama by another name. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "max_tokenizer_truncation", NULL }, /* of the tokenizer */
    { 0 },
};

const struct qr_arch qr_arch_xverse = {
    .name = "xverse",
    .hf_types = { "xverse" },
    .gguf_archs = { "xverse" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf,
};
