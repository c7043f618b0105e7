/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - CPU features as named bundles. A bit is set only if the CPU has it and the OS saves its registers. */
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
    /* Linux keeps tile registers only for processes that asked for them: qr_cpu_allow_amx */
    QR_CPU_AMX_ALLOWED = 1 << 7,
    QR_CPU_NEON = 1 << 8, /* Advanced SIMD of aarch64 */
    QR_CPU_DOTPROD = 1 << 9,
    QR_CPU_FHM = 1 << 10,
    QR_CPU_ARM_BF16 = 1 << 11,
    QR_CPU_I8MM = 1 << 12,
};

/* All but AMX_ALLOWED, which may come later. */
uint32_t qr_cpu_features(void);

/* May this process use the tile registers by now? */
bool qr_cpu_amx_allowed(void);

/* Asks the OS for them. 0, or errno. */
int qr_cpu_allow_amx(void);

/* The CPU has vdpbf16ps, but its bf16 products go faster in two FMAs: Intel's from Sapphire Rapids on start one in two
 * cycles (90 against 166 GFLOP/s of a core, measured), having matrix units for that. */
bool qr_cpu_slow_dot_bf16(void);

/* Brand string such as "AMD EPYC 9015"; "unknown" where the CPU gives none. Static storage. */
const char *qr_cpu_brand(void);

/* Names of the features set in `bits` (enum qr_cpu_feature), comma-separated, for messages. */
void qr_cpu_feature_names(uint32_t bits, char *out, size_t out_size);

#endif
