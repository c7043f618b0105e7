/* SPDX-License-Identifier: Apache-2.0 */
/* eagle3.c - EAGLE-3: heads of multi-token prediction in files of their own, layers of Llama, one
 * mostly, or one of Qwen 3 or Gemma 4, that read the residual stream of a model of any family
 * before some of its layers. */
#include "model/arch/deepspec.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "eagle_config.use_aux_hidden_state", "true" },
    { "eagle_config.use_input_layernorm_in_first_layer", "true" },
    { "eagle_config.use_last_layernorm", "true" },
    { "target_model_type", NULL }, /* what training tools write about the model and themselves */
    { "has_no_defaults_at_init", NULL },
    { 0 },
};

/* The publisher's files call the layer midlayer, those of the Speculators library layers.0. */
#define BOTH(role, name)                                                                           \
    { role, QR_SLICE_ALL, "midlayer." name }, { role, QR_SLICE_ALL, "layers.%u." name }

static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "embed_tokens.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "norm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "fc.weight" },
    { QR_W_MTP_INPUT_NORM, QR_SLICE_ALL, "input_norm.weight" },
    { QR_W_MTP_FEATURE_NORMS, QR_SLICE_ALL, "fc_norm.%u.weight" },
    { QR_W_MTP_ORDER, QR_SLICE_ALL, "d2t" },
    BOTH(QR_W_MTP_EMBD_NORM, "input_layernorm.weight"),
    BOTH(QR_W_MTP_HIDDEN_NORM, "hidden_norm.weight"),
    { QR_W_ATTN_NORM, QR_SLICE_ALL, "layers.%u.input_layernorm.weight" }, /* behind the first */
    BOTH(QR_W_ATTN_Q, "self_attn.q_proj.weight"),
    BOTH(QR_W_ATTN_K, "self_attn.k_proj.weight"),
    BOTH(QR_W_ATTN_V, "self_attn.v_proj.weight"),
    BOTH(QR_W_ATTN_O, "self_attn.o_proj.weight"),
    BOTH(QR_W_ATTN_Q_BIAS, "self_attn.q_proj.bias"),
    BOTH(QR_W_ATTN_K_BIAS, "self_attn.k_proj.bias"),
    BOTH(QR_W_ATTN_V_BIAS, "self_attn.v_proj.bias"),
    BOTH(QR_W_ATTN_O_BIAS, "self_attn.o_proj.bias"),
    BOTH(QR_W_ATTN_Q_NORM, "self_attn.q_norm.weight"),
    BOTH(QR_W_ATTN_K_NORM, "self_attn.k_norm.weight"),
    BOTH(QR_W_FFN_NORM, "post_attention_layernorm.weight"),
    BOTH(QR_W_FFN_GATE, "mlp.gate_proj.weight"),
    BOTH(QR_W_FFN_UP, "mlp.up_proj.weight"),
    BOTH(QR_W_FFN_DOWN, "mlp.down_proj.weight"),
    { 0 },
};

static const struct qr_name_rule gguf_names[] = {
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "fc.weight" },
    { QR_W_MTP_ORDER, QR_SLICE_ALL, "d2t" },
    { QR_W_MTP_EMBD_NORM, QR_SLICE_ALL, "blk.%u.attn_norm.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "blk.%u.attn_norm_2.weight" },
    { 0 },
};

/* Which tokens the head has outputs for, which follows from d2t. */
static const char *const ignored[] = { "t2d", NULL };

const struct qr_arch qr_arch_eagle3 = {
    .name = "eagle3",
    .gguf_archs = { "eagle3" },
    .head_of = { "*" },
    .head_kind = QR_MTP_FEATURES,
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .ignored_tensors = ignored,
    .skip_first_attn_norm = true, /* MTP_EMBD_NORM and MTP_HIDDEN_NORM take its place */
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED, /* the converter permutes the rows of q and k */
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};

/* Heads of DeepSpec, for Qwen 3 and Gemma 4, have the configuration of their model. */
static const struct qr_hf_default qwen3_defaults[] = {
    { "num_key_value_heads", 32 },
    { "head_dim", 128 },
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "max_window_layers", 28 },
    { 0 },
};

const struct qr_arch qr_arch_eagle3_qwen3 = {
    .name = "eagle3_qwen3",
    .head_of = { "*" },
    .head_kind = QR_MTP_FEATURES,
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .skip_first_attn_norm = true,
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = qwen3_defaults,
    .hf_ignored_keys = qr_deepspec_ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
};

const struct qr_arch qr_arch_eagle3_gemma4 = {
    .name = "eagle3_gemma4",
    .head_of = { "*" },
    .head_kind = QR_MTP_FEATURES,
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .v_norm = true,
    .layer_scale = true,
    .skip_first_attn_norm = true,
    .global_heads = true,
    .scaled_embedding = true,
    .unscaled_attention = true,
    .final_softcap = true,
    .window_period = 6,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_global_partial = 0.25f,
    .hf_local_rope = true,
    .hf_defaults = qr_deepspec_gemma4_defaults,
    .hf_fixed_bools = qr_deepspec_gemma4_bools,
    .hf_ignored_keys = qr_deepspec_ignored_keys,
    .hf_names = qr_deepspec_gemma4_names,
    .hf_common_names = names,
};
