/* SPDX-License-Identifier: Apache-2.0 */
/* mpt.c - MPT: ALiBi, clipped q, k and v, no biases. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 50368 },
    { "hidden_size", 2048 },
    { "num_hidden_layers", 24 },
    { "num_attention_heads", 16 },
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "alibi", 1 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "d_model" },
    { "num_hidden_layers", "n_layers" },
    { "num_attention_heads", "n_heads" },
    { "max_position_embeddings", "max_seq_len" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "alibi", "attn_config.alibi" },
    { "alibi_bias_max", "attn_config.alibi_bias_max" },
    { "clip_qkv", "attn_config.clip_qkv" },
    { "qk_ln", "attn_config.qk_ln" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "alibi", true },
    { "qk_ln", false },
    { "no_bias", true },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "attn_config.attn_impl", NULL }, /* implementations of the same function */
    { "attn_config.dtype", NULL },
    { "attn_config.attn_pdrop", NULL },
    { "attn_config.model_type", NULL },
    { "attn_config.attn_type", "multihead_attention" },
    { "attn_config.transformers_version", NULL },
    { "embedding_fraction", NULL }, /* gradients */
    { "init_config", NULL },        /* training */
    { "init_device", NULL },
    { "verbose", NULL },
    { "learned_pos_emb", NULL }, /* without effect where ALiBi is in use */
    { "expansion_ratio", NULL }, /* the reference implementation always has 4 */
    { "norm_type", "low_precision_layernorm" },
    { 0 },
};

#define L "transformer.blocks.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.wte.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.norm_f.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "norm_1.weight" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "attn.Wqkv.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, L "attn.Wqkv.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, L "attn.Wqkv.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.out_proj.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "norm_2.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "ffn.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn.down_proj.weight" },
    { 0 },
};

const struct qr_arch qr_arch_mpt = {
    .name = "mpt",
    .hf_types = { "mpt" },
    .gguf_archs = { "mpt" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_GELU_ERF,
    .alibi_max_bias = 8,
    .hf_alibi_key = "alibi",
    .hf_clip_qkv = true,
    .hf_norm = QR_NORM_LAYER,
    .hf_ffn_multiplier = 4,
    .gguf_norm = QR_NORM_LAYER,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_names = names,
    .gguf_names = qr_names_gguf,
};
