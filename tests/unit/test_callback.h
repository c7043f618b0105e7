/* SPDX-License-Identifier: Apache-2.0 */
/* test_callback.h - requests whose events are recorded by a callback. */
#ifndef QUIRE_TEST_CALLBACK_H
#define QUIRE_TEST_CALLBACK_H
#include "test_embeddings.h"

/* Events of one answer, as its callback sees them. */
struct seen {
    struct result result;
    uint32_t n_events, n_done;
    uint32_t fail_at; /* number of the event that fails; 0 = none */
    enum quire_finish_reason reason;
    quire_status status;
    quire_request_id id;
    bool returned; /* the last callback has */
};

static inline quire_status record(void *user, struct quire_engine *engine,
                                  const struct quire_event *ev)
{
    struct seen *s = user;
    (void)engine;
    assert_int_equal(s->n_done, 0); /* nothing follows DONE */
    assert_true(ev->kind != QUIRE_EVENT_NONE && ev->usage && (!s->id || s->id == ev->id));
    assert_true(ev->user == &s->reason);
    /* progress of the prompt comes before its answer */
    assert_true(ev->kind != QUIRE_EVENT_PROMPT || ev->usage->completion_tokens == 0);
    append_event(ev, &s->result);
    s->id = ev->id;
    s->n_events++;
    if (ev->kind == QUIRE_EVENT_DONE) {
        s->n_done++;
        s->reason = ev->reason;
        s->status = ev->status;
        s->result.done.reason = ev->reason;
    }
    return s->n_events == s->fail_at ? QUIRE_E_IO : QUIRE_OK;
}

static inline struct quire_request_params with_callback(struct seen *s, uint32_t max_tokens)
{
    *s = (struct seen){ .n_events = 0 };
    struct quire_request_params p = greedy(story, max_tokens);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.event_callback = record;
    p.event_user = s;
    p.user = &s->reason;
    return p;
}

static inline void assert_no_event(struct quire_engine *e)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
}

static inline void run_steps(struct quire_engine *e)
{
    for (int guard = 0; quire_engine_active_count(e); guard++) {
        assert_true(guard < 10000);
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        assert_no_event(e);
    }
}

#endif
