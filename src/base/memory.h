/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - memory available to this process. */
#ifndef QR_BASE_MEMORY_H
#define QR_BASE_MEMORY_H
#include <stdint.h>

/* Bytes that can be allocated before the kernel runs out of memory: the minimum of MemAvailable and
 * of the rest under the limit of every cgroup (v1 or v2) above the process. Inactive page cache
 * counts as available. 0 = unknown. */
uint64_t qr_memory_available(void);

/* For tests: the same with `root` in front of /proc and /sys. */
uint64_t qr_memory_available_at(const char *root);

#endif
