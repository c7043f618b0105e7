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

static void bf16(size_t n)
{
    whole_tiles();
    for (size_t i = 0; i < n; i++) {
        AMX_DOT_BF16(0, 4, 6);
        AMX_DOT_BF16(1, 5, 7);
        AMX_DOT_BF16(2, 4, 7);
        AMX_DOT_BF16(3, 5, 6);
    }
    amx_release();
}

static void int8(size_t n)
{
    whole_tiles();
    for (size_t i = 0; i < n; i++) {
        AMX_DOT_S8(0, 4, 6);
        AMX_DOT_S8(1, 5, 7);
        AMX_DOT_S8(2, 4, 7);
        AMX_DOT_S8(3, 5, 6);
    }
    amx_release();
}

enum { CELLS = 4 * 16 * 16 }; /* of four products */
const struct bench_peak bench_peak_avx512_amx = { .level = "avx512_amx",
                                                  .bf16 = { "tdpbf16ps", 64.0 * CELLS, bf16 },
                                                  .int8 = { "tdpbssd", 128.0 * CELLS, int8 } };
