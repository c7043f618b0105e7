/* SPDX-License-Identifier: Apache-2.0 */
/* peak.h - loops that do nothing but multiply or load: the limits of a level, one isa/<level>/peak.c each. */
#ifndef QUIRE_BENCH_ISA_PEAK_H
#define QUIRE_BENCH_ISA_PEAK_H
#include <stddef.h>

/* A loop over registers. run(n) performs n * ops operations; a multiply-add counts as two. */
struct bench_peak_kernel {
    const char *instruction; /* what the loop is made of, for the table */
    double ops;
    void (*run)(size_t n);
};

/* What one level adds. A member whose function is NULL is that of the level below. */
struct bench_peak {
    const char *level;
    struct bench_peak_kernel f32, bf16, int8;
    void (*read)(const void *p,
                 size_t bytes); /* loads a 64-byte aligned range, a multiple of 512 bytes, once */
};

extern const struct bench_peak bench_peak_generic, bench_peak_avx2, bench_peak_avx2_vnni,
    bench_peak_avx512, bench_peak_avx512_vnni, bench_peak_avx512_bf16, bench_peak_avx512_amx,
    bench_peak_neon, bench_peak_neon_dotprod, bench_peak_neon_i8mm;

/* 12 and 24 copies of a statement over its own accumulator: enough to cover the latency of a multiply-add on two or
 * more pipes. Named variables, because an array would not stay in registers. */
#define PEAK_6(X, a, b, c, d, e, f) X(a) X(b) X(c) X(d) X(e) X(f)
#define PEAK_12(X)                  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK_24(X)                                                                                 \
    PEAK_12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

#endif
