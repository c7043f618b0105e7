/* SPDX-License-Identifier: Apache-2.0 */
/* draft_model.c - drafts of requests from a smaller model with the same vocabulary. */
#include "engine/draft_model.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/constraint.h"
#include "engine/request.h"
#include "engine/rope_variant.h"
#include "engine/sample.h"
#include "engine/scheduler_rope.h"
#include "engine/step.h"
#include <math.h>
#include <string.h>

enum {
    /* Tokens that a sequence lacks when its last draft was accepted whole: the last drafted one,
     * whose keys and values nobody computed, and the one sampled behind it. */
    LATEST_TOKENS = 2,
    MIN_MEASURED_TOKENS = 8, /* of chunks in a pass whose time is measured */
    RETRY_TOKENS = 64, /* of a sequence for which the KV cache was full, before the next try */
};

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

struct qr_request *qr_draft_model_request(struct qr_task *draft_task)
{
    return (struct qr_request *)((char *)draft_task - offsetof(struct qr_request, draft_task));
}

uint32_t qr_draft_model_room(const struct quire_engine *e, const struct qr_request *r)
{
    const struct qr_draft_model *d = e->draft_model;
    if (!d || r->task.n_tokens < r->draft_model_retry_at || r->task.n_tokens > d->memory.max_tokens)
        return 0;
    /* the last drafted token is not computed */
    const uint32_t n = d->memory.max_tokens - r->task.n_tokens + 1;
    const bool same_rope = qr_rope_variant(d->model, r->task.n_tokens) ==
                           qr_rope_variant(d->model, r->task.n_tokens + smaller(n, r->max_draft));
    return same_rope ? n : 0;
}

double qr_draft_model_seconds(const struct quire_engine *e, uint32_t n)
{
    return e->draft_model ? qr_step_cost_estimate(&e->draft_model->step_cost, n) : 0;
}

/* ---- Sequences */

static bool begin(struct qr_draft_model *d, struct qr_request *r, uint32_t n_reusable)
{
    r->draft_task = (struct qr_task){ .tokens = r->tokens,
                                      .n_tokens = r->task.n_tokens,
                                      .n_prompt = r->task.n_prompt };
    const struct qr_sequence_prefix prefix = {
        .tokens = r->tokens,
        .n_reusable = n_reusable,
        .salt = r->task.salt,
        .variant =
            qr_rope_variant(d->model, qr_scheduler_rope_length(&d->scheduler, &r->draft_task, 0)),
    };
    r->draft_task.sequence = qr_sequence_begin(&d->memory, &prefix);
    if (!r->draft_task.sequence)
        return false;
    d->requests[d->n_requests++] = r;
    return true;
}

void qr_draft_model_end(struct quire_engine *e, struct qr_request *r)
{
    struct qr_draft_model *d = e->draft_model;
    if (!r->draft_task.sequence)
        return;
    qr_sequence_end(&d->memory, r->draft_task.sequence, r->draft_task.tokens, true);
    r->draft_task.sequence = NULL;
    uint32_t at = 0;
    while (d->requests[at] != r)
        at++;
    d->requests[at] = d->requests[--d->n_requests];
}

void qr_draft_model_end_preempted(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    for (uint32_t i = d->n_requests; i-- > 0;)
        if (!d->requests[i]->task.running)
            qr_draft_model_end(e, d->requests[i]);
}

/* Opens the sequence of a request if need be, and takes over what the prefix cache has. Keys of
 * another RoPE variant than the next tokens' are recomputed; with dynamic NTK scaling, where every
 * length has its own, they are kept as in the model itself. */
