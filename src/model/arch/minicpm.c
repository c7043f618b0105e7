/* SPDX-License-Identifier: Apache-2.0 */
/* minicpm.c - MiniCPM 1, 2 and 4: Llama with factors of embeddings, residuals and logits; MiniCPM 3
 * with MLA. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "scale_emb", 1 },
    { "scale_depth", 1 },
    { "dim_model_base", 1 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "mup_denominator", NULL }, /* training */
    { 0 },
};

const struct qr_arch qr_arch_minicpm = {
    .name = "minicpm",
    .hf_types = { "minicpm" },
    .gguf_archs = { "minicpm" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .divides_logits = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_minicpm = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_minicpm = true,
    .gguf_names = qr_names_gguf,
};

static const struct qr_hf_default mla_defaults[] = {
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "q_lora_rank", 768 },
    { "kv_lora_rank", 256 },
    { "qk_nope_head_dim", 64 },
    { "qk_rope_head_dim", 32 },
    { "v_head_dim", 64 },
    { "scale_emb", 1 },
    { "scale_depth", 1 },
    { "dim_model_base", 1 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias mla_aliases[] = {
    { "rope_dim", "qk_rope_head_dim" },
    { 0 },
};

static const struct qr_hf_fixed_bool mla_fixed_bools[] = {
    { "attention_bias", false },
    { 0 },
};

static const struct qr_ignored_key mla_ignored_keys[] = {
    { "qk_head_dim", NULL }, /* qk_nope_head_dim + qk_rope_head_dim */
    { 0 },
};

const struct qr_arch qr_arch_minicpm3 = {
    .name = "minicpm3",
    .hf_types = { "minicpm3" },
    .gguf_archs = { "minicpm3" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .divides_logits = true,
    .mla = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_mlp_bias = true,
    .hf_minicpm = true,
    .hf_defaults = mla_defaults,
    .hf_aliases = mla_aliases,
    .hf_fixed_bools = mla_fixed_bools,
    .hf_ignored_keys = mla_ignored_keys,
    .hf_names = qr_names_hf_latent,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_minicpm = true,
    .gguf_names = qr_names_gguf_latent,
    .gguf_common_names = qr_names_gguf,
};
