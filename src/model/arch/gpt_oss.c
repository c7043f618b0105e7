/* SPDX-License-Identifier: Apache-2.0 */
/* gpt_oss.c - gpt-oss: sinks, window in every other layer from 0, MoE, biases, clamped SwiGLU. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 8 },
    { "head_dim", 64 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 150000 },
    { "sliding_window", 128 },
    { "attention_bias", 1 },
    { "num_experts_per_tok", 4 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "experts_per_token", NULL }, /* a copy of num_experts_per_tok */
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_SINKS, QR_SLICE_ALL, L "self_attn.sinks" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "mlp.router.weight" },
    { QR_W_ROUTER_BIAS, QR_SLICE_ALL, L "mlp.router.bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE_EVEN | QR_SLICE_TRANSPOSED, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP_ODD | QR_SLICE_TRANSPOSED, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_GATE_BIAS, QR_SLICE_GATE_EVEN, L "mlp.experts.gate_up_proj_bias" },
    { QR_W_EXPERT_UP_BIAS, QR_SLICE_UP_ODD, L "mlp.experts.gate_up_proj_bias" },
    { QR_W_EXPERT_DOWN, QR_SLICE_TRANSPOSED, L "mlp.experts.down_proj" },
    { QR_W_EXPERT_DOWN_BIAS, QR_SLICE_ALL, L "mlp.experts.down_proj_bias" },
    /* as published: MXFP4, rows of outputs */
    { QR_W_EXPERT_GATE, QR_SLICE_GATE_EVEN, L "mlp.experts.gate_up_proj_blocks" },
    { QR_W_EXPERT_UP, QR_SLICE_UP_ODD, L "mlp.experts.gate_up_proj_blocks" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mlp.experts.down_proj_blocks" },
    { 0 },
};

static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_NORM, QR_SLICE_ALL, "blk.%u.post_attention_norm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_gpt_oss = {
    .name = "gpt_oss",
    .hf_types = { "gpt_oss" },
    .gguf_archs = { "gpt-oss" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SWIGLU_OAI,
    .act_alpha = 1.702f,
    .act_limit = 7,
    .gated = true,
    .sinks = true,
    .window_period = 2,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX_TOPK, .router_bias = true, .expert_bias = true },
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_yarn_no_truncate = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
