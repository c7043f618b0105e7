/* SPDX-License-Identifier: Apache-2.0 */
/* draft_mtp.c - drafts of requests from the model's own head of multi-token prediction. */
#include "engine/draft_mtp.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "engine/constraint.h"
#include "engine/draft_block.h"
#include "engine/draft_heads.h"
#include "engine/request.h"
#include "engine/rope_variant.h"
#include "engine/scheduler_rope.h"
#include "engine/step.h"
#include <string.h>

enum { RETRY_TOKENS = 64 }; /* of a request for which the KV cache was full, before the next try */

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static bool can_draft(const struct qr_request *r) { return r->draft && !r->embeddings; }

/* Leading tokens of a request that are not among those of a sequence: row i of the sequence has the
 * last token that any head reads at i. */
static uint32_t lead_of(const struct qr_draft_model *d) { return d->heads ? d->heads->n : 1; }

/* ---- The hidden states of a step */

static bool any_drafts(const struct quire_engine *e)
{
    for (uint32_t i = 0; qr_mtp_in_use(e) && i < e->scheduler.n_step; i++)
        if (can_draft(qr_request_of(e->scheduler.step[i])))
            return true;
    return false;
}

float *qr_mtp_begin_step(struct quire_engine *e)
{
    const struct qr_draft_model *d = e->draft_model;
    const bool drafts = any_drafts(e), features = drafts && d->n_features;
    e->batch.n_features = features ? d->n_features : 0;
    e->batch.feature_layers = features ? d->feature_layers : NULL;
    e->batch.features = features ? d->step_hidden : NULL;
    return drafts && !features ? d->step_hidden : NULL;
}

void qr_mtp_record_step(struct quire_engine *e, const float *hidden, bool ok)
{
    if (!qr_mtp_in_use(e))
        return;
    if (e->draft_model->n_features)
        hidden = ok ? e->batch.features : NULL;
    e->draft_model->hidden_rows = hidden;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++)
        qr_request_of(e->scheduler.running[i])->n_hidden = 0;
    for (uint32_t i = 0; hidden && i < e->scheduler.n_step; i++) {
        const struct qr_task *task = e->scheduler.step[i];
        struct qr_request *r = qr_request_of(e->scheduler.step[i]);
        r->hidden_row = (uint32_t)e->batch.query_start_loc[i];
        r->hidden_first = task->n_computed;
        r->n_hidden = can_draft(r) ? task->n_step + task->n_step_draft : 0;
    }
}

/* End of the positions that the head can compute: their hidden states come from the last step, and
 * the next token is known. Rows of rejected drafts lie behind it. 0: there are none. */
static uint32_t known_end(const struct qr_request *r)
{
    const uint32_t end = r->hidden_first + r->n_hidden, next = r->task.n_tokens - 1;
    if (r->n_hidden == 0 || next <= r->hidden_first)
        return 0;
    return end < next ? end : next;
}

uint32_t qr_mtp_known_end(const struct qr_request *r)
{
    return can_draft(r) && r->task.n_tokens >= r->draft_model_retry_at ? known_end(r) : 0;
}

uint32_t qr_mtp_room(const struct quire_engine *e, const struct qr_request *r)
{
    const struct qr_draft_model *d = e->draft_model;
    const uint32_t n = r->task.n_tokens - 1; /* the head's tokens; the last draft is not computed */
    if (d->shares_kv)
        return known_end(r) == n ? UINT32_MAX : 0;
    if (r->task.n_tokens < r->draft_model_retry_at || known_end(r) != n || n > d->memory.max_tokens)
        return 0;
    return d->block_size ? qr_draft_block_room(d, n) : d->memory.max_tokens - n + 1;
}

/* ---- Sequences */

