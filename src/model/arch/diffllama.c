/* SPDX-License-Identifier: Apache-2.0 */
/* diffllama.c - DiffLlama: Llama with differential attention. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "lambda_std_dev", NULL }, /* initialization */
    { 0 },
};

#define A "model.layers.%u.self_attn."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_LAMBDA_Q1, QR_SLICE_ALL, A "lambda_q1" },
    { QR_W_ATTN_LAMBDA_K1, QR_SLICE_ALL, A "lambda_k1" },
    { QR_W_ATTN_LAMBDA_Q2, QR_SLICE_ALL, A "lambda_q2" },
    { QR_W_ATTN_LAMBDA_K2, QR_SLICE_ALL, A "lambda_k2" },
    { 0 },
};
#undef A

const struct qr_arch qr_arch_diffllama = {
    .name = "diffllama",
    .hf_types = { "diffllama" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .differential = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
