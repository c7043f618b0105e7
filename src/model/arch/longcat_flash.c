/* SPDX-License-Identifier: Apache-2.0 */
/* longcat_flash.c - LongCat Flash: pairs of MLA layers with dense feed-forward networks; experts
 * beside the first network of a pair, some of which return their input, join behind the second. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 131072 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000000 },
    { "q_lora_rank", 1536 },
    { "kv_lora_rank", 512 },
    { "qk_nope_head_dim", 128 },
    { "qk_rope_head_dim", 64 },
    { "v_head_dim", 128 },
    { "n_routed_experts", 512 },
    { "num_experts_per_tok", 12 },
    { "moe_intermediate_size", 2048 },
    { "routed_scaling_factor", 6 },
    { "zero_expert_num", 256 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "num_hidden_layers", "num_layers" },
    { "intermediate_size", "ffn_hidden_size" },
    { "moe_intermediate_size", "expert_ffn_hidden_size" },
    { "num_experts_per_tok", "moe_topk" },
    { "rope_dim", "qk_rope_head_dim" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "attention_bias", false },  { "router_bias", false },      { "mlp_bias", false },
    { "mla_scale_q_lora", true }, { "mla_scale_kv_lora", true }, { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "attention_method", "MLA" },
    { "zero_expert_type", "identity" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "num_hidden_layers", NULL }, /* of attention: twice num_layers */
    { "qk_head_dim", NULL },       /* qk_nope_head_dim + qk_rope_head_dim */
    { 0 },
};

static const char *const ignored_tensors[] = {
    "model.mtp.*", /* a layer that predicts further tokens */
    NULL,
};

#define L "model.layers.%H."
#define A L "self_attn.%P."
#define F L "mlps.%P."
#define E L "mlp.experts.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "input_layernorm.%P.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "post_attention_layernorm.%P.weight" },
    { QR_W_LATENT_Q_A, QR_SLICE_ALL, A "q_a_proj.weight" },
    { QR_W_LATENT_Q_NORM, QR_SLICE_ALL, A "q_a_layernorm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, A "q_b_proj.weight" },
    { QR_W_LATENT_KV_A, QR_SLICE_ALL, A "kv_a_proj_with_mqa.weight" },
    { QR_W_LATENT_KV_NORM, QR_SLICE_ALL, A "kv_a_layernorm.weight" },
    { QR_W_LATENT_UK, QR_SLICE_LATENT_K | QR_SLICE_TRANSPOSED, A "kv_b_proj.weight" },
    { QR_W_LATENT_UK_ROWS, QR_SLICE_LATENT_K, A "kv_b_proj.weight" },
    { QR_W_LATENT_UV, QR_SLICE_LATENT_V, A "kv_b_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, A "o_proj.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, F "gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, F "up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, F "down_proj.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "mlp.router.classifier.weight" },
    { QR_W_ROUTER_CORRECTION, QR_SLICE_ALL, L "mlp.router.e_score_correction_bias" },
    { QR_W_EXPERT_GATE, QR_SLICE_ALL, E "gate_proj.weight" },
    { QR_W_EXPERT_UP, QR_SLICE_ALL, E "up_proj.weight" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, E "down_proj.weight" },
    { 0 },
};
#undef E
#undef F
#undef A
#undef L

const struct qr_arch qr_arch_longcat_flash = {
    .name = "longcat_flash",
    .hf_types = { "longcat_flash" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .mla = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .correction = true },
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_layer_pairs = true,
    .hf_scaled_latents = true,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};
