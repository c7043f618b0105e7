/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c - drafts of requests by prompt lookup, as deep as pays. */
#include "engine/draft.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "engine/request.h"
#include "engine/speculation/prompt_lookup.h"

quire_status qr_draft_init(struct quire_engine *e, struct qr_request *r, uint32_t n,
                           struct quire_error *err)
{
    QR_TRY(qr_suffix_automaton_init(&r->automaton, r->capacity, qr_hash_key(r), e->allocator, err));
    for (uint32_t i = 0; i < r->task.n_prompt; i++)
        /* embedding rows equal nothing: each has an id of its own */
        (void)qr_suffix_automaton_append(&r->automaton,
                                         r->tokens[i] < 0 ? -1 - (int32_t)i : r->tokens[i]);
    qr_draft_depth_init(&r->draft_depth);
    r->max_draft = n < QR_DRAFT_MAX_DEPTH ? n : QR_DRAFT_MAX_DEPTH;
    r->draft = qr_alloc(e->allocator, r->max_draft, sizeof *r->draft);
    return r->draft ? QUIRE_OK
                    : qr_fail(err, QUIRE_E_NOMEM, "no memory for drafts of %u tokens", n);
}

void qr_draft_free(struct quire_engine *e, struct qr_request *r)
{
    qr_suffix_automaton_free(&r->automaton);
    qr_free(e->allocator, r->draft, r->max_draft, sizeof *r->draft);
    r->draft = NULL;
}

static void prepare(struct quire_engine *e, struct qr_request *r,
                    const struct qr_draft_costs *costs)
{
    const bool ignores_eos = r->flags & QUIRE_REQUEST_IGNORE_EOS;
    /* the step samples one token more than it accepts */
    const uint32_t left = r->capacity - r->task.n_tokens - 1;
    const struct qr_prompt_lookup lookup = {
        .min_match = 1,
        .max_draft = r->max_draft < left ? r->max_draft : left,
        .eog = e->eog,
        .n_eog = ignores_eos ? 0 : e->n_eog,
    };
    const struct qr_suffix_match match = qr_suffix_automaton_match(&r->automaton);
    r->draft_class = qr_draft_class(match.length);
    r->draft_available =
        qr_prompt_lookup_draft(&lookup, match, r->tokens, r->task.n_tokens, r->draft);
    r->task.draft = r->draft;
    r->task.n_draft =
        qr_draft_depth_choose(&r->draft_depth, costs, r->draft_class, r->draft_available);
}

void qr_draft_prepare(struct quire_engine *e)
{
    uint32_t n_decoding = 0;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++)
        n_decoding += qr_task_decodes(e->scheduler.running[i]);
    qr_step_cost_of_rows(&e->step_cost, n_decoding, &e->draft_costs);
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        r->task.n_draft = 0;
        if (r->draft && qr_task_decodes(&r->task))
            prepare(e, r, &e->draft_costs);
    }
}

void qr_draft_record(const struct quire_engine *e, struct qr_request *r, uint32_t n_drafted,
                     uint32_t n_accepted)
{
    qr_draft_depth_record(&r->draft_depth, &e->draft_costs, r->draft_class, r->draft_available,
                          n_drafted, n_accepted);
    r->draft_available = 0;
}
