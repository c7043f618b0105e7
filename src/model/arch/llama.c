/* SPDX-License-Identifier: Apache-2.0 */
/* llama.c - Llama: pre-norm, SwiGLU, GQA, all kinds of RoPE scaling. */
#include "model/arch/arch.h"

static const struct qr_hf_default defaults[] = {
    { "max_position_embeddings", 2048 },
    { "rms_norm_eps", 1e-6 },
    { "rope_theta", 10000 },
    { 0 },
};

const struct qr_arch qr_arch_llama = {
    .name = "llama",
    .hf_types = { "llama" },
    .hf_variant = { "architectures", "LlamaForCausalLMEagle3", &qr_arch_eagle3 },
    .gguf_archs = { "llama" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .has_moe = true, /* GGUF files of Mixtral have arch llama */
    .moe = { .gating = QR_GATING_SOFTMAX, .renormalize = true },
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_NEOX,
    .hf_attention_bias = true,
    .hf_mlp_bias = true,
    .hf_defaults = defaults,
    .hf_names = qr_names_hf_llama,
    .gguf_window = QR_WINDOW_ALL, /* GGUF files of Mistral have arch llama */
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED, /* the converter permutes the rows of q and k */
    .gguf_names = qr_names_gguf,
};
