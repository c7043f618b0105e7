/* SPDX-License-Identifier: Apache-2.0 */
/* mimo.c - MiMo 7B: Qwen2 with heads of multi-token prediction. */
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

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "attention_bias", true }, /* of q, k and v */
    { 0 },
};

static const struct qr_name_rule mtp_names[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, "model.mtp_layers.%u.token_layernorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "model.mtp_layers.%u.hidden_layernorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "model.mtp_layers.%u.input_proj.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.mtp_layers.%u.final_layernorm.weight" },
    { 0 },
};

static const char *const ignored_tensors[] = { "model.mtp_layers.*", NULL };

const struct qr_arch qr_arch_mimo = {
    .name = "mimo",
    .hf_types = { "mimo" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .ignored_tensors = ignored_tensors,
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .q = true, .k = true, .v = true },
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_names = qr_names_hf_llama,
    .hf_mtp_names = mtp_names,
    .hf_mtp_layers = "model.mtp_layers.",
    .mtp_hidden_first = true,
};
