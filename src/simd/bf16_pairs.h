/* SPDX-License-Identifier: Apache-2.0 */
/* bf16_pairs.h - the bf16 values of a vector of 8-bit codes. A vec_*.h must be included first. */
#ifndef QR_SIMD_BF16_PAIRS_H
#define QR_SIMD_BF16_PAIRS_H

/* Always inlined: callers pass these functions as constant function pointers. */
#define BF16_INLINE static inline __attribute__((always_inline))

/* 4 * VF32_N values: the first two and the last two of the four codes of each 32-bit lane. */
struct bf16_pairs {
    vi32 first, last;
};

#endif