/* The leading tokens are not among the head's, and hidden states depend on the adapter. */
static uint64_t salt_of(const struct qr_draft_model *d, const struct qr_request *r)
{
    const uint64_t key[] = { (uint64_t)(uint32_t)r->tokens[0], r->task.adapter_key };
    const uint64_t salt = qr_hash_bytes(r->task.salt, key, sizeof key);
    const uint32_t n = smaller(lead_of(d), r->task.n_tokens);
    return n > 1 ? qr_hash_bytes(salt, r->tokens + 1, (n - 1) * sizeof *r->tokens) : salt;
}

void qr_mtp_set_tokens(const struct qr_draft_model *d, struct qr_request *r)
{
    const uint32_t before = lead_of(d) + r->mtp_base;
    r->draft_task.tokens = r->tokens + before;
    r->draft_task.n_tokens = r->task.n_tokens > before ? r->task.n_tokens - before : 0;
    r->draft_task.n_prompt = r->task.n_prompt > before ? r->task.n_prompt - before : 0;
}

/* Opens the sequence of a request from position `base` on. False: all sequences are open. */
static bool begin(struct qr_draft_model *d, struct qr_request *r, uint32_t base,
                  uint32_t n_reusable)
{
    r->draft_task = (struct qr_task){ 0 };
    r->mtp_base = base;
    qr_mtp_set_tokens(d, r);
    const struct qr_sequence_prefix prefix = {
        .tokens = r->draft_task.tokens,
        .n_reusable = n_reusable,
        .salt = salt_of(d, r),
        .variant =
            qr_rope_variant(d->model, qr_scheduler_rope_length(&d->scheduler, &r->draft_task, 0)),
    };
    r->draft_task.sequence = qr_sequence_begin(&d->memory, &prefix);
    if (!r->draft_task.sequence)
        return false;
    if (base || r->task.n_tokens < lead_of(d)) /* the salt lacks tokens */
        qr_sequence_stop_indexing(r->draft_task.sequence);
    if (d->heads)
        qr_draft_heads_begin(d, r);
    d->requests[d->n_requests++] = r;
    return true;
}

/* Opens a sequence with the prefix that the cache has, if it reaches to the first known position,
 * else one that begins there. Some rows may be missing before it (qr_draft_heads_gap()). */
static bool begin_known(struct quire_engine *e, struct qr_request *r, uint32_t end)
{
    struct qr_draft_model *d = e->draft_model;
    const uint32_t first = r->hidden_first, lead = lead_of(d);
    /* rows that every head can have, without the one that drafts */
    const uint32_t all = r->task.n_tokens > lead ? r->task.n_tokens - lead : 0;
    if (!begin(d, r, 0, r->task.no_reuse ? 0 : smaller(end - 1, all)))
        return false;
    if (r->draft_task.sequence->n_tokens + qr_draft_heads_gap(d) >= first)
        return true;
    qr_draft_model_end(e, r);
    return begin(d, r, first, 0);
}

bool qr_mtp_update_sequence(struct quire_engine *e, struct qr_request *r, uint32_t end)
{
    struct qr_draft_model *d = e->draft_model;
    struct qr_task *t = &r->draft_task;
    if (t->sequence) {
        qr_mtp_set_tokens(d, r);
        const uint32_t length = qr_scheduler_rope_length(&d->scheduler, t, t->sequence->n_tokens);
        const uint32_t n_rows = d->heads ? qr_draft_heads_computed(d, r) : t->sequence->n_tokens;
        const bool gap = r->mtp_base + n_rows < r->hidden_first,
                   other = qr_rope_variant(d->model, length) != t->sequence->variant;
        if (other && qr_rope_is_dynamic(d->model))
            qr_sequence_stop_indexing(t->sequence);
        if (gap || (other && !qr_rope_is_dynamic(d->model)))
            qr_draft_model_end(e, r);
    }
    if (!t->sequence && !begin_known(e, r, end))
        return false;
    t->n_computed = t->sequence->n_tokens;
    return r->mtp_base + t->n_computed < end;
}

/* ---- The passes of a step */

