/* SPDX-License-Identifier: Apache-2.0 */
/* internlm.c - InternLM 2, 2.5 and 3: Llama with dynamic RoPE scaling; version 2 has fused qkv and
 * names of its own. GGUF files of version 3 are llama. */
#include "model/arch/arch.h"

static const struct qr_hf_default v2_defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "bias", false },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule v2_names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.tok_embeddings.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "output.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.norm.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attention_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_HEAD_Q, L "attention.wqkv.weight" },
    { QR_W_ATTN_K, QR_SLICE_HEAD_K, L "attention.wqkv.weight" },
    { QR_W_ATTN_V, QR_SLICE_HEAD_V, L "attention.wqkv.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attention.wo.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "feed_forward.w1.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "feed_forward.w2.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "feed_forward.w3.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_internlm2 = {
    .name = "internlm2",
    .hf_types = { "internlm2" },
    .gguf_archs = { "internlm2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = v2_defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_names = v2_names,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf,
};

static const struct qr_hf_default v3_defaults[] = {
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

const struct qr_arch qr_arch_internlm3 = {
    .name = "internlm3",
    .hf_types = { "internlm3" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_qkv_bias_key = "qkv_bias",
    .hf_defaults = v3_defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_names = qr_names_hf_llama,
};
