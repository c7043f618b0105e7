/* SPDX-License-Identifier: Apache-2.0 */
/* granitemoehybrid.c - Granite 4: Mamba-2 and some attention layers, experts with a shared one, or
 * the shared one alone. GGUF files of Bamba are of this family, too. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
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
    { "mamba_chunk_size", NULL }, /* implementation */
    { "normalization_function", "rmsnorm" },
    { "init_method", NULL }, /* initialization */
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    QR_NAMES_MAMBA2(L "mamba."),
    { QR_W_ROUTER, QR_SLICE_ALL, L "block_sparse_moe.router.layer.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "block_sparse_moe.input_linear.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "block_sparse_moe.input_linear.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "block_sparse_moe.output_linear.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_GATE, L "shared_mlp.input_linear.weight" },
    { QR_W_SHARED_UP, QR_SLICE_UP, L "shared_mlp.input_linear.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "shared_mlp.output_linear.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "shared_mlp.input_linear.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "shared_mlp.input_linear.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "shared_mlp.output_linear.weight" },
    { 0 },
};
static const struct qr_name_rule gguf_names[] = { QR_NAMES_GGUF_MAMBA2, { 0 } };

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_MAMBA2, .output = QR_RECURRENT_OUT_GATE_NORM },
    .mixer = QR_MIXER_RECURRENT,
};

const struct qr_arch qr_arch_granitemoehybrid = {
    .name = "granitemoehybrid",
    .hf_types = { "granitemoehybrid" },
    .gguf_archs = { "granitehybrid" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .divides_logits = true,
    .recurrent = &recurrent,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX_TOPK, .renormalize = false },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_position_type = true,
    .hf_shared_is_dense = true,
    .hf_attention_bias = true,
    .hf_multipliers = true,
    .hf_defaults = defaults,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_rope_if_finetuned = true,
    .gguf_interleaved_heads = true,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
