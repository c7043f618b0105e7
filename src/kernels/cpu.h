/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - CPU features as named bundles. A bit is set only if the CPU has the feature and the OS
 * saves its registers. */
#ifndef QR_KERNELS_CPU_H
#define QR_KERNELS_CPU_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum qr_cpu_feature {
    QR_CPU_AVX2 = 1 << 0, /* AVX2, FMA, F16C, BMI2; YMM state */
    QR_CPU_AVX_VNNI = 1 << 1,
    QR_CPU_AVX512 = 1 << 2, /* F, BW, DQ, VL; ZMM and opmask state */
    QR_CPU_AVX512_VNNI = 1 << 3,
    QR_CPU_AVX512_VBMI = 1 << 4,
    QR_CPU_AVX512_BF16 = 1 << 5,
    QR_CPU_AMX = 1 << 6, /* TILE, BF16, INT8; tile state */
    /* Linux lets only processes that requested it use the tile registers: qr_cpu_request_amx */
    QR_CPU_AMX_PERMITTED = 1 << 7,
    QR_CPU_NEON = 1 << 8, /* Advanced SIMD of aarch64 */
    QR_CPU_DOTPROD = 1 << 9,
    QR_CPU_I8MM = 1 << 10,
    QR_CPU_SVE_I8MM = 1 << 11, /* SVE and its i8mm */
    /* Vectors of SVE have 256 bits. The length is a setting of each thread, which the threads it
     * creates inherit: quire assumes that of the thread which asks first for all. */
    QR_CPU_SVE_256_BITS = 1 << 12,
};

/* Returns all features but QR_CPU_AMX_PERMITTED, which a process may gain later. */
uint32_t qr_cpu_features(void);

/* Returns whether the OS permits this process to use the tile registers now. */
bool qr_cpu_amx_permitted(void);

/* Requests that permission from the OS. Returns 0 or an errno value. */
int qr_cpu_request_amx(void);

/* Returns whether vdpbf16ps is slower than two FMAs for the same bf16 products. Intel CPUs from
 * Sapphire Rapids on start one every other cycle, as their matrix units replace it: 90 against 166
 * GFLOP/s on one core (measured). */
bool qr_cpu_slow_vdpbf16ps(void);

/* Streams of loads that the hardware prefetchers follow to the limit of the memory, or nearly: two
 * software prefetches per line only take miss buffers from them. */
enum qr_cpu_streams {
    QR_CPU_STREAMS_NONE,
    /* Weights of eight bits and more, with one prefetch per line into L1. AMD family 1Ah, Zen 5,
     * one core, one row, with two prefetches, one of the next line, and one into L1: BF16 30 to 35,
     * 33 to 37, 39 to 43 GB/s; F16 32, 37, 42; Q8_0 38, 39, 43; Q4_0 38, 33, 37. Keys and values
     * lose up to 9 % with one of the next line. AMD family 19h, Zen 3, one row on each of two
     * cores, in the same order: Q8_0 16.2, 15.4, 16.5; BF16 18.3, 16.2, 19.0; F16 16.2, 16.1,
     * 16.7. */
    QR_CPU_STREAMS_WIDE,
    /* All. AMD family 19h, Zen 4. Measured on one core: GEMV of Q8_0 and BF16 67 % of the read
     * stream with prefetches into L2 and L1, 97 and 101 % with one of the next line; decode
     * attention of bf16 and int8 KV 5,300 and 3,100 us with prefetches into L1, 3,860 and 2,340
     * into L2. */
    QR_CPU_STREAMS_ALL,
};
enum qr_cpu_streams qr_cpu_followed_streams(void);

/* Returns the brand string, for example "AMD EPYC 9015"; "unknown" without one. Static storage. */
const char *qr_cpu_brand(void);

/* Writes the comma-separated names of the features in `bits` (enum qr_cpu_feature). */
void qr_cpu_feature_names(uint32_t bits, char *out, size_t out_size);

#endif
