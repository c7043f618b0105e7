/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - checked configurations and the kernels that serve them. */
#ifndef QR_ATTENTION_CONFIG_H
#define QR_ATTENTION_CONFIG_H
#include "kernels/kernels.h"
#include "kv/layout.h"
#include <quire/attention.h>

enum { QR_MAX_RELATIVE_RANGE = 1 << 20 };

/* Reasons against the configuration alone, as enum quire_attention_reason bits. */
uint32_t qr_attention_reasons(const struct quire_attention_config *config);

/* Value head size with its default applied. */
static inline uint32_t qr_attention_v_size(const struct quire_attention_config *c)
{
    return c->v_head_size ? c->v_head_size : c->head_size;
}

/* Values of one head in relative_bias. */
static inline size_t qr_attention_relative_row(const struct quire_attention_config *c)
{
    return 2 * (size_t)c->relative_range + 1;
}

/* The table that serves these head sizes: `best`, or the generic one. */
const struct qr_kernels *qr_attention_table(const struct qr_kernels *best, uint32_t head_size,
                                            uint32_t v_head_size);

/* The texts of `reasons`, one per line, into out; cut off at size. */
void qr_attention_reason_text(uint32_t reasons, const char *separator, char *out, size_t size);

typedef void qr_unpack_fn(const struct qr_attn_unpack_args *a);

/* What one layer's attention runs. fp8 and int8 tiles are unpacked to bf16 first, or, for few rows
 * in native mode, multiplied as they are. */
struct qr_attention_kernels {
    void (*qk)(const struct qr_attn_qk_args *a);
    void (*softmax)(const struct qr_attn_softmax_args *a);
    void (*pv)(const struct qr_attn_pv_args *a);
    void (*qk_codes)(const struct qr_attn_qk_args *a); /* NULL: tiles are always unpacked */
    void (*pv_codes)(const struct qr_attn_pv_args *a);
    void (*merge)(const struct qr_attn_merge_args *a);
    qr_unpack_fn *unpack_k, *unpack_v;                         /* NULL: neither */
    void (*transpose)(const struct qr_attn_transpose_args *a); /* K of a latent tile to V */
    size_t (*narrow_q)(uint16_t *dst, const float *src, float scale,
                       size_t n); /* NULL: queries stay f32 */
    bool p_bf16;                  /* weights are rounded to bf16 */
};
struct qr_attention_kernels qr_attention_pick(const struct qr_kernels *table,
                                              const struct qr_kv_layout *layout,
                                              enum quire_compute compute);

#endif
