/* SPDX-License-Identifier: Apache-2.0 */
/* mellum.c - Mellum 2 (JetBrains): Qwen 3 MoE with windows, whose layers have a RoPE set of their
 * own. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 4 },
    { "head_dim", 128 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 500000 },
    { "rope_local_base_freq", 10000 },
    { "sliding_window", 1024 },
    { "num_experts", 64 },
    { "num_experts_per_tok", 8 },
    { "moe_intermediate_size", 896 },
    { "norm_topk_prob", 1 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "use_sliding_window", "true" }, /* layer_types says which layers have the window */
    { "max_window_layers", NULL },
    { 0 },
};

const struct qr_arch qr_arch_mellum = {
    .name = "mellum",
    .hf_types = { "mellum" },
    .gguf_archs = { "mellum" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true }, /* GGUF has no key for it */
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_names = qr_names_gguf,
};
