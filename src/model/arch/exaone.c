/* SPDX-License-Identifier: Apache-2.0 */
/* exaone.c - K-EXAONE: three windowed layers with RoPE, one full without; q/k norm; sigmoid router
 * and a shared expert. */
#include "model/arch/arch.h"

static const struct qr_hf_default moe_defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "num_key_value_heads", 32 },
    { "n_group", 1 },
    { "topk_group", 1 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 2.5 },
    { 0 },
};

static const struct qr_hf_alias moe_aliases[] = {
    { "n_shared_experts", "num_shared_experts" },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule moe_names[] = {
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.e_score_correction_bias" },
    { 0 },
};

static const char *const ignored_tensors[] = { "mtp.*", NULL };

const struct qr_arch qr_arch_exaone_moe = {
    .name = "exaone_moe",
    .hf_types = { "exaone_moe" },
    .gguf_archs = { "exaone-moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .rope_in_windows_only = true,
    .window_period = 4,
    .ignored_tensors = ignored_tensors,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .group_top2 = true },
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = moe_defaults,
    .hf_aliases = moe_aliases,
    .hf_names = moe_names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
