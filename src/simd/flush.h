/* SPDX-License-Identifier: Apache-2.0 */
/* flush.h - flush-to-zero and denormals-are-zero mode (docs/numerics.md, N3). */
#ifndef QR_SIMD_FLUSH_H
#define QR_SIMD_FLUSH_H
#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* Enables the mode; returns the previous control register for qr_flush_end. The arithmetic in
 * between must be in a function that is not inlined, because the compiler may move floating-point
 * operations across these calls. */
static inline uint64_t qr_flush_begin(void)
{
#if defined(__x86_64__)
    const unsigned state = _mm_getcsr();
    _mm_setcsr(state | 0x8040); /* results to zero, operands as zero */
    return state;
#elif defined(__aarch64__)
    uint64_t state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state)::"memory");
    __asm__ volatile("msr fpcr, %0" ::"r"(state | (UINT64_C(1) << 24)) : "memory");
    return state;
#else
    return 0;
#endif
}

/* Restores the control register. */
static inline void qr_flush_end(uint64_t state)
{
#if defined(__x86_64__)
    _mm_setcsr((unsigned)state);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(state) : "memory");
#else
    (void)state;
#endif
}

#endif