static bool update_sequence(struct quire_engine *e, struct qr_request *r)
{
    struct qr_draft_model *d = e->draft_model;
    struct qr_task *t = &r->draft_task;
    const bool reuse = !r->task.no_reuse;
    if (!t->sequence && !begin(d, r, reuse ? r->task.n_tokens - 1 : 0))
        return false;
    qr_sequence_end_draft(&d->memory, t->sequence,
                          r->tokens); /* of a step that did not verify it */
    t->n_tokens = r->task.n_tokens;
    const uint32_t length = qr_scheduler_rope_length(&d->scheduler, t, t->sequence->n_tokens);
    if (qr_rope_variant(d->model, length) != t->sequence->variant) {
        if (qr_rope_is_dynamic(d->model)) {
            qr_sequence_stop_indexing(t->sequence);
        } else {
            qr_draft_model_end(e, r);
            (void)begin(d, r, 0); /* succeeds: a sequence was just closed */
        }
    }
    if (reuse)
        qr_sequence_extend_from_cache(&d->memory, t->sequence, r->tokens, t->n_tokens - 1);
    t->n_computed = t->sequence->n_tokens;
    return true;
}

/* ---- The passes of a step */

/* Adds a request to the first pass: all tokens that its sequence lacks, or a chunk of them, up to
 * `most`. Returns their number, 0 without memory for them and the draft. */
static uint32_t plan(struct quire_engine *e, struct qr_request *r, uint32_t most)
{
    struct qr_draft_model *d = e->draft_model;
    struct qr_task *t = &r->draft_task;
    const uint32_t n = smaller(t->n_tokens - t->n_computed, most);
    const bool complete = t->n_computed + n == t->n_tokens;
    const uint32_t ahead = complete ? r->n_model_draft - 1 : 0;
    if (n == 0)
        return 0;
    if (qr_sequence_reserve(&d->memory, t->sequence, n + ahead, NULL) != QUIRE_OK) {
        r->draft_model_retry_at = r->task.n_tokens + RETRY_TOKENS;
        qr_draft_model_end(e, r);
        return 0;
    }
    t->n_step = n;
    d->scheduler.step[d->scheduler.n_step++] = t;
    return n;
}

/* Plans the first pass; returns the tokens of chunks. */
static uint32_t plan_first(struct quire_engine *e, uint32_t budget)
{
    struct qr_draft_model *d = e->draft_model;
    uint32_t rows = e->info.max_step_tokens, n_chunks = 0;
    d->scheduler.n_step = 0;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        if (!r->n_model_draft || !update_sequence(e, r))
            continue;
        const bool latest = r->draft_task.n_tokens - r->draft_task.n_computed <= LATEST_TOKENS;
        const uint32_t n = plan(e, r, latest ? rows : smaller(rows, budget - n_chunks));
        rows -= n;
        n_chunks += latest ? 0 : n;
    }
    return n_chunks;
}

/* Computes the planned tokens, and the logits of the complete tasks. */
static quire_status run_pass(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    QR_TRY(qr_batch_build(&d->batch, &d->scheduler, NULL));
    QR_TRY(qr_forward(d->context, &d->team_size, &d->batch, d->logits, NULL, NULL));
    e->counters.draft_model_steps++;
    e->counters.draft_model_tokens += d->batch.n_tokens;
    return QUIRE_OK;
}

void qr_draft_model_add_token(struct quire_engine *e, struct qr_request *r, float *logits)
{
    const struct qr_draft_model *d = e->draft_model;
    const uint32_t n = r->task.n_draft;
    int32_t token;
    for (uint32_t i = d->n_common; i < e->vocab_size; i++)
        logits[i] = -INFINITY;
    if (n == 0)
        r->draft_sampling_state = r->sampling_state;
    qr_mask_logits(e, r, n, logits);
    bool ends = false;
    if (qr_constraint_mask(e, r, logits, &ends, NULL) != QUIRE_OK || ends ||
        qr_draw_token(e, r, n, logits, &r->draft_sampling_state, &token, NULL) != QUIRE_OK ||
        qr_ends_answer(e, r, token) || !qr_constraint_push_draft(r, token)) {
        r->n_model_draft = n;
        return;
    }
    /* behind the tokens of the request, where the sampler and the next pass read it; not published,
     * and overwritten by the token that the model samples there */
    r->tokens[r->task.n_tokens + n] = token;
    r->draft[n] = token;
    r->task.n_draft++;
}

/* Draws a token per complete task. From the last row to the first: where the engine's vocabulary
 * has more rows than the draft model's, a row reaches into the one behind it. */
