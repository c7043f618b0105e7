/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - the team barrier and the wait it is made of: bounded spin, then sleep in the kernel. */
#include "base/threads.h"
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How often a word is looked at between two looks at the clock. */
enum { LOOKS = 32 };

static void pause_once(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* True when the word changed within the time. */
static bool spin(const uint32_t *word, uint32_t old, uint32_t ns)
{
    uint64_t end = 0;
    for (;;) {
        for (int i = 0; i < LOOKS; i++) {
            if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != old)
                return true;
            pause_once();
        }
        const uint64_t now = now_ns();
        if (!end)
            end = now + ns;
        else if (now >= end)
            return false;
    }
}

bool qr_wait_change(uint32_t *word, uint32_t old, uint32_t *sleepers, uint32_t spin_ns)
{
    if (spin(word, old, spin_ns))
        return true;
    /* sequentially consistent against qr_publish: either it sees the sleeper or the kernel sees the new word */
    __atomic_fetch_add(sleepers, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == old)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    __atomic_fetch_sub(sleepers, 1, __ATOMIC_SEQ_CST);
    return false;
}

/* Members that have a processor each are late by less than this. Where other programs have taken processors away, a
 * late member cannot run before someone stops spinning: every wait that ends in sleep halves the time, and others
 * double it again. */
enum { LONGEST_SPIN_NS = 64000, MOST_HASTE = 5 };

void qr_wait_member(uint32_t *word, uint32_t old, uint32_t *sleepers, uint32_t *haste)
{
    const uint32_t h = __atomic_load_n(haste, __ATOMIC_RELAXED);
    const bool soon = qr_wait_change(word, old, sleepers, LONGEST_SPIN_NS >> h);
    if (soon ? h > 0 : h < MOST_HASTE)
        __atomic_store_n(haste, soon ? h - 1 : h + 1, __ATOMIC_RELAXED);
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

/* Counts an arrival. True for the last of n, which readies the counter for the next time. */
static bool is_last(uint32_t *arrived, uint32_t n)
{
    if (__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL) != n)
        return false;
    __atomic_store_n(arrived, 0, __ATOMIC_RELAXED);
    return true;
}

/* Every count moves the counter's line to another processor. In a large team members count in clusters, each with a
 * line of its own, at the same time; the last one of each counts for its cluster. */
static bool is_last_member(struct qr_barrier *b, const struct quire_team *team)
{
    enum { MANY = 8, FEW = 4, LINES = sizeof b->clusters / sizeof *b->clusters };
    const uint32_t size = team->size, n = size <= FEW * LINES ? FEW : (size + LINES - 1) / LINES;
    if (size < MANY)
        return is_last(&b->arrived, size);
    const uint32_t cluster = team->rank / n, left = size - cluster * n;
    return is_last(b->clusters[cluster], left < n ? left : n) &&
           is_last(&b->arrived, (size + n - 1) / n);
}

void quire_team_barrier(const struct quire_team *team)
{
    if (team->size < 2)
        return;
    struct qr_barrier *b = team->barrier;
    const uint32_t phase = __atomic_load_n(&b->phase, __ATOMIC_RELAXED);
    if (is_last_member(b, team)) {
        qr_publish(&b->phase, phase + 1, &b->sleepers);
    } else {
        qr_wait_member(&b->phase, phase, &b->sleepers, &b->haste);
    }
}
