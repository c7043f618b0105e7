/* SPDX-License-Identifier: Apache-2.0 */
/* falcon_h1.c - Falcon-H1: attention and Mamba-2 side by side in every layer, with factors of every
 * part, which the GGUF converter multiplies into the weights. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 8192 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 100000 },
    { "num_key_value_heads", 8 },
    { "mamba_d_ssm", 1024 },
    { "mamba_n_heads", 128 },
    { "mamba_n_groups", 1 },
    { "mamba_d_state", 256 },
    { "mamba_d_conv", 4 },
    { "attention_in_multiplier", 1 },
    { "attention_out_multiplier", 1 },
    { "key_multiplier", 1 },
    { "lm_head_multiplier", 1 },
    { "embedding_multiplier", 1 },
    { "ssm_in_multiplier", 1 },
    { "ssm_out_multiplier", 1 },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "mamba_proj_bias", false },
    { "projectors_bias", false },
    { "mamba_use_mlp", true },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "mamba_chunk_size", NULL }, /* implementation */
    { "num_logits_to_keep", NULL },
    { "time_step_*", NULL }, /* initialization; a limit is read */
    { "mlp_expansion_factor", NULL },
    { "attn_layer_indices", NULL }, /* null: every layer */
    { 0 },
};

static const struct qr_name_rule names[] = {
    QR_NAMES_MAMBA2("model.layers.%u.mamba."),
    QR_NAMES_FEED_FORWARD,
    { 0 },
};
static const struct qr_name_rule gguf_names[] = {
    QR_NAMES_GGUF_MAMBA2,
    { QR_W_FFN_NORM, QR_SLICE_ALL, "blk.%u.ffn_norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, "blk.%u.ffn_norm" }, /* as the converter writes it */
    { 0 },
};

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_MAMBA2 },
    .mixer = QR_MIXER_BOTH,
    .grouped_norm = true,
};

const struct qr_arch qr_arch_falcon_h1 = {
    .name = "falcon_h1",
    .hf_types = { "falcon_h1" },
    .gguf_archs = { "falcon-h1" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .recurrent = &recurrent,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_falcon_h1 = true,
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
