/* SPDX-License-Identifier: Apache-2.0 */
/* topology.c - CPU topology from sysfs. Containers and emulators lack files or report nonsense, so
 * every file is optional and checked. */
#include "base/topology.h"
#include "base/read_text.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_BYTES = 512,
    LIST_BYTES = 8192,   /* a list of QR_TOPOLOGY_CPUS numbers takes up to 5 bytes for each */
    CACHES = 8,          /* cache/index0 .. 7 */
    NODES = CPU_SETSIZE, /* sets of nodes have the type of sets of CPUs */
};

/* ---- lists */

/* Parses a number of at most 9 digits and moves *p behind it. */
static bool parse_number(const char **p, uint32_t *out)
{
    const char *begin = *p;
    for (*out = 0; **p >= '0' && **p <= '9' && *p - begin < 9; ++*p)
        *out = *out * 10 + (uint32_t)(**p - '0');
    return *p > begin && !(**p >= '0' && **p <= '9');
}

bool qr_cpu_list_parse(const char *text, cpu_set_t *set)
{
    CPU_ZERO(set);
    const char *p = text;
    if (!*p || strcmp(p, "\n") == 0) /* an empty list */
        return true;
    for (;; p++) {
        uint32_t first, last;
        if (!parse_number(&p, &first))
            return false;
        last = first;
        if (*p == '-') {
            p++;
            if (!parse_number(&p, &last) || last < first)
                return false;
        }
        for (uint32_t i = first; i <= last && i < QR_TOPOLOGY_CPUS; i++)
            CPU_SET(i, set);
        if (*p != ',')
            break;
    }
    return !*p || strcmp(p, "\n") == 0;
}

/* Reads the list of a file. A list that exceeds LIST_BYTES counts as malformed. */
static bool read_list(const char *path, cpu_set_t *set)
{
    char text[LIST_BYTES];
    return qr_read_text(path, text, sizeof text) && strlen(text) < sizeof text - 1 &&
           qr_cpu_list_parse(text, set);
}

static bool cpu_file_list(const char *root, uint32_t cpu, const char *name, cpu_set_t *set)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/%s", root, cpu, name);
    return read_list(path, set);
}

static long cpu_file_number(const char *root, uint32_t cpu, const char *name)
{
    char path[PATH_BYTES], text[32];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/%s", root, cpu, name);
    return qr_read_text(path, text, sizeof text) ? strtol(text, NULL, 10) : 0;
}

/* ---- kinds of core */

/* Intersects *set with the list of a file, unless the intersection is empty. */
static bool intersect(const char *path, cpu_set_t *set)
{
    cpu_set_t listed;
    if (!read_list(path, &listed))
        return false;
    CPU_AND(&listed, &listed, set);
    if (CPU_COUNT(&listed) > 0)
        *set = listed;
    return true;
}

/* Relative speed of a CPU as the kernel reports it (Arm, hybrid x86); 0 where unknown. */
static uint32_t capacity(const char *root, uint32_t cpu)
{
    const long c = cpu_file_number(root, cpu, "cpu_capacity");
    return c > 0 && c <= UINT16_MAX ? (uint32_t)c : 0;
}

void qr_topology_drop_slow(const char *root, cpu_set_t *set)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/sys/devices/cpu_core/cpus", root); /* Intel hybrid */
    if (intersect(path, set))
        return;
    uint32_t of[QR_TOPOLOGY_CPUS], best = 0;
    for (uint32_t i = 0; i < QR_TOPOLOGY_CPUS; i++)
        if (CPU_ISSET(i, set)) {
            of[i] = capacity(root, i);
            if (!of[i])
                return;
            best = of[i] > best ? of[i] : best;
        }
    for (uint32_t i = 0; i < QR_TOPOLOGY_CPUS; i++)
        /* cppcheck-suppress uninitvar ; the loop above sets it for the CPUs of the set */
        if (CPU_ISSET(i, set) && of[i] * 3 < best * 2)
            CPU_CLR(i, set);
}

