/* SPDX-License-Identifier: Apache-2.0 */
/* olmo2.c - OLMo 2: norm on sublayer outputs, q/k norm over all heads. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_olmo2 = {
    .name = "olmo2",
    .hf_types = { "olmo2" },
    .gguf_archs = { "olmo2" },
    .block = QR_BLOCK_OUTPUT_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_FULL,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    /* GGUF files of OLMo 3 have this architecture, too */
    .window_period = 4,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_attn_factor_is_total = true,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
