/* SPDX-License-Identifier: Apache-2.0 */
/* numa.c - memory policy of an address range, by the system call: libnuma is not needed for it. */
#include "base/numa.h"
#include "base/topology.h"
#include <linux/mempolicy.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sets the policy of the whole pages inside the range; others may hold memory of the host. */
static bool set_policy(void *p, size_t bytes, int policy, const cpu_set_t *nodes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
                    begin = ((uintptr_t)p + page - 1) / page * page,
                    end = ((uintptr_t)p + bytes) / page * page;
    /* the kernel subtracts 1 from the number of bits */
    const unsigned long bits = nodes ? 8 * sizeof *nodes + 1 : 0;
    return begin < end && syscall(SYS_mbind, begin, end - begin, policy, nodes, bits, 0) == 0;
}

bool qr_numa_interleave_over(void *p, size_t bytes, const cpu_set_t *nodes)
{
    return set_policy(p, bytes, MPOL_INTERLEAVE, nodes);
}

bool qr_numa_interleave(void *p, size_t bytes)
{
    cpu_set_t allowed, nodes;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
           qr_topology_memory_nodes("", &allowed, &nodes) > 1 &&
           qr_numa_interleave_over(p, bytes, &nodes);
}

void qr_numa_reset(void *p, size_t bytes) { (void)set_policy(p, bytes, MPOL_DEFAULT, NULL); }
