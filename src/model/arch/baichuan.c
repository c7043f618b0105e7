/* SPDX-License-Identifier: Apache-2.0 */
/* baichuan.c - Baichuan and Baichuan 2: Llama with q, k and v in one tensor. The models of 13B have
 * ALiBi; the LM head of Baichuan 2 has rows of length 1. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

/* The models of 13B have the second one only. */
static const struct qr_hf_alias aliases[] = {
    { "max_position_embeddings", "max_position_embeddings" },
    { "max_position_embeddings", "model_max_length" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "z_loss_weight", NULL }, /* training */
    { 0 },
};

#define W_PACK "model.layers.%u.self_attn.W_pack.weight"
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_Q, QR_SLICE_Q, W_PACK },
    { QR_W_ATTN_K, QR_SLICE_K, W_PACK },
    { QR_W_ATTN_V, QR_SLICE_V, W_PACK },
    { 0 },
};
#undef W_PACK

const struct qr_arch qr_arch_baichuan = {
    .name = "baichuan",
    .hf_types = { "baichuan" },
    .gguf_archs = { "baichuan" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .alibi_max_bias = 8,
    .alibi_layers = 40, /* no file has a key for it */
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_unit_head_vocab = 125696, /* GGUF files are computed with the rows that they have */
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf,
};
