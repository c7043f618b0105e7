/* SPDX-License-Identifier: Apache-2.0 */
/* starcoder2.c - StarCoder2: LayerNorm, biases everywhere, sliding window, ungated feed-forward. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 2 },
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "use_bias", 1 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "norm_epsilon" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "mlp_type", "default" },
    { "norm_type", "layer_norm" },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.c_fc.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.c_fc.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.c_proj.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.c_proj.bias" },
    { 0 },
};

const struct qr_arch qr_arch_starcoder2 = {
    .name = "starcoder2",
    .hf_types = { "starcoder2" },
    .gguf_archs = { "starcoder2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_TANH,
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .norm = true },
    .hf_bias_key = "use_bias",
    .gguf_window = QR_WINDOW_ALL,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
