/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_count.h - how many CPUs this process may use, and whether that has changed. */
#ifndef QR_BASE_CPU_COUNT_H
#define QR_BASE_CPU_COUNT_H
#include <sched.h>
#include <stdint.h>

/* For tests: quire_threads_default_count with this affinity mask and `root` in front of /proc and
 * /sys. */
uint32_t qr_cpu_count_at(const char *root, const cpu_set_t *allowed);

/* A number that changes when the affinity mask or the cgroup CPU quota does. Reads a few small
 * files: call it every second or so, not every step. */
uint64_t qr_cpu_signature(void);
uint64_t qr_cpu_signature_at(const char *root, const cpu_set_t *allowed); /* for tests */

#endif
