/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - one step of all running requests: plan, forward pass, sampling, publication. */
#include "engine/step.h"
#include "base/cpu_count.h"
#include "base/error.h"
#include "engine/beam_finish.h"
#include "engine/clock.h"
#include "engine/draft.h"
#include "engine/finish.h"
#include "engine/prompt_logprobs.h"
#include "engine/request.h"
#include "engine/sample.h"

enum {
    MIN_PREFILL_TOKENS = 16,   /* of a step with a target latency */
    MACHINE_CHECK_SECONDS = 2, /* between checks of the CPUs that the process may use */
};

/* ---- Requests that come and go between steps */

static void take_new_requests(struct quire_engine *e)
{
    pthread_mutex_lock(&e->lock);
    struct qr_request *leader = e->new_requests;
    e->new_requests = NULL;
    for (struct qr_request *l = leader; l; l = l->next_new)
        for (struct qr_request *r = l; r; r = r->next)
            r->state = QR_REQUEST_ACTIVE;
    pthread_mutex_unlock(&e->lock);
    for (; leader; leader = leader->next_new) {
        qr_scheduler_add(&e->scheduler, &leader->task);
        for (struct qr_request *r = leader->beams ? leader->next : NULL; r; r = r->next)
            qr_scheduler_add(&e->scheduler, &r->task);
    }
}

static enum quire_finish_reason overdue(const struct qr_request *r, double now)
{
    if (qr_request_cancelled(r))
        return QUIRE_FINISH_CANCELLED;
    return r->deadline > 0 && now >= r->deadline ? QUIRE_FINISH_DEADLINE : QUIRE_FINISH_NONE;
}

/* Ends the cancelled and overdue answers of a list of the scheduler, which shrinks meanwhile. */
static void end_overdue(struct quire_engine *e, struct qr_task **tasks, const uint32_t *n_tasks)
{
    const double now = qr_clock_now();
    for (uint32_t i = 0; i < *n_tasks;) {
        struct qr_request *r = qr_request_of(tasks[i]);
        const enum quire_finish_reason reason = overdue(r, now);
        if (reason == QUIRE_FINISH_NONE)
            i++;
        else if (r->leader->beams)
            qr_beam_end(e, r->leader, reason);
        else
            qr_request_flush_and_finish(e, r, reason);
    }
}

/* ---- The duration of a step */

/* Longest step that decodes and computes prompts, relative to one that only decodes. */
static const double DEFAULT_SLOWDOWN = 2.5;

/* Tokens of prompts that fit into the target latency; as many as the budget of a step allows while
 * nobody waits for a next token or nothing has been measured. */
static uint32_t prefill_budget(const struct quire_engine *e)
{
    const uint32_t max = e->info.max_step_tokens;
    bool decodes = false;
    for (uint32_t i = 0; i < e->scheduler.n_running && !decodes; i++)
        decodes = qr_task_decodes(e->scheduler.running[i]);
    const double target = e->target_itl > 0 ? e->target_itl : DEFAULT_SLOWDOWN * e->decode_seconds;
    if (!decodes || target <= 0 || e->seconds_per_prompt_token <= 0)
        return max;
    const double n = (target - e->decode_seconds) / e->seconds_per_prompt_token;
    return n >= max ? max : n <= MIN_PREFILL_TOKENS ? MIN_PREFILL_TOKENS : (uint32_t)n;
}

static void average(double *mean, double x) { *mean = *mean > 0 ? 0.75 * *mean + 0.25 * x : x; }

/* Updates the measured cost of decoding and of a prompt token. */
static void measure(struct quire_engine *e, uint32_t n_prompt_tokens, double seconds)
{
    if (n_prompt_tokens == 0) {
        average(&e->decode_seconds, seconds);
        qr_step_cost_record(&e->step_cost, e->batch.n_tokens, seconds);
    } else if (n_prompt_tokens >= MIN_PREFILL_TOKENS && seconds > e->decode_seconds) {
        average(&e->seconds_per_prompt_token, (seconds - e->decode_seconds) / n_prompt_tokens);
    }
}

/* ---- The step */

