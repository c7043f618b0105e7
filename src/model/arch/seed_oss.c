/* SPDX-License-Identifier: Apache-2.0 */
/* seed_oss.c - Seed-OSS: Llama with biases on q, k and v. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 524288 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "num_key_value_heads", 8 },
    { "head_dim", 128 },
    { "attention_bias", 1 },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "attention_out_bias", false },
    { 0 },
};

/* The norm before the feed-forward network has the name of the attention's output norm. */
static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_NORM, QR_SLICE_ALL, "blk.%u.post_attention_norm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_seed_oss = {
    .name = "seed_oss",
    .hf_types = { "seed_oss" },
    .gguf_archs = { "seed_oss" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_qkv_bias_key = "attention_bias",
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
