/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - peak rates of AVX2 and FMA: 256-bit FMA, int8 products with vpmaddubsw, loads. */
#include "isa/peak.h"
#include <immintrin.h>

#define FMA(j)     __asm__ volatile("vfmadd231ps %1, %2, %0" : "+x"(acc##j) : "x"(a), "x"(b));
#define DECLARE(j) __m256 acc##j = _mm256_setzero_ps();
static void f32(size_t n)
{
    __m256 a = _mm256_setzero_ps(), b = a;
    PEAK_12(DECLARE)
    for (size_t i = 0; i < n; i++) {
        PEAK_12(FMA)
    }
}

/* Emulated bf16: a vector of pairs is converted to its even and odd f32 values, two FMAs each.
 * One conversion of a weight vector serves the six rows of a register tile of two vectors. */
#define ODD(j)  __asm__ volatile("vfmadd231ps %1, %2, %0" : "+x"(acc##j) : "x"(odd), "x"(b));
#define EVEN(j) __asm__ volatile("vfmadd231ps %1, %2, %0" : "+x"(acc##j) : "x"(even), "x"(b));
#define COLUMN(...)                                                                                \
    __asm__ volatile("vpand %1, %2, %0" : "=x"(odd) : "x"(pair), "x"(mask));                       \
    __asm__ volatile("vpslld $16, %1, %0" : "=x"(even) : "x"(pair));                               \
    PEAK_6(ODD, __VA_ARGS__) PEAK_6(EVEN, __VA_ARGS__)
static void bf16(size_t n)
{
    __m256i pair = _mm256_setzero_si256(), mask = _mm256_set1_epi32((int)0xffff0000u);
    __m256 odd, even, b = _mm256_setzero_ps();
    PEAK_12(DECLARE)
    for (size_t i = 0; i < n; i++) {
        COLUMN(0, 1, 2, 3, 4, 5)
        COLUMN(6, 7, 8, 9, 10, 11)
    }
}

/* u8 x s8 to pairs, pairs to int32, add: 32 products in three instructions. */
#define DOT(j)                                                                                     \
    __asm__ volatile("vpmaddubsw %1, %2, %0" : "=x"(t) : "x"(a), "x"(b));                          \
    __asm__ volatile("vpmaddwd %0, %1, %0" : "+x"(t) : "x"(one));                                  \
    __asm__ volatile("vpaddd %1, %0, %0" : "+x"(acc##j) : "x"(t));
#define DECLARE_INT(j) __m256i acc##j = _mm256_setzero_si256();
static void int8(size_t n)
{
    __m256i a = _mm256_setzero_si256(), b = a, one = _mm256_set1_epi16(1), t;
    PEAK_12(DECLARE_INT)
    for (size_t i = 0; i < n; i++) {
        PEAK_12(DOT)
    }
}

#define LOAD(j) __asm__ volatile("vmovdqa %1, %0" : "=x"(v) : "m"(q[j]));
static void read_all(const void *p, size_t bytes)
{
    const __m256i *q = p, *end = q + bytes / sizeof *q;
    __m256i v;
    for (; q < end; q += 16) {
        PEAK_12(LOAD) LOAD(12) LOAD(13) LOAD(14) LOAD(15)
    }
}

const struct bench_peak bench_peak_avx2 = {
    .level = "avx2",
    .f32 = { "vfmadd231ps ymm", 12 * 16, f32 },
    .bf16 = { "shift, mask, 2 vfmadd231ps ymm", 24 * 16, bf16 },
    .int8 = { "vpmaddubsw, vpmaddwd, vpaddd ymm", 12 * 64, int8 },
    .read = read_all
};
