/* SPDX-License-Identifier: Apache-2.0 */
/* attn.c - the bf16 x bf16 tile and the softmax on vdpbf16ps and vcvtneps2bf16, and fp8 unpacking on vpermi2b. */
#include "simd/vec_avx512.h"
/* vec_math.h builds on the vec header */
#include "simd/vec_math.h"
#define QUIRE_ISA avx512_bf16
#define ATTN_BF16_NATIVE
#include "template/attn_tile_tpl.h"
#include "template/attn_softmax_tpl.h"

/* bf16 of the 128 magnitudes of an fp8 format, as low and high bytes. */
struct fp8_table {
    _Alignas(64) uint8_t low[128], high[128];
};

static uint16_t bf16_of_e4m3(unsigned code)
{
    if (code == 0x7f)
        return 0x7fc0;
    if (code >= 8)
        return (uint16_t)((code << 4) + (120u << 7));
    const unsigned top = code >= 4 ? 2 : code >= 2 ? 1 : 0; /* highest bit of a subnormal's mantissa */
    return code ? (uint16_t)(((118u + top) << 7) | ((code << (7 - top)) & 0x7f)) : 0;
}

static uint16_t bf16_of_e5m2(unsigned code)
{
    if (code >= 4)
        return (uint16_t)((code << 5) + ((code >= 0x7c ? 224u : 112u) << 7));
    const unsigned top = code >= 2 ? 1 : 0;
    return code ? (uint16_t)(((111u + top) << 7) | ((code << (7 - top)) & 0x7f)) : 0;
}

static inline void unpack(const struct quire_attn_unpack_args *a, uint16_t (*bf16_of)(unsigned))
{
    struct fp8_table t;
    for (unsigned i = 0; i < 128; i++) {
        t.low[i] = (uint8_t)bf16_of(i);
        t.high[i] = (uint8_t)(bf16_of(i) >> 8);
    }
    const __m512i low0 = _mm512_load_si512(t.low), low1 = _mm512_load_si512(t.low + 64);
    const __m512i high0 = _mm512_load_si512(t.high), high1 = _mm512_load_si512(t.high + 64);
    const __m512i sign = _mm512_set1_epi8((char)0x80);
    for (size_t step = 0; step < (size_t)a->n_steps; step++) {
        const uint8_t *src = a->src + step * a->src_stride;
        uint16_t *dst = a->dst + 2 * step * a->dst_stride;
        for (size_t i = 0; i < (size_t)a->n_cells; i++) {
            const __m512i codes = _mm512_loadu_si512(src + 64 * i);
            const __m512i low = _mm512_permutex2var_epi8(low0, codes, low1); /* ignores bit 7 */
            __m512i high = _mm512_permutex2var_epi8(high0, codes, high1);
            high = _mm512_ternarylogic_epi32(high, codes, sign, 0xf8); /* high | (codes & sign) */
            _mm512_storeu_si512(dst + 32 * i, _mm512_unpacklo_epi8(low, high));
            _mm512_storeu_si512(dst + a->dst_stride + 32 * i, _mm512_unpackhi_epi8(low, high));
        }
    }
}

void quire_attn_unpack_fp8_e4m3_avx512_bf16(const struct quire_attn_unpack_args *a) { unpack(a, bf16_of_e4m3); }
void quire_attn_unpack_fp8_e5m2_avx512_bf16(const struct quire_attn_unpack_args *a) { unpack(a, bf16_of_e5m2); }

void quire_init_attn_avx512_bf16(struct quire_kernels *k)
{
    QUIRE_SET(k, attn_qk_bf16_native, avx512_bf16);
    QUIRE_SET(k, attn_softmax, avx512_bf16);
    QUIRE_SET(k, attn_pv_bf16_native, avx512_bf16);
    QUIRE_SET(k, attn_merge, avx512_bf16);
    QUIRE_SET(k, attn_unpack_fp8_e4m3, avx512_bf16);
    QUIRE_SET(k, attn_unpack_fp8_e5m2, avx512_bf16);
}
