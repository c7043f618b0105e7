/* SPDX-License-Identifier: Apache-2.0 */
/* rwkv.c - RWKV-4: recurrent layers and feed-forward layers with token shift. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 1024 }, /* the state does not depend on it */
    { "rms_norm_eps", 1e-5 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "max_position_embeddings", "context_length" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "rescale_every", NULL }, /* keeps values in the range of f16: the logits are the same */
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
    { QR_W_REC_K, QR_SLICE_ALL, MIX "key.weight" },
    { QR_W_REC_V, QR_SLICE_ALL, MIX "value.weight" },
    { QR_W_REC_Z, QR_SLICE_ALL, MIX "receptance.weight" },
    { QR_W_REC_OUT, QR_SLICE_ALL, MIX "output.weight" },
    { QR_W_REC_A, QR_SLICE_ALL, MIX "time_decay" },
    { QR_W_REC_D, QR_SLICE_ALL, MIX "time_first" },
    { QR_W_REC_MIX_K, QR_SLICE_ALL, MIX "time_mix_key" },
    { QR_W_REC_MIX_V, QR_SLICE_ALL, MIX "time_mix_value" },
    { QR_W_REC_MIX_Z, QR_SLICE_ALL, MIX "time_mix_receptance" },
    { QR_W_FFN_UP, QR_SLICE_ALL, FFN "key.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, FFN "value.weight" },
    { QR_W_FFN_Z, QR_SLICE_ALL, FFN "receptance.weight" },
    { QR_W_FFN_MIX_UP, QR_SLICE_ALL, FFN "time_mix_key" },
    { QR_W_FFN_MIX_Z, QR_SLICE_ALL, FFN "time_mix_receptance" },
    { 0 },
};

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_WKV, .output = QR_RECURRENT_OUT_GATED, .sigmoid_gate = true },
    .mixer = QR_MIXER_RECURRENT,
    .all = true,
};

const struct qr_arch qr_arch_rwkv = {
    .name = "rwkv",
    .hf_types = { "rwkv" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_RELU2,
    .embedding_norm = true,
    .recurrent = &recurrent,
    .hf_norm = QR_NORM_LAYER,
    .hf_bias = { .norm = true },
    .hf_ffn_multiplier = 4,
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
};
