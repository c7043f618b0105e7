/* SPDX-License-Identifier: Apache-2.0 */
/* futex.c - waiting for a 32-bit word to change: bounded spin, then sleep on a futex. */
#include "base/futex.h"
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Loads of the word between two clock_gettime calls. */
enum { LOADS_PER_CLOCK_READ = 32 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* True when the word changed within the spin budget. */
static bool spin(const uint32_t *word, uint32_t old, uint32_t spin_ns)
{
    uint64_t end = 0;
    for (;;) {
        for (int i = 0; i < LOADS_PER_CLOCK_READ; i++) {
            if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != old)
                return true;
            qr_cpu_relax();
        }
        const uint64_t now = now_ns();
        if (!end)
            end = now + spin_ns;
        else if (now >= end)
            return false;
    }
}

bool qr_futex_wait(uint32_t *word, uint32_t old, uint32_t *sleepers, uint32_t spin_ns)
{
    if (spin(word, old, spin_ns))
        return true;
    /* Sequentially consistent with the store and load in qr_futex_store: either the storing thread
     * sees this sleeper and wakes it, or FUTEX_WAIT sees the new word and returns at once. */
    __atomic_fetch_add(sleepers, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == old)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    __atomic_fetch_sub(sleepers, 1, __ATOMIC_SEQ_CST);
    return false;
}

/* A team whose threads have a CPU each arrives within MAX_SPIN_NS. On an oversubscribed machine the
 * awaited thread may need the CPU of a spinning one. So a wait that ends in sleep halves the next
 * spin budget, and a wait that ends while spinning doubles it. The budget is the largest one
 * shifted by *spin_shift; lost updates between threads are harmless.
 *
 * The least budget of a team with enough CPUs is longer than the phases of a step in which one
 * thread works and the others wait: a team that sleeps through them would never spin again. On a
 * virtual machine a sleep also costs tens of microseconds, because the hypervisor takes the CPU. */
enum { MAX_SPIN_NS = 256000, MAX_SPIN_SHIFT = 3, CROWDED_SPIN_NS = 64000, CROWDED_SPIN_SHIFT = 5 };

void qr_futex_wait_adaptive(uint32_t *word, uint32_t old, uint32_t *sleepers, uint32_t *spin_shift,
                            bool crowded)
{
    const uint32_t most = crowded ? CROWDED_SPIN_SHIFT : MAX_SPIN_SHIFT;
    uint32_t shift = __atomic_load_n(spin_shift, __ATOMIC_RELAXED);
    shift = shift < most ? shift : most;
    const bool spun =
        qr_futex_wait(word, old, sleepers, (crowded ? CROWDED_SPIN_NS : MAX_SPIN_NS) >> shift);
    if (spun ? shift > 0 : shift < most)
        __atomic_store_n(spin_shift, spun ? shift - 1 : shift + 1, __ATOMIC_RELAXED);
}

void qr_futex_store(uint32_t *word, uint32_t value, uint32_t *sleepers)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    qr_futex_wake(word, sleepers);
}

void qr_futex_wake(uint32_t *word, uint32_t *sleepers)
{
    if (__atomic_load_n(sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
