/* SPDX-License-Identifier: Apache-2.0 */
/* attn.c - the bf16 x bf16 tile and the softmax on vdpbf16ps and vcvtneps2bf16, and unpacking
 * of 8 bits on vpermi2b. */
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QUIRE_ISA avx512_bf16
#define ATTN_BF16_NATIVE
#include "template/attn_softmax_tpl.h"
#include "template/attn_tile_tpl.h"
#include "template/unpack_fetch.h"

/* bf16 of the 128 magnitudes of an fp8 format or of int8, as low and high bytes. TOP: the highest bit
 * of a subnormal's mantissa, or of an integer. */
struct byte_table {
    _Alignas(64) uint8_t low[128], high[128];
};
#define TOP(c)     ((c) >= 4 ? 2 : (c) >= 2 ? 1 : 0)
#define TOP7(c)    ((c) >= 64 ? 6 : (c) >= 32 ? 5 : (c) >= 16 ? 4 : (c) >= 8 ? 3 : TOP(c))
#define TINY(c, e) ((c) ? (((e) + TOP(c)) << 7 | ((c) << (7 - TOP(c)) & 0x7f)) : 0)
#define INT8(c)    ((c) ? ((127 + TOP7(c)) << 7 | ((c) << (7 - TOP7(c)) & 0x7f)) : 0)
#define E4M3(c)    ((c) == 0x7f ? 0x7fc0 : (c) >= 8 ? ((c) << 4) + (120 << 7) : TINY(c, 118))
#define E5M2(c)                                                                                    \
    ((c) >= 0x7c ? ((c) << 5) + (224 << 7) : (c) >= 4 ? ((c) << 5) + (112 << 7) : TINY(c, 111))
#define LOW(f, c)        (f(c) & 0xff)
#define HIGH(f, c)       (f(c) >> 8)
#define FOUR(byte, f, c) byte(f, c), byte(f, (c) + 1), byte(f, (c) + 2), byte(f, (c) + 3)
#define ROW(byte, f, c)                                                                            \
    FOUR(byte, f, c), FOUR(byte, f, (c) + 4), FOUR(byte, f, (c) + 8), FOUR(byte, f, (c) + 12)
#define ALL(byte, f)                                                                               \
    ROW(byte, f, 0), ROW(byte, f, 16), ROW(byte, f, 32), ROW(byte, f, 48), ROW(byte, f, 64),       \
        ROW(byte, f, 80), ROW(byte, f, 96), ROW(byte, f, 112)
static const struct byte_table e4m3 = { { ALL(LOW, E4M3) }, { ALL(HIGH, E4M3) } };
static const struct byte_table e5m2 = { { ALL(LOW, E5M2) }, { ALL(HIGH, E5M2) } };
static const struct byte_table int8 = { { ALL(LOW, INT8) }, { ALL(HIGH, INT8) } };

static inline void unpack(const struct quire_attn_unpack_args *a, const struct byte_table *t)
{
    const __m512i low0 = _mm512_load_si512(t->low), low1 = _mm512_load_si512(t->low + 64);
    const __m512i high0 = _mm512_load_si512(t->high), high1 = _mm512_load_si512(t->high + 64);
    const __m512i sign = _mm512_set1_epi8((char)0x80);
    const size_t n_steps = (size_t)a->n_steps, n_cells = (size_t)a->n_cells, stride = a->dst_stride;
    const uint8_t *src = a->src;
    uint16_t *dst = a->dst;
    for (size_t step = 0; step < n_steps; step++, src += a->src_stride, dst += 2 * stride)
        for (size_t i = 0; i < n_cells; i++) {
            const __m512i codes = _mm512_loadu_si512(src + 64 * i);
            unpack_fetch(src + 64 * i);
            const __m512i low = _mm512_permutex2var_epi8(low0, codes, low1); /* ignores bit 7 */
            __m512i high = _mm512_permutex2var_epi8(high0, codes, high1);
            high = _mm512_ternarylogic_epi32(high, codes, sign, 0xf8); /* high | (codes & sign) */
            _mm512_storeu_si512(dst + 32 * i, _mm512_unpacklo_epi8(low, high));
            _mm512_storeu_si512(dst + stride + 32 * i, _mm512_unpackhi_epi8(low, high));
        }
}

void quire_attn_unpack_fp8_e4m3_avx512_bf16(const struct quire_attn_unpack_args *a)
{
    unpack(a, &e4m3);
}
void quire_attn_unpack_fp8_e5m2_avx512_bf16(const struct quire_attn_unpack_args *a)
{
    unpack(a, &e5m2);
}

/* As above, of magnitudes, after the pairs of each lane have been put where fp8 cells have them. */
void quire_attn_unpack_int8_avx512_bf16(const struct quire_attn_unpack_args *a)
{
    const __m512i low0 = _mm512_load_si512(int8.low), low1 = _mm512_load_si512(int8.low + 64);
    const __m512i high0 = _mm512_load_si512(int8.high), high1 = _mm512_load_si512(int8.high + 64);
    const __m512i order = _mm512_set4_epi32(0x0f0e0b0a, 0x07060302, 0x0d0c0908, 0x05040100);
    const __m512i sign = _mm512_set1_epi8((char)0x80), of128 = _mm512_set1_epi8(0x43);
    const size_t n_steps = (size_t)a->n_steps, n_cells = (size_t)a->n_cells, stride = a->dst_stride;
    const uint8_t *src = a->src;
    uint16_t *dst = a->dst;
    for (size_t step = 0; step < n_steps; step++, src += a->src_stride, dst += 2 * stride)
        for (size_t i = 0; i < n_cells; i++) {
            const __m512i codes = _mm512_shuffle_epi8(_mm512_loadu_si512(src + 64 * i), order);
            unpack_fetch(src + 64 * i);
            const __m512i magnitude = _mm512_abs_epi8(codes);
            const __m512i low = _mm512_permutex2var_epi8(low0, magnitude, low1);
            __m512i high = _mm512_permutex2var_epi8(high0, magnitude, high1);
            /* the magnitude of -128, which no row of ours has, is beyond the table */
            high = _mm512_mask_mov_epi8(high, _mm512_movepi8_mask(magnitude), of128);
            high = _mm512_ternarylogic_epi32(high, codes, sign, 0xf8);
            _mm512_storeu_si512(dst + 32 * i, _mm512_unpacklo_epi8(low, high));
            _mm512_storeu_si512(dst + stride + 32 * i, _mm512_unpackhi_epi8(low, high));
        }
}

void quire_init_attn_avx512_bf16(struct quire_kernels *k)
{
    QUIRE_SET(k, attn_qk_bf16_native, avx512_bf16);
    QUIRE_SET(k, attn_softmax, avx512_bf16);
    QUIRE_SET(k, attn_pv_bf16_native, avx512_bf16);
    QUIRE_SET(k, attn_merge, avx512_bf16);
    QUIRE_SET(k, attn_unpack_fp8_e4m3, avx512_bf16);
    QUIRE_SET(k, attn_unpack_fp8_e5m2, avx512_bf16);
    QUIRE_SET(k, attn_unpack_int8, avx512_bf16);
}
