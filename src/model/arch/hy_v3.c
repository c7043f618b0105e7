/* SPDX-License-Identifier: Apache-2.0 */
/* hy_v3.c - Hy3 (HunYuan V3): q/k norm before RoPE, sigmoid router with a correction, shared
 * expert, heads of multi-token prediction. Checkpoints and the reference implementation have
 * different names for the tensors of the experts. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 8 },
    { "head_dim", 128 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 11158840 },
    { "num_experts", 192 },
    { "num_experts_per_tok", 8 },
    { "n_shared_experts", 1 },
    { "moe_intermediate_size", 1536 },
    { "first_k_dense_replace", 1 },
    { "routed_scaling_factor", 2.826 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "n_shared_experts", "num_shared_experts" },
    { "norm_topk_prob", "route_norm" },
    { "routed_scaling_factor", "router_scaling_factor" },
    { "moe_intermediate_size", "expert_hidden_dim" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "qk_norm", true },
    { "moe_router_use_sigmoid", true },
    { "moe_router_enable_expert_bias", true },
    { 0 },
};

/* how the reference implementation computes the same function */
static const struct qr_ignored_key ignored_keys[] = {
    { "enable_attention_fp32_softmax", NULL },
    { "enable_lm_head_fp32", NULL },
    { "enable_moe_fp32_combine", NULL },
    { "use_grouped_mm", NULL },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ROUTER, QR_SLICE_ALL, L "mlp.router.gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.expert_bias" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.e_score_correction_bias" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, L "mlp.shared_mlp.gate_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, L "mlp.shared_mlp.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "mlp.shared_mlp.down_proj.weight" },
    { 0 },
};
#undef L

/* Older files have no suffix. */
static const struct qr_name_rule gguf_names[] = {
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, "blk.%u.exp_probs_b" },
    { 0 },
};

const struct qr_arch qr_arch_hy_v3 = {
    .name = "hy_v3",
    .hf_types = { "hy_v3" },
    .gguf_archs = { "hy_v3" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .renormalize = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .hf_mtp_names = qr_names_hf_mtp_final_norm,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_mtp = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
    .gguf_mtp_names = qr_names_gguf_mtp,
};
