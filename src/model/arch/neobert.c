/* SPDX-License-Identifier: Apache-2.0 */
/* neobert.c - NeoBERT: an encoder of Llama's layers with bidirectional attention, q, k and v fused
 * by head, RoPE over adjacent pairs, and BERT's vocabulary. The public GGUF converter leaves the
 * tensors as they are. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "vocab_size", 30522 },
    { "hidden_size", 768 },
    { "num_hidden_layers", 28 },
    { "num_attention_heads", 12 },
    { "intermediate_size", 3072 },
    { "block_multiple_of", 8 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { "max_position_embeddings", 1024 },
    { 0 },
};

static const struct qr_hf_alias aliases[] = {
    { "rms_norm_eps", "norm_eps" },
    { "head_dim", "dim_head" },
    { "max_position_embeddings", "max_length" },
    { 0 },
};

static const struct qr_hf_fixed_bool fixed_bools[] = {
    { "rms_norm", true },
    { "rope", true },
    { 0 },
};

static const struct qr_hf_fixed_string fixed_strings[] = {
    { "hidden_act", "swiglu" },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "*_init_range", NULL },
    { "flash_attention", NULL }, /* how the reference implementation computes the same function */
    { "kwargs", NULL },          /* a copy of keys of the training */
    { "swiglu_packed", NULL },   /* whether gate and up are one tensor, by whose name it is read */
    { 0 },
};

#define L "model.transformer_encoder.%u."
static const struct qr_name_rule names[] = {
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "model.encoder.weight" },
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "model.layer_norm.weight" },
    { QR_W_OUTPUT, QR_SLICE_ALL, "decoder.weight" },
    { QR_W_OUTPUT_BIAS, QR_SLICE_ALL, "decoder.bias" },
    { QR_W_CLASS_DENSE, QR_SLICE_ALL, "dense.weight" },
    { QR_W_CLASS_DENSE_BIAS, QR_SLICE_ALL, "dense.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "classifier.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "classifier.bias" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attention_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_HEAD_Q, L "qkv.weight" },
    { QR_W_ATTN_K, QR_SLICE_HEAD_K, L "qkv.weight" },
    { QR_W_ATTN_V, QR_SLICE_HEAD_V, L "qkv.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "wo.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "ffn.w12.weight" },
    { QR_W_FFN_GATE, QR_SLICE_ALL, L "ffn.w1.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "ffn.w12.weight" },
    { QR_W_FFN_UP, QR_SLICE_ALL, L "ffn.w2.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn.w3.weight" },
    { 0 },
};
#undef L

/* Gate and up are one tensor. There is no LM head. */
#define L "blk.%u."
static const struct qr_name_rule gguf_names[] = {
    { QR_W_OUTPUT_NORM, QR_SLICE_ALL, "enc.output_norm.weight" },
    { QR_W_CLASS_DENSE, QR_SLICE_ALL, "cls.weight" },
    { QR_W_CLASS_DENSE_BIAS, QR_SLICE_ALL, "cls.bias" },
    { QR_W_CLASS_OUT, QR_SLICE_ALL, "cls.output.weight" },
    { QR_W_CLASS_OUT_BIAS, QR_SLICE_ALL, "cls.output.bias" },
    { QR_W_TOKEN_EMBD, QR_SLICE_ALL, "token_embd.weight" },
    { QR_W_ATTN_NORM, QR_SLICE_ALL, L "attn_norm.weight" },
    { QR_W_ATTN_Q, QR_SLICE_HEAD_Q, L "attn_qkv.weight" },
    { QR_W_ATTN_K, QR_SLICE_HEAD_K, L "attn_qkv.weight" },
    { QR_W_ATTN_V, QR_SLICE_HEAD_V, L "attn_qkv.weight" },
    { QR_W_ATTN_O, QR_SLICE_ALL, L "attn_output.weight" },
    { QR_W_FFN_NORM, QR_SLICE_ALL, L "ffn_norm.weight" },
    { QR_W_FFN_GATE, QR_SLICE_GATE, L "ffn_up.weight" },
    { QR_W_FFN_UP, QR_SLICE_UP, L "ffn_up.weight" },
    { QR_W_FFN_DOWN, QR_SLICE_ALL, L "ffn_down.weight" },
    { 0 },
};
#undef L

const struct qr_arch qr_arch_neobert = {
    .name = "neobert",
    .hf_types = { "neobert" },
    .gguf_archs = { "neo-bert" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_auto_ffn = true,
    .hf_class_head = QR_CLASS_DENSE,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_aliases = aliases,
    .hf_fixed_bools = fixed_bools,
    .hf_fixed_strings = fixed_strings,
    .hf_names = names,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = gguf_names,
};
