/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_mask_ahead.c - masks that are computed ahead on a thread of their own: the same
 * answers as without it, errors of their answer only, cancelled requests, and the queue itself. */
#include "engine/mask_ahead.h"
#include "engine_grammars.h"
#include <time.h>

/* ---- Answers */

/* Runs requests on an engine that has its own thread. */
static void run_on_thread(struct quire_engine *e, struct constrained *c, uint32_t n)
{
    static struct result results[N_ANSWERS];
    quire_request_id ids[N_ANSWERS];
    struct quire_event ev = { .struct_size = sizeof ev };
    memset(results, 0, sizeof results);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = submit(e, &c[i].params);
    for (uint32_t left = n; left > 0;) {
        uint32_t i = 0;
        assert_status(QUIRE_OK, quire_engine_wait(e, 0, -1, &ev, NULL));
        assert_int_not_equal(ev.kind, QUIRE_EVENT_NONE);
        while (i < n && ids[i] != ev.id)
            i++;
        assert_true(i < n);
        append_event(&ev, &results[i]);
        results[i].done = ev;
        left -= ev.kind == QUIRE_EVENT_DONE;
    }
    for (uint32_t i = 0; i < n; i++)
        c[i].result = results[i];
}

static struct constrained expected[N_ANSWERS], got[N_ANSWERS];

/* The automaton of the last answer's grammar gets too large in the middle of the answer. */
static struct quire_grammar *make_requests(struct quire_engine *e, struct constrained *c,
                                           uint32_t flags)
{
    struct quire_grammar_vocab *vocab;
    struct quire_grammar_params gp;
    struct quire_grammar *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    make_constrained(c, N_ANSWERS);
    for (uint32_t i = 0; i < N_ANSWERS; i++)
        c[i].params.flags = flags;
    assert_status(QUIRE_OK, quire_engine_grammar_vocab(e, &vocab, NULL));
    quire_grammar_params_init(&gp, sizeof gp);
    gp.kind = QUIRE_GRAMMAR_JSON_SCHEMA;
    gp.text = "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"multipleOf\":65521},"
              "\"minItems\":90}";
    gp.max_bytes = 700 << 10;
    if (quire_grammar_compile(vocab, &gp, &g, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    struct quire_request_params *p = &c[N_ANSWERS - 1].params;
    p->has_grammar = false;
    p->grammar_text = NULL;
    p->grammar_flags = 0;
    p->grammar = g;
    return g;
}

static void compare(uint32_t flags)
{
    struct quire_engine_params p = tiny_params();
    struct quire_engine *e = open_with(&p);
    struct quire_grammar *g = make_requests(e, expected, flags);
    run_constrained(e, expected, N_ANSWERS);
    quire_grammar_destroy(g);
    quire_engine_close(e);
    const struct result *failed = &expected[N_ANSWERS - 1].result;
    assert_int_equal(failed->done.reason, QUIRE_FINISH_ERROR);
    assert_int_equal(failed->done.status, QUIRE_E_LIMIT);
    assert_true(failed->n_tokens > 2);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        p.n_threads = threads;
        p.max_seqs = 12;
        e = open_with(&p);
        assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        for (int round = 0; round < 2; round++) {
            g = make_requests(e, got, flags);
            run_on_thread(e, got, N_ANSWERS);
            for (uint32_t i = 0; i < N_ANSWERS; i++)
                assert_same(&expected[i].result, &got[i].result);
            const struct quire_event *done = &got[N_ANSWERS - 1].result.done;
            assert_int_equal(done->status, failed->done.status);
            assert_string_equal(done->message_data, failed->done.message_data);
            quire_grammar_destroy(g);
        }
        quire_engine_close(e);
    }
}

static void same_answers(void **state)
{
    (void)state;
    compare(QUIRE_REQUEST_NO_FAST_FORWARD);
    compare(0);
}

/* Requests end, and the engine closes, while their masks are queued or under way. */
static void cancelled(void **state)
{
    (void)state;
    struct quire_engine_params p = tiny_params();
    for (int round = 0; round < 5; round++) {
        struct quire_engine *e = open_with(&p);
        quire_request_id ids[N_ANSWERS];
        struct quire_event ev = { .struct_size = sizeof ev };
        assert_status(QUIRE_OK, quire_engine_start(e, NULL));
        make_constrained(got, N_ANSWERS);
        for (uint32_t i = 0; i < N_ANSWERS; i++) {
            set_grammar(&got[i].params, &grammars[1]);
            ids[i] = submit(e, &got[i].params);
        }
        for (int i = 0; i < 5 + round; i++)
            assert_status(QUIRE_OK, quire_engine_wait(e, 0, -1, &ev, NULL));
        for (uint32_t i = 0; i < N_ANSWERS; i += 2)
            (void)quire_request_cancel(e, ids[i]);
        for (int i = 0; i < 6 * round; i++)
            assert_status(QUIRE_OK, quire_engine_wait(e, 0, -1, &ev, NULL));
        quire_engine_close(e);
    }
}

/* ---- The queue */

struct queue {
    struct quire_engine *engine;
    struct quire_grammar *grammar;
    struct qr_mask_ahead ahead;
    struct qr_constraint list[4];
    uint32_t *expected;
};

static void open_queue(struct queue *q)
{
    struct quire_engine_params p = tiny_params();
    struct quire_grammar_vocab *vocab;
    struct quire_grammar_params gp;
    memset(q, 0, sizeof *q);
    q->engine = open_with(&p);
    assert_status(QUIRE_OK, quire_engine_grammar_vocab(q->engine, &vocab, NULL));
    quire_grammar_params_init(&gp, sizeof gp);
    gp.kind = QUIRE_GRAMMAR_JSON_OBJECT;
    assert_status(QUIRE_OK, quire_grammar_compile(vocab, &gp, &q->grammar, NULL));
    assert_status(QUIRE_OK, qr_mask_ahead_init(&q->ahead, NULL));
    for (int i = 0; i < 4; i++) {
        struct qr_constraint *c = &q->list[i];
        c->n_words = quire_grammar_mask_words(vocab);
        c->mask = calloc(c->n_words, sizeof *c->mask);
        assert_status(QUIRE_OK, quire_grammar_matcher_create(q->grammar, &c->matcher, NULL));
    }
    q->expected = calloc(q->list[0].n_words, sizeof *q->expected);
    assert_status(QUIRE_OK, quire_grammar_matcher_mask(q->list[0].matcher, q->expected,
                                                       q->list[0].n_words, NULL));
}

static void close_queue(struct queue *q)
{
    qr_mask_ahead_free(&q->ahead);
    for (int i = 0; i < 4; i++) {
        quire_grammar_matcher_destroy(q->list[i].matcher);
        free(q->list[i].mask);
    }
    free(q->expected);
    quire_grammar_destroy(q->grammar);
    quire_engine_close(q->engine);
}

static bool take(struct queue *q, int i, quire_status *status)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    return qr_mask_ahead_take(&q->ahead, &q->list[i], status, &err);
}

