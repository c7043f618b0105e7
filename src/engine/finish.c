/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c - ends answers; publishes text, tokens and usage of a step; chooses the best answers. */
#include "engine/finish.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "engine/callback.h"
#include "engine/constraint.h"
#include "engine/draft_model.h"
#include "engine/events.h"
#include "engine/request.h"
#include <math.h>
#include <string.h>

void qr_request_touch(struct quire_engine *e, struct qr_request *r)
{
    if (r->dirty)
        return;
    r->dirty = true;
    r->next_dirty = e->dirty;
    e->dirty = r;
}

/* ---- The end of an answer */

/* The other answers of a group whose leader ended before its prompt was complete go on alone. */
static void start_group(struct quire_engine *e, struct qr_request *leader)
{
    if (!leader->group_waits)
        return;
    leader->group_waits = false;
    for (struct qr_request *r = leader->next; r; r = r->next)
        qr_scheduler_add(&e->scheduler, &r->task);
}

void qr_request_mark_finished(struct quire_engine *e, struct qr_request *r,
                              enum quire_finish_reason reason)
{
    r->finished = true;
    r->final_reason = reason;
    qr_constraint_free(e, r); /* before the last event: the caller may then destroy its grammar */
    qr_request_touch(e, r);
}

void qr_request_mark_failed(struct quire_engine *e, struct qr_request *r, quire_status status,
                            const struct quire_error *err)
{
    r->final_error = *err;
    r->final_error.code = status;
    qr_request_mark_finished(e, r, QUIRE_FINISH_ERROR);
}

static void finish(struct quire_engine *e, struct qr_request *r, enum quire_finish_reason reason,
                   bool keep)
{
    qr_draft_model_end(e, r);
    qr_scheduler_remove(&e->scheduler, &r->task, keep);
    qr_request_mark_finished(e, r, reason);
    if (r == r->leader)
        start_group(e, r);
}

void qr_request_finish(struct quire_engine *e, struct qr_request *r,
                       enum quire_finish_reason reason)
{
    finish(e, r, reason, true);
}

static void fail(struct quire_engine *e, struct qr_request *r, quire_status status,
                 const struct quire_error *err, bool keep)
{
    r->final_error = *err;
    r->final_error.code = status;
    finish(e, r, QUIRE_FINISH_ERROR, keep);
}

void qr_request_fail(struct quire_engine *e, struct qr_request *r, quire_status status,
                     const struct quire_error *err)
{
    fail(e, r, status, err, true);
}

void qr_request_fail_and_discard(struct quire_engine *e, struct qr_request *r, quire_status status,
                                 const struct quire_error *err)
{
    fail(e, r, status, err, false);
}

void qr_request_flush_and_finish(struct quire_engine *e, struct qr_request *r,
                                 enum quire_finish_reason reason)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    if (r->vector.task != QUIRE_TASK_GENERATE) { /* there is no text */
        qr_request_finish(e, r, reason);
        return;
    }
    const quire_status s = qr_output_text_flush(&r->output, &err);
    r->flushed = true;
    if (s != QUIRE_OK)
        qr_request_fail(e, r, s, &err);
    else
        qr_request_finish(e, r, reason);
}

/* ---- Publication. The caller of these functions holds the lock. */

/* Time to first token (TTFT) is queue_seconds + prompt_seconds; mean inter-token latency (ITL) is
 * generate_seconds / (completion_tokens - 1). */
static struct quire_usage usage_of(const struct qr_request *r)
{
    const struct qr_task *t = &r->task;
    /* a task that was preempted or has ended has nothing computed, but its prompt was */
    const bool complete = r->first_token_time > 0 || t->n_computed > t->n_prompt;
    const uint32_t n_prompt = t->n_source ? t->n_source : t->n_prompt;
    const uint32_t done = complete || (t->n_source && t->n_computed) ? n_prompt : t->n_computed;
    struct quire_usage u = {
        .prompt_tokens = n_prompt,
        .prompt_done = done > r->usage.prompt_done ? done : r->usage.prompt_done,
        .cached_tokens = t->n_cached,
        .completion_tokens = r->n_output,
    };
    if (r->start_time > 0)
        u.queue_seconds = r->start_time - r->submit_time;
    if (r->first_token_time > 0) {
        u.prompt_seconds = r->first_token_time - r->start_time;
        u.generate_seconds = r->last_token_time - r->first_token_time;
    }
    return u;
}