/* ---- groups of CPUs */

/* The usable CPUs of a machine while their groups are being read. */
struct reading {
    const char *root;
    struct qr_topology *t;
    cpu_set_t usable;
    uint16_t place[QR_TOPOLOGY_CPUS]; /* index in t->cpus of a usable CPU */
};

/* Which member of struct qr_topology_cpu names a group. */
static uint16_t *group_of(struct qr_topology *t, uint32_t i, size_t member)
{
    return (uint16_t *)((char *)&t->cpus[i] + member);
}

/* Puts CPU i of t, which is usable, in the group of the lowest usable CPU of its list. A list
 * without the CPU itself is wrong: the CPU stays alone. */
static void join_group(struct reading *r, uint32_t i, const cpu_set_t *list, size_t member)
{
    const uint32_t id = r->t->cpus[i].id;
    if (!CPU_ISSET(id, list))
        return;
    for (uint32_t c = 0; c < id; c++)
        if (CPU_ISSET(c, list) && CPU_ISSET(c, &r->usable)) {
            /* the lowest CPU has its group already: lists that contradict it give no third one */
            *group_of(r->t, i, member) = *group_of(r->t, r->place[c], member);
            return;
        }
}

static void read_core(struct reading *r, uint32_t i)
{
    const uint32_t id = r->t->cpus[i].id;
    cpu_set_t list;
    r->t->cpus[i].core = (uint16_t)id;
    if (cpu_file_list(r->root, id, "topology/core_cpus_list", &list) ||
        cpu_file_list(r->root, id, "topology/thread_siblings_list", &list))
        join_group(r, i, &list, offsetof(struct qr_topology_cpu, core));
}

/* The CPUs that share the L3 cache of a CPU; without one, those of its cluster. */
static bool read_llc_list(const struct reading *r, uint32_t id, cpu_set_t *list)
{
    for (uint32_t k = 0; k < CACHES; k++) {
        char name[48];
        snprintf(name, sizeof name, "cache/index%u/level", k);
        if (cpu_file_number(r->root, id, name) != 3)
            continue;
        snprintf(name, sizeof name, "cache/index%u/shared_cpu_list", k);
        return cpu_file_list(r->root, id, name, list);
    }
    return cpu_file_list(r->root, id, "topology/cluster_cpus_list", list);
}

static void read_llc(struct reading *r, uint32_t i)
{
    cpu_set_t list;
    struct qr_topology_cpu *cpu = &r->t->cpus[i];
    cpu->llc = r->t->cpus[0].id; /* one cache */
    if (!read_llc_list(r, cpu->id, &list) || !CPU_ISSET(cpu->id, &list))
        return;
    cpu->llc = cpu->id;
    join_group(r, i, &list, offsetof(struct qr_topology_cpu, llc));
}

/* Reads a list of nodes, such as "online". */
static bool read_node_set(const char *root, const char *name, cpu_set_t *nodes)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/sys/devices/system/node/%s", root, name);
    return read_list(path, nodes);
}

static bool read_node_cpus(const char *root, uint32_t node, cpu_set_t *cpus)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/sys/devices/system/node/node%u/cpulist", root, node);
    return read_list(path, cpus);
}

/* Sets the nodes of all CPUs. */
static void read_nodes(struct reading *r)
{
    cpu_set_t online, cpus;
    if (!read_node_set(r->root, "online", &online))
        return;
    for (uint32_t n = 0; n < NODES; n++) {
        if (!CPU_ISSET(n, &online) || !read_node_cpus(r->root, n, &cpus))
            continue;
        for (uint32_t i = 0; i < r->t->n_cpus; i++)
            if (CPU_ISSET(r->t->cpus[i].id, &cpus))
                r->t->cpus[i].node = (uint16_t)n;
    }
}

