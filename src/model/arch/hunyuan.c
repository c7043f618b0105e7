/* SPDX-License-Identifier: Apache-2.0 */
/* hunyuan.c - HunYuan V1, dense and MoE, and the text of HunYuan VL: q/k norm after RoPE, RoPE base
 * enlarged by a constant. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "head_dim", "attention_head_dim" },
    { "num_experts_per_tok", "moe_topk" },
    { "n_shared_experts", "num_shared_expert" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "norm_type", "rms" },
    { "use_rotary_pos_emb", "true" },
    { "use_mixed_mlp_moe", "true" }, /* shared experts */
    { "norm_topk_prob", "true" },
    { "routed_scaling_factor", "1" },
    { "num_experts", "1" },       /* dense */
    { "cla_share_factor", NULL }, /* of use_cla, which is off */
    { "dense_list", NULL },       /* heads for other tasks */
    { "class_num", NULL },
    { "pool_type", NULL },
    { "moe_random_routing_dropped_token", NULL }, /* training: no token is dropped */
    { "moe_drop_tokens", NULL },
    { "org_vocab_size", NULL },   /* before padding */
    { "num_media_embeds", NULL }, /* images */
    { "*_id", NULL },             /* tokens */
    { "vit_*", NULL },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, L "self_attn.query_layernorm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, L "self_attn.key_layernorm.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "mlp.gate.wg.weight" },
    { QR_W_SHARED_GATE, QR_SLICE_ALL, L "mlp.shared_mlp.gate_proj.weight" },
    { QR_W_SHARED_UP, QR_SLICE_ALL, L "mlp.shared_mlp.up_proj.weight" },
    { QR_W_SHARED_DOWN, QR_SLICE_ALL, L "mlp.shared_mlp.down_proj.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_hunyuan_v1_dense = {
    .name = "hunyuan_v1_dense",
    .hf_types = { "hunyuan_v1_dense" },
    .gguf_archs = { "hunyuan-dense" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .qk_norm_after_rope = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_qk_norm_key = "use_qk_norm",
    .hf_rope_alpha = true,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};

static const struct qr_hf_default moe_defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "num_experts", 1 },
    { "num_experts_per_tok", 1 },
    { "n_shared_experts", 1 },
    { 0 },
};

const struct qr_arch qr_arch_hunyuan_v1_moe = {
    .name = "hunyuan_v1_moe",
    .hf_types = { "hunyuan_v1_moe" },
    .gguf_archs = { "hunyuan-moe" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .qk_norm_after_rope = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_qk_norm_key = "use_qk_norm",
    .hf_rope_alpha = true,
    .hf_defaults = moe_defaults,
    .hf_aliases = aliases,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};

/* RoPE is in sections, whose positions are those of the text. */
static const struct qr_hf_default vl_defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 10000 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_hf_alias vl_aliases[] = {
    { "head_dim", "attention_head_dim" },
    { 0 },
};

static const struct qr_ignored_key vl_ignored_keys[] = {
    { "norm_type", "rms" },
    { "use_qk_norm", "true" },
    { "routed_scaling_factor", "1" },
    { "num_experts", "1" },          /* dense */
    { "org_vocab_size", NULL },      /* before padding */
    { "enable_lm_head_fp32", NULL }, /* precision of the logits */
    { "*_id", NULL },                /* tokens */
    { "vision_config", NULL },       /* older files have all keys in one object */
    { 0 },
};

/* The encoder of images. */
static const char *const vl_ignored_tensors[] = { "vit.*", NULL };

const struct qr_arch qr_arch_hunyuan_vl = {
    .name = "hunyuan_vl",
    .hf_types = { "hunyuan_vl_text", "hunyuan_vl" },
    .gguf_archs = { "hunyuan_vl" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .qk_norm_after_rope = true,
    .ignored_tensors = vl_ignored_tensors,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_rope_alpha = true,
    .hf_defaults = vl_defaults,
    .hf_aliases = vl_aliases,
    .hf_ignored_keys = vl_ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
