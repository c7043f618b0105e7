/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.h - tiles of 16 rows of 64 bytes, and copies for operands of other shapes.
 *
 * All attention tiles have the full shape: reshaping them for partial operands costs more
 * (ldtilecfg takes as long as six products) than multiplying the zeros that pad a copy. */
#ifndef QR_AVX512_AMX_TILES_H
#define QR_AVX512_AMX_TILES_H
#include "simd/amx.h"
#include "simd/prefetch.h"
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

enum { AMX_ROWS = 16, AMX_ROW_BYTES = 64, AMX_TILE_BYTES = AMX_ROWS * AMX_ROW_BYTES };

/* Rows of a tile in memory. */
struct amx_rows {
    const uint8_t *at;
    size_t stride; /* bytes */
};

/* Returns n rows of `bytes` bytes as a full tile: in place, or in `copy` padded with zeros. */
static inline struct amx_rows amx_whole(const void *at, size_t stride, int n, size_t bytes,
                                        uint8_t *copy)
{
    const uint8_t *row = at;
    if (n == AMX_ROWS && bytes == AMX_ROW_BYTES)
        return (struct amx_rows){ row, stride };
    const __mmask64 part = ~(__mmask64)0 >> (AMX_ROW_BYTES - bytes);
    for (int r = 0; r < AMX_ROWS; r++, row += stride)
        _mm512_store_si512(copy + r * AMX_ROW_BYTES,
                           r < n ? _mm512_maskz_loadu_epi8(part, row) : _mm512_setzero_si512());
    return (struct amx_rows){ copy, AMX_ROW_BYTES };
}

/* Copies n rows of 16 floats from a tile stored at `copy` to rows `stride` floats apart. */
static inline void amx_take_rows(const uint8_t *copy, int n, float *to, size_t stride)
{
    for (int r = 0; r < n; r++)
        _mm512_storeu_si512(to + (size_t)r * stride, _mm512_load_si512(copy + r * AMX_ROW_BYTES));
}

/* Stores the first n rows of tile t, 16 floats each, to rows to_stride floats apart. */
#define AMX_STORE_ROWS(t, to, to_stride, n, copy)                                                  \
    do {                                                                                           \
        if ((n) == AMX_ROWS) {                                                                     \
            AMX_STORE(t, to, (to_stride) * sizeof(float));                                         \
        } else {                                                                                   \
            AMX_STORE(t, copy, AMX_ROW_BYTES);                                                     \
            amx_take_rows(copy, n, to, to_stride);                                                 \
        }                                                                                          \
    } while (0)

/* Zeroes tiles 0 .. 3. */
static inline void amx_zero_sums(void)
{
    AMX_ZERO(0);
    AMX_ZERO(1);
    AMX_ZERO(2);
    AMX_ZERO(3);
}

/* Prefetches n lines from p on into L1, and those KV_PREFETCH_L2_LINES_AMX later into L2, which
 * supports more outstanding misses than L1. The two alternate: consecutive prefetches into one
 * level wait for each other. */
static inline __attribute__((always_inline)) void prefetch_kv_lines(const uint8_t *p, int n)
{
    for (int i = 0; i < n; i++) {
        qr_prefetch_l1(p + i * QR_CACHE_LINE_BYTES);
        qr_prefetch_l2(p + (i + KV_PREFETCH_L2_LINES_AMX) * QR_CACHE_LINE_BYTES);
    }
}

#endif
