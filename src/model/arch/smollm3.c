/* SPDX-License-Identifier: Apache-2.0 */
/* smollm3.c - SmolLM3: Llama without RoPE in every fourth layer. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 4 },
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 2000000 },
    { "no_rope_layer_interval", 4 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "use_sliding_window", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "max_window_layers", NULL }, /* of windows, which are off */
    { "sliding_window", NULL },
    { 0 },
};

const struct qr_arch qr_arch_smollm3 = {
    .name = "smollm3",
    .hf_types = { "smollm3" },
    .gguf_archs = { "smollm3" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_no_rope_layers = true,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_no_rope_interval = 4,
    .gguf_names = qr_names_gguf,
};
