/* SPDX-License-Identifier: Apache-2.0 */
/* qwen.c - Qwen 1: biases of q, k and v, all heads have keys of their own. Beyond seq_length the
 * reference implementation enlarges the base of RoPE and scales queries; contexts end there. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "max_position_embeddings", "seq_length" },
    { "rms_norm_eps", "layer_norm_epsilon" },
    { "rope_theta", "rotary_emb_base" },
    { "partial_rotary_factor", "rotary_pct" },
    { "head_dim", "kv_channels" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "no_bias", true },
    { "scale_attn_weights", true },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "max_position_embeddings", NULL }, /* seq_length counts */
    { "use_dynamic_ntk", NULL },         /* without effect up to seq_length, as the next one */
    { "use_logn_attn", NULL },
    { "bf16", NULL }, /* how the reference implementation computes the same function */
    { "fp16", NULL },
    { "fp32", NULL },
    { "onnx_safe", NULL },
    { "softmax_in_fp32", NULL },
    { "use_cache_kernel", NULL },
    { "use_cache_quantization", NULL },
    { 0 },
};

#define L "transformer.h.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "transformer.wte.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "transformer.ln_f.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "ln_1.weight" },
    { QR_W_ATTN_Q, QR_SLICE_Q, L "attn.c_attn.weight" },
    { QR_W_ATTN_Q_BIAS, QR_SLICE_Q, L "attn.c_attn.bias" },
    { QR_W_ATTN_K, QR_SLICE_K, L "attn.c_attn.weight" },
    { QR_W_ATTN_K_BIAS, QR_SLICE_K, L "attn.c_attn.bias" },
    { QR_W_ATTN_V, QR_SLICE_V, L "attn.c_attn.weight" },
    { QR_W_ATTN_V_BIAS, QR_SLICE_V, L "attn.c_attn.bias" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.c_proj.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ln_2.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.w1.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp.w2.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.c_proj.weight" },
    { 0 },
};
#undef L

static const char *const ignored_tensors[] = { "*rotary_emb.inv_freq", NULL };

const struct qr_arch qr_arch_qwen = {
    .name = "qwen",
    .hf_types = { "qwen" },
    .gguf_archs = { "qwen" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .half_ffn = true,
    .ignored_tensors = ignored_tensors,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_bias = { .q = true, .k = true, .v = true },
    .hf_defaults = defaults,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_ignored_keys = ignored_keys,
    .hf_names = names,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
