/* SPDX-License-Identifier: Apache-2.0 */
/* common_tpl.h - names of kernels and compiler hints for all templates.
 *
 * Needs QR_ISA, the name of the level, which is also the suffix of its symbols. */
#ifndef QR_TEMPLATE_COMMON_TPL_H
#define QR_TEMPLATE_COMMON_TPL_H
#include "kernels/kernels.h"
#include "simd/instrumented.h"

#define QR_JOIN_(a, b) a##_##b
#define QR_JOIN(a, b)  QR_JOIN_(a, b)

/* Symbol of kernel `name` at level QR_ISA, and its entry in the table k. */
#define QR_KERNEL(name)       QR_JOIN(qr_##name, QR_ISA)
#define QR_SET_(k, name, isa) QR_SET_KERNEL(k, name, isa)
#define QR_SET(k, name)       QR_SET_(k, name, QR_ISA)

#define QR_INLINE static inline __attribute__((always_inline))

/* A `for` loop that is unrolled completely, of at most 8 or 16 iterations: indices become constants
 * and small arrays of vectors stay in registers. QR_ROLLED: one that is never unrolled, where gcc
 * would otherwise compute more at a time than the registers hold. */
#if QR_INSTRUMENTED
#define QR_UNROLL_8  for
#define QR_UNROLL_16 for
#define QR_ROLLED    for
#elif defined(__clang__)
#define QR_UNROLL_8  _Pragma("clang loop unroll(full)") for
#define QR_UNROLL_16 _Pragma("clang loop unroll(full)") for
#define QR_ROLLED    _Pragma("clang loop unroll(disable)") for
#else
#define QR_UNROLL_8  _Pragma("GCC unroll 8") for
#define QR_UNROLL_16 _Pragma("GCC unroll 16") for
#define QR_ROLLED    _Pragma("GCC unroll 1") for
#endif

#endif
