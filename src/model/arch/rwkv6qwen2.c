/* SPDX-License-Identifier: Apache-2.0 */
/* rwkv6qwen2.c - QRWKV6: blocks of Qwen 2, in which gated linear attention with the decays and
 * shifted inputs of RWKV-6 is in the place of attention. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_name_rule gguf_names[] = { QR_NAMES_GGUF_WKV6, { 0 } };

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_WKV6,
                .output = QR_RECURRENT_OUT_GATED,
                .sigmoid_gate = true,
                .vector_decay = true,
                .gated_linear = true,
                .plain_ffn = true,
                .no_norm = true },
    .mixer = QR_MIXER_RECURRENT,
    .all = true,
};

const struct qr_arch qr_arch_rwkv6qwen2 = {
    .name = "rwkv6qwen2",
    .gguf_archs = { "rwkv6qwen2" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .recurrent = &recurrent,
    .gguf_norm = QR_NORM_RMS,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
