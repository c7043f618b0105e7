/* SPDX-License-Identifier: Apache-2.0 */
/* laguna.c - Laguna (Poolside): head counts per layer, attention outputs gated by softplus, a RoPE
 * set for windowed layers, sigmoid router with a correction. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-6 },
    { "head_dim", 128 },
    { "sliding_window", 512 },
    { "rope_theta", 500000 },
    { "rope_local_base_freq", 10000 },
    { "first_k_dense_replace", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "routed_scaling_factor", "moe_routed_scaling_factor" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "moe_apply_router_weight_on_input", false },
    { "qkv_bias", false },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, L "self_attn.g_proj.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.experts.e_score_correction_bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mlp.experts.down_proj" },
    { 0 },
};
#undef L

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, "blk.%u.attn_gate.weight" },
    { 0 },
};

const struct qr_arch qr_arch_laguna = {
    .name = "laguna",
    .hf_types = { "laguna" },
    .gguf_archs = { "laguna" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .attention_gate = true,
    .gate_softplus = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .renormalize = true },
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_attention_bias = true,
    .hf_layer_heads = true,
    .hf_router_softcap = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
