/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - one step of all running requests: plan, forward pass, sampling, publication. */
#include "engine/step.h"
#include "base/clock.h"
#include "base/cpu_count.h"
#include "base/error.h"
#include "engine/beam_finish.h"
#include "engine/draft.h"
#include "engine/draft_model.h"
#include "engine/draft_mtp.h"
#include "engine/encode_step.h"
#include "engine/finish.h"
#include "engine/mask_ahead.h"
#include "engine/prompt_logprobs.h"
#include "engine/request.h"
#include "engine/sample.h"
#include "engine/source.h"
#include "engine/vector.h"

enum {
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

/* Tokens of prompts that fit into the target latency. */
static uint32_t prefill_budget(const struct quire_engine *e)
{
    const struct qr_scheduler *s = &e->scheduler;
    uint32_t n_decoding = 0;
    for (uint32_t i = 0; i < s->n_running; i++)
        n_decoding += qr_task_decodes(s->running[i]);
    const uint32_t places = s->params.max_running - s->n_running,
                   next = s->n_waiting < places ? s->n_waiting : places;
    return qr_chunk_size_choose(&e->chunk_size, n_decoding, s->n_running - n_decoding + next,
                                e->target_itl, e->info.max_step_tokens);
}

static void measure(struct quire_engine *e, uint32_t n_prompt_tokens, double seconds)
{
    if (e->sources.n_tokens)
        return; /* a row of the encoder is not one of the decoder */
    qr_chunk_size_record(&e->chunk_size, n_prompt_tokens, e->batch.n_tokens, seconds);
    if (n_prompt_tokens == 0)
        qr_step_cost_record(&e->step_cost, e->batch.n_tokens, seconds);
}

/* ---- The step */

static quire_status forward(struct quire_context *context, const struct qr_batch *b, float *logits,
                            float *hidden, uint32_t n_threads, struct quire_error *err)
{
    const struct quire_attention_batch batch = {
        .struct_size = sizeof batch,
        .n_seqs = b->n_seqs,
        .query_start_loc = b->query_start_loc,
        .seq_lens = b->seq_lens,
        .n_groups = b->n_groups,
        .groups = b->groups,
        .encoder_seq_lens = b->source_lens,
    };
    const struct quire_forward_args args = {
        .struct_size = sizeof args,
        .batch = &batch,
        .token_ids = b->token_ids,
        .rope_lens = b->rope_lens,
        .logits_rows = b->logits_rows,
        .n_logits = b->n_logits,
        .logits = b->n_logits ? logits : NULL,
        .n_threads = n_threads,
        .embedding_rows = b->has_embeddings ? b->embedding_rows : NULL,
        .last_hidden = hidden,
        .adapters = b->adapters,
        .n_adapters = b->n_adapters,
        .adapter_index = b->adapter_index,
        .adapter_scales = b->adapter_scales,
        .state_slots = b->state_slots,
        .previous_hidden = b->previous_hidden,
        .own_hidden = b->own_hidden,
        .feature_layers = b->feature_layers,
        .n_features = b->n_features,
        .features = b->features,
        .mtp_head = b->mtp_head,
    };
    return quire_context_forward(context, &args, err);
}

quire_status qr_forward(struct quire_context *context, struct qr_team_size *team,
                        const struct qr_batch *b, float *logits, float *hidden,
                        struct quire_error *err)
{
    const double begin = qr_clock_now();
    const uint32_t n = qr_team_size_choose(team, b->n_seqs, b->n_tokens);
    QR_TRY(forward(context, b, logits, hidden, n, err));
    qr_team_size_record(team, b->n_seqs, b->n_tokens, n, qr_clock_now() - begin);
    return QUIRE_OK;
}

/* Lets the team sizes know the CPUs that the process may use now. */
static void check_machine(struct quire_engine *e)
{
    const double now = qr_clock_now();
    if (now - e->machine_time < MACHINE_CHECK_SECONDS)
        return;
    const uint64_t signature = qr_cpu_signature();
    if (e->n_cpus == 0 || e->team_size.machine != signature)
        e->n_cpus = quire_threads_default_count();
    qr_team_size_set_machine(&e->team_size, signature);
    if (e->draft_model)
        qr_team_size_set_machine(&e->draft_model->team_size, signature);
    e->machine_time = now;
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
    e->counters.prompt_tokens += e->max_source_tokens ? e->sources.n_tokens : n_prompt_tokens;
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

/* The forward pass. No mask is begun while its team occupies all CPUs. */
static quire_status run_forward(struct quire_engine *e, struct quire_error *err)
{
    if (e->encodes)
        return qr_encode_step(e, err);
    QR_TRY(qr_sources_encode(e, err));
    const bool busy =
        qr_team_size_choose(&e->team_size, e->batch.n_seqs, e->batch.n_tokens) >= e->n_cpus;
    if (busy)
        qr_mask_ahead_pause(&e->mask_ahead);
    float *mtp = qr_mtp_begin_step(e);
    float *hidden = e->batch.pools ? e->vectors.hidden : mtp;
    const quire_status s = qr_forward(e->context, &e->team_size, &e->batch, e->logits, hidden, err);
    if (busy)
        qr_mask_ahead_resume(&e->mask_ahead);
    qr_mtp_record_step(e, s == QUIRE_OK ? hidden : NULL, s == QUIRE_OK);
    return s;
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
        s = run_forward(e, &local);
    if (s == QUIRE_E_BUSY)
        return qr_fail(err, s, "%s", local.msg);
    if (s != QUIRE_OK) {
        fail_step(e, s, &local);
        return QUIRE_OK;
    }
    qr_vector_add_rows(e);
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
    check_machine(e);
    const uint32_t budget = prefill_budget(e);
    /* the draft model catches up with at most half of the budget: prompts go on meanwhile */
    const uint32_t used = qr_draft_prepare(e, (budget + 1) / 2);
    qr_scheduler_plan(&e->scheduler, budget - used);
    const quire_status s = e->scheduler.n_step ? compute(e, err) : QUIRE_OK;
    qr_publish(e);
    return s;
}