static quire_status forward(struct quire_engine *e, uint32_t n_threads, struct quire_error *err)
{
    const struct qr_batch *b = &e->batch;
    const struct quire_attention_batch batch = {
        .struct_size = sizeof batch,
        .n_seqs = b->n_seqs,
        .query_start_loc = b->query_start_loc,
        .seq_lens = b->seq_lens,
        .n_groups = b->n_groups,
        .groups = b->groups,
    };
    const struct quire_forward_args args = {
        .struct_size = sizeof args,
        .batch = &batch,
        .token_ids = b->token_ids,
        .rope_lens = b->rope_lens,
        .logits_rows = b->logits_rows,
        .n_logits = b->n_logits,
        .logits = b->n_logits ? e->logits : NULL,
        .n_threads = n_threads,
    };
    return quire_context_forward(e->context, &args, err);
}

/* The forward pass by as many threads as are fastest for it. */
static quire_status timed_forward(struct quire_engine *e, struct quire_error *err)
{
    const struct qr_batch *b = &e->batch;
    const double begin = qr_clock_now();
    if (begin - e->machine_time >= MACHINE_CHECK_SECONDS) {
        qr_team_size_set_machine(&e->team_size, qr_cpu_signature());
        e->machine_time = begin;
    }
    const uint32_t n = qr_team_size_choose(&e->team_size, b->n_seqs, b->n_tokens);
    QR_TRY(forward(e, n, err));
    e->step_threads = n;
    qr_team_size_record(&e->team_size, b->n_seqs, b->n_tokens, n, qr_clock_now() - begin);
    return QUIRE_OK;
}

/* Counts the planned tokens as computed. */
static uint32_t commit(struct quire_engine *e)
{
    uint32_t n_prompt_tokens = 0;
    for (uint32_t i = 0; i < e->scheduler.n_step; i++) {
        struct qr_task *task = e->scheduler.step[i];
        const bool decodes = qr_task_decodes(task);
        n_prompt_tokens += decodes ? 0 : task->n_step;
        if (!decodes)
            qr_request_touch(e, qr_request_of(task));
        qr_scheduler_commit(&e->scheduler, task);
    }
    e->counters.n_steps++;
    e->counters.prompt_tokens += n_prompt_tokens;
    return n_prompt_tokens;
}

static void fail_step(struct quire_engine *e, quire_status status, const struct quire_error *err)
{
    while (e->scheduler.n_step) {
        struct qr_request *r = qr_request_of(e->scheduler.step[0]);
        if (r->leader->beams)
            qr_beam_fail(e, r->leader, status, err, false);
        else
            qr_request_fail_and_discard(e, r, status, err);
    }
}

static quire_status compute(struct quire_engine *e, struct quire_error *err)
{
    struct quire_error local = QUIRE_ERROR_INIT;
    const double begin = qr_clock_now();
    for (uint32_t i = 0; i < e->scheduler.n_step; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.step[i]);
        if (r->start_time == 0)
            r->start_time = begin;
    }
    quire_status s = qr_batch_build(&e->batch, &e->scheduler, &local);
    if (s == QUIRE_OK)
        s = timed_forward(e, &local);
    if (s == QUIRE_E_BUSY)
        return qr_fail(err, s, "%s", local.msg);
    if (s != QUIRE_OK) {
        fail_step(e, s, &local);
        return QUIRE_OK;
    }
    const uint32_t n_prompt_tokens = commit(e);
    qr_prompt_logprobs_step(e);
    qr_sample_step(e);
    measure(e, n_prompt_tokens, qr_clock_now() - begin);
    return QUIRE_OK;
}

quire_status qr_step_run(struct quire_engine *e, struct quire_error *err)
{
    take_new_requests(e);
    end_overdue(e, e->scheduler.running, &e->scheduler.n_running);
    end_overdue(e, e->scheduler.waiting, &e->scheduler.n_waiting);
    qr_draft_prepare(e);
    qr_scheduler_plan(&e->scheduler, prefill_budget(e));
    const quire_status s = e->scheduler.n_step ? compute(e, err) : QUIRE_OK;
    qr_publish(e);
    return s;
}
