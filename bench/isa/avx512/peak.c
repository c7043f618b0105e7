/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak rates of AVX-512 F, BW, DQ, VL: 512-bit FMA, int8 products with vpmaddubsw,
 * loads. */
#include "isa/peak.h"
#include <immintrin.h>

#define FMA(j)     __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(acc##j) : "v"(a), "v"(b));
#define DECLARE(j) __m512 acc##j = _mm512_setzero_ps();
static void f32(size_t n)
{
    __m512 a = _mm512_setzero_ps(), b = a;
    PEAK_24(DECLARE)
    for (size_t i = 0; i < n; i++) {
        PEAK_24(FMA)
    }
}

/* Emulated bf16: a vector of pairs is converted to its even and odd f32 values, two FMAs each.
 * One conversion of a weight vector serves the six rows of a register tile of four vectors. */
#define ODD(j)  __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(acc##j) : "v"(odd), "v"(b));
#define EVEN(j) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(acc##j) : "v"(even), "v"(b));
#define COLUMN(...)                                                                                \
    __asm__ volatile("vpandd %1, %2, %0" : "=v"(odd) : "v"(pair), "v"(mask));                      \
    __asm__ volatile("vpslld $16, %1, %0" : "=v"(even) : "v"(pair));                               \
    PEAK_6(ODD, __VA_ARGS__) PEAK_6(EVEN, __VA_ARGS__)
static void bf16(size_t n)
{
    __m512i pair = _mm512_setzero_si512(), mask = _mm512_set1_epi32((int)0xffff0000u);
    __m512 odd, even, b = _mm512_setzero_ps();
    PEAK_24(DECLARE)
    for (size_t i = 0; i < n; i++) {
        COLUMN(0, 1, 2, 3, 4, 5)
        COLUMN(6, 7, 8, 9, 10, 11)
        COLUMN(12, 13, 14, 15, 16, 17)
        COLUMN(18, 19, 20, 21, 22, 23)
    }
}

/* u8 x s8 to pairs, pairs to int32, add: 64 products in three instructions. */
#define DOT(j)                                                                                     \
    __asm__ volatile("vpmaddubsw %1, %2, %0" : "=v"(t) : "v"(a), "v"(b));                          \
    __asm__ volatile("vpmaddwd %0, %1, %0" : "+v"(t) : "v"(one));                                  \
    __asm__ volatile("vpaddd %1, %0, %0" : "+v"(acc##j) : "v"(t));
#define DECLARE_INT(j) __m512i acc##j = _mm512_setzero_si512();
static void int8(size_t n)
{
    __m512i a = _mm512_setzero_si512(), b = a, one = _mm512_set1_epi16(1), t;
    PEAK_24(DECLARE_INT)
    for (size_t i = 0; i < n; i++) {
        PEAK_24(DOT)
    }
}

#define LOAD(j) __asm__ volatile("vmovdqa64 %1, %0" : "=v"(v) : "m"(q[j]));
static void read_all(const void *p, size_t bytes)
{
    const __m512i *q = p, *end = q + bytes / sizeof *q;
    __m512i v;
    for (; q < end; q += 8) {
        LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7)
    }
}

const struct bench_peak bench_peak_avx512 = {
    .level = "avx512",
    .f32 = { "vfmadd231ps zmm", 24 * 32, f32 },
    .bf16 = { "shift, mask, 2 vfmadd231ps zmm", 48 * 32, bf16 },
    .int8 = { "vpmaddubsw, vpmaddwd, vpaddd zmm", 24 * 128, int8 },
    .read = read_all
};
