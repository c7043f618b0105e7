/* SPDX-License-Identifier: Apache-2.0 */
/* draft_heads.c - drafts from several heads of multi-token prediction. */
#include "engine/draft_heads.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/draft_mtp.h"
#include "engine/request.h"
#include "engine/step.h"
#include <string.h>

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* ---- Memory */

uint64_t qr_draft_heads_bytes(const struct qr_draft_model *d, uint32_t n_sequences)
{
    const uint64_t states = 2 * (uint64_t)d->n_heads - 1;
    return sizeof *d->heads +
           n_sequences * (states * d->state_size * sizeof(float) + sizeof *d->heads->rows +
                          d->n_heads * sizeof *d->heads->computed);
}

quire_status qr_draft_heads_create(struct qr_draft_model *d, uint32_t n_sequences,
                                   const struct quire_allocator *allocator, struct quire_error *err)
{
    struct qr_draft_heads *h = qr_calloc(allocator, 1, sizeof *h);
    d->heads = h;
    if (h) {
        h->n = d->n_heads;
        h->chained = d->chained;
        h->n_sequences = n_sequences;
        h->width = d->state_size;
        h->kept = qr_alloc(allocator, (size_t)n_sequences * (h->n - 1), h->width * sizeof(float));
        h->drafted = qr_alloc(allocator, (size_t)n_sequences * h->n, h->width * sizeof(float));
        h->rows = qr_calloc(allocator, n_sequences, sizeof *h->rows);
        h->computed = qr_calloc(allocator, (size_t)n_sequences * h->n, sizeof *h->computed);
    }
    return h && (h->kept || h->n == 1) && h->drafted && h->rows && h->computed
               ? QUIRE_OK
               : qr_fail(err, QUIRE_E_NOMEM, "no memory for the states of %u heads", d->n_heads);
}

void qr_draft_heads_destroy(struct qr_draft_model *d, const struct quire_allocator *allocator)
{
    struct qr_draft_heads *h = d->heads;
    if (!h)
        return;
    qr_free(allocator, h->kept, (size_t)h->n_sequences * (h->n - 1), h->width * sizeof(float));
    qr_free(allocator, h->drafted, (size_t)h->n_sequences * h->n, h->width * sizeof(float));
    qr_free(allocator, h->rows, h->n_sequences, sizeof *h->rows);
    qr_free(allocator, h->computed, (size_t)h->n_sequences * h->n, sizeof *h->computed);
    qr_free(allocator, h, 1, sizeof *h);
    d->heads = NULL;
}

static size_t index_of(const struct qr_draft_model *d, const struct qr_request *r)
{
    return (size_t)(r->draft_task.sequence - d->memory.sequences);
}

static struct qr_head_rows *rows_of(const struct qr_draft_model *d, const struct qr_request *r)
{
    return &d->heads->rows[index_of(d, r)];
}

/* End of the rows that head k has computed for good. */
static uint32_t *computed(const struct qr_draft_model *d, const struct qr_request *r, uint32_t k)
{
    return &d->heads->computed[index_of(d, r) * d->heads->n + k];
}

/* State `at` of those kept for a request. */
static float *kept(const struct qr_draft_model *d, const struct qr_request *r, uint32_t at)
{
    const struct qr_draft_heads *h = d->heads;
    return h->kept + (index_of(d, r) * (h->n - 1) + at) * h->width;
}

/* The state that drafted token k of a request. */
static float *drafted(const struct qr_draft_model *d, const struct qr_request *r, uint32_t k)
{
    const struct qr_draft_heads *h = d->heads;
    QR_INVARIANT(h->n);
    return h->drafted + (index_of(d, r) * h->n + k % h->n) * h->width;
}

/* The hidden state of the model at a row of the last step. */
static const float *model_state(const struct qr_draft_model *d, const struct qr_request *r,
                                uint32_t row)
{
    const uint32_t at = r->hidden_row + r->mtp_base + row - r->hidden_first;
    return d->hidden_rows + (size_t)at * d->heads->width;
}

void qr_draft_heads_begin(struct qr_draft_model *d, const struct qr_request *r)
{
    struct qr_draft_heads *h = d->heads;
    for (uint32_t k = 0; k < h->n; k++)
        *computed(d, r, k) = r->draft_task.sequence->n_tokens;
    if (h->n > 1) /* what rows of a gap read */
        memset(kept(d, r, 0), 0, (h->n - 1) * h->width * sizeof *h->kept);
}

uint32_t qr_draft_heads_gap(const struct qr_draft_model *d)
{
    return d->heads && d->heads->n > 1 ? d->heads->n : 0;
}

