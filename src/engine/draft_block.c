/* SPDX-License-Identifier: Apache-2.0 */
/* draft_block.c - drafts of requests from a block drafter. */
#include "engine/draft_block.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/request.h"
#include <quire/markov_head.h>

/* Rows of a call of the Markov head: more sequences are several calls. */
enum { MARKOV_ROWS = 32 };

/* Rows of a block that draft nothing. */
static uint32_t silent_rows(const struct qr_draft_model *d) { return d->from_anchor ? 0 : 1; }

uint32_t qr_draft_block_room(const struct qr_draft_model *d, uint32_t n)
{
    const uint32_t room = d->memory.max_tokens - n,
                   rows = room < d->block_size ? room : d->block_size;
    return rows > silent_rows(d) ? rows - silent_rows(d) : 0;
}

uint32_t qr_draft_block_rows(const struct qr_draft_model *d, uint32_t n_tokens)
{
    return n_tokens ? n_tokens + silent_rows(d) : 0;
}

void qr_draft_block_plan(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    d->scheduler.n_step = d->n_rows = 0;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        struct qr_task *t = &r->draft_task;
        if (!r->n_model_draft || !t->sequence)
            continue;
        /* Planned tokens up to the first row that drafts, and the other masks as their draft: the
         * batch has logits from the last planned token on. The first mask lies behind the request's
         * tokens, where the token drafted in its place will be. */
        r->tokens[r->task.n_tokens] = d->masks[0];
        t->tokens = r->tokens + r->mtp_base;
        t->n_computed = t->sequence->n_tokens;
        t->n_step = 1 + silent_rows(d);
        t->n_tokens = t->n_computed + t->n_step;
        t->draft = d->masks;
        t->n_step_draft = r->n_model_draft - 1;
        t->pools = false;
        d->scheduler.step[d->scheduler.n_step++] = t;
    }
}

/* Rows that draft the next token of a request each. */
struct rows {
    uint32_t n;
    struct qr_request *requests[MARKOV_ROWS];
    int32_t previous[MARKOV_ROWS];
    float *logits[MARKOV_ROWS], confidence[MARKOV_ROWS];
    const float *hidden[MARKOV_ROWS];
};

/* Adds the biases of the Markov head to rows, each behind the token drawn before it. */
static quire_status add_bias(struct qr_draft_model *d, struct rows *rows)
{
    const struct quire_markov_args args = { .struct_size = sizeof args,
                                            .n = rows->n,
                                            .previous = rows->previous,
                                            .logits = rows->logits,
                                            .hidden = d->reads_states ? rows->hidden : NULL,
                                            .confidence =
                                                d->has_confidence ? rows->confidence : NULL,
                                            .n_threads = d->team_size.n_last };
    const double begin = qr_clock_now();
    QR_TRY(quire_context_markov(d->context, &args, NULL));
    qr_step_cost_record(&d->markov_cost, rows->n, qr_clock_now() - begin);
    return QUIRE_OK;
}

/* Draws the next token of requests that have drafted `depth` tokens and draft more, from sequence
 * `at` of the pass on, of MARKOV_ROWS at most. Returns the sequence behind them. */
static uint32_t draw_next(struct quire_engine *e, uint32_t depth, uint32_t at, bool *drawn)
{
    struct qr_draft_model *d = e->draft_model;
    struct rows rows = { 0 };
    for (; at < d->batch.n_complete && rows.n < MARKOV_ROWS; at++) {
        struct qr_request *r = qr_draft_model_request(d->batch.complete[at]);
        const size_t row = d->batch.first_logits[at] + (size_t)depth;
        if (r->task.n_draft != depth || depth >= r->n_model_draft)
            continue;
        rows.requests[rows.n] = r;
        rows.previous[rows.n] = r->tokens[r->task.n_tokens + depth - 1]; /* drafts lie behind */
        rows.hidden[rows.n] = d->hidden_out + d->batch.logits_rows[row] * (size_t)d->state_size;
        rows.logits[rows.n++] = d->logits + row * d->vocab_size;
    }
    const bool ok = rows.n && add_bias(d, &rows) == QUIRE_OK;
    for (uint32_t i = 0; i < rows.n; i++) {
        if (ok && d->has_confidence)
            rows.requests[i]->draft_confidence[depth] = rows.confidence[i];
        if (ok)
            qr_draft_model_add_token(e, rows.requests[i], rows.logits[i]);
        else
            rows.requests[i]->n_model_draft = depth;
    }
    *drawn |= ok;
    return at;
}

/* Draws the tokens of all blocks, one of each at a time: the next one depends on it. */
static void add_tokens_in_turn(struct quire_engine *e)
{
    bool drawn = true;
    for (uint32_t depth = 0; drawn; depth++) {
        drawn = false;
        for (uint32_t at = 0; at < e->draft_model->batch.n_complete;)
            at = draw_next(e, depth, at, &drawn);
    }
}

void qr_draft_block_add_tokens(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    if (d->markov) {
        add_tokens_in_turn(e);
        return;
    }
    for (uint32_t i = 0; i < d->batch.n_complete; i++) {
        struct qr_request *r = qr_draft_model_request(d->batch.complete[i]);
        float *logits = d->logits + (size_t)d->batch.first_logits[i] * d->vocab_size;
        for (; r->task.n_draft < r->n_model_draft; logits += d->vocab_size)
            qr_draft_model_add_token(e, r, logits);
    }
}

void qr_draft_block_end(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
    for (uint32_t i = 0; i < d->scheduler.n_step; i++) {
        struct qr_task *t = d->scheduler.step[i];
        t->tokens++;
        t->n_step_draft = 0;
    }
}
