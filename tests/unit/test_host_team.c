/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_team.c - teams of the host's own threads: arguments, members, barrier. */
#include "quire_cmocka.h"
#include <pthread.h>
#include <quire/threads.h>
#include <stdbool.h>

enum { THREADS = 3, ROUNDS = 50 };

struct thread {
    const struct quire_team *member;
    uint32_t *arrivals; /* shared, atomic */
    bool ok;
};

/* After barrier i all members have counted i + 1 times; a second barrier ends the round. */
static void *count_rounds(void *arg)
{
    struct thread *t = arg;
    t->ok = true;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        __atomic_fetch_add(t->arrivals, 1, __ATOMIC_RELAXED);
        quire_team_barrier(t->member);
        t->ok &= __atomic_load_n(t->arrivals, __ATOMIC_RELAXED) == THREADS * (i + 1);
        quire_team_barrier(t->member);
    }
    return NULL;
}

static void members_meet(void **state)
{
    (void)state;
    struct quire_host_team *team;
    struct thread threads[THREADS];
    pthread_t ids[THREADS];
    uint32_t arrivals = 0;
    assert_int_equal(quire_host_team_create(THREADS, NULL, &team, NULL), QUIRE_OK);
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){ quire_host_team_member(team, i), &arrivals, false };
        assert_int_equal(quire_team_rank(threads[i].member), i);
        assert_int_equal(quire_team_size(threads[i].member), THREADS);
        assert_int_equal(pthread_create(&ids[i], NULL, count_rounds, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(ids[i], NULL), 0);
        assert_true(threads[i].ok);
    }
    quire_host_team_destroy(team);
}

static void bad_arguments(void **state)
{
    (void)state;
    struct quire_host_team *team = (struct quire_host_team *)&state;
    assert_int_equal(quire_host_team_create(0, NULL, &team, NULL), QUIRE_E_INVALID_ARG);
    assert_null(team);
    assert_int_equal(quire_host_team_create(1025, NULL, &team, NULL), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_host_team_create(1, NULL, NULL, NULL), QUIRE_E_INVALID_ARG);
    assert_int_equal(quire_host_team_create(1, NULL, &team, NULL), QUIRE_OK);
    assert_null(quire_host_team_member(team, 1));
    assert_null(quire_host_team_member(NULL, 0));
    quire_host_team_destroy(team);
    quire_host_team_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_meet),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
