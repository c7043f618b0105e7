/* SPDX-License-Identifier: Apache-2.0 */
/* mamba.c - Mamba, Falcon-Mamba and Mamba-2: recurrent layers only. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 1048576 }, /* the state does not depend on it */
    { "rms_norm_eps", 1e-5 },
    { "tie_word_embeddings", 1 },
    { "mamba_d_state", 16 },
    { "mamba_d_conv", 4 },
    { 0 },
};

static const struct qr_hf_default mamba2_defaults[] = {
    { "max_position_embeddings", 1048576 },
    { "rms_norm_eps", 1e-5 },
    { "mamba_d_state", 128 },
    { "mamba_n_heads", 128 },
    { "mamba_n_groups", 8 },
    { "mamba_d_conv", 4 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "mamba_d_state", "state_size" },
    { "mamba_d_conv", "conv_kernel" },
    { "mamba_expand", "expand" },
    { "mamba_inner", "intermediate_size" },
    { "mamba_dt_rank", "time_step_rank" },
    { "mamba_conv_bias", "use_conv_bias" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { 0 },
};

static const struct qr_hf_alias mamba2_aliases[] = {
    { "mamba_d_state", "state_size" },
    { "mamba_d_conv", "conv_kernel" },
    { "mamba_expand", "expand" },
    { "mamba_n_heads", "num_heads" },
    { "mamba_d_head", "head_dim" },
    { "mamba_n_groups", "n_groups" },
    { "mamba_conv_bias", "use_conv_bias" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "use_bias", false },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "hidden_act", "silu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "time_step_*", NULL }, /* initialization; a limit is read */
    { "rescale_prenorm_residual", NULL },
    { "residual_in_fp32", NULL }, /* the residual stream is f32 */
    { "use_mambapy", NULL },      /* implementation */
    { "use_associative_scan", NULL },
    { "chunk_size", NULL },
    { "rms_norm", "true" },
    { "norm_before_gate", NULL }, /* the reference implementation does not read it */
    { "fused_add_norm", NULL },
    { "d_model", NULL }, /* hidden_size and num_hidden_layers once more */
    { "d_inner", NULL },
    { "n_layer", NULL },
    { "ssm_cfg", NULL },
    { "pad_vocab_size_multiple", NULL },
    { 0 },
};

#define AROUND                                                                                     \
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "backbone.embeddings.weight" },                               \
        { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "backbone.norm_f.weight" },                              \
    {                                                                                              \
        QR_W_ATTN_NORM, QR_SLICE_ALL, "backbone.layers.%u.norm.weight"                             \
    }

static const struct qr_name_rule names[] = {
    AROUND,
    QR_NAMES_MAMBA1("backbone.layers.%u.mixer."),
    { 0 },
};
static const struct qr_name_rule mamba2_names[] = {
    AROUND,
    QR_NAMES_MAMBA2("backbone.layers.%u.mixer."),
    { 0 },
};
static const struct qr_name_rule gguf_names[] = { QR_NAMES_GGUF_MAMBA1, { 0 } };
static const struct qr_name_rule mamba2_gguf_names[] = { QR_NAMES_GGUF_MAMBA2, { 0 } };

static const struct qr_recurrent_arch mamba = {
    .config = { .kind = QR_RECURRENT_MAMBA1, .output = QR_RECURRENT_OUT_GATED },
    .mixer = QR_MIXER_RECURRENT,
    .all = true,
    .no_ffn = true,
};
static const struct qr_recurrent_arch falcon_mamba = {
    .config = { .kind = QR_RECURRENT_MAMBA1, .output = QR_RECURRENT_OUT_GATED, .dt_norms = true },
    .mixer = QR_MIXER_RECURRENT,
    .all = true,
    .no_ffn = true,
};
static const struct qr_recurrent_arch mamba2 = {
    .config = { .kind = QR_RECURRENT_MAMBA2, .output = QR_RECURRENT_OUT_GATE_NORM },
    .mixer = QR_MIXER_RECURRENT,
    .all = true,
    .no_ffn = true,
};

const struct qr_arch qr_arch_mamba = {
    .name = "mamba",
    .hf_types = { "mamba" },
    .gguf_archs = { "mamba" }, /* Falcon-Mamba, too */
    .block = QR_BLOCK_PRE_NORM,
    .recurrent = &mamba,
    .hf_norm = QR_NORM_RMS,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};

const struct qr_arch qr_arch_falcon_mamba = {
    .name = "falcon_mamba",
    .hf_types = { "falcon_mamba" },
    .block = QR_BLOCK_PRE_NORM,
    .recurrent = &falcon_mamba,
    .hf_norm = QR_NORM_RMS,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};

const struct qr_arch qr_arch_mamba2 = {
    .name = "mamba2",
    .hf_types = { "mamba2" },
    .gguf_archs = { "mamba2" },
    .block = QR_BLOCK_PRE_NORM,
    .recurrent = &mamba2,
    .hf_norm = QR_NORM_RMS,
    .hf_defaults = mamba2_defaults,
    .hf_aliases = mamba2_aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = mamba2_names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_names = mamba2_gguf_names,
    .gguf_common_names = qr_names_gguf,
};
