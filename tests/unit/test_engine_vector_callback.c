/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_vector_callback.c - the vector of a request with an event callback. */
#include "engine_vectors.h"

struct delivery {
    float values[MAX_WIDTH];
    size_t n_values;
    uint32_t n_vectors, n_done;
};

static quire_status deliver(void *user, struct quire_engine *e, const struct quire_event *ev)
{
    (void)e;
    struct delivery *d = user;
    if (ev->kind == QUIRE_EVENT_VECTOR) {
        assert_int_equal(d->n_done, 0);
        assert_in_range(ev->n_values, 1, MAX_WIDTH);
        d->n_values = ev->n_values;
        memcpy(d->values, ev->values, ev->n_values * sizeof *ev->values);
        d->n_vectors++;
    }
    d->n_done += ev->kind == QUIRE_EVENT_DONE;
    return QUIRE_OK;
}

static void test_callback(void **state)
{
    int32_t ids[33];
    struct vector polled;
    struct delivery d = { .n_values = 0 };
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    const struct quire_engine_params ep = bench_params(1);
    open_bench(&b, "bert", NULL, &ep);
    golden_ids("bert", 33, ids);
    struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, 33);
    must_compute(b.engine, &p, &polled);
    p.event_callback = deliver;
    p.event_user = &d;
    (void)submit(b.engine, &p);
    while (quire_engine_active_count(b.engine))
        assert_status(QUIRE_OK, quire_engine_step(b.engine, NULL));
    assert_int_equal(d.n_vectors, 1);
    assert_int_equal(d.n_done, 1);
    assert_int_equal(d.n_values, polled.n);
    assert_memory_equal(d.values, polled.values, polled.n * sizeof *d.values);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_callback) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
