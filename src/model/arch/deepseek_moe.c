/* SPDX-License-Identifier: Apache-2.0 */
/* deepseek_moe.c - DeepSeek MoE, the first of the family, and the text of DeepSeek-OCR: attention
 * as in Llama, softmax router, shared experts. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "moe_intermediate_size", 1407 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "ep_size", NULL }, /* experts per process */
    { 0 },
};

const struct qr_arch qr_arch_deepseek = {
    .name = "deepseek",
    .hf_types = { "deepseek" },
    .gguf_archs = { "deepseek" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED, /* the converter permutes the rows of q and k */
    .gguf_names = qr_names_gguf,
};

/* GGUF files only. Windows in them, which all tokens of the prompt are in, are refused. */
const struct qr_arch qr_arch_deepseek_ocr = {
    .name = "deepseek_ocr",
    .gguf_archs = { "deepseek2-ocr" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX },
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_whole_head_rope = true,
    .gguf_names = qr_names_gguf,
};
