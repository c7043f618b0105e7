/* SPDX-License-Identifier: Apache-2.0 */
/* phi.c - Phi 1 and 2: parallel block, LayerNorm, biases everywhere including the LM head. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.5 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "qk_layernorm", false },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.final_layernorm.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "model.final_layernorm.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.dense.weight" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, L "self_attn.dense.bias" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.fc1.weight" },
    { QR_W_FFN_UP_BIAS, QR_SLICE_ALL, L "mlp.fc1.bias" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.fc2.weight" },
    { QR_W_FFN_DOWN_BIAS, QR_SLICE_ALL, L "mlp.fc2.bias" },
    { 0 },
};

const struct qr_arch qr_arch_phi = {
    .name = "phi",
    .hf_types = { "phi" },
    .gguf_archs = { "phi2" },
    .block = QR_BLOCK_PARALLEL,
    .activation = QR_ACT_GELU_TANH,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .q = true,
                 .k = true,
                 .v = true,
                 .o = true,
                 .ffn_in = true,
                 .ffn_down = true,
                 .norm = true,
                 .output = true },
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