/* Answers of best_of by mean log-probability; those of a beam search have their rank. */
static double rating(const struct qr_request *r)
{
    if (r->leader->beams)
        return -(double)r->choice;
    if (r->reason == QUIRE_FINISH_ERROR || r->n_output == 0)
        return -INFINITY;
    return r->sum_logprob / r->n_output;
}

static void end_activity(struct quire_engine *e)
{
    __atomic_store_n(&e->n_active, e->n_active - 1, __ATOMIC_RELAXED);
}

/* Returns the best answers of a group that has ended, best first; the others get no event. */
static void choose_best(struct quire_engine *e, struct qr_request *leader)
{
    for (uint32_t rank = 0; rank < leader->n_returned; rank++) {
        struct qr_request *best = NULL;
        for (struct qr_request *r = leader; r; r = r->next)
            if (r->held && (!best || rating(r) > rating(best)))
                best = r;
        QR_INVARIANT(best); /* all answers are held when the request is queued */
        best->held = false;
        best->choice = rank;
        if (best->event_callback)
            qr_callback_add(e, best);
        qr_events_update(e, best);
    }
}

/* Adds the answers of a group that were not chosen to a list, to be freed without the lock. */
static void take_unchosen(struct quire_engine *e, struct qr_request *leader,
                          struct qr_request **list)
{
    for (struct qr_request *r = leader; r; r = r->next)
        if (r->held) {
            r->state = QR_REQUEST_POLLED;
            if (r->event_callback)
                end_activity(e);
            r->next_dirty = *list;
            *list = r;
        }
}

static void publish_end(struct quire_engine *e, struct qr_request *r, struct qr_request **unchosen)
{
    struct qr_request *leader = r->leader;
    r->reason = r->final_reason;
    r->vector_event_due = r->vector.task != QUIRE_TASK_GENERATE && r->reason == QUIRE_FINISH_STOP;
    r->context_full = r->final_context_full;
    r->error = r->final_error;
    r->state = QR_REQUEST_FINISHED;
    if (!r->event_callback) /* otherwise its last callback ends it */
        end_activity(e);
    if (--leader->n_unfinished)
        return;
    if (!r->event_callback)
        __atomic_store_n(&leader->tag, 0, __ATOMIC_RELEASE);
    if (leader->held) {
        choose_best(e, leader);
        take_unchosen(e, leader, unchosen);
    }
}

static bool has_room(const struct qr_request *r)
{
    return r->text.capacity - r->text.size >= qr_output_text_pending(&r->output);
}

/* Publishes an answer whose text has room. */
static void publish(struct quire_engine *e, struct qr_request *r, struct qr_request **unchosen)
{
    const bool new_output = r->n_output > r->usage.completion_tokens;
    if (r->vector.task == QUIRE_TASK_GENERATE) /* others have no text */
        (void)qr_output_text_move(&r->output, &r->text, NULL);
    r->usage = usage_of(r);
    r->n_published = r->task.n_tokens;
    /* an echoed prompt with log-probabilities comes with the first output, or at the end */
    r->text_event_due |= new_output || r->flushed || (r->finished && r->n_polled < r->n_published);
    r->prompt_event_due |= r->n_output == 0 && !r->finished;
    if (r->finished)
        publish_end(e, r, unchosen);
    if (r->event_callback && !r->held)
        qr_callback_add(e, r);
    qr_events_update(e, r);
}

/* Publishes the answers of the step; returns those whose text has no room, chained by next_dirty,
 * with the size they need in `grown`. *polled: some of them are polled. */
