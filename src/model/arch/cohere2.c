/* SPDX-License-Identifier: Apache-2.0 */
/* cohere2.c - Command R7B: parallel block, three windowed layers with RoPE, one full without. With
 * experts: Command A+ and North Mini Code. */
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
    { "sliding_window_pattern", NULL }, /* with experts layer_types says the same */
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

static const struct qr_hf_default moe_defaults[] = {
    { "hidden_size", 8192 },
    { "intermediate_size", 22528 },
    { "num_hidden_layers", 40 },
    { "num_attention_heads", 64 },
    { "head_dim", 128 },
    { "max_position_embeddings", 8192 },
    { "layer_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "logit_scale", 0.0625 },
    { "tie_word_embeddings", 1 },
    { "num_experts", 8 },
    { "num_experts_per_tok", 2 },
    { "first_k_dense_replace", 0 },
    { 0 },
};

static const struct qr_hf_alias moe_aliases[] = {
    { "n_shared_experts", "num_shared_experts" },
    { "scoring_func", "expert_selection_fn" },
    { "intermediate_size_mlp", "prefix_dense_intermediate_size" },
    { 0 },
};

/* The experts are behind some dense layers, which have RoPE and no window. intermediate_size is
 * that of an expert. */
const struct qr_arch qr_arch_cohere2_moe = {
    .name = "cohere2_moe",
    .hf_types = { "cohere2_moe" },
    .gguf_archs = { "cohere2moe" },
    .block = QR_BLOCK_PARALLEL,
    .activation = QR_ACT_SILU,
    .gated = true,
    .rope_in_windows_only = true,
    .rope_in_dense_lead = true,
    .norm_by_eps = true,
    .window_period = 4,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX_TOPK, .renormalize = true, .average_shared = true },
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_attention_bias = true,
    .hf_logit_scale = true,
    .hf_defaults = moe_defaults,
    .hf_aliases = moe_aliases,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .hf_mtp_names = qr_names_hf_mtp,
    .mtp_full_rope = true,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_mtp = true,
    .gguf_names = qr_names_gguf,
    .gguf_mtp_names = qr_names_gguf_mtp,
};
