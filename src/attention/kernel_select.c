/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_select.c - selects attention kernels by ISA level, cache layout and compute mode. */
#include "attention/kernel_select.h"
#include "attention/config.h"
#include "kernels/dispatch.h"

const struct qr_kernels *qr_attention_kernel_table(const struct qr_kernels *best,
                                                   uint32_t head_size, uint32_t v_head_size)
{
    return head_size % QR_HEAD_SIZE_STEP || v_head_size % QR_HEAD_SIZE_STEP ? qr_level_table(0)
                                                                            : best;
}

/* Kernels of 8-bit keys and values; other types keep NULL. */
static void select_8bit(struct qr_attention_kernels *k, const struct qr_kernels *t,
                        const struct qr_kv_layout *layout, bool native)
{
#define TYPES(X) X(FP8_E4M3, fp8_e4m3) X(FP8_E5M2, fp8_e5m2) X(INT8, int8)
#define X(type, name)                                                                              \
    if (layout->k_dtype == QUIRE_KV_##type) {                                                      \
        k->unpack_k = t->attn_unpack_##name;                                                       \
        k->qk_8bit = native && !layout->k_plain && !layout->latent ? t->attn_qk_##name : NULL;     \
    }                                                                                              \
    if (layout->v_dtype == QUIRE_KV_##type) {                                                      \
        k->unpack_v = t->attn_unpack_##name;                                                       \
        k->pv_8bit = native && !layout->v_plain && !layout->latent ? t->attn_pv_##name : NULL;     \
    }
    TYPES(X)
#undef X
#undef TYPES
}

struct qr_attention_kernels qr_attention_kernels_select(const struct qr_kernels *t,
                                                        const struct qr_kv_layout *layout,
                                                        enum quire_compute compute)
{
    struct qr_attention_kernels k = { .softmax = t->attn_softmax,
                                      .merge = t->attn_merge,
                                      .next_l2 = t->followed_streams == QR_CPU_STREAMS_ALL };
    const bool native = compute != QUIRE_COMPUTE_F32;
    select_8bit(&k, t, layout, native);
    const bool k_int4 = layout->k_dtype == QUIRE_KV_INT4, v_int4 = layout->v_dtype == QUIRE_KV_INT4;
    k.v_int4 = v_int4 && native;
    k.unpack_int4_k = k_int4 && !native ? t->attn_unpack_int4 : NULL;
    k.unpack_int4_v = v_int4 && !native ? t->attn_unpack_int4 : NULL;
    if (k_int4 && native) {
        k.qk = t->attn_qk_int4;
        k.quantize_q = t->attn_quantize_q_int4;
    } else if (layout->k_dtype == QUIRE_KV_F32) {
        k.qk = t->attn_qk_f32;
    } else if (layout->k_dtype == QUIRE_KV_F16) {
        k.qk = t->attn_qk_f16;
    } else {
        k.qk = native ? t->attn_qk_bf16_native : t->attn_qk_bf16;
        k.round_q = native ? t->quantize_bf16 : NULL;
    }
    if (k.v_int4) {
        k.pv = t->attn_pv_int4;
    } else if (layout->v_dtype == QUIRE_KV_F32) {
        k.pv = t->attn_pv_f32;
        k.transpose = t->attn_transpose_f32;
    } else if (layout->v_dtype == QUIRE_KV_F16) {
        k.pv = t->attn_pv_f16;
        k.transpose = t->attn_transpose_f16;
    } else {
        k.pv = native ? t->attn_pv_bf16_native : t->attn_pv_bf16;
        k.transpose = t->attn_transpose_bf16;
        k.p_bf16 = native;
    }
    return k;
}
