/* SPDX-License-Identifier: Apache-2.0 */
/* fork_count.c - counts forks by a handler that runs in the child. */
#include "base/fork_count.h"
#include <pthread.h>

static uint32_t count;
static bool started; /* atomic */

static void count_fork(void) { count++; } /* the child has one thread */

bool qr_fork_count_start(void)
{
    /* two threads at once may register the handler twice: forks then count double, which still
     * changes the number. A lock could be held by another thread during a fork. */
    if (__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        return true;
    if (pthread_atfork(NULL, NULL, count_fork))
        return false;
    __atomic_store_n(&started, true, __ATOMIC_RELEASE);
    return true;
}

uint32_t qr_fork_count(void) { return count; }
