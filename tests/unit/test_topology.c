/* SPDX-License-Identifier: Apache-2.0 */
/* test_topology.c - CPU topology and default thread count of machines in fake /sys and /proc
 * trees. */
#include "base/cpu_count.h"
#include "base/topology.h"
#include "test_dir.h"
#include <errno.h>
#include <quire/threads.h>
#include <stdarg.h>
#include <sys/stat.h>

/* ---- fake trees */

static char root[96];
static int n_trees;

/* Begins an empty tree. */
static void new_tree(void)
{
    snprintf(root, sizeof root, "%s/%d", dir, n_trees++);
    assert_int_equal(mkdir(root, 0700), 0);
}

static void write_bytes(const char *path, const char *text, size_t n)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Writes a file: its path by a format, its text. */
__attribute__((format(printf, 2, 3))) static void file(const char *text, const char *format, ...)
{
    char path[256];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    write_bytes(path, text, strlen(text));
}

#define CPU_FILE(text, cpu, name) file(text, "/sys/devices/system/cpu/cpu%d/" name, cpu)

/* A list "first-last\n", or "first\n". */
static const char *range(int first, int last)
{
    static char text[4][32];
    static int next;
    char *t = text[next++ % 4];
    if (first == last)
        snprintf(t, sizeof text[0], "%d\n", first);
    else
        snprintf(t, sizeof text[0], "%d-%d\n", first, last);
    return t;
}

/* A node of the list. */
static void node_file(const char *cpus, int node)
{
    file(cpus, "/sys/devices/system/node/node%d/cpulist", node);
}

static void l3_file(const char *cpus, int cpu)
{
    CPU_FILE("1\n", cpu, "cache/index0/level");
    CPU_FILE(range(cpu, cpu), cpu, "cache/index0/shared_cpu_list");
    CPU_FILE("3\n", cpu, "cache/index3/level");
    CPU_FILE(cpus, cpu, "cache/index3/shared_cpu_list");
}

/* The usual numbering of a server: `cores` cores in `nodes` nodes with a cache each; CPU c + cores
 * is the SMT sibling of CPU c. */
static void server_tree(int cores, int nodes, bool smt)
{
    const int n = smt ? 2 * cores : cores, per_node = cores / nodes;
    new_tree();
    file(range(0, n - 1), "/sys/devices/system/cpu/online");
    file(range(0, nodes - 1), "/sys/devices/system/node/online");
    for (int c = 0; c < n; c++) {
        char siblings[32], cpus[64];
        const int core = c % cores, first = core / per_node * per_node;
        snprintf(siblings, sizeof siblings, smt ? "%d,%d\n" : "%d\n", core, core + cores);
        CPU_FILE(siblings, c, "topology/core_cpus_list");
        if (smt)
            snprintf(cpus, sizeof cpus, "%d-%d,%d-%d\n", first, first + per_node - 1, first + cores,
                     first + cores + per_node - 1);
        else
            snprintf(cpus, sizeof cpus, "%d-%d\n", first, first + per_node - 1);
        l3_file(cpus, c);
        node_file(cpus, core / per_node);
    }
}

static struct qr_topology t;

static void expect(uint32_t cpus, uint32_t cores, uint32_t llcs, uint32_t nodes)
{
    if (t.n_cpus != cpus || t.n_cores != cores || t.n_llcs != llcs || t.n_nodes != nodes)
        fail_msg("%u CPUs, %u cores, %u caches, %u nodes; not %u, %u, %u, %u", t.n_cpus, t.n_cores,
                 t.n_llcs, t.n_nodes, cpus, cores, llcs, nodes);
}

static cpu_set_t set_of(int first, int last)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = first; i <= last; i++)
        CPU_SET((size_t)i, &set);
    return set;
}

/* The thread count of a process that may use all CPUs of the tree that was read last. */
static uint32_t default_count(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < t.n_cpus; i++)
        CPU_SET(t.cpus[i].id, &set);
    return qr_cpu_count_at(root, &set);
}