uint32_t qr_draft_heads_computed(const struct qr_draft_model *d, const struct qr_request *r)
{
    return *computed(d, r, 0);
}

/* ---- Rows of a pass */

/* End of the rows that head k can compute for good: the tokens that they read are known. */
static uint32_t known_rows(const struct qr_request *r, const struct qr_head_rows *rows, uint32_t k)
{
    const uint32_t before = r->mtp_base + 1 + k;
    return r->task.n_tokens > before ? smaller(rows->known_end, r->task.n_tokens - before) : 0;
}

/* Whether a request drafts in the pass of number `depth`. */
static bool drafts(const struct qr_request *r, uint32_t depth)
{
    return r->n_model_draft > depth && r->task.n_draft == depth;
}

/* The hidden state that a row of head k reads. The pass of the head before it is the last one. */
static const float *state_of(const struct qr_draft_model *d, const struct qr_request *r, uint32_t k,
                             uint32_t row)
{
    const struct qr_draft_heads *h = d->heads;
    const struct qr_head_rows *rows = rows_of(d, r);
    if (h->chained && k)
        return row < rows->first ? kept(d, r, k - 1)
                                 : d->hidden_out + (rows->out + row - rows->first) * h->width;
    return r->mtp_base + row < r->hidden_first ? kept(d, r, row % (h->n - 1))
                                               : model_state(d, r, row);
}

/* Keeps what the first row reads that head k cannot compute for good yet, of chained heads. */
static void keep_chained(const struct qr_draft_model *d, const struct qr_request *r, uint32_t k)
{
    const struct qr_head_rows *rows = rows_of(d, r);
    const uint32_t next = known_rows(r, rows, k);
    if (next >= rows->first && next < rows->end)
        memcpy(kept(d, r, k - 1), state_of(d, r, k, next), d->heads->width * sizeof(float));
}

/* Keeps the last hidden states of the model. */
static void keep_model(const struct qr_draft_model *d, const struct qr_request *r)
{
    const uint32_t n = d->heads->n - 1, end = rows_of(d, r)->known_end,
                   from = r->hidden_first > r->mtp_base ? r->hidden_first - r->mtp_base : 0;
    for (uint32_t row = end - from > n ? end - n : from; row < end; row++)
        memcpy(kept(d, r, row % n), model_state(d, r, row), d->heads->width * sizeof(float));
}

/* Adds rows [first, end) of a request to the pass. logits: a token is drawn from the last one. */
static void add_rows(struct qr_draft_model *d, struct qr_request *r, uint32_t head, uint32_t first,
                     uint32_t end, bool logits)
{
    struct qr_task *t = &r->draft_task;
    struct qr_head_rows *rows = rows_of(d, r);
    t->tokens = r->tokens + r->mtp_base + 1 + head;
    t->n_computed = first;
    t->n_step = end - first;
    t->n_tokens = logits ? end : end + 1;
    rows->first = first;
    rows->end = end;
    rows->out = d->n_rows;
    d->n_rows += end - first;
    d->scheduler.step[d->scheduler.n_step++] = t;
}

static void copy_state(struct qr_draft_model *d, uint32_t at, const float *state)
{
    memcpy(d->hidden_in + at * d->heads->width, state, d->heads->width * sizeof *state);
}

/* Adds the rows of head k of a request to pass k. */
static void plan_head(struct qr_draft_model *d, struct qr_request *r, uint32_t k)
{
    struct qr_head_rows *rows = rows_of(d, r);
    const bool draws = drafts(r, k), chains = d->heads->chained && k;
    const uint32_t first = *computed(d, r, k), known = known_rows(r, rows, k),
                   end = draws ? rows->known_end : known;
    for (uint32_t row = first; row < end; row++)
        copy_state(d, d->n_rows + row - first, state_of(d, r, k, row));
    if (chains)
        keep_chained(d, r, k);
    if (first < end)
        add_rows(d, r, k, first, end, draws);
    else /* the next head finds no row in this pass */
        rows->first = rows->end = first;
    if (known > first)
        *computed(d, r, k) = known;
}

/* Adds the row of the last head that drafts a token behind those of all heads. */
static void plan_further(struct qr_draft_model *d, struct qr_request *r, uint32_t depth)
{
    const struct qr_draft_heads *h = d->heads;
    const uint32_t row = rows_of(d, r)->known_end + depth - h->n;
    if (!drafts(r, depth))
        return;
    copy_state(d, d->n_rows, drafted(d, r, h->chained ? depth - 1 : depth - h->n));
    add_rows(d, r, h->n - 1, row, row + 1, true);
}

