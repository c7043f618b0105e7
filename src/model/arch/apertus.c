/* SPDX-License-Identifier: Apache-2.0 */
/* apertus.c - Apertus: xIELU without a gate, q/k norm. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 65536 },
    { "rms_norm_eps", 1e-5 },
    { "rope_theta", 12000000 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "post_norm", NULL }, /* not read */
    { "qk_norm", "true" },
    { 0 },
};

#define L "model.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attention_layernorm.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "feedforward_layernorm.weight" },
    { QR_W_FFN_XIELU_P, QR_SLICE_ALL, L "mlp.act_fn.alpha_p" },
    { QR_W_FFN_XIELU_N, QR_SLICE_ALL, L "mlp.act_fn.alpha_n" },
    { QR_W_FFN_XIELU_BETA, QR_SLICE_ALL, L "mlp.act_fn.beta" },
    { QR_W_FFN_XIELU_EPS, QR_SLICE_ALL, L "mlp.act_fn.eps" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_apertus = {
    .name = "apertus",
    .hf_types = { "apertus" },
    .gguf_archs = { "apertus" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_XIELU,
    .qk_norm = QR_QK_NORM_HEAD,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .hf_common_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
