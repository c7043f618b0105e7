/* SPDX-License-Identifier: Apache-2.0 */
/* llama4.c - Llama 4 text: three chunked layers with RoPE, one full without; MoE, shared expert. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 8 },
    { "head_dim", 128 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 500000 },
    { "sliding_window", 8192 },
    { "num_experts_per_tok", 1 },
    { "num_local_experts", 16 },
    { "floor_scale", 8192 },
    { "attn_scale", 0.1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "sliding_window", "attention_chunk_size" },
    { "sliding_window_pattern", "no_rope_layer_interval" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "for_llm_compressor", NULL }, /* layout of the experts while quantizing */
    { "moe_layers", NULL },         /* read if there are experts */
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "feed_forward.gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "feed_forward.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "feed_forward.down_proj.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "feed_forward.router.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE | QR_SLICE_TRANSPOSED,
      L "feed_forward.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP | QR_SLICE_TRANSPOSED, L "feed_forward.experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_TRANSPOSED, L "feed_forward.experts.down_proj" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, L "feed_forward.shared_expert.gate_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, L "feed_forward.shared_expert.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "feed_forward.shared_expert.down_proj.weight" },
    { 0 },
};

const struct qr_arch qr_arch_llama4 = {
    .name = "llama4",
    .hf_types = { "llama4_text" },
    .gguf_archs = { "llama4" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_L2,
    .hf_qk_norm_key = "use_qk_norm",
    .chunked_windows = true,
    .rope_in_windows_only = true,
    .rope_without_windows = true,
    .window_period = 4,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .weight_on_input = true, .n_shared = 1 },
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_attention_bias = true,
    .hf_temperature = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_no_rope_interval = 4,
    .gguf_no_qk_norm_experts = 128, /* Maverick; the files have no key for use_qk_norm */
    .gguf_moe_step = true,
    .gguf_names = qr_names_gguf,
};
