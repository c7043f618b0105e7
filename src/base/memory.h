/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - how much memory this process may still take. */
#ifndef QR_BASE_MEMORY_H
#define QR_BASE_MEMORY_H
#include <stdint.h>

/* Bytes that can be taken before something is killed: the least of what the machine has
 * available and what is left in every cgroup (v1 or v2) above the process, where cached file
 * pages count as available. 0 = unknown. */
uint64_t qr_memory_available(void);

/* The parts, for tests: `root` replaces "/" in front of proc/ and sys/. */
uint64_t qr_memory_available_at(const char *root);

#endif
