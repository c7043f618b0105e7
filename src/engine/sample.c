/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - logits to tokens: masks, hooks, sampling, stop conditions, answers that fork. */
#include "engine/sample.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/beam.h"
#include "engine/constraint.h"
#include "engine/draft.h"
#include "engine/finish.h"
#include "engine/mask_ahead.h"
#include "engine/request.h"
#include "engine/speculation/verify.h"
#include "engine/vector.h"
#include <math.h>
#include <string.h>

void qr_mask_logits(const struct quire_engine *e, const struct qr_request *r, uint32_t n_ahead,
                    float *logits)
{
    qr_mask_padding(e, logits);
    const bool too_short = r->n_output + n_ahead < r->min_output;
    for (uint32_t i = 0; i < e->n_eog && (too_short || r->flags & QUIRE_REQUEST_IGNORE_EOS); i++)
        logits[e->eog[i]] = -INFINITY;
    for (uint32_t i = 0; i < r->n_stop_tokens && too_short; i++)
        logits[r->stop_tokens[i]] = -INFINITY;
}

bool qr_ends_answer(const struct quire_engine *e, const struct qr_request *r, int32_t token)
{
    for (uint32_t i = 0; i < r->n_stop_tokens; i++)
        if (r->stop_tokens[i] == token)
            return true;
    return quire_tokenizer_is_eog(e->tokenizer, token);
}

/* Appends a sampled token to the output and finishes the answer if a stop condition holds. */
static quire_status append_token(struct quire_engine *e, struct qr_request *r, int32_t token,
                                 struct quire_error *err)
{
    r->last_token_time = qr_clock_now();
    if (r->n_output++ == 0)
        r->first_token_time = r->last_token_time;
    e->counters.completion_tokens++;
    qr_request_touch(e, r);
    if (qr_ends_answer(e, r, token)) {
        qr_request_flush_and_finish(e, r, QUIRE_FINISH_STOP);
        return QUIRE_OK;
    }
    bool stopped, complete;
    QR_TRY(qr_constraint_commit(e, r, token, &complete, err));
    QR_TRY(qr_output_text_push(&r->output, token, &stopped, err));
    r->keys[r->task.n_tokens] = token;
    r->tokens[r->task.n_tokens++] = token;
    if (r->draft)
        (void)qr_suffix_automaton_append(&r->automaton, token);
    if (stopped) {
        qr_request_finish(e, r, QUIRE_FINISH_STOP);
    } else if (complete) {
        qr_request_flush_and_finish(e, r, QUIRE_FINISH_STOP);
    } else if (r->n_output == r->max_output) {
        qr_request_flush_and_finish(e, r, QUIRE_FINISH_LENGTH);
    } else if (r->task.n_tokens > e->info.context_length) {
        r->final_context_full = true;
        qr_request_flush_and_finish(e, r, QUIRE_FINISH_LENGTH);
    }
    return QUIRE_OK;
}

static quire_status call_hook(const struct quire_engine *e, const struct qr_request *r,
                              float *logits, struct quire_error *err)
{
    const struct quire_logits_args args = {
        .struct_size = sizeof args,
        .id = r->id,
        .choice = r->choice,
        .tokens = r->tokens,
        .n_tokens = r->task.n_tokens,
        .logits = logits,
        .n_vocab = e->vocab_size,
    };
    const quire_status s = r->logits_hook(r->logits_hook_user, &args);
    return s == QUIRE_OK ? s : qr_fail(err, s, "logits_hook failed: %s", quire_status_name(s));
}

quire_status qr_prepare_logits(const struct quire_engine *e, const struct qr_request *r,
                               float *logits, struct quire_error *err)
{
    qr_mask_logits(e, r, 0, logits);
    return r->logits_hook ? call_hook(e, r, logits, err) : QUIRE_OK;
}

