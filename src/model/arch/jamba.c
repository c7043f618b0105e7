/* SPDX-License-Identifier: Apache-2.0 */
/* jamba.c - Jamba: Mamba-1 with norms of dt, B and C, attention without positions, experts in some
 * layers. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 262144 },
    { "rms_norm_eps", 1e-6 },
    { "num_key_value_heads", 8 },
    { "num_experts", 16 },
    { "num_experts_per_tok", 2 },
    { "expert_layer_period", 2 },
    { "expert_layer_offset", 1 },
    { "attn_layer_period", 8 },
    { "attn_layer_offset", 4 },
    { "mamba_d_state", 16 },
    { "mamba_d_conv", 4 },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "mamba_proj_bias", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "use_mamba_kernels", NULL }, /* implementation */
    { "use_mambapy", NULL },
    { "use_associative_scan", NULL },
    { "num_logits_to_keep", NULL },
    { "mamba_inner_layernorms", "true" },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    QR_NAMES_MAMBA1(L "mamba."),
    QR_NAMES_FEED_FORWARD,
    { QR_W_ROUTER, QR_SLICE_ALL, L "feed_forward.router.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "feed_forward.experts.%u.gate_proj.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "feed_forward.experts.%u.up_proj.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "feed_forward.experts.%u.down_proj.weight" },
    { 0 },
};
static const struct qr_name_rule gguf_names[] = { QR_NAMES_GGUF_MAMBA1, { 0 } };

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_MAMBA1,
                .output = QR_RECURRENT_OUT_GATED,
                .dt_norms = true,
                .norm_weights = true },
    .mixer = QR_MIXER_RECURRENT,
};

const struct qr_arch qr_arch_jamba = {
    .name = "jamba",
    .hf_types = { "jamba" },
    .gguf_archs = { "jamba" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .recurrent = &recurrent,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX },
    .hf_norm = QR_NORM_RMS,
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
