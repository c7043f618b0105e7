/* SPDX-License-Identifier: Apache-2.0 */
/* minimax_m2.c - MiniMax M2: norm over all heads of q and k, partial RoPE, sigmoid router. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 196608 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 5000000 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rope_dim", "rotary_dim" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "attn_type_list", NULL }, /* every layer has softmax attention */
    { "use_mtp", NULL },        /* heads of multi-token prediction, which are not computed */
    { "num_mtp_modules", NULL }, { "mtp_transformer_layers", NULL }, { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "use_qk_norm", true },
    { "use_routing_bias", true },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "qk_norm_type", "per_layer" },
    { 0 },
};

#define L "model.layers.%u.block_sparse_moe."
static const struct qr_name_rule names[] = {
    { QR_W_ROUTER, QR_SLICE_ALL, L "gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "e_score_correction_bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "experts.%u.w1.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "experts.%u.w3.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "experts.%u.w2.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_minimax_m2 = {
    .name = "minimax_m2",
    .hf_types = { "minimax_m2" },
    .gguf_archs = { "minimax-m2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_FULL,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .renormalize = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_ignored_keys = ignored_keys,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
