/* SPDX-License-Identifier: Apache-2.0 */
/* bitnet.c - BitNet b1.58: Llama with squared ReLU, in early models SiLU, and norms before the
 * output and down projections. Packed ternary weights of folders are refused with their
 * quantization_config, factors of the matrices of older GGUF files as unknown tensors. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 500000 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_SUB_NORM, QR_SLICE_ALL, L "self_attn.attn_sub_norm.weight" },
    { QR_W_FFN_SUB_NORM, QR_SLICE_ALL, L "mlp.ffn_sub_norm.weight" },
    { 0 },
};
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_SUB_NORM, QR_SLICE_ALL, L "attn_sub_norm.weight" },
    { QR_W_FFN_SUB_NORM, QR_SLICE_ALL, L "ffn_sub_norm.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_bitnet = {
    .name = "bitnet",
    .hf_types = { "bitnet" },
    .gguf_archs = { "bitnet" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .gated = true,
    .sub_norms = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_silu = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
