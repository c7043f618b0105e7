/* SPDX-License-Identifier: Apache-2.0 */
/* numa.h - placement of memory that one thread touches and all threads read. */
#ifndef QR_BASE_NUMA_H
#define QR_BASE_NUMA_H
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes the kernel spread the pages of untouched memory over the NUMA nodes on which this process
 * may run: otherwise all lie on the node of the thread that touches them first. False, with nothing
 * changed, on a machine or affinity mask of one node, and where the kernel refuses, as in some
 * containers; that costs only speed. */
bool qr_numa_interleave(void *p, size_t bytes);

/* The same over these nodes, a set of node numbers. */
bool qr_numa_interleave_over(void *p, size_t bytes, const cpu_set_t *nodes);

/* Ends it. Required before the memory is freed: the policy belongs to the address range, and the
 * host may get that from malloc next. */
void qr_numa_reset(void *p, size_t bytes);

#endif
