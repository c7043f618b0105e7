/* SPDX-License-Identifier: Apache-2.0 */
/* beam_finish.c - scores finished answers of a beam search and returns them. */
#include "engine/beam_finish.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/finish.h"
#include <math.h>
#include <string.h>

/* ---- Hypotheses */

static double score(const struct qr_beam_search *b, double sum, uint32_t n_output)
{
    return sum / pow(n_output, b->length_penalty);
}

void qr_beam_copy_logprobs(const struct qr_beam_search *b, const struct qr_beam_candidate *c,
                           struct quire_token_logprob *to)
{
    const uint32_t n_top = b->n_logprobs - 1;
    *to = (struct quire_token_logprob){ c->token, c->logprob };
    if (n_top)
        memcpy(to + 1, b->top + (size_t)c->beam * n_top, n_top * sizeof *to);
}

void qr_beam_add_hypothesis(struct qr_beam_search *b, const struct qr_request *r,
                            const struct qr_beam_ending *ending)
{
    const struct qr_beam_candidate *last = ending->last;
    const uint32_t n = r->n_output, n_output = n + (last != NULL);
    const double sum = last ? last->sum : r->sum_logprob, s = score(b, sum, n_output);
    uint32_t at = b->n_hypotheses;
    while (at && b->hypotheses[at - 1].score < s)
        at--;
    if (n_output == 0 || at == b->width)
        return;
    if (b->n_hypotheses < b->width)
        b->n_hypotheses++;
    struct qr_hypothesis h = b->hypotheses[b->n_hypotheses - 1]; /* unused, or the worst one */
    memmove(&b->hypotheses[at + 1], &b->hypotheses[at], (b->n_hypotheses - 1 - at) * sizeof h);
    memcpy(h.tokens, r->tokens + r->task.n_prompt, n * sizeof *h.tokens);
    if (h.logprobs)
        memcpy(h.logprobs, r->logprobs + (size_t)r->task.n_prompt * b->n_logprobs,
               (size_t)n * b->n_logprobs * sizeof *h.logprobs);
    h.n_tokens = n;
    if (last && ending->keeps_last) {
        h.tokens[h.n_tokens++] = last->token;
        if (h.logprobs)
            qr_beam_copy_logprobs(b, last, h.logprobs + (size_t)n * b->n_logprobs);
    }
    h.n_output = n_output;
    h.sum = sum;
    h.score = s;
    h.reason = ending->reason;
    h.context_full = ending->context_full;
    b->hypotheses[at] = h;
}

bool qr_beam_is_done(const struct qr_beam_search *b, double best_sum, uint32_t n_output)
{
    if (b->n_hypotheses < b->width)
        return false;
    if (b->stopping == QUIRE_BEAM_STOP_WHEN_FULL)
        return true;
    /* sums fall as beams grow: a positive penalty divides by most at the maximum length */
    if (b->stopping == QUIRE_BEAM_STOP_NEVER && b->length_penalty > 0)
        n_output = b->max_output;
    return b->hypotheses[b->width - 1].score >= score(b, best_sum, n_output);
}

/* ---- The end */

static quire_status write_text(const struct qr_beam_search *b, struct qr_request *r,
                               const struct qr_hypothesis *h, struct quire_error *err)
{
    bool stopped = false;
    QR_TRY(qr_output_text_copy(&r->output, &b->fresh, err));
    for (uint32_t i = 0; i < h->n_tokens; i++)
        QR_TRY(qr_output_text_push(&r->output, h->tokens[i], &stopped, err));
    r->flushed = true;
    return stopped ? QUIRE_OK : qr_output_text_flush(&r->output, err);
}

/* Turns an answer into a hypothesis. The scheduler does not know it any more. */
static quire_status take_hypothesis(const struct qr_beam_search *b, struct qr_request *r,
                                    const struct qr_hypothesis *h, struct quire_error *err)
{
    const uint32_t n_prompt = r->task.n_prompt;
    memcpy(r->tokens + n_prompt, h->tokens, h->n_tokens * sizeof *r->tokens);
    if (r->logprobs)
        memcpy(r->logprobs + (size_t)n_prompt * b->n_logprobs, h->logprobs,
               (size_t)h->n_tokens * b->n_logprobs * sizeof *r->logprobs);
    r->task.n_tokens = n_prompt + h->n_tokens;
    r->n_output = h->n_output;
    r->sum_logprob = h->sum;
    r->final_context_full = h->context_full;
    return write_text(b, r, h, err);
}

static void remove_all(struct quire_engine *e, struct qr_request *leader, bool keep)
{
    for (struct qr_request *r = leader; r; r = r->next)
        qr_scheduler_remove(&e->scheduler, &r->task, keep);
}

/* All answers have the times and the prefix cache hits of the search. */
static void copy_usage(const struct qr_request *leader, struct qr_request *r)
{
    r->start_time = leader->start_time;
    r->first_token_time = leader->first_token_time;
    r->last_token_time = leader->last_token_time;
    r->task.n_cached = leader->task.n_cached;
}

/* Answer `rank` of a search that is over or was ended. */
static void finish_answer(struct quire_engine *e, const struct qr_request *leader,
                          struct qr_request *r, uint32_t rank, enum quire_finish_reason reason)
{
    const struct qr_beam_search *b = leader->beams;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_status s = QUIRE_OK;
    copy_usage(leader, r);
    r->choice = rank;
    if (rank < b->n_hypotheses) {
        s = take_hypothesis(b, r, &b->hypotheses[rank], &err);
        reason = reason == QUIRE_FINISH_NONE ? b->hypotheses[rank].reason : reason;
    } else {
        r->task.n_tokens = r->task.n_prompt;
        r->n_output = 0;
        r->flushed = true;
        if (reason == QUIRE_FINISH_NONE)
            s = qr_fail(&err, QUIRE_E_RANGE, "the search found %u answers only", b->n_hypotheses);
    }
    if (s == QUIRE_OK)
        qr_request_mark_finished(e, r, reason);
    else
        qr_request_mark_failed(e, r, s, &err);
}

void qr_beam_end(struct quire_engine *e, struct qr_request *leader, enum quire_finish_reason reason)
{
    struct qr_beam_search *b = leader->beams;
    const struct qr_beam_ending unfinished = { .reason = reason };
    for (uint32_t i = 0; i < b->n_live && reason != QUIRE_FINISH_NONE; i++)
        qr_beam_add_hypothesis(b, b->live[i], &unfinished);
    remove_all(e, leader, true); /* with the tokens of the beams, before they change */
    uint32_t rank = 0;
    for (struct qr_request *r = leader; r; r = r->next)
        finish_answer(e, leader, r, rank++, reason);
}

void qr_beam_fail(struct quire_engine *e, struct qr_request *leader, quire_status status,
                  const struct quire_error *err, bool keep)
{
    remove_all(e, leader, keep);
    for (struct qr_request *r = leader; r; r = r->next) {
        copy_usage(leader, r);
        r->task.n_tokens = r->task.n_prompt;
        r->n_output = 0;
        qr_request_mark_failed(e, r, status, err);
    }
}