static struct qr_request *publish_dirty(struct quire_engine *e, struct qr_request **unchosen,
                                        bool *polled)
{
    struct qr_request *crowded = NULL;
    while (e->dirty) {
        struct qr_request *r = e->dirty;
        e->dirty = r->next_dirty;
        *polled = *polled || !r->event_callback;
        if (has_room(r)) {
            r->dirty = false;
            publish(e, r, unchosen);
            continue;
        }
        r->grown = (struct qr_text_buffer){ .size = r->text.size };
        r->next_dirty = crowded;
        crowded = r;
    }
    return crowded;
}

/* Blocks of the group that has the fewest available. */
static void count_blocks(const struct qr_sequence_memory *m, uint32_t *n_blocks, uint32_t *n_used,
                         uint32_t *n_cached)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const uint32_t n_free = (uint32_t)quire_kv_free_block_count(m->kv, g);
        const uint32_t available = qr_sequence_blocks_available(m, g);
        struct quire_kv_group_config config;
        if (available >= least || quire_kv_get_group(m->kv, g, &config, NULL) != QUIRE_OK)
            continue;
        least = available;
        *n_blocks = config.n_blocks;
        *n_used = config.n_blocks - available;
        *n_cached = available - n_free;
    }
}

static void update_stats(struct quire_engine *e)
{
    struct quire_engine_stats *s = &e->counters;
    uint32_t unused;
    s->n_waiting = e->scheduler.n_waiting;
    s->n_running = e->scheduler.n_running;
    s->n_preemptions = e->scheduler.n_preemptions;
    s->cached_tokens = e->scheduler.n_cached_tokens;
    count_blocks(&e->memory, &s->n_blocks, &s->n_used_blocks, &s->n_cached_blocks);
    if (e->draft_model)
        count_blocks(&e->draft_model->memory, &s->n_draft_blocks, &s->n_used_draft_blocks, &unused);
    e->stats = *s;
}

/* ---- Room for text. The caller does not hold the lock: an allocation may take long. */

static bool allocate_text(const struct quire_engine *e, struct qr_request *r)
{
    size_t need;
    return qr_add_size(r->grown.size, qr_output_text_pending(&r->output), &need) &&
           qr_grow(e->allocator, (void **)&r->grown.text, &r->grown.capacity, need, 1);
}

/* Gives an answer a larger buffer. Polling in between may have exchanged the buffer and emptied it,
 * so the size is still enough. */
static void grow_text(struct quire_engine *e, struct qr_request *r)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!allocate_text(e, r)) {
        const quire_status s =
            qr_fail(&err, QUIRE_E_NOMEM, "no memory for %zu bytes of output text",
                    r->grown.size + qr_output_text_pending(&r->output));
        qr_output_text_drop(&r->output);
        if (!r->finished)
            qr_request_fail(e, r, s, &err);
        return;
    }
    pthread_mutex_lock(&e->lock);
    struct qr_text_buffer old = r->grown;
    if (r->text.capacity < r->grown.capacity) {
        old = r->text;
        r->text.text = r->grown.text;
        r->text.capacity = r->grown.capacity;
        if (old.size)
            memcpy(r->text.text, old.text, old.size);
    }
    pthread_mutex_unlock(&e->lock);
    qr_free(e->allocator, old.text, old.capacity, 1);
}

void qr_publish(struct quire_engine *e)
{
    struct qr_request *unchosen = NULL, *crowded;
    do {
        pthread_mutex_lock(&e->lock);
        bool polled = false;
        crowded = publish_dirty(e, &unchosen, &polled);
        update_stats(e);
        if (polled)
            qr_events_signal(e);
        pthread_mutex_unlock(&e->lock);
        while (crowded) {
            struct qr_request *r = crowded;
            crowded = r->next_dirty;
            grow_text(e, r);
            r->next_dirty = e->dirty;
            e->dirty = r;
        }
    } while (e->dirty);
    while (unchosen) {
        struct qr_request *r = unchosen;
        unchosen = r->next_dirty;
        qr_request_release(e, r);
    }
}
