/* SPDX-License-Identifier: Apache-2.0 */
/* embedding_gemma.c - EmbeddingGemma, GGUF files: Gemma 3 with attention in both directions,
 * pooling and dense layers. Folders are Gemma 3 with use_bidirectional_attention. */
#include "model/arch/arch.h"

const struct qr_arch qr_arch_embedding_gemma = {
    .name = "embedding_gemma",
    .gguf_archs = { "gemma-embedding" },
    .kind = QR_MODEL_ENCODER,
    .block = QR_BLOCK_SANDWICH_NORM,
    .activation = QR_ACT_GELU_TANH,
    .gated = true,
    .qk_norm = QR_QK_NORM_HEAD,
    .scaled_embedding = true,
    .window_period = 6,
    .gguf_window = QR_WINDOW_PERIODIC,
    .gguf_norm = QR_NORM_RMS,
    .gguf_rope = QR_ROPE_NEOX,
    .gguf_local_rope = true,
    .gguf_local_theta = 10000,
    .gguf_names = qr_names_gguf,
};
