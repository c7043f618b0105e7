/* SPDX-License-Identifier: Apache-2.0 */
/* cohere.c - Command R and R+, Aya 23: parallel block, LayerNorm, interleaved RoPE, in R+ a q/k
 * norm with weights per head. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "logit_scale", 0.0625 },
    { "use_qk_norm", 0 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

#define L "model.layers.%u.self_attn."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_Q_NORMS, QR_SLICE_ALL, L "q_norm.weight" },
    { QR_W_ATTN_K_NORMS, QR_SLICE_ALL, L "k_norm.weight" },
    { 0 },
};
#undef L

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_Q_NORMS, QR_SLICE_ALL, "blk.%u.attn_q_norm.weight" },
    { QR_W_ATTN_K_NORMS, QR_SLICE_ALL, "blk.%u.attn_k_norm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_cohere = {
    .name = "cohere",
    .hf_types = { "cohere" },
    .gguf_archs = { "command-r" },
    .block = QR_BLOCK_PARALLEL,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEADS,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_attention_bias = true,
    .hf_qk_norm_key = "use_qk_norm",
    .hf_logit_scale = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
