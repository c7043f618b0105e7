/* SPDX-License-Identifier: Apache-2.0 */
/* dflash.c - DFlash, DFlash 2 and DSpark: block drafters in files of their own, layers of Qwen 3 or
 * Gemma 4 that attend to keys and values made of the residual stream of a model of any family. */
#include "model/arch/deepspec.h"

static const struct qr_hf_default defaults[] = {
    { "num_key_value_heads", 32 },
    { "head_dim", 128 },
    { "max_position_embeddings", 32768 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "sliding_window", 4096 },
    { "max_window_layers", 28 },
    { "final_logit_softcapping", 0 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "num_target_layers", NULL }, /* of the model; the layers that are read have numbers */
    { "target_model_type", NULL },
    { "tie_word_embeddings", NULL }, /* the tensors show what the drafter has of its own */
    { "num_anchors", NULL },         /* training */
    { 0 },
};

static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "embed_tokens.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "norm.weight" },
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "fc.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "hidden_norm.weight" },
    { QR_W_MTP_ORDER, QR_SLICE_ALL, "d2t" },
    { QR_W_MTP_MARKOV_IN, QR_SLICE_ALL, "markov_head.markov_w1.weight" },
    { QR_W_MTP_MARKOV_OUT, QR_SLICE_ALL, "markov_head.markov_w2.weight" },
    { QR_W_MTP_MARKOV_IN, QR_SLICE_ALL, "candidate_selector.predecessor_codebook" },
    { QR_W_MTP_MARKOV_OUT, QR_SLICE_ALL, "candidate_selector.successor_codebook" },
    { QR_W_MTP_SELECT, QR_SLICE_ALL, "candidate_selector.hidden_projection.weight" },
    { QR_W_MTP_CONFIDENCE, QR_SLICE_ALL, "confidence_head.proj.weight" },
    { QR_W_MTP_CONFIDENCE_BIAS, QR_SLICE_ALL, "confidence_head.proj.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, "layers.%u.input_layernorm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, "layers.%u.self_attn.q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, "layers.%u.self_attn.k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, "layers.%u.self_attn.v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, "layers.%u.self_attn.o_proj.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_ALL, "layers.%u.self_attn.q_proj.bias" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_ALL, "layers.%u.self_attn.k_proj.bias" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_ALL, "layers.%u.self_attn.v_proj.bias" },
    { QR_W_ATTN_O_BIAS, QR_SLICE_ALL, "layers.%u.self_attn.o_proj.bias" },
    { QR_W_ATTN_Q_NORM, QR_SLICE_ALL, "layers.%u.self_attn.q_norm.weight" },
    { QR_W_ATTN_K_NORM, QR_SLICE_ALL, "layers.%u.self_attn.k_norm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, "layers.%u.post_attention_layernorm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, "layers.%u.mlp.gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, "layers.%u.mlp.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, "layers.%u.mlp.down_proj.weight" },
    { QR_W_MTP_ATTN_CONV, QR_SLICE_ALL, "layers.%u.attention_conv.base_kernel" },
    { QR_W_MTP_ATTN_CONV_PROJ, QR_SLICE_ALL, "layers.%u.attention_conv.kernel_projection.weight" },
    { QR_W_MTP_FFN_CONV, QR_SLICE_ALL, "layers.%u.mlp_conv.base_kernel" },
    { QR_W_MTP_FFN_CONV_PROJ, QR_SLICE_ALL, "layers.%u.mlp_conv.kernel_projection.weight" },
    { 0 },
};

static const struct qr_name_rule gguf_names[] = {
    { QR_W_MTP_PROJ, QR_SLICE_ALL, "fc.weight" },
    { QR_W_MTP_HIDDEN_NORM, QR_SLICE_ALL, "enc.output_norm.weight" },
    { QR_W_MTP_ORDER, QR_SLICE_ALL, "d2t" },
    { QR_W_MTP_MARKOV_IN, QR_SLICE_ALL, "markov_w1.weight" },
    { QR_W_MTP_MARKOV_OUT, QR_SLICE_ALL, "markov_w2.weight" },
    { QR_W_MTP_MARKOV_IN, QR_SLICE_ALL, "selector_predecessor.weight" },
    { QR_W_MTP_MARKOV_OUT, QR_SLICE_ALL, "selector_successor.weight" },
    { QR_W_MTP_SELECT, QR_SLICE_ALL, "selector_hidden.weight" },
    { QR_W_MTP_ATTN_CONV, QR_SLICE_ALL, "blk.%u.attn_conv_base" },
    { QR_W_MTP_ATTN_CONV_PROJ, QR_SLICE_ALL, "blk.%u.attn_conv_proj.weight" },
    { QR_W_MTP_FFN_CONV, QR_SLICE_ALL, "blk.%u.ffn_conv_base" },
    { QR_W_MTP_FFN_CONV_PROJ, QR_SLICE_ALL, "blk.%u.ffn_conv_proj.weight" },
    { QR_W_MTP_CONFIDENCE, QR_SLICE_ALL, "conf_proj.weight" },
    { QR_W_MTP_CONFIDENCE_BIAS, QR_SLICE_ALL, "conf_proj.bias" },
    { 0 },
};

/* Which tokens the drafter has outputs for, which follows from d2t. */
static const char *const ignored[] = { "t2d", NULL };

const struct qr_arch qr_arch_dflash = {
    .name = "dflash",
    .gguf_archs = { "dflash" },
    .head_of = { "*" },
    .head_kind = QR_MTP_BLOCK,
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .final_softcap = true, /* drafters of Gemma */
    .ignored_tensors = ignored,
    .hf_window = QR_WINDOW_FROM,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_logit_scale = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};

/* Drafters of DeepSpec for Gemma 4. */
const struct qr_arch qr_arch_dflash_gemma4 = {
    .name = "dflash_gemma4",
    .head_of = { "*" },
    .head_kind = QR_MTP_BLOCK,
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .v_norm = true,
    .layer_scale = true,
    .global_heads = true,
    .scaled_embedding = true,
    .unscaled_attention = true,
    .final_softcap = true,
    .window_period = 6,
    .ignored_tensors = ignored,
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