static void queue_of_masks(void **state)
{
    (void)state;
    struct queue q;
    quire_status status = QUIRE_OK;
    open_queue(&q);
    assert_false(take(&q, 0, &status)); /* no thread yet */
    qr_mask_ahead_pause(&q.ahead);
    qr_mask_ahead_resume(&q.ahead);
    qr_mask_ahead_queue(&q.ahead, &q.list[0]);
    assert_true(q.ahead.started);
    qr_mask_ahead_drop(&q.ahead, &q.list[0]);
    assert_false(take(&q, 0, &status));
    /* nothing is begun while it pauses; masks leave the queue from any place */
    qr_mask_ahead_pause(&q.ahead);
    for (int i = 0; i < 4; i++)
        qr_mask_ahead_queue(&q.ahead, &q.list[i]);
    for (int i = 0; i < 4; i++)
        assert_false(qr_mask_ahead_is_running(&q.ahead, &q.list[i]));
    assert_false(take(&q, 1, &status));
    assert_false(take(&q, 3, &status));
    qr_mask_ahead_drop(&q.ahead, &q.list[0]);
    qr_mask_ahead_resume(&q.ahead);
    /* a take that comes before the thread gets nothing */
    for (int i = 0; !take(&q, 2, &status); i++) {
        assert_true(i < 10000);
        qr_mask_ahead_queue(&q.ahead, &q.list[2]);
        const struct timespec t = { 0, 1000000 };
        (void)nanosleep(&t, NULL);
    }
    assert_int_equal(status, QUIRE_OK);
    assert_memory_equal(q.list[2].mask, q.expected, q.list[2].n_words * sizeof *q.expected);
    assert_null(q.ahead.first);
    /* the error of a mask is that of its answer */
    q.list[0].n_words--;
    for (int i = 0; i < 10000 && status == QUIRE_OK; i++) {
        qr_mask_ahead_queue(&q.ahead, &q.list[0]);
        const struct timespec t = { 0, 1000000 };
        (void)nanosleep(&t, NULL);
        (void)take(&q, 0, &status);
    }
    q.list[0].n_words++;
    assert_int_equal(status, QUIRE_E_INVALID_ARG);
    /* the thread ends with masks in its queue */
    for (int i = 0; i < 4; i++)
        qr_mask_ahead_queue(&q.ahead, &q.list[i]);
    close_queue(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_of_masks),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(same_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
