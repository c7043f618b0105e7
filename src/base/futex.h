/* SPDX-License-Identifier: Apache-2.0 */
/* futex.h - waiting for a 32-bit word to change: bounded spin, then sleep on a futex. */
#ifndef QR_BASE_FUTEX_H
#define QR_BASE_FUTEX_H
#include <stdbool.h>
#include <stdint.h>

/* Between two loads of a loop that waits. */
static inline void qr_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* Every word has a counter of sleeping threads, *sleepers, which makes a wake-up without sleepers
 * free of system calls. Both are private to the process and start as 0. */

/* Spins for about spin_ns, then sleeps, until *word differs from `old`. False if it slept. */
bool qr_futex_wait(uint32_t *word, uint32_t old, uint32_t *sleepers, uint32_t spin_ns);

/* qr_futex_wait with a spin budget that adapts to the machine's load. *spin_shift, 0 at first, is
 * shared by all waits of a kind. crowded: there are fewer CPUs than threads. */
void qr_futex_wait_adaptive(uint32_t *word, uint32_t old, uint32_t *sleepers, uint32_t *spin_shift,
                            bool crowded);

/* Stores value in *word and wakes all sleepers. */
void qr_futex_store(uint32_t *word, uint32_t value, uint32_t *sleepers);

/* Wakes all sleepers after the caller changed *word with a sequentially consistent operation. */
void qr_futex_wake(uint32_t *word, uint32_t *sleepers);

#endif