/* ---- machines */

static void one_cpu(void **state)
{
    (void)state;
    new_tree();
    file("0\n", "/sys/devices/system/cpu/online");
    CPU_FILE("0\n", 0, "topology/core_cpus_list");
    qr_topology_read(root, NULL, &t);
    expect(1, 1, 1, 1);
    assert_int_equal(t.n_fast_cores, 1);
    assert_int_equal(t.node_cores, 1);
    assert_int_equal(default_count(), 1);
}

static void smt_desktop(void **state)
{
    (void)state;
    server_tree(4, 1, true);
    qr_topology_read(root, NULL, &t);
    expect(8, 4, 1, 1);
    assert_int_equal(t.cpus[6].core, 2);
    assert_int_equal(t.n_fast_cpus, 8);
    assert_int_equal(t.n_fast_cores, 4);
    assert_int_equal(t.llc_cores, 4);
    assert_int_equal(t.node_cpus, 8);
    assert_int_equal(default_count(), 8);
    /* the file of older kernels */
    new_tree();
    file("0-3\n", "/sys/devices/system/cpu/online");
    for (int c = 0; c < 4; c++)
        CPU_FILE(range(c / 2 * 2, c / 2 * 2 + 1), c, "topology/thread_siblings_list");
    qr_topology_read(root, NULL, &t);
    expect(4, 2, 1, 1);
}

/* An affinity mask without the first thread of each core, or with one core of several. */
static void affinity(void **state)
{
    (void)state;
    server_tree(4, 2, true);
    cpu_set_t allowed = set_of(4, 7);
    qr_topology_read(root, &allowed, &t);
    expect(4, 4, 2, 2);
    assert_int_equal(t.cpus[0].core, 4);
    assert_int_equal(t.node_cores, 2);
    allowed = set_of(1, 1);
    CPU_SET(5, &allowed);
    qr_topology_read(root, &allowed, &t);
    expect(2, 1, 1, 1);
    allowed = set_of(100, 101); /* none of them is online: the tree is not of this machine */
    qr_topology_read(root, &allowed, &t);
    expect(2, 2, 1, 1);
}

/* 4 performance cores with two threads each, and 8 efficiency cores in clusters of four. */
static void hybrid_tree(void)
{
    new_tree();
    file("0-15\n", "/sys/devices/system/cpu/online");
    for (int c = 0; c < 16; c++) {
        CPU_FILE(c < 8 ? range(c / 2 * 2, c / 2 * 2 + 1) : range(c, c), c,
                 "topology/core_cpus_list");
        CPU_FILE(c < 8 ? range(c / 2 * 2, c / 2 * 2 + 1) : range(c / 4 * 4, c / 4 * 4 + 3), c,
                 "topology/cluster_cpus_list");
        l3_file("0-15\n", c);
    }
}

static void hybrid(void **state)
{
    (void)state;
    hybrid_tree();
    file("0-7\n", "/sys/devices/cpu_core/cpus");
    file("8-15\n", "/sys/devices/cpu_atom/cpus");
    qr_topology_read(root, NULL, &t);
    expect(16, 12, 1, 1);
    assert_int_equal(t.n_fast_cpus, 8);
    assert_int_equal(t.n_fast_cores, 4);
    assert_true(t.cpus[7].fast && !t.cpus[8].fast);
    assert_int_equal(default_count(), 8);
    /* on efficiency cores only, all are used */
    cpu_set_t allowed = set_of(8, 15);
    qr_topology_read(root, &allowed, &t);
    expect(8, 8, 1, 1);
    assert_int_equal(t.n_fast_cpus, 8);
    /* the same machine by capacities; 2/3 of the highest still counts as fast */
    hybrid_tree();
    for (int c = 0; c < 16; c++)
        CPU_FILE(c < 4 ? "1024\n" : c < 8 ? "683\n" : "682\n", c, "cpu_capacity");
    qr_topology_read(root, NULL, &t);
    assert_int_equal(t.n_fast_cpus, 8);
    assert_int_equal(default_count(), 8);
    CPU_FILE("fast\n", 3, "cpu_capacity"); /* one unknown capacity: all are equal */
    qr_topology_read(root, NULL, &t);
    assert_int_equal(t.n_fast_cpus, 16);
}

