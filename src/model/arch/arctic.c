/* SPDX-License-Identifier: Apache-2.0 */
/* arctic.c - Snowflake Arctic: a dense network, and experts beside it that read the residual stream
 * before attention. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 32000 },        { "hidden_size", 4096 },
    { "intermediate_size", 14336 }, { "num_hidden_layers", 32 },
    { "num_attention_heads", 32 },  { "max_position_embeddings", 4096 },
    { "rms_norm_eps", 1e-5 },       { "rope_theta", 1000000 },
    { "num_local_experts", 8 },     { "num_experts_per_tok", 1 },
    { "decoder_sparse_step", 2 },   { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "decoder_sparse_step", "moe_layer_frequency" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "use_residual", true }, /* of implementations that do not read parallel_attn_mlp_res */
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "enable_expert_tensor_parallelism", NULL }, /* distribution over devices */
    /* limits of tokens per expert, which the reference implementation does not have by itself */
    { "moe_train_capacity_factor", NULL },
    { "moe_eval_capacity_factor", NULL },
    { "moe_min_capacity", NULL },
    { "moe_token_dropping", NULL },
    { "max_sequence_length", NULL }, /* which it does not read */
    { 0 },
};

/* In layers with a dense network beside experts post_attention_layernorm is the norm of these, in
 * others that of the only network. */
#define L   "model.layers.%u."
#define MOE L "block_sparse_moe."
static const struct qr_name_rule names[] = {
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "residual_layernorm.weight" },
    { QR_W_EXPERT_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "residual_mlp.w1.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "residual_mlp.w3.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "residual_mlp.w2.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, MOE "mlp.w1.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, MOE "mlp.w3.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, MOE "mlp.w2.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, MOE "gate.weight" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, MOE "experts.%u.w1.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, MOE "experts.%u.w3.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, MOE "experts.%u.w2.weight" },
    { 0 },
};
#undef MOE
#undef L

static const struct qr_name_rule gguf_names[] = {
    { QR_W_EXPERT_NORM, QR_SLICE_ALL, "blk.%u.ffn_norm_exps.weight" },
    { 0 },
};

const struct qr_arch qr_arch_arctic = {
    .name = "arctic",
    .hf_types = { "arctic" },
    .gguf_archs = { "arctic" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX,
             .renormalize = true,
             .beside_dense = true, /* GGUF has no key for it */
             .beside_plain = true,
             .beside_input = QR_BESIDE_EARLY },
    .beside_hidden = true,
    .hf_window = QR_WINDOW_ALL,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_beside_key = "parallel_attn_mlp_res",
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED, /* the converter permutes the rows of q and k */
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
