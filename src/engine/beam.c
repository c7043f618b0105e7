/* SPDX-License-Identifier: Apache-2.0 */
/* beam.c - one token of a beam search: candidates of every beam, the best of them, and the moves of
 * beams between the answers that hold them. */
#include "engine/beam.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/beam_finish.h"
#include "engine/finish.h"
#include "engine/sample.h"
#include "engine/sampling.h"
#include <string.h>

/* ---- Candidates */

/* Lists the 2 * width most likely tokens that may follow a beam. */
static quire_status list_candidates(struct quire_engine *e, struct qr_beam_search *b,
                                    struct qr_request *r, float *logits, struct quire_error *err)
{
    const struct quire_sample_args args = {
        .struct_size = sizeof args,
        .logits = logits,
        .history = r->tokens,
        .n_history = r->task.n_tokens,
    };
    struct qr_ranked_tokens ranked;
    struct qr_log_softmax plain = { 0 };
    QR_TRY(qr_prepare_logits(e, r, logits, err));
    if (b->n_logprobs) {
        const uint32_t n_top = b->n_logprobs - 1;
        QR_TRY(qr_log_softmax_init(&plain, logits, e->vocab_size, err));
        QR_TRY(quire_logprobs(logits, e->vocab_size, 0, NULL, n_top,
                              b->top + (size_t)r->choice * n_top, err));
    }
    QR_TRY(qr_sampler_rank(e->sampler, &r->sampling, &args, 2 * (size_t)b->width, &ranked, err));
    struct qr_beam_candidate *to = b->candidates + (size_t)r->choice * 2 * b->width;
    for (size_t i = 0; i < ranked.n; i++) {
        const struct qr_candidate *c = &ranked.list[i];
        to[i] = (struct qr_beam_candidate){
            .sum = r->sum_logprob + qr_log_softmax(&ranked.softmax, c->logit),
            .token = c->id,
            .beam = r->choice,
            .logprob = b->n_logprobs ? (float)qr_log_softmax(&plain, logits[c->id]) : 0,
        };
    }
    b->n_candidates[r->choice] = (uint32_t)ranked.n;
    return QUIRE_OK;
}

static bool ranks_before(const struct qr_beam_candidate *x, const struct qr_beam_candidate *y)
{
    if (x->sum != y->sum)
        return x->sum > y->sum;
    return x->beam != y->beam ? x->beam < y->beam : x->token < y->token;
}

/* Lists the best 2 * width candidates of all beams in order of rank; returns their number. */
static uint32_t merge_candidates(const struct qr_beam_search *b, struct qr_beam_candidate *best)
{
    const uint32_t n_max = 2 * b->width;
    QR_INVARIANT(n_max > 0);
    uint32_t n = 0;
    for (uint32_t beam = 0; beam < b->n_live; beam++)
        for (uint32_t i = 0; i < b->n_candidates[beam]; i++) {
            const struct qr_beam_candidate *c = &b->candidates[beam * n_max + i];
            if (n == n_max && !ranks_before(c, &best[n - 1]))
                continue;
            uint32_t at = n < n_max ? n++ : n - 1;
            for (; at && ranks_before(c, &best[at - 1]); at--)
                best[at] = best[at - 1];
            best[at] = *c;
        }
    return n;
}

/* ---- Selection */

/* The text of beam `rank` of the next token, as far as stop strings need it. */
static quire_status continue_text(struct qr_beam_search *b, const struct qr_beam_candidate *c,
                                  uint32_t rank, bool *stopped, struct quire_error *err)
{
    struct qr_output_text *to = &b->next[rank];
    if (to->stops.n == 0)
        return QUIRE_OK;
    QR_TRY(qr_output_text_copy(to, &b->live[c->beam]->output, err));
    QR_TRY(qr_output_text_push(to, c->token, stopped, err));
    to->n_taken = to->n_released; /* the end of the search writes the text */
    return QUIRE_OK;
}

/* Chooses the beams of the next token, best first. Candidates that end an answer become hypotheses
 * if they are among the best `width` of all. */
static quire_status select_beams(struct quire_engine *e, struct qr_beam_search *b,
                                 struct qr_beam_candidate *next, uint32_t *n_next,
                                 struct quire_error *err)
{
    struct qr_beam_candidate best[2 * QR_MAX_BEAMS];
    const uint32_t n = merge_candidates(b, best);
    *n_next = 0;
    for (uint32_t i = 0; i < n && *n_next < b->width; i++) {
        const struct qr_request *r = b->live[best[i].beam];
        struct qr_beam_ending ending = { .last = &best[i], .reason = QUIRE_FINISH_STOP };
        const bool ends = qr_ends_answer(e, r, best[i].token);
        if (!ends)
            QR_TRY(continue_text(b, &best[i], *n_next, &ending.keeps_last, err));
        if (!ends && !ending.keeps_last)
            next[(*n_next)++] = best[i];
        else if (i < b->width)
            qr_beam_add_hypothesis(b, r, &ending);
    }
    return QUIRE_OK;
}

