/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - the team barrier and the wait it is made of: bounded spin, then sleep in the kernel. */
#include "base/threads.h"
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* About 20-50 us: longer than the work between two barriers of a small model differs between members, shorter
 * than what a descheduled member would make the others burn. */
enum { SPINS = 1000 };

static void pause_once(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

void qr_wait_change(uint32_t *word, uint32_t old, uint32_t *sleepers)
{
    for (int i = 0; i < SPINS; i++) {
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != old)
            return;
        pause_once();
    }
    /* sequentially consistent against qr_publish: either it sees the sleeper or the kernel sees the new word */
    __atomic_fetch_add(sleepers, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == old)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    __atomic_fetch_sub(sleepers, 1, __ATOMIC_SEQ_CST);
}

void qr_publish(uint32_t *word, uint32_t value, uint32_t *sleepers)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    qr_wake(word, sleepers);
}

void qr_wake(uint32_t *word, uint32_t *sleepers)
{
    if (__atomic_load_n(sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void quire_team_barrier(const struct quire_team *team)
{
    if (team->size < 2)
        return;
    struct quire_barrier *b = team->barrier;
    const uint32_t phase = __atomic_load_n(&b->phase, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == team->size) {
        __atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
        qr_publish(&b->phase, phase + 1, &b->sleepers);
    } else {
        qr_wait_change(&b->phase, phase, &b->sleepers);
    }
}
