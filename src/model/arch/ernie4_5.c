/* SPDX-License-Identifier: Apache-2.0 */
/* ernie4_5.c - ERNIE 4.5, dense and MoE: Llama with interleaved RoPE and optional biases. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "head_dim", 128 },      { "max_position_embeddings", 131072 }, { "rms_norm_eps", 1e-5 },
    { "rope_theta", 500000 }, { "tie_word_embeddings", 1 },          { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "compression_ratio", "1" }, /* divides positions */
    { 0 },
};

const struct qr_arch qr_arch_ernie4_5 = {
    .name = "ernie4_5",
    .hf_types = { "ernie4_5" },
    .gguf_archs = { "ernie4_5" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_bias_key = "use_bias",
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};

static const struct qr_hf_default moe_defaults[] = {
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 500000 },
    { "tie_word_embeddings", 1 },
    { "num_key_value_heads", 4 },
    { "num_experts", 64 },
    { "num_experts_per_tok", 6 },
    { "n_shared_experts", 2 },
    { "first_k_dense_replace", 1 },
    { "moe_intermediate_size", 1536 },
    { 0 },
};

static const struct qr_hf_alias moe_aliases[] = {
    { "num_experts", "moe_num_experts" },
    { "num_experts_per_tok", "moe_k" },
    { "n_shared_experts", "moe_num_shared_experts" },
    { "first_k_dense_replace", "moe_layer_start_index" },
    { "decoder_sparse_step", "moe_layer_interval" },
    { 0 },
};

static const struct qr_hf_fixed_string moe_fixed_strings[] = {
    { "moe_gate", "topk" },
    { 0 },
};

static const struct qr_ignored_key moe_ignored_keys[] = {
    { "compression_ratio", "1" },   /* divides positions */
    { "moe_norm_min", NULL },       /* keeps a sum of softmax weights from being 0 */
    { "moe_capacity", NULL },       /* training */
    { "moe_use_aux_free", "true" }, /* whether there is a correction, which the tensors show */
    { "moe_gate_act", "softmax" },  { 0 },
};

static const struct qr_name_rule moe_names[] = {
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL,
      "model.layers.%u.mlp.moe_statics.e_score_correction_bias" },
    { 0 },
};

/* Heads of multi-token prediction. */
static const char *const ignored_tensors[] = { "model.mtp_*", NULL };

const struct qr_arch qr_arch_ernie4_5_moe = {
    .name = "ernie4_5_moe",
    .hf_types = { "ernie4_5_moe" },
    .gguf_archs = { "ernie4_5-moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .ignored_tensors = ignored_tensors,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .correction = true, .renormalize = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_bias_key = "use_bias",
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .hf_defaults = moe_defaults,
    .hf_aliases = moe_aliases,
    .hf_fixed_strings = moe_fixed_strings,
    .hf_ignored_keys = moe_ignored_keys,
    .hf_names = moe_names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