/* Clusters stand for caches where there is no L3 cache. */
static void clusters(void **state)
{
    (void)state;
    new_tree();
    file("0-7\n", "/sys/devices/system/cpu/online");
    for (int c = 0; c < 8; c++)
        CPU_FILE(range(c / 4 * 4, c / 4 * 4 + 3), c, "topology/cluster_cpus_list");
    qr_topology_read(root, NULL, &t);
    expect(8, 8, 2, 1);
    assert_int_equal(t.llc_cores, 4);
}

static void nodes(void **state)
{
    (void)state;
    server_tree(16, 2, false);
    qr_topology_read(root, NULL, &t);
    expect(16, 16, 2, 2);
    assert_int_equal(t.node_cpus, 8);
    assert_int_equal(t.node_cores, 8);
    assert_int_equal(t.cpus[8].node, 1);
    node_file("\n", 2); /* memory without CPUs */
    file("0-2\n", "/sys/devices/system/node/online");
    qr_topology_read(root, NULL, &t);
    expect(16, 16, 2, 2);
    server_tree(32, 2, true);
    qr_topology_read(root, NULL, &t);
    expect(64, 32, 2, 2);
    assert_int_equal(t.node_cpus, 32);
    assert_int_equal(t.node_cores, 16);
    assert_int_equal(t.llc_cores, 16);
    assert_int_equal(default_count(), 64);
}

static void expect_memory_nodes(const cpu_set_t *allowed, uint32_t n, int last)
{
    cpu_set_t found;
    assert_int_equal(qr_topology_memory_nodes(root, allowed, &found), n);
    assert_int_equal(CPU_COUNT(&found), n);
    assert_true(!n || CPU_ISSET((size_t)last, &found));
}

static void memory_nodes(void **state)
{
    (void)state;
    const cpu_set_t all = set_of(0, 15), second = set_of(8, 15), none = set_of(1, 0);
    server_tree(16, 2, false);
    expect_memory_nodes(&all, 0, 0); /* not said */
    file("0-2\n", "/sys/devices/system/node/has_memory");
    node_file("\n", 2);
    expect_memory_nodes(&all, 2, 1);
    expect_memory_nodes(&second, 1, 1);
    expect_memory_nodes(&none, 0, 0);
    file("0,2\n", "/sys/devices/system/node/has_memory");
    expect_memory_nodes(&all, 1, 0);
    node_file("garbage\n", 0);
    expect_memory_nodes(&all, 0, 0);
}

static void offline(void **state)
{
    (void)state;
    server_tree(4, 1, true); /* siblings of cores 0 and 1 are switched off */
    file("0-3,6-7\n", "/sys/devices/system/cpu/online");
    qr_topology_read(root, NULL, &t);
    expect(6, 4, 1, 1);
    assert_int_equal(t.cpus[4].id, 6);
    cpu_set_t allowed = set_of(4, 6);
    qr_topology_read(root, &allowed, &t);
    expect(1, 1, 1, 1);
    assert_int_equal(t.cpus[0].id, 6);
}

static void quota(void **state)
{
    (void)state;
    server_tree(4, 1, true);
    const cpu_set_t all = set_of(0, 7);
    const uint64_t unlimited = qr_cpu_signature_at(root, &all);
    file("0::/a/b\n", "/proc/self/cgroup");
    file("max 100000\n", "/sys/fs/cgroup/a/b/cpu.max");
    assert_int_equal(qr_cpu_count_at(root, &all), 8);
    assert_int_equal(qr_cpu_signature_at(root, &all), unlimited);
    file("250000 100000\n", "/sys/fs/cgroup/a/cpu.max");
    assert_int_equal(qr_cpu_count_at(root, &all), 3);
    assert_int_not_equal(qr_cpu_signature_at(root, &all), unlimited);
    const cpu_set_t some = set_of(0, 6);
    assert_int_not_equal(qr_cpu_signature_at(root, &some), qr_cpu_signature_at(root, &all));
    assert_int_equal(qr_cpu_signature(), qr_cpu_signature());
}

