/* SPDX-License-Identifier: Apache-2.0 */
/* qwen3.c - Qwen 3 (dense), and the text of Qwen 3-VL: Qwen 2 with per-head q/k norm instead of
 * biases. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 32 },
    { "head_dim", 128 },
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "max_window_layers", 28 },
    { 0 },
};

const struct qr_arch qr_arch_qwen3 = {
    .name = "qwen3",
    .hf_types = { "qwen3", "qwen3_vl_text" },
    .gguf_archs = { "qwen3", "qwen3vl" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
