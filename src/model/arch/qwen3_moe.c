/* SPDX-License-Identifier: Apache-2.0 */
/* qwen3_moe.c - Qwen 3 MoE, and the text of Qwen 3-VL MoE: per-head q/k norm, no shared expert. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 4 },     { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },         { "rope_theta", 10000 },
    { "sliding_window", 4096 },       { "max_window_layers", 28 },
    { "moe_intermediate_size", 768 }, { "num_experts_per_tok", 8 },
    { "norm_topk_prob", 0 },          { 0 },
};

/* Of Qwen 3-VL MoE. */
static const struct qr_hf_default vl_defaults[] = {
    { "num_key_value_heads", 16 },     { "max_position_embeddings", 128000 },
    { "rms_norm_eps", 1e-6 },          { "rope_theta", 5000000 },
    { "moe_intermediate_size", 1408 }, { "num_experts_per_tok", 4 },
    { "norm_topk_prob", 1 },           { 0 },
};

#define EXPERTS "model.layers.%u.mlp.experts."
static const struct qr_name_rule names[] = {
    { QR_W_EXPERT_GATE, QR_SLICE_GATE | QR_SLICE_TRANSPOSED, EXPERTS "gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP | QR_SLICE_TRANSPOSED, EXPERTS "gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_TRANSPOSED, EXPERTS "down_proj" },
    { 0 },
};
#undef EXPERTS

const struct qr_arch qr_arch_qwen3_vl_moe = {
    .name = "qwen3_vl_moe",
    .hf_types = { "qwen3_vl_moe_text" },
    .gguf_archs = { "qwen3vlmoe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true },
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = vl_defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};

const struct qr_arch qr_arch_qwen3_moe = {
    .name = "qwen3_moe",
    .hf_types = { "qwen3_moe" },
    .gguf_archs = { "qwen3moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true }, /* GGUF has no key for it */
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
