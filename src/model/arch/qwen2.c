/* SPDX-License-Identifier: Apache-2.0 */
/* qwen2.c - Qwen 1.5, 2, 2.5, and the text of 2-VL and 2.5-VL: Llama with biases on q, k, v; window
 * from a given layer on. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 32 },
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "max_window_layers", 28 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "vision_config", NULL }, /* files of VL models without text_config have both in one object */
    { 0 },
};

const struct qr_arch qr_arch_qwen2 = {
    .name = "qwen2",
    .hf_types = { "qwen2", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_vl", "qwen2_5_vl" },
    .gguf_archs = { "qwen2", "qwen2vl" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .q = true, .k = true, .v = true },
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
