/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_logprobs.c - log-probabilities of the tokens of a prompt.
 *
 * A chunk of a prompt may have more rows than the engine has memory for their logits. So the step
 * computes the chunk, and the LM head then runs over its rows in pieces of the logits rows that are
 * left. */
#include "engine/prompt_logprobs.h"
#include "base/error.h"
#include "engine/beam_finish.h"
#include "engine/finish.h"
#include "engine/request.h"
#include "engine/sample.h"
#include "model/forward/row_logits.h"
#include <string.h>

/* Log-probabilities of tokens first + 1 .. first + n from their rows of logits. */
static quire_status read_rows(const struct quire_engine *e, struct qr_request *r, uint32_t first,
                              uint32_t n, float *logits, struct quire_error *err)
{
    for (uint32_t i = 0; i < n; i++, logits += e->vocab_size) {
        struct quire_token_logprob *to = r->logprobs + (size_t)(first + i + 1) * r->n_logprobs;
        if (r->tokens[first + i + 1] == QR_EMBEDDING_TOKEN)
            continue; /* NaN, as of the first token */
        qr_mask_padding(e, logits);
        QR_TRY(quire_logprobs(logits, e->vocab_size, r->tokens[first + i + 1], to,
                              r->n_logprobs - 1, to + 1, err));
    }
    return QUIRE_OK;
}

/* Row `row` of the step is the first of the chunk that ends at task.n_computed. The row of the last
 * token of the prompt belongs to the first token of the answer. */
static quire_status read_chunk(struct quire_engine *e, struct qr_request *r, uint32_t row,
                               uint32_t n_rows, struct quire_error *err)
{
    struct qr_task *t = &r->task;
    const struct qr_batch *b = &e->batch;
    const uint32_t n_unused = b->max_logits + 1 - b->n_logits;
    const uint32_t piece = n_unused < b->max_logits ? n_unused : b->max_logits;
    float *logits = e->logits + (size_t)b->n_logits * e->vocab_size;
    const uint32_t begin = t->n_computed - n_rows;
    /* those of the step: few rows have a copy in the memory of each of its threads */
    const uint32_t n_threads = e->team_size.n_last;
    const uint32_t end = t->n_computed < t->n_prompt ? t->n_computed : t->n_prompt - 1;
    uint32_t at = begin > t->n_rows_read ? begin : t->n_rows_read;
    while (at < end) {
        const uint32_t n = end - at < piece ? end - at : piece;
        QR_TRY(qr_context_row_logits(e->context, row + (at - begin), n, n_threads, logits, err));
        QR_TRY(read_rows(e, r, at, n, logits, err));
        at += n;
    }
    t->n_rows_read = t->n_computed;
    return QUIRE_OK;
}

/* The prompt is complete: the other answers of the group have the same. */
static void complete(struct qr_request *leader)
{
    const size_t n = (size_t)leader->task.n_prompt * leader->n_logprobs;
    leader->task.reads_rows = false;
    const bool shared = leader->group_waits || leader->beams;
    for (struct qr_request *r = shared ? leader->next : NULL; r; r = r->next) {
        memcpy(r->logprobs, leader->logprobs, n * sizeof *r->logprobs);
        r->task.reads_rows = false;
    }
}

void qr_prompt_logprobs_step(struct quire_engine *e)
{
    /* backwards: a task that fails leaves the list */
    for (uint32_t i = e->scheduler.n_step; i-- > 0;) {
        struct qr_request *r = qr_request_of(e->scheduler.step[i]);
        if (!r->task.reads_rows)
            continue;
        const uint32_t row = (uint32_t)e->batch.query_start_loc[i];
        const uint32_t n_rows = (uint32_t)e->batch.query_start_loc[i + 1] - row;
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = read_chunk(e, r, row, n_rows, &err);
        if (s != QUIRE_OK && r->beams)
            qr_beam_fail(e, r, s, &err, true);
        else if (s != QUIRE_OK)
            qr_request_fail(e, r, s, &err);
        else if (r->task.n_computed >= r->task.n_prompt)
            complete(r);
    }
}
