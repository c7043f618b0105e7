/* SPDX-License-Identifier: Apache-2.0 */
/* linear_common_tpl.h - shared by the linear templates: chunk sizes, weight prefetch, stores.
 *
 * Include after one vec_*.h with QR_ISA, the name of the level, defined. Everything that depends on
 * a format or a tile size is inlined into one function per case, where those are constants. */
#ifndef QR_TEMPLATE_LINEAR_COMMON_TPL_H
#define QR_TEMPLATE_LINEAR_COMMON_TPL_H
#include "simd/prefetch.h"
#include "template/common_tpl.h"
#include <string.h>

/* The compiler moves no load across it: with loads hoisted it would run out of registers. */
#define LINEAR_LOAD_BARRIER __asm__ volatile("" ::: "memory")

/* L1 prefetch distances of streamed weights, beside the prefetch into L2 and alone; a level may
 * define its own. */
#ifndef LINEAR_PREFETCH_L1_BYTES
#define LINEAR_PREFETCH_L1_BYTES WEIGHT_PREFETCH_L1_BYTES
#endif
#ifndef LINEAR_PREFETCH_ALONE_BYTES
#define LINEAR_PREFETCH_ALONE_BYTES WEIGHT_PREFETCH_L1_BYTES_ALONE
#endif

enum {
    LINEAR_QUANT_M = 128, /* activation rows with accumulators in memory, [m][16] floats */
    LINEAR_FLOAT_M = 96,  /* likewise, [m][64] floats */
};

/* Whether m rows are a light stream, whose lines take less time to multiply than to arrive. `cost`
 * is that of a line per row and lane: 4 of floats, 8 of 8-bit codes, 16 of 4-bit codes. */
QR_INLINE bool linear_is_light(size_t m, size_t cost) { return m * cost <= VF32_N; }

/* Prefetches weights that are read once. `next` is WEIGHT_PREFETCH_L2_BYTES ahead of the line that
 * is read now. Past the last panel prefetches are wasted. */
QR_INLINE void prefetch_weights(const uint8_t *next, enum qr_weight_prefetch how)
{
    const uintptr_t at = (uintptr_t)next - WEIGHT_PREFETCH_L2_BYTES;
    if (how == QR_WEIGHT_PREFETCH_TWICE) {
        qr_prefetch_l2(next);
        qr_prefetch_l1((const void *)(at + LINEAR_PREFETCH_L1_BYTES));
    } else if (how == QR_WEIGHT_PREFETCH_NEAR) {
        qr_prefetch_l2((const void *)(at + QR_CACHE_LINE_BYTES));
    } else {
        qr_prefetch_l1((const void *)(at + LINEAR_PREFETCH_ALONE_BYTES));
    }
}

/* Prefetches `bytes` of the stream as if it were at w. */
QR_INLINE void prefetch_weight_bytes(const uint8_t *w, size_t bytes, enum qr_weight_prefetch how)
{
    for (size_t i = 0; i < bytes; i += QR_CACHE_LINE_BYTES)
        prefetch_weights((const uint8_t *)((uintptr_t)w + WEIGHT_PREFETCH_L2_BYTES + i), how);
}

/* Stores accumulators [m][ld] of up to `rows` outputs from j0 on, plus the bias. */
static inline void linear_store(const struct qr_linear_kernel_args *a, size_t i0, size_t m,
                                size_t j0, size_t rows, const float *acc, size_t ld)
{
    const size_t n = a->n - j0 < rows ? a->n - j0 : rows;
    for (size_t i = 0; i < m; i++, acc += ld) {
        float *out = a->out + (i0 + i) * a->out_stride + j0;
        size_t r = 0;
        for (; r + VF32_N <= n; r += VF32_N) {
            const vf32 v = vf32_load(acc + r);
            vf32_store(out + r, a->bias ? vf32_add(v, vf32_load(a->bias + j0 + r)) : v);
        }
        if (r < n) {
            const vf32 v = vf32_load(acc + r);
            vf32_store_n(out + r, a->bias ? vf32_add(v, vf32_load_n(a->bias + j0 + r, n - r)) : v,
                         n - r);
        }
    }
}

#endif
