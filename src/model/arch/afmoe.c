/* SPDX-License-Identifier: Apache-2.0 */
/* afmoe.c - Arcee Trinity: gated attention, sandwich norms, three windowed layers with RoPE and one
 * full without, sigmoid router with a correction. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 16384 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "sliding_window", 1024 },
    { "head_dim", 128 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 1 },
    { "first_k_dense_replace", 1 },
    { "n_shared_experts", 0 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "n_shared_experts", "num_shared_experts" },
    { "first_k_dense_replace", "num_dense_layers" },
    { "routed_scaling_factor", "route_scale" },
    { "norm_topk_prob", "route_norm" },
    { "scoring_func", "score_func" },
    { "sliding_window_pattern", "global_attn_every_n_layers" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "n_group", "1" }, /* no groups */
    { "topk_group", "1" },
    { "num_expert_groups", "1" },
    { "num_limited_groups", "1" },
    { "load_balance_coeff", NULL }, /* training */
    { "use_grouped_mm", NULL },     /* how the reference implementation multiplies */
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, L "self_attn.gate_proj.weight" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_mlp_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_mlp_layernorm.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "mlp.router.gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.expert_bias" },
    { 0 },
};
#undef L

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, "blk.%u.attn_gate.weight" },
    { 0 },
};

const struct qr_arch qr_arch_afmoe = {
    .name = "afmoe",
    .hf_types = { "afmoe" },
    .gguf_archs = { "afmoe" },
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .attention_gate = true,
    .rope_in_windows_only = true,
    .window_period = 4,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true },
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_embedding_scale_key = "mup_enabled",
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_scaled_embedding = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
