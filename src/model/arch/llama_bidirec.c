/* SPDX-License-Identifier: Apache-2.0 */
/* llama_bidirec.c - Llama Nemotron Embed and Llama-Embed-Nemotron: Llama's layers with attention in
 * both directions, for embeddings. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

static const struct qr_ignored_key ignored_keys[] = {
    { "temperature", NULL }, /* of the loss in training, and of scores; no part of embeddings */
    { 0 },
};

const struct qr_arch qr_arch_llama_bidirec = {
    .name = "llama_bidirec",
    .hf_types = { "llama_bidirec" },
    .gguf_archs = { "llama-embed" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_pooling = true,
    .hf_defaults = defaults,
    .hf_ignored_keys = ignored_keys,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED, /* the converter permutes the rows of q and k */
    .gguf_names = qr_names_gguf,
};
