/* SPDX-License-Identifier: Apache-2.0 */
/* rwkv6.c - RWKV-6: recurrent layers with decays of each key element and token, and feed-forward
 * layers with token shift, whose mixes depend on the token in recurrent layers. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 1048576 }, /* the state does not depend on it */
    { "rms_norm_eps", 1e-5 },
    { "head_dim", 64 },
    { "head_size_divisor", 8 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "max_position_embeddings", "context_length" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "head_dim", "head_size" },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "model_version", "6_0" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "num_attention_heads", NULL }, /* the number of heads follows from head_size */
    { "rescale_every", NULL },       /* of f16 and bf16: keeps values in range, f32 needs none */
    { 0 },
};

#define L   "rwkv.blocks.%u."
#define MIX L "attention."
#define FFN L "feed_forward."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "rwkv.embeddings.weight" },
    { QR_W_EMBD_NORM, QR_SLICE_ALL, "rwkv.blocks.0.pre_ln.weight" },
    { QR_W_EMBD_NORM_BIAS, QR_SLICE_ALL, "rwkv.blocks.0.pre_ln.bias" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "rwkv.ln_out.weight" },
    { QR_W_OUTPUT_NORM_BIAS, QR_SLICE_ALL, "rwkv.ln_out.bias" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "head.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "ln1.weight" },
    { QR_W_ATTN_NORM_BIAS, QR_SLICE_ALL, L "ln1.bias" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ln2.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "ln2.bias" },
    { QR_W_REC_MIX_X, QR_SLICE_ALL, MIX "time_maa_x" },
    { QR_W_REC_MIX_DT, QR_SLICE_ALL, MIX "time_maa_w" },
    { QR_W_REC_MIX_K, QR_SLICE_ALL, MIX "time_maa_k" },
    { QR_W_REC_MIX_V, QR_SLICE_ALL, MIX "time_maa_v" },
    { QR_W_REC_MIX_Q, QR_SLICE_ALL, MIX "time_maa_r" },
    { QR_W_REC_MIX_Z, QR_SLICE_ALL, MIX "time_maa_g" },
    { QR_W_REC_MIX_A, QR_SLICE_TRANSPOSED, MIX "time_maa_w1" },
    { QR_W_REC_MIX_B, QR_SLICE_TRANSPOSED, MIX "time_maa_w2" },
    { QR_W_REC_DT_BIAS, QR_SLICE_ALL, MIX "time_decay" },
    { QR_W_REC_DT_A, QR_SLICE_TRANSPOSED, MIX "time_decay_w1" },
    { QR_W_REC_DT, QR_SLICE_TRANSPOSED, MIX "time_decay_w2" },
    { QR_W_REC_BONUS, QR_SLICE_ALL, MIX "time_faaaa" },
    { QR_W_REC_Q, QR_SLICE_ALL, MIX "receptance.weight" },
    { QR_W_REC_K, QR_SLICE_ALL, MIX "key.weight" },
    { QR_W_REC_V, QR_SLICE_ALL, MIX "value.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, MIX "gate.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, MIX "output.weight" },
    { QR_W_REC_NORM, QR_SLICE_ALL, MIX "ln_x.weight" },
    { QR_W_REC_NORM_BIAS, QR_SLICE_ALL, MIX "ln_x.bias" },
    { QR_W_FFN_MIX_UP, QR_SLICE_ALL, FFN "time_maa_k" },
    { QR_W_FFN_MIX_Z, QR_SLICE_ALL, FFN "time_maa_r" },
    { QR_W_FFN_UP, QR_SLICE_ALL, FFN "key.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, FFN "value.weight" },
    { QR_W_FFN_Z, QR_SLICE_ALL, FFN "receptance.weight" },
    { 0 },
};
#undef FFN
#undef MIX
#undef L

#define L   "blk.%u."
#define FFN L "channel_mix_"
static const struct qr_name_rule gguf_names[] = {
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "attn_norm_2.weight" },
    { QR_W_FFN_NORM_BIAS, QR_SLICE_ALL, L "attn_norm_2.bias" },
    QR_NAMES_GGUF_WKV6,
    { QR_W_FFN_MIX_UP, QR_SLICE_ALL, FFN "lerp_k.weight" },
    { QR_W_FFN_MIX_Z, QR_SLICE_ALL, FFN "lerp_r.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, FFN "key.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, FFN "value.weight" },
    { QR_W_FFN_Z, QR_SLICE_ALL, FFN "receptance.weight" },
    { 0 },
};
#undef FFN
#undef L

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_WKV6, .output = QR_RECURRENT_OUT_GATED, .vector_decay = true },
    .mixer = QR_MIXER_RECURRENT,
    .all = true,
};

const struct qr_arch qr_arch_rwkv6 = {
    .name = "rwkv6",
    .hf_types = { "rwkv6" },
    .gguf_archs = { "rwkv6" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .embedding_norm = true,
    .recurrent = &recurrent,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .norm = true },
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_strings = fixed_strings,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .gguf_norm = QR_NORM_LAYER,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
