/* SPDX-License-Identifier: Apache-2.0 */
/* instrumented.h - QR_INSTRUMENTED: 1 in builds with sanitizers, where unrolled loops take minutes
 * to compile because every copy is instrumented. */
#ifndef QR_SIMD_INSTRUMENTED_H
#define QR_SIMD_INSTRUMENTED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QR_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define QR_INSTRUMENTED 1
#endif
#endif
#ifndef QR_INSTRUMENTED
#define QR_INSTRUMENTED 0
#endif

#endif
