/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h - CPUs of the machine: physical cores, last-level caches, NUMA nodes, performance
 * cores. */
#ifndef QR_BASE_TOPOLOGY_H
#define QR_BASE_TOPOLOGY_H
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum { QR_TOPOLOGY_CPUS = CPU_SETSIZE };

/* One CPU (hardware thread). A group is named by its lowest usable CPU. */
struct qr_topology_cpu {
    uint16_t id;   /* of the kernel */
    uint16_t core; /* physical core: CPUs with equal numbers are SMT siblings */
    uint16_t llc;  /* CPUs that share a last-level cache */
    uint16_t node; /* NUMA node */
    bool fast;     /* a performance core, or the machine has one kind of core */
};

/* The usable CPUs: online and in the affinity mask. Counts are of usable CPUs, and of groups that
 * contain one. At least one CPU, core, cache and node. */
struct qr_topology {
    uint32_t n_cpus, n_cores, n_llcs, n_nodes;
    uint32_t n_fast_cpus, n_fast_cores;
    /* of the largest group, which need not be the same size as the others */
    uint32_t llc_cores, node_cpus, node_cores;
    struct qr_topology_cpu cpus[QR_TOPOLOGY_CPUS]; /* [n_cpus] ascending by id */
};

/* Parses a list such as "0-3,8" and a line end. CPUs from QR_TOPOLOGY_CPUS on are left out. False,
 * with *set undefined, for other text. */
bool qr_cpu_list_parse(const char *text, cpu_set_t *set);

/* Reads the topology from sysfs, with `root` in front of /sys: "" is this machine. allowed: the
 * affinity mask; NULL: all online CPUs. What is missing or malformed is taken as flat: every CPU a
 * core, one cache, one node, one kind of core. */
void qr_topology_read(const char *root, const cpu_set_t *allowed, struct qr_topology *out);

/* The NUMA nodes that have memory and a CPU of the affinity mask, as a set of node numbers. Returns
 * how many; 0 where sysfs does not say. */
uint32_t qr_topology_memory_nodes(const char *root, const cpu_set_t *allowed, cpu_set_t *nodes);

/* Removes the cores of the set that are slower than 2/3 of its fastest: every barrier waits for the
 * slowest thread. The set stays as it is where the kernel reports no difference. */
void qr_topology_drop_slow(const char *root, cpu_set_t *set);

#endif
