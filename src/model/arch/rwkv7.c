/* SPDX-License-Identifier: Apache-2.0 */
/* rwkv7.c - RWKV-7: recurrent layers whose state removes along another vector than it adds, and
 * feed-forward layers with token shift. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 }, /* the state does not depend on it */
    { "rms_norm_eps", 1e-5 },
    { "head_dim", 64 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "norm_eps" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "norm_first", true },
    { "norm_bias", true },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "hidden_act", "sqrelu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "attn_mode", NULL }, /* how the reference implementation computes the same function */
    { "fuse_*", NULL },
    { "use_l2warp", NULL },
    { "hidden_ratio", "4" }, /* intermediate_size counts */
    { "value_dim", NULL },   /* hidden_size: the tensors have that many rows */
    { 0 },
};

#define L   "model.layers.%u."
#define MIX L "attn."
#define FFN L "ffn."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, "model.layers.0.pre_norm.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, "model.layers.0.pre_norm.bias" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.norm.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "model.norm.bias" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attn_norm.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "attn_norm.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "ffn_norm.bias" },
    { QR_W_REC_MIX_Q, QR_SLICE_ALL, MIX "x_r" },
    { QR_W_REC_MIX_DT, QR_SLICE_ALL, MIX "x_w" },
    { QR_W_REC_MIX_K, QR_SLICE_ALL, MIX "x_k" },
    { QR_W_REC_MIX_V, QR_SLICE_ALL, MIX "x_v" },
    { QR_W_REC_MIX_RATE, QR_SLICE_ALL, MIX "x_a" },
    { QR_W_REC_MIX_Z, QR_SLICE_ALL, MIX "x_g" },
    { QR_W_REC_MIX_Q, QR_SLICE_MIX_0, MIX "x_x" }, /* all six as one tensor */
    { QR_W_REC_MIX_DT, QR_SLICE_MIX_0 + 1, MIX "x_x" },
    { QR_W_REC_MIX_K, QR_SLICE_MIX_0 + 2, MIX "x_x" },
    { QR_W_REC_MIX_V, QR_SLICE_MIX_0 + 3, MIX "x_x" },
    { QR_W_REC_MIX_RATE, QR_SLICE_MIX_0 + 4, MIX "x_x" },
    { QR_W_REC_MIX_Z, QR_SLICE_MIX_5, MIX "x_x" },
    { QR_W_REC_Q, QR_SLICE_ALL, MIX "r_proj.weight" },
    { QR_W_REC_K, QR_SLICE_ALL, MIX "k_proj.weight" },
    { QR_W_REC_V, QR_SLICE_ALL, MIX "v_proj.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, MIX "o_proj.weight" },
    { QR_W_REC_DT_A, QR_SLICE_ALL, MIX "w_lora.lora.0.weight" },
    { QR_W_REC_DT, QR_SLICE_ALL, MIX "w_lora.lora.2.weight" },
    { QR_W_REC_DT_BIAS, QR_SLICE_ALL, MIX "w_lora.lora.2.bias" },
    { QR_W_REC_RATE_A, QR_SLICE_ALL, MIX "a_lora.lora.0.weight" },
    { QR_W_REC_RATE, QR_SLICE_ALL, MIX "a_lora.lora.2.weight" },
    { QR_W_REC_RATE_BIAS, QR_SLICE_ALL, MIX "a_lora.lora.2.bias" },
    { QR_W_REC_VALUE_A, QR_SLICE_ALL, MIX "v_lora.lora.0.weight" },
    { QR_W_REC_VALUE, QR_SLICE_ALL, MIX "v_lora.lora.2.weight" },
    { QR_W_REC_VALUE_BIAS, QR_SLICE_ALL, MIX "v_lora.lora.2.bias" },
    { QR_W_REC_Z_A, QR_SLICE_ALL, MIX "g_lora.lora.0.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, MIX "g_lora.lora.2.weight" },
    { QR_W_REC_KEY_READ, QR_SLICE_ALL, MIX "k_k" },
    { QR_W_REC_KEY_RATE, QR_SLICE_ALL, MIX "k_a" },
    { QR_W_REC_BONUS, QR_SLICE_ALL, MIX "r_k" },
    { QR_W_REC_NORM, QR_SLICE_ALL, MIX "g_norm.weight" },
    { QR_W_REC_NORM_BIAS, QR_SLICE_ALL, MIX "g_norm.bias" },
    { QR_W_FFN_MIX_UP, QR_SLICE_ALL, FFN "x_k" },
    { QR_W_FFN_UP, QR_SLICE_ALL, FFN "key.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, FFN "value.weight" },
    { 0 },
};
#undef FFN
#undef MIX
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "attn_norm_2.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "attn_norm_2.bias" },
    QR_NAMES_GGUF_WKV7,
    { QR_W_FFN_MIX_UP, QR_SLICE_ALL, L "channel_mix_lerp_k.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "channel_mix_key.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "channel_mix_value.weight" },
    { 0 },
};
#undef L

static const char *const ignored_tensors[] = {
    "blk.0.time_mix_v0.weight", /* copies of other tensors, which converters add */
    "blk.0.time_mix_v1.weight",
    "blk.0.time_mix_v2.weight",
    NULL,
};

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_WKV7, .output = QR_RECURRENT_OUT_GATED, .vector_decay = true },
    .mixer = QR_MIXER_RECURRENT,
    .all = true,
};

const struct qr_arch qr_arch_rwkv7 = {
    .name = "rwkv7",
    .hf_types = { "rwkv7" },
    .gguf_archs = { "rwkv7" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .embedding_norm = true,
    .recurrent = &recurrent,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .norm = true },
    .hf_ffn_multiplier = 4,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
