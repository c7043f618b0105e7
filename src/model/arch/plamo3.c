/* SPDX-License-Identifier: Apache-2.0 */
/* plamo3.c - PLaMo 3: seven windowed layers with their own RoPE base, one full; norms of all inputs
 * and outputs, of queries and of keys. */
#include "model/arch/arch.h"

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

#define L     "model.layers.layers.%u."
#define MIXER L "mixer."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "pre_mixer_norm.weight" },
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_mixer_norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_mlp_norm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_mlp_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_Q, MIXER "qkv_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, MIXER "qkv_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, MIXER "qkv_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, MIXER "o_proj.weight" },
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, MIXER "q_norm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, MIXER "k_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "mlp.gate_up_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "mlp.gate_up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.down_proj.weight" },
    { 0 },
};
#undef MIXER
#undef L

/* the converter leaves out ".weight" of some norms */
#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_norm" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_ffw_norm" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "ffn_up.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "ffn_up.weight" },
    { 0 },
};
#undef L

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
