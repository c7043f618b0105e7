/* SPDX-License-Identifier: Apache-2.0 */
/* grovemoe.c - GroveMoE (arXiv 2508.07785): Qwen 3 MoE with adjugate experts, each shared by two
 * neighbouring experts. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 4 },
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "max_window_layers", 28 },
    { "moe_intermediate_size", 768 },
    { "num_experts_per_tok", 8 },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "norm_topk_prob", true }, /* the reference implementation always does */
    { 0 },
};

#define ADJUGATE "model.layers.%u.mlp.chunk_experts.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ADJUGATE_GATE, QR_SLICE_ALL, ADJUGATE "gate_proj.weight" },
    { QR_W_ADJUGATE_UP, QR_SLICE_ALL, ADJUGATE "up_proj.weight" },
    { QR_W_ADJUGATE_DOWN, QR_SLICE_ALL, ADJUGATE "down_proj.weight" },
    { 0 },
};
#undef ADJUGATE

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ADJUGATE_GATE, QR_SLICE_ALL, "blk.%u.ffn_gate_chexps.weight" },
    { QR_W_ADJUGATE_UP, QR_SLICE_ALL, "blk.%u.ffn_up_chexps.weight" },
    { QR_W_ADJUGATE_DOWN, QR_SLICE_ALL, "blk.%u.ffn_down_chexps.weight" },
    { 0 },
};

static const char *const ignored_tensors[] = {
    "*.mlp.expert_bias", /* the reference implementation stores it and does not read it */
    NULL,
};

const struct qr_arch qr_arch_grovemoe = {
    .name = "grovemoe",
    .hf_types = { "grove_moe" },
    .gguf_archs = { "grovemoe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .has_moe = true,
    /* constants of the reference implementation; config.json has none of them */
    .moe = { .gating = QR_GATING_SOFTMAX,
             .renormalize = true,
             .adjugate_group = 2,
             .adjugate_ffn_size = 128,
             .adjugate_scale = 0.05f },
    .ignored_tensors = ignored_tensors,
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
