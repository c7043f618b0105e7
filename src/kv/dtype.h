/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.h - table of the data types of the KV cache. */
#ifndef QR_KV_DTYPE_H
#define QR_KV_DTYPE_H
#include "kernels/kernels.h"
#include <quire/kv_cache.h>
#include <stdbool.h>

/* Source of the scale: value = code * scale. A row is one (token, head) of K or V. */
enum qr_kv_scaling {
    QR_KV_NO_SCALE,   /* codes are values */
    QR_KV_POOL_SCALE, /* per layer and head, fixed by quire_kv_create */
    QR_KV_ROW_SCALE,  /* per row, computed by quantize and stored in the block */
    /* int4: per row and 32 values, computed by quantize, which writes them after the codes of the
     * row, and stored in the block */
    QR_KV_GROUP_SCALE,
};

struct qr_kv_dtype {
    const char *name;
    size_t bytes;   /* of one element; int4: of two */
    int interleave; /* elements (int4: bytes) per layout step: d's of a token in K, tokens of a d in
                     * V */
    bool cells;     /* a step is divided into 64-byte cells */
    enum qr_kv_scaling scaling;
    float max_finite; /* 0 unless scaling is QR_KV_POOL_SCALE */
    /* Convert a row of n values with the kernels of an ISA level. Elements are aligned to their
     * size. quantize returns the number of clipped values; it writes *scale if the type has row
     * scales and reads it otherwise. */
    size_t (*quantize)(const struct qr_kernels *k, void *dst, const float *src, float *scale,
                       size_t n);
    void (*dequantize)(const struct qr_kernels *k, float *dst, const void *src, float scale,
                       size_t n);
};

/* NULL for an unknown dtype. */
const struct qr_kv_dtype *qr_kv_dtype(enum quire_kv_dtype dtype);

/* Bytes of the codes of n elements, and of a row of n elements as quantize writes it, which has the
 * scales of int4 as well. */
static inline size_t qr_kv_code_bytes(const struct qr_kv_dtype *type, size_t n)
{
    return type->scaling == QR_KV_GROUP_SCALE ? n / 2 : n * type->bytes;
}
static inline size_t qr_kv_row_bytes(const struct qr_kv_dtype *type, size_t n)
{
    const size_t scales = type->scaling == QR_KV_GROUP_SCALE ? n / QR_INT4_GROUP : 0;
    return qr_kv_code_bytes(type, n) + scales * sizeof(uint16_t);
}

#endif
