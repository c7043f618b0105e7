/* SPDX-License-Identifier: Apache-2.0 */
/* bamba.c - Bamba: Mamba-2, attention with partial rotary embedding, dense feed-forward. Its GGUF
 * files are read by granitemoehybrid.c. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 262144 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "partial_rotary_factor", 0.5 },
    { "num_key_value_heads", 8 },
    { "mamba_n_heads", 128 },
    { "mamba_n_groups", 1 },
    { "mamba_d_state", 256 },
    { "mamba_d_conv", 4 },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "mamba_proj_bias", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "mamba_chunk_size", NULL },   /* implementation */
    { "num_logits_to_keep", NULL }, /* which logits the reference implementation returns */
    { "z_loss_coefficient", NULL }, /* training */
    { 0 },
};

static const struct qr_name_rule names[] = {
    QR_NAMES_MAMBA2("model.layers.%u.mamba."),
    QR_NAMES_FEED_FORWARD,
    { 0 },
};

static const struct qr_name_rule gguf_names[] = { QR_NAMES_GGUF_MAMBA2, { 0 } }; /* of adapters */

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_MAMBA2, .output = QR_RECURRENT_OUT_GATE_NORM },
    .mixer = QR_MIXER_RECURRENT,
};

const struct qr_arch qr_arch_bamba = {
    .name = "bamba",
    .hf_types = { "bamba" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .recurrent = &recurrent,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