/* ---- Moves */

/* Gives an answer that is idle, or whose beam was dropped, a copy of another beam. */
static void fork_beam(struct quire_engine *e, struct qr_request *to, const struct qr_request *from)
{
    const uint32_t begin = from->task.n_prompt, n = from->task.n_tokens - begin;
    qr_scheduler_branch(&e->scheduler, &to->task, &from->task);
    memcpy(to->tokens + begin, from->tokens + begin, n * sizeof *to->tokens);
    memcpy(to->keys + begin, from->keys + begin, n * sizeof *to->keys);
    if (to->logprobs)
        memcpy(to->logprobs + (size_t)begin * to->n_logprobs,
               from->logprobs + (size_t)begin * from->n_logprobs,
               (size_t)n * to->n_logprobs * sizeof *to->logprobs);
    to->task.n_tokens = from->task.n_tokens;
    to->n_output = from->n_output;
}

static void append_token(struct qr_beam_search *b, struct qr_request *r,
                         const struct qr_beam_candidate *c, uint32_t rank)
{
    if (r->logprobs)
        qr_beam_copy_logprobs(b, c, r->logprobs + (size_t)r->task.n_tokens * b->n_logprobs);
    r->tokens[r->task.n_tokens] = r->keys[r->task.n_tokens] = c->token;
    r->task.n_tokens++;
    r->n_output++;
    r->sum_logprob = c->sum;
    r->choice = rank;
    const struct qr_output_text text = r->output;
    r->output = b->next[rank];
    b->next[rank] = text;
    b->live[rank] = r;
    b->ready[rank] = false;
}

/* Distributes the beams of the next token over the answers. The first child of a beam stays with
 * its answer; the others fork into answers that have no beam left. */
static void move_beams(struct quire_engine *e, struct qr_request *leader,
                       const struct qr_beam_candidate *next, uint32_t n_next)
{
    struct qr_beam_search *b = leader->beams;
    struct qr_request *to[QR_MAX_BEAMS] = { NULL };
    bool stays[QR_MAX_BEAMS] = { false };
    for (uint32_t i = 0; i < n_next; i++)
        if (!stays[next[i].beam]) {
            stays[next[i].beam] = true;
            to[i] = b->live[next[i].beam];
        }
    uint32_t i = 0;
    for (struct qr_request *r = leader; r; r = r->next) {
        if (!r->task.idle && stays[r->choice])
            continue;
        while (i < n_next && to[i])
            i++;
        if (i < n_next) {
            to[i] = r;
            fork_beam(e, r, b->live[next[i].beam]);
        } else if (!r->task.idle) {
            qr_scheduler_set_idle(&e->scheduler, &r->task);
        }
    }
    for (i = 0; i < n_next; i++) {
        QR_INVARIANT(to[i]); /* the group has as many answers as the search has beams */
        append_token(b, to[i], &next[i], i);
    }
    b->n_live = n_next;
}

/* ---- One token */

static quire_status advance(struct quire_engine *e, struct qr_request *leader,
                            struct quire_error *err)
{
    struct qr_beam_search *b = leader->beams;
    struct qr_beam_candidate next[QR_MAX_BEAMS];
    const uint32_t n_output = b->live[0]->n_output + 1;
    uint32_t n_next;
    leader->last_token_time = qr_clock_now();
    if (leader->first_token_time == 0)
        leader->first_token_time = leader->last_token_time;
    e->counters.completion_tokens += b->n_live;
    QR_TRY(select_beams(e, b, next, &n_next, err));
    const bool is_last = n_output == leader->max_output;
    const bool context_full = leader->task.n_prompt + n_output > e->info.context_length;
    for (uint32_t i = 0; i < n_next && (is_last || context_full); i++) {
        const struct qr_beam_ending ending = { &next[i], true, QUIRE_FINISH_LENGTH, !is_last };
        qr_beam_add_hypothesis(b, b->live[next[i].beam], &ending);
    }
    if (is_last || context_full || n_next == 0 || qr_beam_is_done(b, next[0].sum, n_output))
        qr_beam_end(e, leader, QUIRE_FINISH_NONE);
    else
        move_beams(e, leader, next, n_next);
    return QUIRE_OK;
}

void qr_beam_take_logits(struct quire_engine *e, struct qr_request *r, float *logits)
{
    struct qr_request *leader = r->leader;
    struct qr_beam_search *b = leader->beams;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (b->ready[r->choice]) /* recomputed after a preemption, for its keys and values only */
        return;
    quire_status s = list_candidates(e, b, r, logits, &err);
    b->ready[r->choice] = true;
    for (uint32_t i = 0; i < b->n_live && s == QUIRE_OK; i++)
        if (!b->ready[i])
            return;
    if (s == QUIRE_OK)
        s = advance(e, leader, &err);
    if (s != QUIRE_OK)
        qr_beam_fail(e, leader, s, &err, true);
}
