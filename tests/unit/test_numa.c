/* SPDX-License-Identifier: Apache-2.0 */
/* test_numa.c - the memory policy that qr_numa_interleave sets, read back from the kernel. */
#include "base/numa.h"
#include "base/topology.h"
#include "quire_cmocka.h"
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGES = 6 };

static size_t page;
static unsigned char *memory;

static int map_memory(void **state)
{
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? -1 : 0;
}

static int unmap_memory(void **state)
{
    (void)state;
    return munmap(memory, PAGES * page);
}

/* Policy of a page; -1 where the kernel does not say. */
static int policy_of(size_t i)
{
    int policy = -1;
    (void)syscall(SYS_get_mempolicy, &policy, NULL, 0, memory + i * page, MPOL_F_ADDR);
    return policy;
}

static void expect_policies(const int want[PAGES])
{
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(policy_of(i), want[i]);
}

/* Whole pages inside the range get the policy, and lose it again. */
static void whole_pages(void **state)
{
    (void)state;
    static const int inside[PAGES] = { 0, 0, MPOL_INTERLEAVE, MPOL_INTERLEAVE, 0, 0 },
                     none[PAGES] = { 0 };
    cpu_set_t nodes;
    CPU_ZERO(&nodes);
    CPU_SET(0, &nodes);
    if (policy_of(0) != MPOL_DEFAULT || (!qr_numa_interleave_over(memory, page, &nodes))) {
        print_message("skipped: the kernel refuses memory policies (%s)\n", strerror(errno));
        skip();
    }
    qr_numa_reset(memory, page);
    expect_policies(none);
    const size_t bytes = 3 * page;
    assert_true(qr_numa_interleave_over(memory + page + 1, bytes, &nodes));
    expect_policies(inside);
    memset(memory, 1, PAGES * page);
    qr_numa_reset(memory + page + 1, bytes);
    expect_policies(none);
    assert_false(qr_numa_interleave_over(memory + 1, page, &nodes)); /* no whole page */
    CPU_ZERO(&nodes);
    assert_false(qr_numa_interleave_over(memory, page, &nodes));
    expect_policies(none);
}

/* Nothing changes on a machine of one node. */
static void this_machine(void **state)
{
    (void)state;
    cpu_set_t allowed, nodes;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    const uint32_t n = qr_topology_memory_nodes("", &allowed, &nodes);
    const int before = policy_of(0);
    if (qr_numa_interleave(memory, page)) {
        assert_in_range(n, 2, UINT32_MAX);
        assert_int_equal(policy_of(0), MPOL_INTERLEAVE);
        qr_numa_reset(memory, page);
    }
    assert_int_equal(policy_of(0), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_pages),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, map_memory, unmap_memory);
}
