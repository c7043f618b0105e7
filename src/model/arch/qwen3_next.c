/* SPDX-License-Identifier: Apache-2.0 */
/* qwen3_next.c - Qwen3-Next and Qwen3.5, dense and with experts: gated delta net, gated attention
 * in every fourth layer, norms with 1 + w. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.25 },
    { "head_dim", 256 },
    { "num_key_value_heads", 2 },
    { "linear_conv_kernel_dim", 4 },
    { "linear_key_head_dim", 128 },
    { "linear_value_head_dim", 128 },
    { "linear_num_key_heads", 16 },
    { "linear_num_value_heads", 32 },
    { "moe_intermediate_size", 512 },
    { "shared_expert_intermediate_size", 512 },
    { "num_experts_per_tok", 10 },
    { "norm_topk_prob", 1 },
    { "full_attention_interval", 4 },
    { 0 },
};

static const struct qr_hf_default moe_defaults[] = {
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.25 },
    { "head_dim", 256 },
    { "num_key_value_heads", 2 },
    { "intermediate_size", 1 }, /* no layer is dense */
    { "linear_conv_kernel_dim", 4 },
    { "linear_key_head_dim", 128 },
    { "linear_value_head_dim", 128 },
    { "linear_num_key_heads", 16 },
    { "linear_num_value_heads", 32 },
    { "moe_intermediate_size", 512 },
    { "shared_expert_intermediate_size", 512 },
    { "num_experts", 256 },
    { "num_experts_per_tok", 8 },
    { "full_attention_interval", 4 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "mamba_ssm_dtype", NULL }, /* the state is f32 */
    { "attn_output_gate", "true" },
    { "mtp_*", NULL }, /* heads of multi-token prediction: no part of the model */
    { 0 },
};

#define L    "model.layers.%u.linear_attn."
#define ATTN "model.layers.%u.self_attn.q_proj.weight"
#define MIXER                                                                                      \
    { QR_W_ATTN_Q, QR_SLICE_HALF_QUERY, ATTN }, { QR_W_ATTN_GATE, QR_SLICE_HALF_GATE, ATTN },      \
        { QR_W_REC_CONV_Q, QR_SLICE_REC_QKV_Q, L "conv1d.weight" },                                \
        { QR_W_REC_CONV_K, QR_SLICE_REC_QKV_K, L "conv1d.weight" },                                \
        { QR_W_REC_CONV_V, QR_SLICE_REC_QKV_V, L "conv1d.weight" },                                \
        { QR_W_REC_A, QR_SLICE_ALL, L "A_log" }, { QR_W_REC_DT_BIAS, QR_SLICE_ALL, L "dt_bias" },  \
        { QR_W_REC_NORM, QR_SLICE_ALL, L "norm.weight" },                                          \
    {                                                                                              \
        QR_W_REC_OUT, QR_SLICE_ALL, L "out_proj.weight"                                            \
    }

static const struct qr_name_rule names[] = {
    MIXER,
    { QR_W_REC_Q, QR_SLICE_REC_KEY_Q, L "in_proj_qkvz.weight" },
    { QR_W_REC_K, QR_SLICE_REC_KEY_K, L "in_proj_qkvz.weight" },
    { QR_W_REC_V, QR_SLICE_REC_KEY_V, L "in_proj_qkvz.weight" },
    { QR_W_REC_Z, QR_SLICE_REC_KEY_Z, L "in_proj_qkvz.weight" },
    { QR_W_REC_BETA, QR_SLICE_REC_KEY_BETA, L "in_proj_ba.weight" },
    { QR_W_REC_DT, QR_SLICE_REC_KEY_DT, L "in_proj_ba.weight" },
    { 0 },
};

