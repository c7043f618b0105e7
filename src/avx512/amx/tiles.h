/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.h - rows that are no whole tile, made one and back. All tiles here are 16 rows of 64 bytes: shaping them to
 * what is left over would cost more (ldtilecfg takes as long as six products) than the zeros that complete them. */
#ifndef QR_AVX512_AMX_TILES_H
#define QR_AVX512_AMX_TILES_H
#include "simd/amx.h"
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

enum { AMX_ROWS = 16, AMX_LINE = 64, AMX_TILE = AMX_ROWS * AMX_LINE };

/* Where the rows of a tile lie. */
struct amx_lines {
    const uint8_t *at;
    size_t stride; /* bytes */
};

/* n rows of `bytes` bytes as a whole tile: in place if they are one, else in `copy`, completed by zeros. */
static inline struct amx_lines amx_whole(const void *at, size_t stride, int n, size_t bytes,
                                         uint8_t *copy)
{
    const uint8_t *row = at;
    if (n == AMX_ROWS && bytes == AMX_LINE)
        return (struct amx_lines){ row, stride };
    const __mmask64 part = ~(__mmask64)0 >> (AMX_LINE - bytes);
    for (int r = 0; r < AMX_ROWS; r++, row += stride)
        _mm512_store_si512(copy + r * AMX_LINE,
                           r < n ? _mm512_maskz_loadu_epi8(part, row) : _mm512_setzero_si512());
    return (struct amx_lines){ copy, AMX_LINE };
}

/* The first n rows of a tile that was stored at `copy`, each 16 floats, to their place. */
static inline void amx_take_rows(const uint8_t *copy, int n, float *to, size_t stride)
{
    for (int r = 0; r < n; r++)
        _mm512_storeu_si512(to + (size_t)r * stride, _mm512_load_si512(copy + r * AMX_LINE));
}

/* The first n rows of tile t, 16 floats each, to their place, which is to_stride floats apart. */
#define AMX_STORE_ROWS(t, to, to_stride, n, copy)                                                  \
    do {                                                                                           \
        if ((n) == AMX_ROWS) {                                                                     \
            AMX_STORE(t, to, (to_stride) * sizeof(float));                                         \
        } else {                                                                                   \
            AMX_STORE(t, copy, AMX_LINE);                                                          \
            amx_take_rows(copy, n, to, to_stride);                                                 \
        }                                                                                          \
    } while (0)

/* Tiles 0 .. 3. */
static inline void amx_zero_sums(void)
{
    AMX_ZERO(0);
    AMX_ZERO(1);
    AMX_ZERO(2);
    AMX_ZERO(3);
}

/* Asks for n lines from p on. */
static inline void amx_ask(const uint8_t *p, int n)
{
    for (int i = 0; i < n; i++)
        __builtin_prefetch(p + i * AMX_LINE);
}

/* The same for a long run of lines that comes from memory: those some way ahead are asked into the second cache, which
 * keeps more requests under way than the first. By turns: many requests of one kind in a row wait for each other. */
static inline void amx_ask_run(const uint8_t *p, int n)
{
    enum { AHEAD = 24 };
    for (int i = 0; i < n; i++) {
        __builtin_prefetch(p + i * AMX_LINE);
        __builtin_prefetch(p + (i + AHEAD) * AMX_LINE, 0, 2);
    }
}

#endif