/* ---- files that are no topology */

static void missing(void **state)
{
    (void)state;
    new_tree();
    qr_topology_read(root, NULL, &t);
    expect(1, 1, 1, 1);
    const cpu_set_t allowed = set_of(2, 7);
    qr_topology_read(root, &allowed, &t);
    expect(6, 6, 1, 1);
    assert_int_equal(t.n_fast_cpus, 6);
    const cpu_set_t none = set_of(1, 0);
    qr_topology_read(root, &none, &t);
    expect(1, 1, 1, 1);
    assert_int_equal(qr_cpu_count_at(root, &none), 1);
    qr_topology_read("/nonexistent", &allowed, &t);
    expect(6, 6, 1, 1);
}

static const char *const garbage[] = { "x",
                                       "-1",
                                       "0-",
                                       "0-3,",
                                       ",0-3",
                                       "3-0",
                                       "0 1",
                                       "0-3x",
                                       "0--3",
                                       "0-3-5",
                                       "0x3",
                                       "0-3\n4",
                                       "99999999999999999999",
                                       "0-3,\n",
                                       "\xff\xfe",
                                       "0-3;4",
                                       "\n\n",
                                       " 0-3",
                                       "0-9999999999",
                                       "+1" };

/* Each kind of file with each text, on a machine of 4 CPUs, 2 cores, 2 caches and 2 nodes. */
static void malformed(void **state)
{
    (void)state;
    const cpu_set_t allowed = set_of(0, 3);
    for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++) {
        const char *text = garbage[g];
        cpu_set_t set;
        assert_false(qr_cpu_list_parse(text, &set));
        server_tree(2, 2, true);
        file(text, "/sys/devices/system/cpu/online");
        file(text, "/sys/devices/cpu_core/cpus");
        qr_topology_read(root, &allowed, &t);
        expect(4, 2, 2, 2);
        assert_int_equal(t.n_fast_cpus, 4);
        for (int c = 0; c < 4; c++)
            CPU_FILE(text, c, "topology/core_cpus_list");
        qr_topology_read(root, &allowed, &t);
        expect(4, 4, 2, 2);
        for (int c = 0; c < 4; c++)
            CPU_FILE(text, c, "cache/index3/shared_cpu_list");
        qr_topology_read(root, &allowed, &t);
        expect(4, 4, 1, 2);
        node_file(text, 1);
        qr_topology_read(root, &allowed, &t);
        expect(4, 4, 1, 1);
        file(text, "/sys/devices/system/node/online");
        for (int c = 0; c < 4; c++) {
            CPU_FILE(text, c, "cache/index3/level");
            CPU_FILE(text, c, "cpu_capacity");
        }
        qr_topology_read(root, &allowed, &t);
        expect(4, 4, 1, 1);
    }
}

/* Lists that contradict each other, or leave out their own CPU, still give groups. */
static void contradictions(void **state)
{
    (void)state;
    const cpu_set_t allowed = set_of(0, 3);
    new_tree();
    CPU_FILE("1-3\n", 0, "topology/core_cpus_list");
    CPU_FILE("0-1\n", 1, "topology/core_cpus_list");
    CPU_FILE("1-2\n", 2, "topology/core_cpus_list");
    CPU_FILE("0-2\n", 3, "topology/core_cpus_list");
    qr_topology_read(root, &allowed, &t);
    expect(4, 2, 1, 1);
    assert_int_equal(t.cpus[2].core, 0);
    assert_int_equal(t.node_cores, 2);
}

