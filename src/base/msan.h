/* SPDX-License-Identifier: Apache-2.0 */
/* msan.h - tells MemorySanitizer about memory that assembly writes, or a library that was built
 * without it. */
#ifndef QR_BASE_MSAN_H
#define QR_BASE_MSAN_H

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define QR_MSAN_WRITTEN(p, bytes) __msan_unpoison((p), (bytes))
#define QR_MSAN_IGNORED           __attribute__((no_sanitize("memory")))
#endif
#endif
#ifndef QR_MSAN_WRITTEN
#define QR_MSAN_WRITTEN(p, bytes) ((void)0)
#define QR_MSAN_IGNORED           /* function whose reads are not checked */
#endif

#endif
