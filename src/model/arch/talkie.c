/* SPDX-License-Identifier: Apache-2.0 */
/* talkie.c - Talkie: norms without weights, one of them behind the embedding, which is added behind
 * each layer; RoPE by negative angles, then q/k norm; factors of queries and sublayers. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 65540 },
    { "hidden_size", 5120 },
    { "intermediate_size", 13696 },
    { "num_hidden_layers", 40 },
    { "num_attention_heads", 40 },
    { "head_dim", 128 },
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1.1920928955078125e-07 },
    { "rope_theta", 1e6 },
    { "tie_word_embeddings", 0 },
    { 0 },
};

#define L "model.blocks.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.embed.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head" },
    { QR_W_OUTPUT_GAIN, QR_SLICE_ALL, "lm_head_gain.w_g" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "attn.attn_query.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "attn.attn_key.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "attn.attn_value.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn.attn_resid.weight" },
    { QR_W_QUERY_GAIN, QR_SLICE_ALL, L "attn.head_gain.head_g" },
    { QR_W_ATTN_GAIN, QR_SLICE_ALL, L "attn_gain.a_g" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp.mlp_gate.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.mlp_linear.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.mlp_resid.weight" },
    { QR_W_FFN_GAIN, QR_SLICE_ALL, L "mlp_gain.a_g" },
    { QR_W_EMBD_GAIN, QR_SLICE_ALL, L "embed_skip.a_g" },
    { 0 },
};
#undef L

#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_QUERY_GAIN, QR_SLICE_ALL, L "attn_q_norm.weight" },
    { QR_W_ATTN_GAIN, QR_SLICE_ALL, L "attn_output.scale" },
    { QR_W_FFN_GAIN, QR_SLICE_ALL, L "ffn_down.scale" },
    { QR_W_EMBD_GAIN, QR_SLICE_ALL, L "layer_output_scale.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_talkie = {
    .name = "talkie",
    .hf_types = { "talkie" },
    .gguf_archs = { "talkie" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_L2,
    .embedding_norm = true,
    .gains = true,
    .hf_norm = QR_NORM_RMS_PLAIN,
    .hf_rope = QR_ROPE_NEOX,
    .hf_clockwise_rope = true,
    .hf_defaults = defaults,
    .hf_names = names,
    .gguf_norm = QR_NORM_RMS_PLAIN,
    /* the converter negates rows of q and k so that RoPE by positive angles is the same */
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
