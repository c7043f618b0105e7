/* SPDX-License-Identifier: Apache-2.0 */
/* linear_common_tpl.h - what the linear templates share: names, chunk sizes, storing of results.
 *
 * Include after one vec_*.h with QR_ISA, the level's suffix, defined. */
#ifndef QR_TEMPLATE_LINEAR_COMMON_TPL_H
#define QR_TEMPLATE_LINEAR_COMMON_TPL_H
#include "kernels/kernels.h"
#include "simd/instrumented.h"
#include <string.h>

#define LINEAR_PASTE_(name, isa) qr_##name##_##isa
#define LINEAR_PASTE(name, isa)  LINEAR_PASTE_(name, isa)
#define LINEAR_KERNEL(name)      LINEAR_PASTE(name, QR_ISA)

/* Everything that depends on a format or a tile size is inlined into one function per case, where
 * those are constants: loops over them unroll, and small arrays of vectors live in registers. */
#define LINEAR_INLINE static inline __attribute__((always_inline))
#if QR_INSTRUMENTED
#define LINEAR_UNROLL
#elif defined(__clang__)
#define LINEAR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LINEAR_UNROLL _Pragma("GCC unroll 16")
#endif

/* Loads stay on their side of it: compilers that load early run out of registers. */
#define LINEAR_KEEP_ORDER __asm__ volatile("" ::: "memory")

/* Bytes, as LINEAR_AHEAD; a level may know better what its CPUs want. */
#ifndef LINEAR_LEAD
#define LINEAR_LEAD 8192
#endif

enum {
    LINEAR_QUANT_M =
        128,             /* activation rows whose accumulators are kept in memory, [m][16] floats */
    LINEAR_FLOAT_M = 96, /* the same for [m][64] */
    /* How far ahead weights that are read once are asked into the second cache, where more loads can be under way than
     * in the first: less leaves the memory idle. And how far ahead they then are asked into the first one. */
    LINEAR_AHEAD = LINEAR_LEAD,
    LINEAR_SOON = 1024,
};

/* next: a line LINEAR_AHEAD of the weights that are read now. Past the last panel this is a hint that nobody follows.
 * Always inlined: gcc takes a function that only prefetches for one without effects and drops its calls. */
LINEAR_INLINE void linear_ask(const uint8_t *next)
{
    __builtin_prefetch(next, 0, 2);
    __builtin_prefetch((const void *)((uintptr_t)next - (LINEAR_AHEAD - LINEAR_SOON)), 0, 3);
}

/* Asks for the `bytes` that lie LINEAR_AHEAD of w: while a block is multiplied no load reaches far ahead, and the
 * hardware's own prefetch loses the stream. */
LINEAR_INLINE void linear_ask_bytes(const uint8_t *w, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += QR_LINE)
        linear_ask((const uint8_t *)((uintptr_t)w + LINEAR_AHEAD + i));
}

/* Writes accumulators [m][ld] of up to `rows` outputs from j0 on. */
static inline void linear_store(const struct qr_linear_kernel_args *a, size_t i0, size_t m,
                                size_t j0, size_t rows, const float *acc, size_t ld)
{
    const size_t n = a->n - j0 < rows ? a->n - j0 : rows;
    for (size_t i = 0; i < m; i++, acc += ld) {
        float *out = a->out + (i0 + i) * a->out_stride + j0;
        size_t r = 0;
        for (; r + VF32_N <= n; r += VF32_N) {
            const vf32 v = vf32_load(acc + r);
            vf32_store(out + r, a->bias ? vf32_add(v, vf32_load(a->bias + j0 + r)) : v);
        }
        if (r < n) {
            const vf32 v = vf32_load(acc + r);
            vf32_store_n(out + r, a->bias ? vf32_add(v, vf32_load_n(a->bias + j0 + r, n - r)) : v,
                         n - r);
        }
    }
}

#endif
