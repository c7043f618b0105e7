/* SPDX-License-Identifier: Apache-2.0 */
/* exaone.c - EXAONE 3: Llama with names of its own. EXAONE 4: norms of outputs, q/k norm; the 32B
 * model has three windowed layers with RoPE, one full without. K-EXAONE: such layers with norms of
 * inputs, sigmoid router and a shared expert. */
#include "model/arch/arch.h"

static const struct qr_hf_default v3_defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_hf_alias v3_aliases[] = {
    { "num_hidden_layers", "num_layers" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_act", "activation_function" },
    { 0 },
};

#define L "transformer.h.%u."
static const struct qr_name_rule v3_names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.wte.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.ln_f.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "ln_1.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn.attention.q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn.attention.k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn.attention.v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.attention.out_proj.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ln_2.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp.c_fc_0.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.c_fc_1.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.c_proj.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_exaone = {
    .name = "exaone",
    .hf_types = { "exaone" },
    .gguf_archs = { "exaone" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = v3_defaults,
    .hf_aliases = v3_aliases,
    .hf_names = v3_names,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};

static const struct qr_hf_default v4_defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule v4_names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_exaone4 = {
    .name = "exaone4",
    .hf_types = { "exaone4" },
    .gguf_archs = { "exaone4" },
    .block = QR_BLOCK_OUTPUT_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .rope_in_windows_only = true,
    .rope_without_windows = true,
    .window_period = 4,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = v4_defaults,
    .hf_names = v4_names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};

static const struct qr_hf_default moe_defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "num_key_value_heads", 32 },
    { "n_group", 1 },
    { "topk_group", 1 },
    { "norm_topk_prob", 1 },
    { "routed_scaling_factor", 2.5 },
    { 0 },
};

static const struct qr_hf_alias moe_aliases[] = {
    { "n_shared_experts", "num_shared_experts" },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule moe_names[] = {
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.e_score_correction_bias" },
    { 0 },
};

static const char *const ignored_tensors[] = { "mtp.*", NULL };

const struct qr_arch qr_arch_exaone_moe = {
    .name = "exaone_moe",
    .hf_types = { "exaone_moe" },
    .gguf_archs = { "exaone-moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .rope_in_windows_only = true,
    .window_period = 4,
    .ignored_tensors = ignored_tensors,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .group_top2 = true },
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_defaults = moe_defaults,
    .hf_aliases = moe_aliases,
    .hf_names = moe_names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
