/* SPDX-License-Identifier: Apache-2.0 */
/* plamo3.c - PLaMo 3: seven windowed layers with their own RoPE base, one full; norms of all inputs
 * and outputs, of queries and of keys. */
#include "model/arch/arch.h"
#include "model/arch/plamo_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_local_base_freq", 10000 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "sliding_window", "window_size" },
    { "rope_local_base_freq", "rope_local_theta" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "attention_bias", false },
    { "scale_embedding", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "hidden_activation", "swiglu" }, /* SiLU */
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "interleaved_sliding_window", NULL }, /* follows from the period */
    { 0 },
};

#define L "model.layers.layers.%u."
static const struct qr_name_rule names[] = {
    QR_NAMES_PLAMO(L),
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, L "mixer.q_norm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, L "mixer.k_norm.weight" },
    { 0 },
};
#undef L

static const struct qr_name_rule gguf_names[] = { QR_NAMES_GGUF_PLAMO, { 0 } };

const struct qr_arch qr_arch_plamo3 = {
    .name = "plamo3",
    .hf_types = { "plamo3" },
    .gguf_archs = { "plamo3" },
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .window_period = 8,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS_PLAMO,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_rope_factor = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_local_theta = 10000,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
