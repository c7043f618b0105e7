/* SPDX-License-Identifier: Apache-2.0 */
/* arwkv7.c - ARWKV: blocks of Qwen 2 with the recurrent layers of RWKV-7 in the place of attention,
 * without their output norm or gate where the file has no tensors for them. */
#include "model/arch/arch.h"
#include "model/arch/recurrent_names.h"

static const struct qr_name_rule gguf_names[] = { QR_NAMES_GGUF_WKV7, { 0 } };

static const char *const ignored_tensors[] = {
    "blk.0.time_mix_v0.weight", /* copies of other tensors, which converters add */
    "blk.0.time_mix_v1.weight",
    "blk.0.time_mix_v2.weight",
    NULL,
};

static const struct qr_recurrent_arch recurrent = {
    .config = { .kind = QR_RECURRENT_WKV7,
                .output = QR_RECURRENT_OUT_GATED,
                .vector_decay = true,
                .plain_ffn = true },
    .mixer = QR_MIXER_RECURRENT,
    .all = true,
};

const struct qr_arch qr_arch_arwkv7 = {
    .name = "arwkv7",
    .gguf_archs = { "arwkv7" },
    .block = QR_BLOCK_PRE_NORM,
    .activation = QR_ACT_SILU,
    .gated = true,
    .recurrent = &recurrent,
    .ignored_tensors = ignored_tensors,
    .gguf_norm = QR_NORM_RMS,
    .gguf_names = gguf_names,
    .gguf_common_names = qr_names_gguf,
};
