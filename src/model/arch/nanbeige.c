/* SPDX-License-Identifier: Apache-2.0 */
/* nanbeige.c - Nanbeige 4.2: Llama whose layers run several times, with keys and values of their
 * own in each loop and the final norm between two. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "kv_channels", NULL }, /* head_dim says the same */
    { 0 },
};

const struct qr_arch qr_arch_nanbeige = {
    .name = "nanbeige",
    .hf_types = { "nanbeige" },
    .gguf_archs = { "nanbeige" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .loops = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED, /* the converter permutes the rows of q and k */
    .gguf_names = qr_names_gguf,
};