static void plan_pass(struct quire_engine *e, uint32_t depth)
{
    struct qr_draft_model *d = e->draft_model;
    d->scheduler.n_step = d->n_rows = 0;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        if (!r->draft_task.sequence || !rows_of(d, r)->planned)
            continue;
        if (depth < d->heads->n)
            plan_head(d, r, depth);
        else
            plan_further(d, r, depth);
    }
}

/* ---- All passes */

/* Reserves the rows of a request up to position `end` and those of its draft. */
static bool reserve(struct quire_engine *e, struct qr_request *r, uint32_t end)
{
    struct qr_draft_model *d = e->draft_model;
    const uint32_t n = d->heads->n;
    if (end + 1 != r->task.n_tokens)
        r->n_model_draft = 0;
    const uint32_t last = end - r->mtp_base + (r->n_model_draft > n ? r->n_model_draft - n : 0),
                   have = r->draft_task.sequence->n_tokens;
    if (last <= d->memory.max_tokens &&
        qr_sequence_reserve(&d->memory, r->draft_task.sequence, last - have, NULL) == QUIRE_OK)
        return true;
    qr_mtp_end_full(e, r);
    return false;
}

static void begin_step(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        const uint32_t end = qr_mtp_known_end(r);
        const bool planned = end && qr_mtp_update_sequence(e, r, end) && reserve(e, r, end);
        if (!planned)
            r->n_model_draft = 0;
        if (r->draft_task.sequence) {
            rows_of(d, r)->planned = planned;
            rows_of(d, r)->known_end = planned ? end - r->mtp_base : 0;
        }
    }
}

static quire_status run_pass(struct quire_engine *e, uint32_t head)
{
    struct qr_draft_model *d = e->draft_model;
    QR_TRY(qr_batch_build(&d->batch, &d->scheduler, NULL));
    d->batch.previous_hidden = d->hidden_in;
    d->batch.mtp_head = head;
    QR_TRY(qr_forward(d->context, &d->team_size, &d->batch, d->logits, d->hidden_out, NULL));
    e->counters.draft_model_steps++;
    e->counters.draft_model_tokens += d->batch.n_tokens;
    return QUIRE_OK;
}

/* Draws the tokens of a pass, and keeps the states that they were drawn from. */
static void draw_tokens(struct quire_engine *e, uint32_t depth)
{
    struct qr_draft_model *d = e->draft_model;
    const size_t width = d->heads->width;
    for (uint32_t i = 0; i < d->batch.n_complete; i++)
        memcpy(drafted(d, qr_draft_model_request(d->batch.complete[i]), depth),
               d->hidden_out + d->batch.logits_rows[d->batch.first_logits[i]] * width,
               width * sizeof *d->hidden_out);
    qr_mtp_add_tokens(e);
}

/* Counts the rows that all heads have computed for good as tokens of the sequences. After a failure
 * of a pass the sequences end, and begin anew. */
static void end_step(struct quire_engine *e, bool ok)
{
    struct qr_draft_model *d = e->draft_model;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        struct qr_task *t = &r->draft_task;
        const uint32_t n_hidden = r->n_hidden;
        r->n_hidden = 0; /* used up */
        if (!n_hidden || !t->sequence || !rows_of(d, r)->planned)
            continue;
        qr_mtp_set_tokens(d, r);
        const uint32_t n = *computed(d, r, d->heads->n - 1);
        if (ok && !d->heads->chained && d->heads->n > 1)
            keep_model(d, r);
        if (!ok)
            qr_draft_model_end(e, r);
        else if (n > t->sequence->n_tokens)
            qr_sequence_append(&d->memory, t->sequence, t->tokens, n - t->sequence->n_tokens);
    }
}

void qr_draft_heads_run(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    const uint32_t n = d->heads->n;
    bool ok = true;
    begin_step(e);
    for (uint32_t depth = 0; ok; depth++) {
        const double begin_time = qr_clock_now();
        plan_pass(e, depth);
        if (!d->scheduler.n_step && depth + 1 >= n)
            break;
        if (!d->scheduler.n_step)
            continue;
        ok = run_pass(e, smaller(depth, n - 1)) == QUIRE_OK;
        if (!ok)
            break;
        draw_tokens(e, depth);
        if (d->batch.n_logits == d->batch.n_seqs)
            qr_step_cost_record(&d->step_cost, d->batch.n_seqs, qr_clock_now() - begin_time);
    }
    end_step(e, ok);
}