quire_status qr_draw_token(struct quire_engine *e, const struct qr_request *r, uint32_t n_ahead,
                           const float *logits, struct quire_sampling_state *state, int32_t *token,
                           struct quire_error *err)
{
    const uint32_t n = r->task.n_tokens + n_ahead;
    const struct quire_sample_args args = {
        .struct_size = sizeof args,
        .logits = logits,
        .history = r->tokens,
        .n_history = n,
        .stream = r->stream,
        /* position in the sequence, not in the output: with the latter every turn of a conversation
         * would draw the same random numbers */
        .index = n,
        .state = state,
    };
    return quire_sampler_sample(e->sampler, &r->sampling, &args, token, err);
}

/* Samples from one row, which is changed. */
static quire_status sample_token(struct quire_engine *e, struct qr_request *r, float *logits,
                                 struct quire_error *err)
{
    bool ends;
    int32_t token;
    qr_mask_logits(e, r, 0, logits);
    if (r->logits_hook)
        QR_TRY(call_hook(e, r, logits, err));
    QR_TRY(qr_constraint_mask(e, r, logits, &ends, err));
    if (ends) {
        qr_request_flush_and_finish(e, r, QUIRE_FINISH_STOP);
        return QUIRE_OK;
    }
    QR_TRY(qr_draw_token(e, r, 0, logits, &r->sampling_state, &token, err));
    if (r->logprobs || r->held) {
        struct quire_token_logprob own,
            /* cppcheck-suppress uninitvar ; quire_logprobs writes it */
            *to = r->logprobs ? r->logprobs + (size_t)r->task.n_tokens * r->n_logprobs : &own;
        QR_TRY(quire_logprobs(logits, e->vocab_size, token, to, r->logprobs ? r->n_logprobs - 1 : 0,
                              to + 1, err));
        r->sum_logprob += to->logprob;
    }
    return append_token(e, r, token, err);
}

/* Rows of logits of one request: its last token's, and those of its draft. Where the grammar forces
 * tokens, these are appended instead of sampled ones. */
struct answer_rows {
    struct quire_engine *engine;
    struct qr_request *request;
    float *logits; /* [n_draft + 1][vocab_size] */
    int32_t forced[QR_MAX_FORCED];
    size_t n_forced, n_taken;
    struct quire_error err;
};

static void init_rows(struct answer_rows *a, struct quire_engine *e, struct qr_request *r,
                      float *logits)
{
    a->engine = e;
    a->request = r;
    a->logits = logits;
    a->n_forced = a->n_taken = 0;
    a->err = (struct quire_error)QUIRE_ERROR_INIT;
}

static quire_status find_forced(struct answer_rows *a)
{
    struct qr_request *r = a->request;
    a->n_taken = a->n_forced = 0;
    if (!r->constraint.matcher || r->finished || r->flags & QUIRE_REQUEST_NO_FAST_FORWARD)
        return QUIRE_OK;
    return qr_constraint_forced(a->engine, r, a->forced, &a->n_forced, &a->err);
}

/* Appends the next forced token, which had no alternative. */
static quire_status take_forced(struct answer_rows *a)
{
    struct qr_request *r = a->request;
    const int32_t token = a->forced[a->n_taken++];
    for (uint32_t k = 0; k < r->n_logprobs; k++)
        r->logprobs[(size_t)r->task.n_tokens * r->n_logprobs + k] =
            (struct quire_token_logprob){ k > 1 ? -1 : token, k > 1 ? NAN : 0 };
    return append_token(a->engine, r, token, &a->err);
}

/* Appends one token. What is forced is looked for at the beginning of the answer and behind every
 * sampled token, so that the tokens do not depend on drafts. */
static quire_status next_token(struct answer_rows *a, float *logits)
{
    struct qr_request *r = a->request;
    if (r->n_output == 0)
        QR_TRY(find_forced(a));
    if (a->n_taken < a->n_forced)
        return take_forced(a);
    QR_TRY(sample_token(a->engine, r, logits, &a->err));
    return find_forced(a);
}

