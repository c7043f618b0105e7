/* SPDX-License-Identifier: Apache-2.0 */
/* amx.h - instructions on the eight AMX tile registers: up to 16 rows of up to 64 bytes each.
 *
 * Inline assembly, because compilers may move memory accesses across their AMX intrinsics. */
#ifndef QR_SIMD_AMX_H
#define QR_SIMD_AMX_H
#include <stdint.h>

/* Shapes of tiles 0 .. 7, the operand of ldtilecfg. */
struct amx_config {
    uint8_t palette; /* 1 */
    uint8_t start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct amx_config) == 64, "ldtilecfg reads 64 bytes");

static inline void amx_configure(const struct amx_config *c)
{
    __asm__ volatile("ldtilecfg %0" : : "m"(*c));
}
/* Returns the tiles to their initial state, so that the OS no longer saves them for this thread. */
static inline void amx_release(void) { __asm__ volatile("tilerelease"); }

#define AMX_ZERO(t) __asm__ volatile("tilezero %%tmm" #t : :)
/* Loads a tile from rows at p, p + stride, ... */
#define AMX_LOAD(t, p, stride)                                                                     \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(p), "r"((long)(stride)) : "memory")
/* The same with a non-temporal hint, for rows that are not read again soon: evicts less from L1. */
#define AMX_LOAD_ONCE(t, p, stride)                                                                \
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #t : : "r"(p), "r"((long)(stride)) : "memory")
#define AMX_STORE(t, p, stride)                                                                    \
    __asm__ volatile("tilestored %%tmm" #t ",(%0,%1)" : : "r"(p), "r"((long)(stride)) : "memory")
/* c[i][j] += sum over pairs p of a[i][2p] * b[p][2j] and a[i][2p+1] * b[p][2j+1]. The even and the
 * odd products are two chains of f32 multiply-adds from 0 on, p ascending; their sum is added to c.
 * Denormal operands and results are zero. */
#define AMX_DOT_BF16(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)
/* c[i][j] += exact sum of products of signed bytes, four per 32-bit lane. */
#define AMX_DOT_S8(c, a, b)   __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

#endif
