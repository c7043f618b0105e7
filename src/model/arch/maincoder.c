/* SPDX-License-Identifier: Apache-2.0 */
/* maincoder.c - Maincoder: Llama with interleaved RoPE and a norm of queries and keys behind it. */
#include "model/arch/arch.h"

const struct qr_arch qr_arch_maincoder = {
    .name = "maincoder",
    .hf_types = { "maincoder" },
    .gguf_archs = { "maincoder" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .qk_norm_after_rope = true,
    .hf_norm = QR_NORM_RMS,
    .hf_rope = QR_ROPE_INTERLEAVED,
    .hf_names = qr_names_hf_llama,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_INTERLEAVED,
    .gguf_names = qr_names_gguf,
};
