/* SPDX-License-Identifier: Apache-2.0 */
/* plamo.c - PLaMo 1 (13B): attention and feed-forward network side by side behind one norm, query
 * heads that share a KV head lie apart. The GGUF converter brings them together. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 32000 },
    { "hidden_size", 4096 },
    { "intermediate_size", 13312 },
    { "num_hidden_layers", 32 },
    { "num_attention_heads", 32 },
    { "n_shared_head", 8 },
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "hidden_act", "silu" },
    { 0 },
};

#define L "model.layers.layers.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.embed_tokens.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "lm_head.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.norm.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_ALL, L "self_attn.q_proj.weight" },
    { QR_W_ATTN_K, QR_SLICE_ALL, L "self_attn.k_proj.weight" },
    { QR_W_ATTN_V, QR_SLICE_ALL, L "self_attn.v_proj.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "self_attn.o_proj.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "mlp.gate_proj.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "mlp.up_proj.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "mlp.down_proj.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_plamo = {
    .name = "plamo",
    .hf_types = { "plamo" },
    .gguf_archs = { "plamo" },
    .block = QR_BLOCK_PARALLEL,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_tiled_heads = true,
    .hf_defaults = defaults,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_names = qr_names_gguf,
};
