/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_sleep.h - whether threads of this process sleep, from /proc/self/task. */
#ifndef QUIRE_TEST_THREAD_SLEEP_H
#define QUIRE_TEST_THREAD_SLEEP_H
#include <quire/threads.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MANY_THREADS = 64 };
struct thread_list {
    int n, ids[MANY_THREADS];
};

/* A part that lists the threads of a team by rank; arg: a zeroed struct thread_list. */
static inline void list_member(void *arg, const struct quire_team *team)
{
    struct thread_list *l = arg;
    l->ids[quire_team_rank(team)] = (int)syscall(SYS_gettid);
    __atomic_fetch_add(&l->n, 1, __ATOMIC_RELAXED);
}

/* Number of voluntary context switches of a thread that sleeps; -1 if it does not sleep. */
static inline long sleep_count(int id)
{
    char path[64], line[256], state = 0;
    long times = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", id);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        (void)sscanf(line, "State: %c", &state);
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &times);
    }
    if (f)
        fclose(f);
    return state == 'S' ? times : -1;
}

/* True when all threads fall asleep and stay asleep for OBSERVE_US. A thread that spins without
 * bound never does. The generous POLLS lets a thread on a busy machine reach the end of its bounded
 * spin. */
static inline bool stay_asleep(const struct thread_list *l)
{
    enum { POLLS = 2000, POLL_US = 5000, OBSERVE_US = 100000 };
    long counts[MANY_THREADS];
    for (int i = 0; i < l->n; i++) {
        int polls = 0;
        while ((counts[i] = sleep_count(l->ids[i])) < 0 && polls++ < POLLS)
            usleep(POLL_US);
    }
    usleep(OBSERVE_US);
    bool all = true;
    for (int i = 0; i < l->n; i++)
        all = all && counts[i] >= 0 && sleep_count(l->ids[i]) == counts[i];
    return all;
}

#endif
