/* SPDX-License-Identifier: Apache-2.0 */
/* zaya.c - ZAYA1: convolutional attention (CCA), top-1 experts with one class that skips them, a
 * router with layers and a state that the next layer reads, residuals with factors and shifts. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 262272 },
    { "intermediate_size", 1 }, /* no layer has a dense network */
    { "moe_intermediate_size", 2048 },
    { "num_attention_heads", 8 },
    { "num_key_value_heads", 2 },
    { "num_experts", 16 },
    { "num_experts_per_tok", 1 },
    { "head_dim", 128 },
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "router_hidden_size", 256 },
    { "cca_time0", 2 },
    { "cca_time1", 2 },
    { "rope_theta", 5000000 },
    { "rope_local_base_freq", 10000 },
    { "partial_rotary_factor", 0.5 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

#define L "model.layers.%u."
#define A L "self_attn.qkv_proj."
#define R L "mlp.gate."
static const struct qr_name_rule names[] = {
    { QR_W_EMBD_SHIFT, QR_SLICE_ALL, "model.input_hidden_states_bias" },
    { QR_W_EMBD_SCALE, QR_SLICE_ALL, "model.input_hidden_states_scale" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, A "q_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, A "q_proj.bias" },
    { QR_W_ATTN_K, QR_SLICE_ALL, A "k_proj.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, A "k_proj.bias" },
    { QR_W_ATTN_V, QR_SLICE_ALL, A "v_proj_current.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, A "v_proj_current.bias" },
    { QR_W_ATTN_V_DELAYED, QR_SLICE_ALL, A "v_proj_delayed.weight" },
    { QR_W_ATTN_V_DELAYED_BIAS, QR_SLICE_ALL, A "v_proj_delayed.bias" },
    { QR_W_ATTN_CONV, QR_SLICE_ALL, A "conv_qk_depthwise.weight" },
    { QR_W_ATTN_CONV_BIAS, QR_SLICE_ALL, A "conv_qk_depthwise.bias" },
    { QR_W_ATTN_CONV_HEADS, QR_SLICE_ALL, A "conv_qk_grouped.weight" },
    { QR_W_ATTN_CONV_HEADS_BIAS, QR_SLICE_ALL, A "conv_qk_grouped.bias" },
    { QR_W_ATTN_K_SCALE, QR_SLICE_ALL, L "self_attn.qk_norm.temp" },
    { QR_W_ATTN_RESIDUAL, QR_SLICE_ALL, L "post_attention_residual_scale.residual_scale" },
    { QR_W_ATTN_RESIDUAL_SHIFT, QR_SLICE_ALL, L "post_attention_residual_scale.residual_bias" },
    { QR_W_ATTN_OUT_SCALE, QR_SLICE_ALL, L "post_attention_residual_scale.hidden_states_scale" },
    { QR_W_ATTN_OUT_SHIFT, QR_SLICE_ALL, L "post_attention_residual_scale.hidden_states_bias" },
    { QR_W_FFN_RESIDUAL, QR_SLICE_ALL, L "post_mlp_residual_scale.residual_scale" },
    { QR_W_FFN_RESIDUAL_SHIFT, QR_SLICE_ALL, L "post_mlp_residual_scale.residual_bias" },
    { QR_W_FFN_OUT_SCALE, QR_SLICE_ALL, L "post_mlp_residual_scale.hidden_states_scale" },
    { QR_W_FFN_OUT_SHIFT, QR_SLICE_ALL, L "post_mlp_residual_scale.hidden_states_bias" },
    { QR_W_ROUTER_IN, QR_SLICE_ALL, R "down_proj.weight" },
    { QR_W_ROUTER_IN_BIAS, QR_SLICE_ALL, R "down_proj.bias" },
    { QR_W_ROUTER_CARRY, QR_SLICE_ALL, R "router_states_scale" },
    { QR_W_ROUTER_NORM, QR_SLICE_ALL, R "router_mlp.norm.weight" },
    { QR_W_ROUTER_FC1, QR_SLICE_ALL, R "router_mlp.fc1.weight" },
    { QR_W_ROUTER_FC1_BIAS, QR_SLICE_ALL, R "router_mlp.fc1.bias" },
    { QR_W_ROUTER_FC2, QR_SLICE_ALL, R "router_mlp.fc2.weight" },
    { QR_W_ROUTER_FC2_BIAS, QR_SLICE_ALL, R "router_mlp.fc2.bias" },
    { QR_W_ROUTER, QR_SLICE_ALL, R "router_mlp.out_proj.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, R "balancing_biases" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mlp.experts.down_proj" },
    { 0 },
};
#undef R
#undef A
#undef L

const struct qr_arch qr_arch_zaya = {
    .name = "zaya",
    .hf_types = { "zaya" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_UNIT,
    .residual_affine = true,
    .embedding_affine = true,
    .conv_attention = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .correction = true, .n_zero = 1 },
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_full_type = "hybrid",
    .hf_window_type = "hybrid_sliding",
    .hf_attention_bias = true,
    .hf_output_bias_key = "lm_head_bias",
    .hf_defaults = defaults,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
