/* SPDX-License-Identifier: Apache-2.0 */
/* glm4.c - GLM-4 and GLM-Edge: interleaved RoPE on a part of a head, fused gate and up; sandwich
 * norm in the release of April 2025. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 2 },
    { "head_dim", 128 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1.5625e-07 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.5 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_self_attn_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_mlp_layernorm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "mlp.gate_up_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "mlp.gate_up_proj.weight" },
    { 0 },
};

static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_GATE, QR_SLICE_GATE, "blk.%u.ffn_up.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, "blk.%u.ffn_up.weight" },
    { 0 },
};

#define GLM                                                                                        \
    .activation = QR_ACT_SILU, .gated = true, .hf_norm = QR_NORM_RMS,                              \
    .hf_rope = QR_ROPE_INTERLEAVED, .hf_qkv_bias_key = "attention_bias", .hf_defaults = defaults,  \
    .hf_names = names, .hf_common_names = qr_names_hf_llama, .gguf_norm = QR_NORM_RMS,             \
    .gguf_rope = QR_ROPE_INTERLEAVED, .gguf_names = gguf_names, .gguf_common_names = qr_names_gguf

const struct qr_arch qr_arch_glm4 = {
    .name = "glm4",
    .hf_types = { "glm4" },
    .gguf_archs = { "glm4" },
    .block = QR_BLOCK_SANDWICH_NORM,
    GLM,
};

const struct qr_arch qr_arch_glm = {
    .name = "glm",
    .hf_types = { "glm" },
    .gguf_archs = { "chatglm" },
    .block = QR_BLOCK_PRE_NORM,
    GLM,
};
#undef GLM
