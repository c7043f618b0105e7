/* SPDX-License-Identifier: Apache-2.0 */
/* draft_block.c - drafts of requests from a block drafter. */
#include "engine/draft_block.h"
#include "engine/request.h"

uint32_t qr_draft_block_room(const struct qr_draft_model *d, uint32_t n)
{
    const uint32_t room = d->memory.max_tokens - n;
    return room < d->block_size ? (room ? room - 1 : 0) : d->block_size - 1;
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
        /* Two planned tokens, and the other masks as their draft: the batch has logits from the
         * last planned token on. The first mask lies behind the request's tokens, where the token
         * drafted in its place will be. */
        r->tokens[r->task.n_tokens] = d->masks[0];
        t->tokens = r->tokens + r->mtp_base;
        t->n_computed = t->sequence->n_tokens;
        t->n_step = 2;
        t->n_tokens = t->n_computed + t->n_step;
        t->draft = d->masks;
        t->n_step_draft = r->n_model_draft - 1;
        t->pools = false;
        d->scheduler.step[d->scheduler.n_step++] = t;
    }
}

void qr_draft_block_add_tokens(struct quire_engine *e)
{
    struct qr_draft_model *d = e->draft_model;
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
