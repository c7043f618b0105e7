/* SPDX-License-Identifier: Apache-2.0 */
/* minimax.c - MiniMax-Text-01 and M1: lightning attention, full attention in some layers, experts,
 * factors of the residual stream and of each sublayer. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 1000000 },
    { "num_key_value_heads", 8 },
    { "num_local_experts", 8 },
    { "num_experts_per_tok", 2 },
    { "full_attn_alpha_factor", 1 },
    { "full_attn_beta_factor", 1 },
    { "linear_attn_alpha_factor", 1 },
    { "linear_attn_beta_factor", 1 },
    { "mlp_alpha_factor", 1 },
    { "mlp_beta_factor", 1 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "block_size", NULL }, /* implementation */
    { 0 },
};

/* Constants that the configuration implies. */
static const char *const ignored_tensors[] = { "*.self_attn.slope_rate", "*.self_attn.query_decay",
                                               "*.self_attn.key_decay",
                                               "*.self_attn.diagonal_decay", NULL };

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_REC_Q, QR_SLICE_REC_HEAD_Q, L "self_attn.qkv_proj.weight" },
    { QR_W_REC_K, QR_SLICE_REC_HEAD_K, L "self_attn.qkv_proj.weight" },
    { QR_W_REC_V, QR_SLICE_REC_HEAD_V, L "self_attn.qkv_proj.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, L "self_attn.output_gate.weight" },
    { QR_W_REC_NORM, QR_SLICE_ALL, L "self_attn.norm.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, L "self_attn.out_proj.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "block_sparse_moe.gate.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "block_sparse_moe.experts.%u.w1.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "block_sparse_moe.experts.%u.w3.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "block_sparse_moe.experts.%u.w2.weight" },
    { 0 },
};

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_LIGHTNING,
                .output = QR_RECURRENT_OUT_NORM_GATE,
                .sigmoid_gate = true,
                .norm_eps = 1e-6f },
    .mixer = QR_MIXER_RECURRENT,
};

const struct qr_arch qr_arch_minimax = {
    .name = "minimax",
    .hf_types = { "minimax" },
    .block = QR_BLOCK_SCALED_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .recurrent = &recurrent,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true },
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_minimax = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
