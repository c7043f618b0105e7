/* SPDX-License-Identifier: Apache-2.0 */
/* gemma4.c - Gemma 4 text: heads of windowed and full layers differ, the last layers share keys and
 * values, per-layer embeddings in the small models, experts beside a dense network in others. Its
 * assistants, heads of multi-token prediction in files of their own, have layers of the same
 * form. */
#include "model/arch/arch.h"

/* Defaults of all three. */
#define COMMON_DEFAULTS                                                                            \
    { "vocab_size", 262144 }, { "hidden_size", 2304 }, { "intermediate_size", 9216 },              \
        { "num_hidden_layers", 30 }, { "num_attention_heads", 8 }, { "num_key_value_heads", 4 },   \
        { "head_dim", 256 }, { "global_head_dim", 512 }, { "rms_norm_eps", 1e-6 },                 \
        { "rope_theta", 1000000 }, { "rope_local_base_freq", 10000 },                              \
    {                                                                                              \
        "tie_word_embeddings", 1                                                                   \
    }

static const struct qr_hf_default defaults[] = {
    COMMON_DEFAULTS,
    { "max_position_embeddings", 131072 },
    { "sliding_window", 512 },
    { "hidden_size_per_layer_input", 256 },
    { "vocab_size_per_layer_input", 262144 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "num_experts_per_tok", "top_k_experts" },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_feedforward_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { QR_W_FFN_DENSE_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm_1.weight" },
    { QR_W_EXPERT_NORM, QR_SLICE_ALL, L "pre_feedforward_layernorm_2.weight" },
    { QR_W_EXPERT_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm_2.weight" },
    { QR_W_ROUTER, QR_SLICE_ALL, L "router.proj.weight" },
    { QR_W_ROUTER_SCALE, QR_SLICE_ALL, L "router.scale" },
    { QR_W_EXPERT_SCALE, QR_SLICE_ALL, L "router.per_expert_scale" },
    { QR_W_EXPERT_GATE, QR_SLICE_GATE, L "experts.gate_up_proj" },
    { QR_W_EXPERT_UP, QR_SLICE_UP, L "experts.gate_up_proj" },
    { QR_W_EXPERT_DOWN, QR_SLICE_ALL, L "experts.down_proj" },
    { QR_W_PLE_EMBD, QR_SLICE_ALL, "model.embed_tokens_per_layer.weight" },
    { QR_W_PLE_PROJ, QR_SLICE_ALL, "model.per_layer_model_projection.weight" },
    { QR_W_PLE_NORM, QR_SLICE_ALL, "model.per_layer_projection_norm.weight" },
    { QR_W_PLE_GATE, QR_SLICE_ALL, L "per_layer_input_gate.weight" },
    { QR_W_PLE_OUT, QR_SLICE_ALL, L "per_layer_projection.weight" },
    { QR_W_PLE_POST_NORM, QR_SLICE_ALL, L "post_per_layer_input_norm.weight" },
    { QR_W_LAYER_SCALE, QR_SLICE_ALL, L "layer_scalar" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "pre_projection.weight" },
    { QR_W_MTP_POST, QR_SLICE_ALL, "post_projection.weight" },
    { QR_W_MTP_CENTROIDS, QR_SLICE_ALL, "masked_embedding.centroids.weight" },
    { QR_W_MTP_ORDER, QR_SLICE_ALL, "masked_embedding.token_ordering" },
    { 0 },
};
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_DENSE_POST_NORM, QR_SLICE_ALL, L "post_ffw_norm_1.weight" },
    { QR_W_EXPERT_NORM, QR_SLICE_ALL, L "pre_ffw_norm_2.weight" },
    { QR_W_EXPERT_POST_NORM, QR_SLICE_ALL, L "post_ffw_norm_2.weight" },
    { QR_W_ROUTER_SCALE, QR_SLICE_ALL, L "ffn_gate_inp.scale" },
    { QR_W_EXPERT_SCALE, QR_SLICE_ALL, L "ffn_down_exps.scale" },
    { QR_W_PLE_EMBD, QR_SLICE_ALL, "per_layer_token_embd.weight" },
    { QR_W_PLE_PROJ, QR_SLICE_ALL, "per_layer_model_proj.weight" },
    { QR_W_PLE_NORM, QR_SLICE_ALL, "per_layer_proj_norm.weight" },
    { QR_W_PLE_GATE, QR_SLICE_ALL, L "inp_gate.weight" },
    { QR_W_PLE_OUT, QR_SLICE_ALL, L "proj.weight" },
    { QR_W_PLE_POST_NORM, QR_SLICE_ALL, L "post_norm.weight" },
    { QR_W_LAYER_SCALE, QR_SLICE_ALL, L "layer_output_scale.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "nextn.pre_projection.weight" },
    { QR_W_MTP_POST, QR_SLICE_ALL, "nextn.post_projection.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_gemma4 = {
    .name = "gemma4",
    .hf_types = { "gemma4_text" },
    .gguf_archs = { "gemma4" },
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .v_norm = true,
    .layer_scale = true,
    .shared_kv = true,
    .per_layer_embeddings = true,
    .global_heads = true,
    .scaled_embedding = true,
    .unscaled_attention = true,
    .has_moe = true,
    .moe = { .gating = QR_GATING_SOFTMAX,
             .renormalize = true,
             .expert_scale = true,
             .router_norm = true,
             .beside_dense = true },
    .final_softcap = true,
    .window_period = 6,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_global_partial = 0.25f,
    .hf_local_rope = true,
    .hf_moe_key = "enable_moe_block",
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_local_theta = 10000,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};

/* Gemma 4 12B: without experts and per-layer embeddings, and without encoders of images and sound,
 * whose parts enter through projections. */
static const struct qr_hf_default unified_defaults[] = {
    COMMON_DEFAULTS,
    { "max_position_embeddings", 262144 },
    { "sliding_window", 1024 },
    { 0 },
};

static const struct qr_hf_fixed_bool unified_bools[] = {
    { "enable_moe_block", false },
    { 0 },
};

static const char *const unified_ignored[] = { "model.vision_embedder.*", NULL };

const struct qr_arch qr_arch_gemma4_unified = {
    .name = "gemma4_unified",
    .hf_types = { "gemma4_unified_text" },
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .v_norm = true,
    .layer_scale = true,
    .shared_kv = true,
    .global_heads = true,
    .per_layer_embeddings = true, /* those of the keys are 0 */
    .scaled_embedding = true,
    .unscaled_attention = true,
    .final_softcap = true,
    .window_period = 6,
    .ignored_tensors = unified_ignored,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_global_partial = 0.25f,
    .hf_local_rope = true,
    .hf_defaults = unified_defaults,
    .hf_fixed_bools = unified_bools,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};

/* Without experts and per-layer embeddings; the keys and values are those of the model. */
static const struct qr_hf_default assistant_defaults[] = {
    COMMON_DEFAULTS,
    { "max_position_embeddings", 131072 },
    { "sliding_window", 512 },
    { "backbone_hidden_size", 1536 },
    { "num_centroids", 2048 },
    { "centroid_intermediate_top_k", 32 },
    { 0 },
};

static const struct qr_hf_fixed_bool assistant_bools[] = {
    { "enable_moe_block", false },
    { "use_double_wide_mlp", false },
    { 0 },
};

/* GGUF files leave out how many clusters are selected; all logits are computed then. */
static const char *const assistant_ignored[] = { "masked_embd_centroids.weight",
                                                 "masked_embd_ordering", NULL };

const struct qr_arch qr_arch_gemma4_assistant = {
    .name = "gemma4_assistant",
    .hf_types = { "gemma4_assistant", "gemma4_unified_assistant" },
    .gguf_archs = { "gemma4-assistant" },
    .head_of = { "gemma4", "gemma4_unified" },
    .head_kind = QR_MTP_SHARED_KV,
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .layer_scale = true,
    .global_heads = true,
    .unscaled_attention = true,
    .final_softcap = true,
    .window_period = 6,
    .ignored_tensors = assistant_ignored,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_global_partial = 0.25f,
    .hf_local_rope = true,
    .hf_defaults = assistant_defaults,
    .hf_fixed_bools = assistant_bools,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_local_theta = 10000,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
