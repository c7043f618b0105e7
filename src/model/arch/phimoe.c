/* SPDX-License-Identifier: Apache-2.0 */
/* phimoe.c - Phi-3.5-MoE: LayerNorm, biases of attention and LM head, SparseMixer routing,
 * LongRoPE. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 1000000 },
    { "num_local_experts", 16 },
    { "num_experts_per_tok", 2 },
    { "router_jitter_noise", 0.01 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "input_jitter_noise", NULL }, /* training */
    { 0 },
};

#define L "model.layers.%u.block_sparse_moe."
static const struct qr_name_rule names[] = {
    { QR_W_ROUTER, QR_SLICE_ALL, L "gate.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "experts.%u.w1.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "experts.%u.w2.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "experts.%u.w3.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_phimoe = {
    .name = "phimoe",
    .hf_types = { "phimoe" },
    .gguf_archs = { "phimoe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SPARSEMIXER },
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_attention_bias = true,
    .hf_output_bias_key = "lm_head_bias",
    .hf_longrope_mscale = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_ALL,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
