/* SPDX-License-Identifier: Apache-2.0 */
/* gemma3.c - Gemma 3 text: five windowed layers with their own RoPE base, one full; q/k norm. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 262208 },
    { "hidden_size", 2304 },
    { "intermediate_size", 9216 },
    { "num_hidden_layers", 26 },
    { "num_attention_heads", 8 },
    { "num_key_value_heads", 4 },
    { "head_dim", 256 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 1000000 },
    { "rope_local_base_freq", 10000 },
    { "query_pre_attn_scalar", 256 },
    { "sliding_window", 4096 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_feedforward_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_gemma3 = {
    .name = "gemma3",
    .hf_types = { "gemma3_text" },
    .gguf_archs = { "gemma3" },
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .scaled_embedding = true,
    .window_period = 6,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_query_scalar = true,
    .final_softcap = true,
    .hf_gelu_is_tanh = true,
    .hf_local_rope = true,
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_hidden_scale_layers = 62, /* the 27B model; GGUF has no key for it */
    .gguf_local_rope = true,
    .gguf_local_theta = 10000,
    .gguf_names = qr_names_gguf,
};