/* Appends the forced tokens that are left: the next step computes them as one chunk. */
static void take_rest(struct answer_rows *a, quire_status s)
{
    while (s == QUIRE_OK && a->n_taken < a->n_forced && !a->request->finished)
        s = take_forced(a);
    if (s != QUIRE_OK)
        qr_request_fail(a->engine, a->request, s, &a->err);
}

static void sample(struct quire_engine *e, struct qr_request *r, float *logits)
{
    struct answer_rows rows;
    init_rows(&rows, e, r, logits);
    take_rest(&rows, next_token(&rows, logits));
    qr_constraint_compute_ahead(e, r);
}

static quire_status sample_row(void *user, uint32_t row, int32_t *token, bool *ends)
{
    struct answer_rows *a = user;
    struct quire_engine *e = a->engine;
    struct qr_request *r = a->request;
    if (row > 0) /* the draft token of this row was accepted */
        qr_scheduler_commit_draft(&e->scheduler, &r->task, 1);
    QR_TRY(next_token(a, a->logits + (size_t)row * e->vocab_size));
    *ends = r->finished;
    *token = *ends ? -1 : r->tokens[r->task.n_tokens - 1];
    return QUIRE_OK;
}

static void verify_draft(struct quire_engine *e, struct qr_request *r, float *logits)
{
    struct answer_rows rows;
    struct qr_verify_result result;
    const uint32_t n = r->task.n_step_draft;
    init_rows(&rows, e, r, logits);
    const quire_status s = qr_verify_draft(r->draft, n, sample_row, &rows, &result);
    qr_draft_record(e, r, n, result.n_accepted);
    qr_scheduler_end_draft(&e->scheduler, &r->task);
    take_rest(&rows, s);
}

/* The other answers of a group continue from the leader's prompt: they share its blocks and its row
 * of logits. Those for which no sequence is left wait and find the prompt in the prefix cache. */
static void fork_group(struct quire_engine *e, struct qr_request *leader, const float *logits)
{
    float *copy = e->logits + (size_t)e->batch.max_logits * e->vocab_size;
    leader->group_waits = false;
    for (struct qr_request *r = leader->next; r; r = r->next) {
        qr_scheduler_add(&e->scheduler, &r->task);
        if (!qr_scheduler_fork(&e->scheduler, &r->task, &leader->task))
            continue;
        r->start_time = leader->start_time;
        memcpy(copy, logits, e->vocab_size * sizeof *copy);
        sample(e, r, copy);
    }
}

/* Ends a request for its prompt alone. */
static void end_prompt(struct quire_engine *e, struct qr_request *r)
{
    r->first_token_time = r->last_token_time = qr_clock_now();
    qr_request_flush_and_finish(e, r, QUIRE_FINISH_LENGTH);
}

/* Samples or ends one request whose tokens of this step are computed. */
static void sample_complete(struct quire_engine *e, struct qr_request *r, float *logits)
{
    if (r->vector.task != QUIRE_TASK_GENERATE) {
        qr_vector_finish(e, r);
        return;
    }
    if (r->leader->beams) {
        qr_beam_take_logits(e, r, logits);
        return;
    }
    if (r->group_waits)
        fork_group(e, r, logits);
    if (r->flags & QUIRE_REQUEST_PROMPT_ONLY)
        end_prompt(e, r);
    else if (r->draft)
        verify_draft(e, r, logits);
    else
        sample(e, r, logits);
}

/* Those whose masks are under way on another thread come last. */
void qr_sample_step(struct quire_engine *e)
{
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < e->batch.n_complete; i++) {
            struct qr_request *r = qr_request_of(e->batch.complete[i]);
            if (pass == 0)
                r->constraint.waits = r->constraint.matcher &&
                                      qr_mask_ahead_is_running(&e->mask_ahead, &r->constraint);
            if (r->finished) /* the logits of its prompt had NaN, or its search is over */
                continue;
            if (r->constraint.waits == (pass == 1))
                sample_complete(e, r, e->logits + (size_t)e->batch.first_logits[i] * e->vocab_size);
        }
}