void qr_mtp_end_full(struct quire_engine *e, struct qr_request *r)
{
    r->draft_model_retry_at = r->task.n_tokens + RETRY_TOKENS;
    r->n_model_draft = 0;
    qr_draft_model_end(e, r);
}

/* Adds the rows of a request up to position `end` to the first pass. */
static void plan(struct quire_engine *e, struct qr_request *r, uint32_t end)
{
    struct qr_draft_model *d = e->draft_model;
    struct qr_task *t = &r->draft_task;
    const size_t width = d->input_size;
    const uint32_t first = r->mtp_base + t->n_computed, n = end - first;
    if (end - r->mtp_base != t->n_tokens)
        r->n_model_draft = 0;
    const bool block = d->block_size != 0;
    const uint32_t ahead = block              ? qr_draft_block_rows(d, r->n_model_draft)
                           : r->n_model_draft ? r->n_model_draft - 1
                                              : 0;
    if (end - r->mtp_base + ahead > d->memory.max_tokens ||
        qr_sequence_reserve(&d->memory, t->sequence, n + ahead, NULL) != QUIRE_OK) {
        qr_mtp_end_full(e, r);
        return;
    }
    memcpy(d->hidden_in + d->n_rows * width,
           d->hidden_rows + (r->hidden_row + first - r->hidden_first) * width,
           n * width * sizeof *d->hidden_in);
    d->n_rows += n;
    t->n_step = n;
    t->pools = r->n_model_draft == 0 || block; /* no logits */
    d->scheduler.step[d->scheduler.n_step++] = t;
}

static void plan_first(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    d->scheduler.n_step = d->n_rows = 0;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        const uint32_t end = qr_mtp_known_end(r);
        if (end && qr_mtp_update_sequence(e, r, end))
            plan(e, r, end);
        else
            r->n_model_draft = 0;
        r->n_hidden = 0; /* used up */
    }
}

/* first: the rows continue what the model has computed; else they are behind drafted tokens, or
 * blocks. */
static quire_status run_pass(struct quire_engine *e, bool first)
{
    struct qr_draft_model *d = e->draft_model;
    const bool features = first || !d->n_features;
    QR_TRY(qr_batch_build(&d->batch, &d->scheduler, NULL));
    d->batch.previous_hidden = features ? d->hidden_in : NULL;
    d->batch.own_hidden = features || d->block_size ? NULL : d->hidden_in;
    const bool block = d->block_size != 0; /* of which only blocks have states */
    float *hidden = !block || (d->reads_states && !first) ? d->hidden_out : NULL;
    QR_TRY(qr_forward(d->context, &d->team_size, &d->batch, d->logits, hidden, NULL));
    e->counters.draft_model_steps++;
    e->counters.draft_model_tokens += d->batch.n_tokens;
    return QUIRE_OK;
}

static void commit_first(struct qr_draft_model *d)
{
    for (uint32_t i = 0; i < d->scheduler.n_step; i++) {
        struct qr_task *t = d->scheduler.step[i];
        qr_sequence_append(&d->memory, t->sequence, t->tokens, t->n_step);
    }
}

void qr_mtp_add_tokens(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    for (uint32_t i = d->batch.n_complete; i-- > 0;)
        if (!d->batch.complete[i]->pools)
            qr_draft_model_add_token(e, qr_draft_model_request(d->batch.complete[i]),
                                     d->logits + (size_t)d->batch.first_logits[i] * d->vocab_size);
}

/* ---- A head that reads the keys and values of the model
 *
 * It has no sequences, and computes only rows that draft. All of a request are at the position of
 * its last token, attend to the keys and values before that, and read one token each: the last one,
 * with the model's hidden state before it, then the one drafted last, with the head's. */

/* Adds a row to the planned pass. */
static void plan_shared_row(struct qr_draft_model *d, struct qr_request *r, const float *hidden,
                            size_t width)
{
    struct qr_task *t = &r->draft_task;
    const uint32_t n = r->task.n_tokens - 1; /* tokens with keys and values */
    *t = (struct qr_task){ .tokens = r->tokens + 1 + r->task.n_draft,
                           .n_tokens = n,
                           .n_computed = n - 1,
                           .n_step = 1,
                           .sequence = r->task.sequence };
    memcpy(d->hidden_in + d->n_rows++ * width, hidden, width * sizeof *hidden);
    d->scheduler.step[d->scheduler.n_step++] = t;
}

