/* SPDX-License-Identifier: Apache-2.0 */
/* smallthinker.c - SmallThinker: experts with ReLU in all layers, whose router reads the residual
 * stream before attention; windowed layers with RoPE and full ones without, or full ones with RoPE.
 */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 2 },
    { "head_dim", 128 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 1000000 },
    { "no_rope_layer_interval", UINT32_MAX }, /* without rope_layout all layers have RoPE */
    { "tie_word_embeddings", 1 },
    { "moe_intermediate_size", 768 },
    { "intermediate_size", 768 }, /* of dense layers; the family has none */
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "moe_intermediate_size", "moe_ffn_hidden_size" },
    { "num_experts", "moe_num_primary_experts" },
    { "num_experts_per_tok", "moe_num_active_primary_experts" },
    { "layer_types", "sliding_window_layout" },
    { "sliding_window", "sliding_window_size" },
    { "no_rope_layers", "rope_layout" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "norm_topk_prob", true }, /* the reference implementation does not read it */
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "model_name", NULL },
    { 0 },
};

#define MOE "model.layers.%u.block_sparse_moe."
static const struct qr_name_rule names[] = {
    { QR_W_ROUTER, QR_SLICE_ALL, MOE "primary_router.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, MOE "experts.%u.gate.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, MOE "experts.%u.up.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, MOE "experts.%u.down.weight" },
    { 0 },
};
#undef MOE

const struct qr_arch qr_arch_smallthinker = {
    .name = "smallthinker",
    .hf_types = { "smallthinker" },
    .gguf_archs = { "smallthinker" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU,
    .gated = true,
    .window_period = 4,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .renormalize = true, .router_before_mixer = true },
    .hf_window = QR_WINDOW_LISTED,
    .hf_window_flags = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_no_rope_layers = true,
    .hf_softmax_key = "moe_primary_router_apply_softmax",
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC_FIRST,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_rope_in_windows = true,
    .gguf_names = qr_names_gguf,
};
