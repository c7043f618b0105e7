/* SPDX-License-Identifier: Apache-2.0 */
/* fp_env.h - the floating-point environment of the library's arithmetic (docs/numerics.md): round
 * to nearest even, denormals kept, exceptions masked. */
#ifndef QR_BASE_FP_ENV_H
#define QR_BASE_FP_ENV_H
#include "base/msan.h"
#include <stdint.h>

/* Environment of the calling thread: control and sticky flags. */
struct qr_fp_env {
#if defined(__x86_64__)
    uint32_t mxcsr;
    uint16_t x87; /* control word: the C library's number parser reads its rounding mode */
#elif defined(__aarch64__)
    uint64_t fpcr, fpsr;
#else
    char none;
#endif
};

#if defined(__x86_64__)
enum { QR_MXCSR_FLAGS = 0x3f, QR_MXCSR_DEFAULT = 0x1f80, QR_X87_DEFAULT = 0x37f };
#endif

/* The asm statements clobber memory, which keeps loads and stores of the arithmetic on their side,
 * but not arithmetic on values in registers: a function with a scope that computes with arguments
 * or results passed by value copies them to volatile variables, or leaves the arithmetic to a
 * QR_NOINLINE function that also writes memory (compilers move calls of pure functions). */
#define QR_NOINLINE __attribute__((noinline))

/* Sets the library's environment and returns the thread's own. */
static inline struct qr_fp_env qr_fp_enter(void)
{
    struct qr_fp_env host;
#if defined(__x86_64__)
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(host.mxcsr), "=m"(host.x87)::"memory");
    QR_MSAN_WRITTEN(&host, sizeof host);
    if ((host.mxcsr & ~(uint32_t)QR_MXCSR_FLAGS) != QR_MXCSR_DEFAULT) {
        const uint32_t own = QR_MXCSR_DEFAULT;
        __asm__ volatile("ldmxcsr %0" ::"m"(own) : "memory");
    }
    if (host.x87 != QR_X87_DEFAULT) {
        const uint16_t own = QR_X87_DEFAULT;
        __asm__ volatile("fldcw %0" ::"m"(own) : "memory");
    }
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(host.fpcr), "=r"(host.fpsr)::"memory");
    if (host.fpcr)
        __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)0) : "memory");
#else
    host.none = 0;
#endif
    return host;
}

/* Restores the environment, and with it the sticky flags: exceptions of the library's arithmetic
 * leave no trace. */
static inline void qr_fp_leave(const struct qr_fp_env *host)
{
#if defined(__x86_64__)
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr)::"memory");
    QR_MSAN_WRITTEN(&mxcsr, sizeof mxcsr);
    if (mxcsr != host->mxcsr)
        __asm__ volatile("ldmxcsr %0" ::"m"(host->mxcsr) : "memory");
    if (host->x87 != QR_X87_DEFAULT)
        __asm__ volatile("fldcw %0" ::"m"(host->x87) : "memory");
#elif defined(__aarch64__)
    if (host->fpcr)
        __asm__ volatile("msr fpcr, %0" ::"r"(host->fpcr) : "memory");
    __asm__ volatile("msr fpsr, %0" ::"r"(host->fpsr) : "memory");
#else
    (void)host;
#endif
}

/* Declaration that sets the library's environment until the end of the enclosing block. */
#define QR_FP_SCOPE                                                                                \
    __attribute__((cleanup(qr_fp_leave), unused)) const struct qr_fp_env qr_fp_host_ = qr_fp_enter()

#endif