static void add_tokens(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    for (uint32_t i = d->batch.n_complete; i-- > 0;)
        qr_draft_model_add_token(e, qr_draft_model_request(d->batch.complete[i]),
                                 d->logits + (size_t)d->batch.first_logits[i] * d->vocab_size);
}

/* Keeps the state before the first drafted token is computed; false: no slot is free. */
static bool keep_state(struct qr_draft_model *d, const struct qr_task *t)
{
    return t->sequence->snapshot_slot != QR_STATE_NONE ||
           qr_sequence_begin_draft(&d->memory, t->sequence, 0);
}

/* Plans a pass over the tokens that were just drafted, of the requests that draft further ones. */
static void plan_next(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    d->scheduler.n_step = 0;
    for (uint32_t i = 0; i < d->batch.n_complete; i++) {
        struct qr_request *r = qr_draft_model_request(d->batch.complete[i]);
        if (r->task.n_draft >= r->n_model_draft || !keep_state(d, &r->draft_task))
            continue;
        r->draft_task.n_tokens = r->task.n_tokens + r->task.n_draft;
        r->draft_task.n_computed = r->draft_task.n_tokens - 1;
        r->draft_task.n_step = 1;
        r->draft_task.sequence->n_draft_end = r->draft_task.n_tokens;
        d->scheduler.step[d->scheduler.n_step++] = &r->draft_task;
    }
}

static void commit_first(struct qr_draft_model *d)
{
    for (uint32_t i = 0; i < d->scheduler.n_step; i++) {
        struct qr_task *t = d->scheduler.step[i];
        qr_sequence_append(&d->memory, t->sequence, t->tokens, t->n_step);
        if (t->sequence->n_tokens <= t->n_prompt)
            qr_sequence_checkpoint(&d->memory, t->sequence);
    }
}

/* Tokens of the draft model's chunks that take as long as one of the model's prompts; at least one,
 * for it is the smaller model. */
static double chunk_speed(const struct quire_engine *e, uint32_t budget)
{
    const double seconds = e->draft_model->seconds_per_chunk_token;
    const double prompt = qr_step_cost_estimate(&e->chunk_size.cost, budget) / budget;
    return seconds > 0 && seconds < prompt ? prompt / seconds : 1;
}

/* Records the time of a pass with n_chunks tokens of chunks. */
static void measure(struct qr_draft_model *d, uint32_t n_chunks, double seconds)
{
    if (n_chunks == 0) {
        qr_step_cost_record(&d->step_cost, d->batch.n_seqs, seconds);
    } else if (n_chunks >= MIN_MEASURED_TOKENS) {
        const double now = seconds / d->batch.n_tokens, before = d->seconds_per_chunk_token;
        d->seconds_per_chunk_token = before > 0 ? 0.75 * before + 0.25 * now : now;
    }
}

uint32_t qr_draft_model_run(struct quire_engine *e, uint32_t budget)
{
    struct qr_draft_model *d = e->draft_model;
    const double speed = chunk_speed(e, budget), most = budget * speed;
    qr_draft_model_end_preempted(e);
    const uint32_t n_chunks =
        plan_first(e, most >= e->info.max_step_tokens ? e->info.max_step_tokens : (uint32_t)most);
    for (bool first = true; d->scheduler.n_step; first = false) {
        const double begin = qr_clock_now();
        if (run_pass(e) != QUIRE_OK)
            break;
        if (first)
            commit_first(d);
        add_tokens(e);
        measure(d, first ? n_chunks : 0, qr_clock_now() - begin);
        plan_next(e);
    }
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        qr_constraint_drop_draft(r);
        if (r->n_model_draft)
            r->n_model_draft = r->task.n_draft;
    }
    return smaller(budget, (uint32_t)(n_chunks / speed));
}

void qr_draft_model_commit(struct quire_engine *e, struct qr_request *r, uint32_t n_accepted)
{
    if (!r->n_model_draft || !r->draft_task.sequence)
        return;
    /* keys and values of the last drafted token were not computed */
    qr_sequence_append(&e->draft_model->memory, r->draft_task.sequence, r->tokens,
                       smaller(n_accepted, r->n_model_draft - 1));
    qr_sequence_end_draft(&e->draft_model->memory, r->draft_task.sequence, r->tokens);
}
