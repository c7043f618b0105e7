/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.h - what the cache knows about each storage type. */
#ifndef QR_KV_DTYPE_H
#define QR_KV_DTYPE_H
#include "kernels/kernels.h"
#include <quire/kv_cache.h>
#include <stdbool.h>

/* Where the scale comes from that a type's codes are multiplied with. */
enum qr_kv_scaling {
    QR_KV_NO_SCALE,   /* none: codes are the values */
    QR_KV_POOL_SCALE, /* the pool's, of a layer and head, fixed at create */
    QR_KV_ROW_SCALE,  /* the row's own, kept in the block beside its codes */
};

struct qr_kv_dtype {
    const char *name;
    size_t bytes; /* of one element */
    int step; /* elements side by side in a layout step: d's of a token in K, tokens of a d in V */
    bool cells; /* a step is cut into the 64-byte cells of layout.h */
    enum qr_kv_scaling scaling;
    float largest; /* finite value of a type with the pool's scales; others: 0 */
    /* n values, one row, rounded into the type and back by the kernels of a level; narrow returns
     * how many were clipped. Elements are aligned to their size. A type with row scales sets *scale
     * in narrow; for the others it is read. */
    size_t (*narrow)(const struct qr_kernels *k, void *dst, const float *src, float *scale,
                     size_t n);
    void (*widen)(const struct qr_kernels *k, float *dst, const void *src, float scale, size_t n);
};

/* The row of a type; NULL for a number that is none. */
const struct qr_kv_dtype *qr_kv_dtype(enum quire_kv_dtype dtype);

#endif
