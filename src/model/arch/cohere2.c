/* SPDX-License-Identifier: Apache-2.0 */
/* cohere2.c - Command R7B: parallel block, three windowed layers with RoPE, one full without. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "hidden_size", 8192 },
    { "intermediate_size", 22528 },
    { "num_hidden_layers", 40 },
    { "num_attention_heads", 64 },
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "logit_scale", 0.0625 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "layer_norm_eps" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "use_gated_activation", "true" },
    { "use_embedding_sharing", "true" },
    { "use_parallel_block", "true" },
    { "position_embedding_type", "rope_gptj" },
    { "order_of_interleaved_layers", "local_attn_first" },
    { "layer_switch", "4" },
    { "rotary_pct", "1" },
    { 0 },
};

const struct qr_arch qr_arch_cohere2 = {
    .name = "cohere2",
    .hf_types = { "cohere2" },
    .gguf_archs = { "cohere2" },
    .block = QR_BLOCK_PARALLEL,
    .activation = QR_ACT_SILU,
    .gated = true,
    .rope_in_windows_only = true,
    .window_period = 4,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_attention_bias = true,
    .hf_logit_scale = true,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_names = qr_names_hf_llama,
    .gguf_names = qr_names_gguf,
};
