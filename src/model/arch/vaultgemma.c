/* SPDX-License-Identifier: Apache-2.0 */
/* vaultgemma.c - VaultGemma: Gemma 2 without norms of the sublayers' outputs. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 256000 },
    { "hidden_size", 2304 },
    { "intermediate_size", 9216 },
    { "num_hidden_layers", 26 },
    { "num_attention_heads", 8 },
    { "num_key_value_heads", 4 },
    { "head_dim", 256 },
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "query_pre_attn_scalar", 256 },
    { "sliding_window", 4096 },
    { "attn_logit_softcapping", 50 },
    { "final_logit_softcapping", 30 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_name_rule names[] = {
    { QR_W_FFN_NORM, QR_SLICE_ALL, "model.layers.%u.pre_feedforward_layernorm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_vaultgemma = {
    .name = "vaultgemma",
    .hf_types = { "vaultgemma" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .scaled_embedding = true,
    .window_period = 2,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_query_scalar = true,
    .attn_softcap = true,
    .final_softcap = true,
    .hf_gelu_is_tanh = true,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
