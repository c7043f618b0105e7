/* SPDX-License-Identifier: Apache-2.0 */
/* dbrx.c - DBRX: LayerNorm without bias, clipped q, k and v, 2-D tensors for all experts. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 32000 },
    { "hidden_size", 2048 },
    { "num_hidden_layers", 24 },
    { "num_attention_heads", 16 },
    { "num_key_value_heads", 1 },
    { "intermediate_size", 3584 },
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "num_experts", 4 },
    { "num_experts_per_tok", 1 },
    { "moe_normalize_expert_weights", 1 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "hidden_size", "d_model" },
    { "num_hidden_layers", "n_layers" },
    { "num_attention_heads", "n_heads" },
    { "max_position_embeddings", "max_seq_len" },
    { "num_key_value_heads", "attn_config.kv_n_heads" },
    { "clip_qkv", "attn_config.clip_qkv" },
    { "rope_theta", "attn_config.rope_theta" },
    { "intermediate_size", "ffn_config.ffn_hidden_size" },
    { "hidden_act", "ffn_config.ffn_act_fn.name" },
    { "num_experts", "ffn_config.moe_num_experts" },
    { "num_experts_per_tok", "ffn_config.moe_top_k" },
    { "moe_normalize_expert_weights", "ffn_config.moe_normalize_expert_weights" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "tie_word_embeddings", false },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "attn_config.attn_pdrop", NULL }, /* training */
    { "ffn_config.moe_jitter_eps", NULL },
    { "ffn_config.moe_loss_weight", NULL },
    /* keys of configurations, which the reference implementation drops there */
    { "attn_config.model_type", NULL },
    { "ffn_config.model_type", NULL },
    { "attn_config.attn_implementation", NULL },
    { "ffn_config.attn_implementation", NULL },
    { "attn_config.transformers_version", NULL },
    { "ffn_config.transformers_version", NULL },
    { "attn_config.torch_dtype", NULL },
    { "ffn_config.torch_dtype", NULL },
    { "attn_config.dtype", NULL },
    { "ffn_config.dtype", NULL },
    { 0 },
};

#define L    "transformer.blocks.%u."
#define ATTN L "norm_attn_norm.attn."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.wte.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.norm_f.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "norm_attn_norm.norm_1.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "norm_attn_norm.norm_2.weight" },
    { QR_W_ATTN_Q, QR_SLICE_Q, ATTN "Wqkv.weight" },
    { QR_W_ATTN_K, QR_SLICE_K, ATTN "Wqkv.weight" },
    { QR_W_ATTN_V, QR_SLICE_V, ATTN "Wqkv.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, ATTN "out_proj.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "ffn.router.layer.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_FLAT, L "ffn.experts.mlp.w1" },
    { QR_W_EXPERT_UP, QR_SLICE_FLAT, L "ffn.experts.mlp.v1" },
    { QR_W_EXPERT_DOWN, QR_SLICE_FLAT | QR_SLICE_TRANSPOSED, L "ffn.experts.mlp.w2" },
    { 0 },
};
#undef ATTN
#undef L

static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_NORM, QR_SLICE_ALL, "blk.%u.attn_output_norm.weight" },
    { 0 },
};

const struct qr_arch qr_arch_dbrx = {
    .name = "dbrx",
    .hf_types = { "dbrx" },
    .gguf_archs = { "dbrx" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true },
    .hf_norm = QR_NORM_LAYER,
    .hf_rope = QR_ROPE_NEOX,
    .hf_clip_qkv = true,
    .hf_p_norm_key = "moe_normalize_expert_weights",
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
