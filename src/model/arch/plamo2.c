/* SPDX-License-Identifier: Apache-2.0 */
/* plamo2.c - PLaMo 2: Mamba layers and attention with a window in turns. B, C and dt are projected
 * from the channels, as in Mamba-1, decays are by head, as in Mamba-2. Norms of all inputs and
 * outputs. */
#include "model/arch/arch.h"
#include "model/arch/plamo_names.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 10485760 }, /* the least that the reference implementation has */
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "rope_local_base_freq", 10000 },
    { "tie_word_embeddings", 1 },
    { "head_dim", 128 },
    { "mamba_d_conv", 4 },
    { "mamba_d_state", 64 },
    { "mamba_step", 2 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "head_dim", "hidden_size_per_head" },
    { "sliding_window", "attention_window_size" },
    { "rope_local_base_freq", "rope_local_theta" },
    { "mamba_n_heads", "mamba_num_heads" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "mamba_enabled", true },
    { "use_predefined_initial_state", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "sliding_window", NULL },   /* attention_window_size counts */
    { "mamba_chunk_size", NULL }, /* implementation */
    { "linear_type", "normal" },
    { "image_*", NULL }, /* of its multimodal models */
    { 0 },
};

#define L     "model.layers.layers.%u."
#define MIXER L "mixer."
static const struct qr_name_rule names[] = {
    QR_NAMES_PLAMO(L),
    { QR_W_ATTN_Q_NORMS, QR_SLICE_ALL, MIXER "q_weight" },
    { QR_W_ATTN_K_NORMS, QR_SLICE_ALL, MIXER "k_weight" },
    { QR_W_REC_Z, QR_SLICE_REC_GATED_Z, MIXER "in_proj.weight" },
    { QR_W_REC_V, QR_SLICE_REC_GATED_V, MIXER "in_proj.weight" },
    { QR_W_REC_CONV_V, QR_SLICE_ALL, MIXER "conv1d.weight" },
    { QR_W_REC_X, QR_SLICE_ALL, MIXER "bcdt_proj.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, MIXER "dt_proj.weight" },
    { QR_W_REC_DT_BIAS, QR_SLICE_ALL, MIXER "dt_bias" },
    { QR_W_REC_A, QR_SLICE_ALL, MIXER "A_log" },
    { QR_W_REC_D, QR_SLICE_ALL, MIXER "D" },
    { QR_W_REC_DT_NORM, QR_SLICE_ALL, MIXER "dt_norm_weight" },
    { QR_W_REC_B_NORM, QR_SLICE_ALL, MIXER "B_norm_weight" },
    { QR_W_REC_C_NORM, QR_SLICE_ALL, MIXER "C_norm_weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, MIXER "out_proj.weight" },
    { 0 },
};
#undef MIXER
#undef L

/* The converter leaves out ".weight" of the norms of dt, B and C. Rules in front of those of
 * Mamba-1 take precedence. */
#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    QR_NAMES_GGUF_PLAMO,
    { QR_W_ATTN_Q_NORMS, QR_SLICE_ALL, L "attn_q_norm.weight" },
    { QR_W_ATTN_K_NORMS, QR_SLICE_ALL, L "attn_k_norm.weight" },
    { QR_W_REC_Z, QR_SLICE_REC_GATED_Z, L "ssm_in.weight" },
    { QR_W_REC_V, QR_SLICE_REC_GATED_V, L "ssm_in.weight" },
    { QR_W_REC_DT_NORM, QR_SLICE_ALL, L "ssm_dt_norm" },
    { QR_W_REC_B_NORM, QR_SLICE_ALL, L "ssm_b_norm" },
    { QR_W_REC_C_NORM, QR_SLICE_ALL, L "ssm_c_norm" },
    QR_NAMES_GGUF_MAMBA1,
    { 0 },
};
#undef L

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_MAMBA_MIX,
                .output = QR_RECURRENT_OUT_GATED,
                .dt_norms = true,
                .norm_weights = true },
    .mixer = QR_MIXER_RECURRENT,
};

const struct qr_arch qr_arch_plamo2 = {
    .name = "plamo2",
    .hf_types = { "plamo2" },
    .gguf_archs = { "plamo2" },
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEADS,
    .recurrent = &recurrent,
    .hf_window = QR_WINDOW_ALL,
    .hf_window_before = true,
    .hf_norm = QR_NORM_RMS_PLAMO,
    .hf_rope = QR_ROPE_NEOX,
    .hf_local_rope = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
