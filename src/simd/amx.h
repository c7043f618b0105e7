/* SPDX-License-Identifier: Apache-2.0 */
/* amx.h - the eight tile registers: up to 16 rows of up to 64 bytes each.
 *
 * Written as assembly because compilers may move what they know of memory across their own intrinsics. */
#ifndef QR_SIMD_AMX_H
#define QR_SIMD_AMX_H
#include <stdint.h>

/* Shapes of the tiles 0 .. 7, as ldtilecfg reads them. */
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
/* After the last use: what the OS saves for this thread is small again. */
static inline void amx_release(void) { __asm__ volatile("tilerelease"); }

#define AMX_ZERO(t) __asm__ volatile("tilezero %%tmm" #t : :)
/* Rows at p, p + stride, ... */
#define AMX_LOAD(t, p, stride)                                                                     \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(p), "r"((long)(stride)) : "memory")
/* The same for rows that are read but once for long: they push less out of the first cache. */
#define AMX_LOAD_ONCE(t, p, stride)                                                                \
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #t : : "r"(p), "r"((long)(stride)) : "memory")
#define AMX_STORE(t, p, stride)                                                                    \
    __asm__ volatile("tilestored %%tmm" #t ",(%0,%1)" : : "r"(p), "r"((long)(stride)) : "memory")
/* c[i][j] += sum over pairs p of a[i][2p] * b[p][2j] and a[i][2p+1] * b[p][2j+1]: from 0 on, one chain of f32
 * multiply-adds of the even products and one of the odd ones, p rising; then their sum; then c plus that. Operands
 * and sums below the normal range are zero. */
#define AMX_DOT_BF16(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)
/* Exact sums of signed bytes, four in a lane. */
#define AMX_DOT_S8(c, a, b)   __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

#endif