static void plan_first_shared(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    const size_t width = d->input_size;
    d->scheduler.n_step = d->n_rows = 0;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        const uint32_t row = r->hidden_row + r->task.n_tokens - 2 - r->hidden_first;
        if (r->n_model_draft) /* qr_mtp_room() has found the row */
            plan_shared_row(d, r, d->hidden_rows + row * width, width);
        r->n_hidden = 0; /* used up */
    }
}

/* The head has no sequence of the requests, draft_task ends with the passes. */
static void end_shared(struct quire_engine *e)
{
    for (uint32_t i = 0; i < e->scheduler.n_running; i++)
        qr_request_of(e->scheduler.running[i])->draft_task.sequence = NULL;
}

/* ---- All passes */

/* Plans a pass over the tokens that were just drafted, with the head's hidden states before them,
 * of the requests that draft further ones. Their keys and values are computed again once the tokens
 * are accepted and the model's hidden states are known. */
static void plan_next(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    const size_t width = d->state_size;
    d->scheduler.n_step = d->n_rows = 0;
    for (uint32_t i = 0; i < d->batch.n_complete; i++) {
        struct qr_task *t = d->batch.complete[i];
        struct qr_request *r = qr_draft_model_request(t);
        if (t->pools || r->task.n_draft >= r->n_model_draft)
            continue;
        const float *hidden =
            d->hidden_out + d->batch.logits_rows[d->batch.first_logits[i]] * width;
        if (d->shares_kv) {
            plan_shared_row(d, r, hidden, width);
            continue;
        }
        memcpy(d->hidden_in + d->n_rows++ * width, hidden, width * sizeof *d->hidden_in);
        t->n_tokens = r->task.n_tokens + r->task.n_draft - 1 - r->mtp_base;
        t->n_computed = t->n_tokens - 1;
        t->n_step = 1;
        d->scheduler.step[d->scheduler.n_step++] = t;
    }
}

/* The passes of a block drafter. */
static void run_blocks(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    plan_first(e);
    if (!d->scheduler.n_step || run_pass(e, true) != QUIRE_OK)
        return;
    commit_first(d);
    qr_draft_block_plan(e);
    const double begin = qr_clock_now();
    if (d->scheduler.n_step && run_pass(e, false) == QUIRE_OK) {
        qr_step_cost_record(&d->step_cost, d->batch.n_seqs, qr_clock_now() - begin);
        qr_draft_block_add_tokens(e);
    }
    qr_draft_block_end(e);
}

/* The passes of a head that drafts one token of each request per pass. */
static void run_passes(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    if (d->shares_kv)
        plan_first_shared(e);
    else
        plan_first(e);
    for (bool first = true; d->scheduler.n_step; first = false) {
        const double begin_time = qr_clock_now();
        if (run_pass(e, first) != QUIRE_OK)
            break;
        if (first && !d->shares_kv)
            commit_first(d);
        qr_mtp_add_tokens(e);
        if (d->batch.n_logits == d->batch.n_seqs)
            qr_step_cost_record(&d->step_cost, d->batch.n_seqs, qr_clock_now() - begin_time);
        plan_next(e);
    }
    if (d->shares_kv)
        end_shared(e);
}

void qr_mtp_run(struct quire_engine *e)
{
    qr_draft_model_end_preempted(e);
    if (e->draft_model->block_size)
        run_blocks(e);
    else if (e->draft_model->heads)
        qr_draft_heads_run(e);
    else
        run_passes(e);
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        qr_constraint_drop_draft(r);
        if (r->n_model_draft)
            r->n_model_draft = r->task.n_draft;
    }
}