/* Empty and binary files, lists beyond the buffer, and more CPUs than a mask has. */
static void huge(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    char *text = malloc(BYTES + 1);
    size_t n = 0;
    assert_non_null(text);
    const cpu_set_t allowed = set_of(0, 3);
    for (int c = 0; n < BYTES - 16; c++)
        n += (size_t)snprintf(text + n, 16, "%d,", c);
    text[n - 1] = '\n';
    server_tree(2, 1, true);
    write_bytes("/sys/devices/system/cpu/online", text, n);
    write_bytes("/sys/devices/system/cpu/cpu1/topology/core_cpus_list", text, n);
    qr_topology_read(root, &allowed, &t);
    expect(4, 2, 1, 1); /* CPU 3 names its sibling, CPU 1 does not */
    memset(text, '1', BYTES);
    write_bytes("/sys/devices/system/cpu/online", text, BYTES);
    write_bytes("/sys/devices/system/cpu/cpu1/cpu_capacity", text, BYTES);
    qr_topology_read(root, &allowed, &t);
    expect(4, 2, 1, 1);
    memset(text, 0, BYTES);
    write_bytes("/sys/devices/system/cpu/cpu1/topology/core_cpus_list", text, BYTES);
    write_bytes("/sys/devices/system/cpu/cpu0/topology/core_cpus_list", text, 0);
    qr_topology_read(root, &allowed, &t);
    assert_int_equal(t.n_cpus, 4);
    free(text);
    new_tree();
    file("0-8191\n", "/sys/devices/system/cpu/online");
    qr_topology_read(root, NULL, &t);
    expect(CPU_SETSIZE, CPU_SETSIZE, 1, 1);
    char even[8000];
    n = 0;
    for (int c = 0; c < CPU_SETSIZE; c += 2) /* the longest list of the kernel */
        n += (size_t)snprintf(even + n, sizeof even - n, c ? ",%d" : "%d", c);
    file(even, "/sys/devices/system/cpu/online");
    qr_topology_read(root, NULL, &t);
    expect(CPU_SETSIZE / 2, CPU_SETSIZE / 2, 1, 1);
}

static void lists(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int count;
    } valid[] = { { "", 0 },       { "\n", 0 },           { "0", 1 },
                  { "0\n", 1 },    { "0-3,8-11\n", 8 },   { "7,3,3", 2 },
                  { "5-5", 1 },    { "1000-2000\n", 24 }, { "0,123456789\n", 1 },
                  { "1023\n", 1 }, { "1024\n", 0 } };
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        cpu_set_t set;
        assert_true(qr_cpu_list_parse(valid[i].text, &set));
        assert_int_equal(CPU_COUNT(&set), valid[i].count);
    }
}

/* This machine: whatever it is, the counts fit together. */
static void this_machine(void **state)
{
    (void)state;
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    qr_topology_read("", &allowed, &t);
    assert_int_equal(t.n_cpus, CPU_COUNT(&allowed));
    assert_in_range(t.n_cores, 1, t.n_cpus);
    assert_in_range(t.n_llcs, 1, t.n_cpus);
    assert_in_range(t.n_nodes, 1, t.n_cpus);
    assert_in_range(t.n_fast_cpus, quire_threads_default_count(), t.n_cpus);
    print_message("%u CPUs, %u cores, %u caches, %u nodes\n", t.n_cpus, t.n_cores, t.n_llcs,
                  t.n_nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cpu),      cmocka_unit_test(smt_desktop),
        cmocka_unit_test(affinity),     cmocka_unit_test(hybrid),
        cmocka_unit_test(clusters),     cmocka_unit_test(nodes),
        cmocka_unit_test(memory_nodes), cmocka_unit_test(offline),
        cmocka_unit_test(quota),        cmocka_unit_test(missing),
        cmocka_unit_test(malformed),    cmocka_unit_test(contradictions),
        cmocka_unit_test(huge),         cmocka_unit_test(lists),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
