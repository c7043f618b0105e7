/* SPDX-License-Identifier: Apache-2.0 */
/* gemma3n.c - Gemma 3n text: several residual streams (AltUp), LAuReL, sparse gates, per-layer
 * embeddings; the last layers share keys and values. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 262400 },
    { "hidden_size", 2048 },
    { "intermediate_size", 16384 },
    { "num_hidden_layers", 35 },
    { "num_attention_heads", 8 },
    { "num_key_value_heads", 2 },
    { "head_dim", 256 },
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 1000000 },
    { "rope_local_base_freq", 10000 },
    { "sliding_window", 512 },
    { "final_logit_softcapping", 30 },
    { "hidden_size_per_layer_input", 256 },
    { "vocab_size_per_layer_input", 262144 },
    { "num_kv_shared_layers", 15 },
    { "altup_num_inputs", 4 },
    { "altup_active_idx", 0 },
    { "altup_coef_clip", 120 },
    { "laurel_rank", 64 },
    { "tie_word_embeddings", 1 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "altup_lr_multiplier", NULL },   /* training */
    { "query_pre_attn_scalar", NULL }, /* scores are not scaled */
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_POST_NORM, QR_SLICE_ALL, L "post_attention_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "pre_feedforward_layernorm.weight" },
    { QR_W_FFN_POST_NORM, QR_SLICE_ALL, L "post_feedforward_layernorm.weight" },
    { QR_W_PLE_EMBD, QR_SLICE_ALL, "model.embed_tokens_per_layer.weight" },
    { QR_W_PLE_PROJ, QR_SLICE_ALL, "model.per_layer_model_projection.weight" },
    { QR_W_PLE_NORM, QR_SLICE_ALL, "model.per_layer_projection_norm.weight" },
    { QR_W_PLE_GATE, QR_SLICE_ALL, L "per_layer_input_gate.weight" },
    { QR_W_PLE_OUT, QR_SLICE_ALL, L "per_layer_projection.weight" },
    { QR_W_PLE_POST_NORM, QR_SLICE_ALL, L "post_per_layer_input_norm.weight" },
    { QR_W_LAUREL_LEFT, QR_SLICE_ALL, L "laurel.linear_left.weight" },
    { QR_W_LAUREL_RIGHT, QR_SLICE_ALL, L "laurel.linear_right.weight" },
    { QR_W_LAUREL_POST_NORM, QR_SLICE_ALL, L "laurel.post_laurel_norm.weight" },
    { QR_W_ALTUP_PROJ, QR_SLICE_ALL, "model.altup_projections.%u.weight" },
    { QR_W_ALTUP_UNEMBED, QR_SLICE_ALL, "model.altup_unembed_projections.%u.weight" },
    { QR_W_ALTUP_ROUTER, QR_SLICE_ALL, L "altup.modality_router.weight" },
    { QR_W_ALTUP_ROUTER_NORM, QR_SLICE_ALL, L "altup.router_norm.weight" },
    { QR_W_ALTUP_PREDICT, QR_SLICE_ALL, L "altup.prediction_coefs.weight" },
    { QR_W_ALTUP_CORRECT, QR_SLICE_ALL, L "altup.correction_coefs.weight" },
    { QR_W_ALTUP_SCALE, QR_SLICE_ALL, L "altup.correct_output_scale" },
    { 0 },
};
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_PLE_EMBD, QR_SLICE_ALL, "per_layer_token_embd.weight" },
    { QR_W_PLE_PROJ, QR_SLICE_ALL, "per_layer_model_proj.weight" },
    { QR_W_PLE_NORM, QR_SLICE_ALL, "per_layer_proj_norm.weight" },
    { QR_W_PLE_GATE, QR_SLICE_ALL, L "inp_gate.weight" },
    { QR_W_PLE_OUT, QR_SLICE_ALL, L "proj.weight" },
    { QR_W_PLE_POST_NORM, QR_SLICE_ALL, L "post_norm.weight" },
    { QR_W_LAUREL_LEFT, QR_SLICE_ALL, L "laurel_l.weight" },
    { QR_W_LAUREL_RIGHT, QR_SLICE_ALL, L "laurel_r.weight" },
    { QR_W_LAUREL_POST_NORM, QR_SLICE_ALL, L "laurel_post_norm.weight" },
    { QR_W_ALTUP_PROJ, QR_SLICE_ALL, "altup_proj.weight" },
    { QR_W_ALTUP_UNEMBED, QR_SLICE_ALL, "altup_unembd_proj.weight" },
    { QR_W_ALTUP_ROUTER, QR_SLICE_ALL, L "altup_router.weight" },
    { QR_W_ALTUP_ROUTER_NORM, QR_SLICE_ALL, L "altup_router_norm.weight" },
    { QR_W_ALTUP_PREDICT, QR_SLICE_ALL, L "altup_predict_coef.weight" },
    { QR_W_ALTUP_CORRECT, QR_SLICE_ALL, L "altup_correct_coef.weight" },
    { QR_W_ALTUP_SCALE, QR_SLICE_ALL, L "altup_correct_scale.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_gemma3n = {
    .name = "gemma3n",
    .hf_types = { "gemma3n_text" },
    .gguf_archs = { "gemma3n" },
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .v_norm = true,
    .shared_kv = true,
    .per_layer_embeddings = true,
    .altup = true,
    .scaled_embedding = true,
    .unscaled_attention = true,
    .final_softcap = true,
    .window_period = 5,
    .hf_window = QR_WINDOW_PERIODIC,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_local_rope = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_local_theta = 10000,
    .gguf_altup_coef_clip = 120,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
