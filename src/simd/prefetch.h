/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.h - prefetch distances of the kernels, and prefetches of their streams.
 *
 * Kernels read weights, keys and values from memory in the order in which they lie there. The
 * arithmetic between two loads fills the processor's window, so few loads are outstanding at a time
 * and the hardware prefetcher loses the stream. A distance that is too short leaves memory
 * bandwidth unused; one that is too long evicts lines from the cache before they are read. Past the
 * end of a stream the prefetches are wasted, but harmless. Measurements: docs/performance.md. */
#ifndef QR_SIMD_PREFETCH_H
#define QR_SIMD_PREFETCH_H
#include "base/prefetch.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    /* Weights that are read once per call, with QR_WEIGHT_PREFETCH_TWICE, at every level. L2
     * supports more outstanding misses than L1, so a line goes to L2 first and to L1 shortly before
     * its use. Xeon with AMX, one core, 8192 x 2048 from memory, M = 1, before and after: avx2 Q4_0
     * 9.2 and 12.5 GB/s, BF16 61 and 96 % of the read stream; avx512_bf16 Q4_0 60 and 75 %, Q4_K 63
     * and 82 %. */
    WEIGHT_PREFETCH_L2_BYTES = 8192,
    WEIGHT_PREFETCH_L1_BYTES = 1024,
    /* Quantized weights with AVX-512, into L1. Llama-1B Q4_0 tg32 with 1 KB and 3 KB: AMD Zen 5, 4
     * layers, two threads, 150 and 165 t/s; Xeon with AMX, 16 threads, with 3.5 KB into L2 and 1 KB
     * 148, with 8 KB and 3 KB 163. With 4 KB types of two bits lose up to 9 % on Zen 5. */
    WEIGHT_PREFETCH_L1_BYTES_AVX512 = 3072,
    /* Quantized weights that are multiplied by tiles at avx512_amx. 16 to 64 rows on each of 16
     * CPUs of a Xeon: within 6 % with 8 KB and with 16 KB, without a trend. */
    WEIGHT_PREFETCH_L2_BYTES_AMX = 3584,
    /* QR_WEIGHT_PREFETCH_L1. AMD Zen 5, one row of bf16 on each of two cores: 70 GB/s, with
     * QR_WEIGHT_PREFETCH_NEAR 64. */
    WEIGHT_PREFETCH_L1_BYTES_ALONE = 8192,
    /* The same at avx2. AMD Zen 3, one row on each of two cores, with 1, 2 and 8 KB: Q8_0 16.5,
     * 15.5 and 15.1 GB/s, BF16 19.0, 17.1 and 17.5. */
    WEIGHT_PREFETCH_L1_BYTES_ALONE_AVX2 = 1024,
    /* bf16 weights of up to 16 rows at avx512_amx. Xeon with AMX, one row on each of 16 CPUs: 6.4
     * GB/s per CPU with the prefetch into L1 alone, 8.2 with both. */
    WEIGHT_PREFETCH_L2_BYTES_AMX_BF16 = 24576,
    WEIGHT_PREFETCH_L1_BYTES_AMX_BF16 = 8192,
    /* Matrices of low-rank adapters. Xeon with AMX, 16 threads, Llama-1B Q4_0, 4 sequences with 4
     * adapters of rank 16: they add 17 % to a step instead of 20 %. */
    ADAPTER_PREFETCH_L2_BYTES = 4096,
    ADAPTER_PREFETCH_L1_BYTES = 1024,
    /* Keys and values of f32, f16 and bf16, into L1. AMD Zen 5, avx512_bf16, one core, decode at a
     * context of 8192 with 32/8 heads of 128, bf16: 1040 us; with 32 KB, into L2: 1155 us. */
    KV_PREFETCH_L1_BYTES = 8192,
    /* 8-bit codes of keys and values that are dequantized to memory, into L1. AMD Zen 5, one core,
     * decode at a context of 4096 with 32/8 heads of 128, fp8: 420 us; without prefetch: 565 us. */
    KV_CODES_PREFETCH_L1_BYTES = 8192,
    /* bf16 keys and values at avx512_amx: distance of the L2 prefetch from the L1 prefetch. Xeon
     * with AMX, one core, decode at a context of 4096, heads of 128: 16.0 GB/s; L1 only: 12.2. */
    KV_PREFETCH_L2_LINES_AMX = 24,
    /* 8-bit codes at avx512_amx: lines prefetched into L2 after each tile product, and steps of
     * dequantization from the prefetch into L1 to the use. Xeon with AMX, one core, decode at a
     * context of 4096, heads of 128: fp8 e4m3 10.0 -> 12.7 GB/s. */
    KV_CODES_PREFETCH_L2_LINES_AMX = 4,
    KV_CODES_PREFETCH_L1_STEPS_AMX = 4,
    /* Up to so many rows wait for keys and values more than these for their products. */
    KV_FEW_ROWS = 4,
};

/* Prefetches the line KV_CODES_PREFETCH_L1_BYTES ahead of 8-bit codes that are read in order. */
static inline __attribute__((always_inline)) void prefetch_codes(const uint8_t *src)
{
    qr_prefetch_l1((const void *)((uintptr_t)src + KV_CODES_PREFETCH_L1_BYTES));
}

/* Keys and values that a kernel prefetches, and whether into L2 only. */
struct kv_ahead {
    const uint8_t *at;
    bool l2;
};
static inline __attribute__((always_inline)) void prefetch_kv_line(struct kv_ahead ahead,
                                                                   int offset)
{
    if (ahead.l2)
        qr_prefetch_l2(ahead.at + offset);
    else
        qr_prefetch_l1(ahead.at + offset);
}

#endif