static const struct qr_name_rule split_names[] = {
    MIXER,
    { QR_W_REC_Q, QR_SLICE_REC_QKV_Q, L "in_proj_qkv.weight" },
    { QR_W_REC_K, QR_SLICE_REC_QKV_K, L "in_proj_qkv.weight" },
    { QR_W_REC_V, QR_SLICE_REC_QKV_V, L "in_proj_qkv.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, L "in_proj_z.weight" },
    { QR_W_REC_BETA, QR_SLICE_ALL, L "in_proj_b.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, L "in_proj_a.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, "model.layers.%u.mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, "model.layers.%u.mlp.experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, "model.layers.%u.mlp.experts.down_proj" },
    { 0 },
};
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_ATTN_Q, QR_SLICE_HALF_QUERY, L "attn_q.weight" },
    { QR_W_ATTN_GATE, QR_SLICE_HALF_GATE, L "attn_q.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "post_attention_norm.weight" },
    { QR_W_REC_BETA, QR_SLICE_REC_KEY_BETA, L "ssm_ba.weight" },
    { QR_W_REC_DT, QR_SLICE_REC_KEY_DT, L "ssm_ba.weight" },
    QR_NAMES_GGUF_GATED_DELTA,
    { 0 },
};
#undef L

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_DELTA, .output = QR_RECURRENT_OUT_NORM_GATE },
    .mixer = QR_MIXER_RECURRENT,
    .head_norm = true,
};
static const struct qr_recurrent_arch tiled = {
    .config = { .kind = QR_RECURRENT_DELTA, .output = QR_RECURRENT_OUT_NORM_GATE },
    .mixer = QR_MIXER_RECURRENT,
    .head_norm = true,
    .gguf_tiled_heads = true,
};

static const char *const ignored_tensors[] = { "mtp.*", NULL };

static const struct qr_name_rule mtp_names[] = {
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, "mtp.pre_fc_norm_embedding.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "mtp.pre_fc_norm_hidden.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "mtp.fc.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "mtp.norm.weight" },
    { 0 },
};

#define COMMON                                                                                     \
    .block = QR_BLOCK_PRE_NORM, .activation = QR_ACT_SILU, .gated = true,                          \
    .qk_norm = QR_QK_NORM_HEAD, .attention_gate = true, .ignored_tensors = ignored_tensors,        \
    .hf_norm = QR_NORM_RMS_PLUS1, .hf_rope = QR_ROPE_NEOX, .hf_attention_bias = true,              \
    .hf_ignored_keys = ignored_keys, .hf_common_names = qr_names_hf_llama,                         \
    .gguf_norm = QR_NORM_RMS, .gguf_rope = QR_ROPE_NEOX, .gguf_names = gguf_names,                 \
    .gguf_common_names = qr_names_gguf, .hf_mtp_names = mtp_names, .hf_mtp_layers = "mtp.layers.", \
    .gguf_mtp = true, .gguf_mtp_names = qr_names_gguf_mtp
#define EXPERTS                                                                                    \
    .has_moe = true,                                                                               \
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true, .shared_gate = true }

const struct qr_arch qr_arch_qwen3_next = {
    .name = "qwen3_next",
    .hf_types = { "qwen3_next" },
    .gguf_archs = { "qwen3next" },
    COMMON,
    EXPERTS,
    .recurrent = &recurrent,
    .hf_defaults = defaults,
    .hf_names = names,
};

const struct qr_arch qr_arch_qwen3_5 = {
    .name = "qwen3_5",
    .hf_types = { "qwen3_5_text" },
    .gguf_archs = { "qwen35" },
    COMMON,
    .recurrent = &tiled,
    .hf_defaults = defaults,
    .hf_names = split_names,
};

const struct qr_arch qr_arch_qwen3_5_moe = {
    .name = "qwen3_5_moe",
    .hf_types = { "qwen3_5_moe_text" },
    .gguf_archs = { "qwen35moe" },
    COMMON,
    EXPERTS,
    .recurrent = &tiled,
    .hf_defaults = moe_defaults,
    .hf_names = split_names,
};
