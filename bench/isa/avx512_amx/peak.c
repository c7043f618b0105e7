/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - what AMX adds: products of tiles, 16 x 64 bytes by 64 bytes x 16. */
#include "isa/peak.h"
#include "simd/amx.h"

static void whole_tiles(void)
{
    struct amx_config c = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        c.rows[i] = 16;
        c.row_bytes[i] = 64;
    }
    amx_configure(&c); /* which also makes them zero */
}

#define PRODUCTS(name, DOT)                                                                        \
    static void name(size_t n)                                                                     \
    {                                                                                              \
        whole_tiles();                                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            DOT(0, 4, 6);                                                                          \
            DOT(1, 5, 7);                                                                          \
            DOT(2, 4, 7);                                                                          \
            DOT(3, 5, 6);                                                                          \
        }                                                                                          \
        amx_release();                                                                             \
    }
PRODUCTS(bf16, AMX_DOT_BF16)
PRODUCTS(int8, AMX_DOT_S8)

enum { CELLS = 4 * 16 * 16 }; /* of four products */
const struct bench_peak bench_peak_avx512_amx = { .level = "avx512_amx",
                                                  .bf16 = { "tdpbf16ps", 64.0 * CELLS, bf16 },
                                                  .int8 = { "tdpbssd", 128.0 * CELLS, int8 } };
