/* SPDX-License-Identifier: Apache-2.0 */
/* step3p5.c - text model of Step 3.5 Flash and 3.7 (StepFun): heads, RoPE base and rotating part of
 * layers with a window differ, gates of attention heads, limits of activations by layer, sigmoid
 * router with a correction. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 128000 },
    { "rms_norm_eps", 1e-5 },
    { "query_pre_attn_scalar", 0 }, /* head_dim */
    { "first_k_dense_replace", 3 }, /* without a list of the layers with experts */
    { 0 },
};

#define W "attention_other_setting."
static const struct qr_hf_alias aliases[] = {
    { "num_key_value_heads", "num_attention_groups" },
    { "num_experts", "moe_num_experts" },
    { "num_experts_per_tok", "moe_top_k" },
    { "shared_expert_intermediate_size", "share_expert_dim" },
    { "norm_topk_prob", "norm_expert_weight" },
    { "routed_scaling_factor", "moe_router_scaling_factor" },
    { "scoring_func", "moe_router_activation" },
    { "moe_layers", "moe_layers_enum" },
    { "swa_type", W "attention_type" },
    { "swa_num_attention_heads", W "num_attention_heads" },
    { "swa_num_key_value_heads", W "num_attention_groups" },
    { "swa_head_dim", W "head_dim" },
    { "swa_v_head_dim", W "true_head_dim" },
    { "swa_num_attention_heads", "num_sliding_attention_heads" }, /* as Transformers writes it */
    { 0 },
};
#undef W

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "use_head_wise_attn_gate", true },
    { "use_moe", true },
    { "use_moe_router_bias", true },
    { "use_qk_norm", true },
    { "zero_centered", true },
    { "attention_bias", false },
    { "mlp_bias", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "att_impl_type", "GQA" },
    { "swa_type", "sliding_attention" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "need_fp32_gate", NULL },    /* the router computes in f32 */
    { "max_seq_len", NULL },       /* of training */
    { "moe_every_n_layer", NULL }, /* the layers are listed */
    { 0 },
};

static const char *const ignored_tensors[] = {
    "vit_large_projector.*", /* a projection of images */
    NULL,
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, L "self_attn.g_proj.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "moe.gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "moe.router_bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "moe.gate_proj.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "moe.up_proj.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "moe.down_proj.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, L "moe.experts.%u.gate_proj.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "moe.experts.%u.up_proj.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "moe.experts.%u.down_proj.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, L "share_expert.gate_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, L "share_expert.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "share_expert.down_proj.weight" },
    { 0 },
};
#undef L

#define L "model.layers.%u."
static const struct qr_name_rule mtp_names[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, L "enorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, L "hnorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, L "eh_proj.weight" },
    { QR_W_MTP_NORM, QR_SLICE_ALL, L "transformer.shared_head.norm.weight" },
    { QR_W_MTP_OUTPUT, QR_SLICE_ALL, L "transformer.shared_head.output.weight" },
    { 0 },
};
#undef L

static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_GATE, QR_SLICE_ALL, "blk.%u.attn_gate.weight" },
    { 0 },
};

const struct qr_arch qr_arch_step3p5 = {
    .name = "step3p5",
    .hf_types = { "step3p5" },
    .gguf_archs = { "step35" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .attention_gate = true,
    .layer_limits = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SIGMOID, .correction = true, .renormalize = true },
    .ignored_tensors = ignored_tensors,
    .hf_window = QR_WINDOW_LISTED,
    .hf_norm = QR_NORM_RMS_PLUS1,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_rope_lists = true,
    .hf_mtp_lists = true,
    .hf_window_heads = true,
    .hf_layer_heads = true,
    .hf_query_scalar = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .hf_mtp_names = mtp_names,
    .mtp_heads = QR_MTP_HEADS_CHAINED,
    .mtp_window = true,
    .gguf_mtp = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_window = QR_WINDOW_LISTED,
    .gguf_local_rope = true,
    .gguf_half_rope = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
    .gguf_mtp_names = qr_names_gguf_mtp_heads,
};
