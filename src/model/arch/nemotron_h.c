/* SPDX-License-Identifier: Apache-2.0 */
/* nemotron_h.c - Nemotron-H and Nemotron 3: every layer is one sublayer, Mamba-2, attention without
 * positions, a dense network or experts, both with squared ReLU and without a gate. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },
    { "mamba_n_heads", 128 },
    { "mamba_d_head", 64 },
    { "mamba_n_groups", 8 },
    { "mamba_d_state", 128 },
    { "mamba_d_conv", 4 },
    { "norm_topk_prob", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "mamba_n_heads", "mamba_num_heads" },
    { "mamba_d_head", "mamba_head_dim" },
    { "mamba_d_state", "ssm_state_size" },
    { "mamba_n_groups", "n_groups" },
    { "mamba_d_conv", "conv_kernel" },
    { "mamba_conv_bias", "use_conv_bias" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "hidden_act", "mlp_hidden_act" },
    { "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size" },
    { "head_dim", "attention_head_dim" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "use_bias", false },
    { "mamba_proj_bias", false },
    { "mlp_bias", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "mamba_hidden_act", "silu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "time_step_*", NULL }, /* initialization; a limit is read */
    { "rescale_prenorm_residual", NULL },
    { "residual_in_fp32", NULL },
    { "chunk_size", NULL }, /* implementation */
    { "mamba_ssm_cache_dtype", NULL },
    { "use_mamba_kernels", NULL },
    { "moe_shared_expert_overlap", NULL },
    { "num_logits_to_keep", NULL },
    { "expand", NULL },                /* heads times head size count */
    { "mtp_layers_block_type", NULL }, /* of the head of MTP, as its tensors say, too */
    { "mtp_hybrid_override_pattern", NULL },
    { "keep_mtp_spec_in_bf16", NULL },
    { 0 },
};

#define L "backbone.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "backbone.embeddings.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "backbone.norm_f.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "norm.weight" },
    QR_NAMES_MAMBA2(L "mixer."),
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "mixer.q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "mixer.k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "mixer.v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "mixer.o_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mixer.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mixer.down_proj.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "mixer.gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mixer.gate.e_score_correction_bias" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "mixer.experts.%u.up_proj.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mixer.experts.%u.down_proj.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, L "mixer.experts.up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "mixer.experts.down_proj" },
    { QR_W_EXPERT_LATENT_IN, QR_SLICE_ALL, L "mixer.fc1_latent_proj.weight" },
    { QR_W_EXPERT_LATENT_OUT, QR_SLICE_ALL, L "mixer.fc2_latent_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, L "mixer.shared_experts.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "mixer.shared_experts.down_proj.weight" },
    { 0 },
};
#undef L

/* A head is a layer of attention and one of experts. */
#define A "mtp.layers.%u."
#define F "mtp.layers.%N."
static const struct qr_name_rule mtp_names[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, A "enorm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, A "hnorm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, A "eh_proj.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, A "norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, A "mixer.q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, A "mixer.k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, A "mixer.v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, A "mixer.o_proj.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, F "norm.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, F "mixer.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, F "mixer.down_proj.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, F "mixer.gate.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, F "mixer.gate.e_score_correction_bias" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, F "mixer.experts.%u.up_proj.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, F "mixer.experts.%u.down_proj.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, F "mixer.experts.up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, F "mixer.experts.down_proj" },
    { QR_W_EXPERT_LATENT_IN, QR_SLICE_ALL, F "mixer.fc1_latent_proj.weight" },
    { QR_W_EXPERT_LATENT_OUT, QR_SLICE_ALL, F "mixer.fc2_latent_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, F "mixer.shared_experts.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, F "mixer.shared_experts.down_proj.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, F "final_layernorm.weight" },
    { 0 },
};
#undef A
#undef F

static const struct qr_name_rule gguf_names[] = {
    QR_NAMES_GGUF_MAMBA2,
    { QR_W_FFN_NORM, QR_SLICE_ALL, "blk.%u.attn_norm.weight" },
    { QR_W_EXPERT_LATENT_IN, QR_SLICE_ALL, "blk.%u.ffn_latent_down.weight" },
    { QR_W_EXPERT_LATENT_OUT, QR_SLICE_ALL, "blk.%u.ffn_latent_up.weight" },
    { 0 },
};

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_MAMBA2, .output = QR_RECURRENT_OUT_GATE_NORM },
    .mixer = QR_MIXER_RECURRENT,
    .no_ffn = true,
    .grouped_norm = true,
};

static const char *const ignored_tensors[] = { "mtp.*", NULL };

const struct qr_arch qr_arch_nemotron_h = {
    .name = "nemotron_h",
    .hf_types = { "nemotron_h" },
    .gguf_archs = { "nemotron_h", "nemotron_h_moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .recurrent = &recurrent,
    .has_moe = true,
    .latent_experts = true,
    .moe = { .gating = QR_GATING_SIGMOID,
             .renormalize = true,
             .correction = true,
             .group_top2 = true },
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .hf_mtp_names = mtp_names,
    .hf_mtp_layers = "mtp.layers.",
    .mtp_layer_pairs = true,
    .gguf_norm = QR_NORM_RMS,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