uint32_t qr_topology_memory_nodes(const char *root, const cpu_set_t *allowed, cpu_set_t *nodes)
{
    cpu_set_t memory, cpus;
    CPU_ZERO(nodes);
    if (!read_node_set(root, "has_memory", &memory))
        return 0;
    for (uint32_t n = 0; n < NODES; n++) {
        if (!CPU_ISSET(n, &memory) || !read_node_cpus(root, n, &cpus))
            continue;
        CPU_AND(&cpus, &cpus, allowed);
        if (CPU_COUNT(&cpus) > 0)
            CPU_SET(n, nodes);
    }
    return (uint32_t)CPU_COUNT(nodes);
}

/* ---- counts */

/* Counts the groups that a member names, among fast CPUs or all. */
static uint32_t count_groups(const struct qr_topology *t, size_t member, bool fast)
{
    cpu_set_t seen;
    CPU_ZERO(&seen);
    for (uint32_t i = 0; i < t->n_cpus; i++)
        if (!fast || t->cpus[i].fast)
            CPU_SET(*(const uint16_t *)((const char *)&t->cpus[i] + member), &seen);
    return (uint32_t)CPU_COUNT(&seen);
}

/* CPUs, or cores, of the largest group that a member names. A core counts in the group of its first
 * CPU. */
static uint32_t largest_group(const struct qr_topology *t, size_t member, bool cores)
{
    uint32_t n[QR_TOPOLOGY_CPUS] = { 0 }, most = 0;
    for (uint32_t i = 0; i < t->n_cpus; i++) {
        const struct qr_topology_cpu *cpu = &t->cpus[i];
        if (cores && cpu->core != cpu->id)
            continue;
        const uint32_t group = *(const uint16_t *)((const char *)cpu + member);
        most = ++n[group] > most ? n[group] : most;
    }
    return most;
}

static void count_all(struct qr_topology *t)
{
    const size_t core = offsetof(struct qr_topology_cpu, core),
                 llc = offsetof(struct qr_topology_cpu, llc),
                 node = offsetof(struct qr_topology_cpu, node);
    t->n_cores = count_groups(t, core, false);
    t->n_llcs = count_groups(t, llc, false);
    t->n_nodes = count_groups(t, node, false);
    t->n_fast_cores = count_groups(t, core, true);
    for (uint32_t i = 0; i < t->n_cpus; i++)
        t->n_fast_cpus += t->cpus[i].fast;
    t->llc_cores = largest_group(t, llc, true);
    t->node_cpus = largest_group(t, node, false);
    t->node_cores = largest_group(t, node, true);
}

/* The usable CPUs: those online and allowed; all allowed ones if no such file says otherwise. */
static void read_usable(struct reading *r, const cpu_set_t *allowed)
{
    char path[PATH_BYTES];
    cpu_set_t online;
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/online", r->root);
    const bool known = read_list(path, &online) && CPU_COUNT(&online) > 0;
    CPU_ZERO(&r->usable);
    if (allowed)
        r->usable = *allowed;
    else if (known)
        r->usable = online;
    if (allowed && known) {
        CPU_AND(&online, &online, allowed);
        if (CPU_COUNT(&online) > 0) /* otherwise the file is of another machine */
            r->usable = online;
    }
    if (CPU_COUNT(&r->usable) == 0)
        CPU_SET(0, &r->usable);
}

void qr_topology_read(const char *root, const cpu_set_t *allowed, struct qr_topology *out)
{
    struct reading r = { .root = root, .t = out };
    *out = (struct qr_topology){ 0 };
    read_usable(&r, allowed);
    cpu_set_t fast = r.usable;
    qr_topology_drop_slow(root, &fast);
    for (uint32_t c = 0; c < QR_TOPOLOGY_CPUS; c++)
        if (CPU_ISSET(c, &r.usable)) {
            const uint32_t i = out->n_cpus++;
            r.place[c] = (uint16_t)i;
            out->cpus[i] =
                (struct qr_topology_cpu){ .id = (uint16_t)c, .fast = CPU_ISSET(c, &fast) != 0 };
            read_core(&r, i);
            read_llc(&r, i);
        }
    read_nodes(&r);
    count_all(out);
}
