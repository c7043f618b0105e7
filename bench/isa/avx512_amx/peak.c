/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak bf16 and int8 rates of AMX: tile products, 16 x 64 bytes by 64 bytes x 16.
 *
 * Operands are random, not zero: toggling bits lower the clock as a model does, by 2 to 15 % on
 * the Xeons in docs/performance.md. */
#include "isa/peak.h"
#include "simd/amx.h"

enum { TILES = 4, TILE_BYTES = 16 * 64 };

/* Fills p with bf16 values of magnitude 1 to 2 and random sign, whose sums do not overflow in a
 * run. The int8 loop uses the same bytes. */
static void fill(uint8_t *p, size_t n)
{
    uint32_t x = 1;
    for (size_t i = 0; i < n; i += 2) {
        x = x * 1664525u + 1013904223u;
        p[i] = (uint8_t)(x >> 24 | 0x80);
        p[i + 1] = (uint8_t)(0x3f | (x >> 16 & 0x80));
    }
}

static void load_tiles(void)
{
    _Alignas(64) uint8_t operands[TILES][TILE_BYTES];
    struct amx_config c = { .palette = 1 };
    for (int i = 0; i < 8; i++) {
        c.rows[i] = 16;
        c.row_bytes[i] = 64;
    }
    amx_configure(&c); /* also clears the tiles */
    fill(operands[0], sizeof operands);
    AMX_LOAD(4, operands[0], 64);
    AMX_LOAD(5, operands[1], 64);
    AMX_LOAD(6, operands[2], 64);
    AMX_LOAD(7, operands[3], 64);
}

#define PRODUCTS(name, DOT)                                                                        \
    static void name(size_t n)                                                                     \
    {                                                                                              \
        load_tiles();                                                                              \
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

enum { CELLS = 4 * 16 * 16 }; /* accumulators of four tiles */
const struct bench_peak bench_peak_avx512_amx = { .level = "avx512_amx",
                                                  .bf16 = { "tdpbf16ps", 64.0 * CELLS, bf16 },
                                                  .int8 = { "tdpbssd", 128.0 * CELLS, int8 } };
