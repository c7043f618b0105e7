/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c - drafts of requests by prompt lookup, the draft model or the model's own head of
 * multi-token prediction, as deep as pays. */
#include "engine/draft.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "engine/constraint.h"
#include "engine/draft_model.h"
#include "engine/draft_mtp.h"
#include "engine/request.h"
#include "engine/speculation/prompt_lookup.h"

/* Tokens of a match from which prompt lookup goes before a draft model. The longer a match, the
 * more of its drafts are accepted; after short ones a draft model guesses better than a copy. */
enum { MIN_MATCH_WITH_MODEL = 4 };

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
    const bool confidence = e->draft_model && e->draft_model->has_confidence;
    if (confidence)
        r->draft_confidence = qr_alloc(e->allocator, r->max_draft, sizeof *r->draft_confidence);
    return r->draft && (r->draft_confidence || !confidence)
               ? QUIRE_OK
               : qr_fail(err, QUIRE_E_NOMEM, "no memory for drafts of %u tokens", n);
}

void qr_draft_free(struct quire_engine *e, struct qr_request *r)
{
    qr_suffix_automaton_free(&r->automaton);
    qr_free(e->allocator, r->draft, r->max_draft, sizeof *r->draft);
    qr_free(e->allocator, r->draft_confidence, r->max_draft, sizeof *r->draft_confidence);
    r->draft = NULL;
    r->draft_confidence = NULL;
}

/* Tokens of a draft for the next step: as many as pay, or all. */
static uint32_t choose_depth(const struct qr_request *r, const struct qr_draft_costs *costs,
                             uint32_t draft_class, uint32_t available)
{
    if (r->flags & QUIRE_REQUEST_FIXED_DRAFT)
        return available;
    return qr_draft_depth_choose(&r->draft_depth, costs, draft_class, available);
}

/* Costs of drafts of the class in the current step. */
static struct qr_draft_costs costs_of(const struct quire_engine *e, uint32_t draft_class)
{
    struct qr_draft_costs costs = e->draft_costs;
    if (draft_class != QR_DRAFT_MODEL_CLASS || !e->draft_model)
        return costs;
    if (e->draft_model->block_size) {
        costs.block_seconds = e->model_draft_seconds;
        costs.draft_seconds = e->markov_seconds;
    } else {
        costs.draft_seconds = e->model_draft_seconds;
    }
    return costs;
}

/* Sets up to `most` tokens from prompt lookup as draft; false: the match is too short, or drafts of
 * its class lose. */
static bool prepare_lookup(struct quire_engine *e, struct qr_request *r, uint32_t most)
{
    const bool ignores_eos = r->flags & QUIRE_REQUEST_IGNORE_EOS;
    const struct qr_prompt_lookup lookup = {
        .min_match = e->draft_model ? MIN_MATCH_WITH_MODEL : 1,
        .max_draft = most,
        .eog = e->eog,
        .n_eog = ignores_eos ? 0 : e->n_eog,
    };
    const struct qr_suffix_match match = qr_suffix_automaton_match(&r->automaton);
    r->draft_class = qr_draft_class(match.length);
    r->draft_available =
        qr_prompt_lookup_draft(&lookup, match, r->tokens, r->task.n_tokens, r->draft);
    r->draft_available = qr_constraint_check_draft(r, r->draft, r->draft_available);
    const struct qr_draft_costs costs = costs_of(e, r->draft_class);
    r->task.n_draft = choose_depth(r, &costs, r->draft_class, r->draft_available);
    return r->task.n_draft > 0;
}

/* Plans a draft by the draft model of up to `most` tokens, after prompt lookup gave none. */
static void prepare_model(struct quire_engine *e, struct qr_request *r, uint32_t most)
{
    const uint32_t room = qr_mtp_in_use(e) ? qr_mtp_room(e, r) : qr_draft_model_room(e, r);
    const uint32_t available = most < room ? most : room;
    if (available == 0)
        return;
    if (r->draft_available)
        qr_draft_depth_skip(&r->draft_depth, r->draft_class);
    const struct qr_draft_costs costs = costs_of(e, QR_DRAFT_MODEL_CLASS);
    r->draft_class = QR_DRAFT_MODEL_CLASS;
    r->draft_available = available;
    r->n_model_draft = choose_depth(r, &costs, QR_DRAFT_MODEL_CLASS, available);
}

/* Returns the tokens of the draft. */
static uint32_t prepare(struct quire_engine *e, struct qr_request *r, uint32_t left)
{
    /* the step samples one token more than it accepts */
    const uint32_t room = r->capacity - r->task.n_tokens - 1;
    const uint32_t most = r->max_draft < room ? r->max_draft : room;
    r->task.draft = r->draft;
    /* the draft model has no rows of embeddings */
    if (!prepare_lookup(e, r, most) && e->draft_model && !r->embeddings)
        prepare_model(e, r, most < left ? most : left);
    return r->task.n_draft + r->n_model_draft;
}

/* Drops the ends of drafts in which the drafter has too little confidence to verify them. */
static void drop_doubtful(struct quire_engine *e)
{
    const struct qr_draft_model *d = e->draft_model;
    const struct qr_draft_costs costs = costs_of(e, QR_DRAFT_MODEL_CLASS);
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        if (!r->n_model_draft || (r->flags & QUIRE_REQUEST_FIXED_DRAFT))
            continue;
        const uint32_t n =
            qr_draft_confidence_depth(&d->confidence, &costs, r->draft_confidence, r->task.n_draft);
        r->n_doubtful = r->task.n_draft - n;
        r->n_model_draft = r->task.n_draft = n;
    }
}

/* Requests that were to draft with the draft model and got no draft, because their sequence lacks
 * memory or tokens: this says nothing about drafts. */
static void forget_missing(struct quire_engine *e)
{
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        if (r->model_draft_planned && r->task.n_draft == 0)
            r->draft_available = 0;
    }
}

uint32_t qr_draft_prepare(struct quire_engine *e, uint32_t budget)
{
    uint32_t n_decoding = 0, n_drafted = 0, n_planned = 0;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++)
        n_decoding += qr_task_decodes(e->scheduler.running[i]);
    qr_step_cost_of_rows(&e->step_cost, n_decoding, &e->draft_costs);
    e->model_draft_seconds = qr_draft_model_seconds(e, n_decoding);
    e->markov_seconds =
        e->draft_model ? qr_step_cost_estimate(&e->draft_model->markov_cost, n_decoding) : 0;
    uint32_t most = e->info.max_step_tokens - n_decoding;
    most = most < e->info.max_draft_tokens ? most : e->info.max_draft_tokens;
    for (uint32_t i = 0; i < e->scheduler.n_running; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.running[i]);
        r->task.n_draft = r->n_model_draft = r->n_doubtful = 0;
        if (r->draft && qr_task_decodes(&r->task))
            n_drafted += prepare(e, r, n_drafted < most ? most - n_drafted : 0);
        r->model_draft_planned = r->n_model_draft > 0;
        n_planned += r->model_draft_planned;
    }
    uint32_t n_chunks = 0;
    if (qr_mtp_in_use(e)) /* computes the rows of the last step in any case */
        qr_mtp_run(e);
    else if (n_planned)
        n_chunks = qr_draft_model_run(e, budget);
    if (n_planned && e->draft_model->has_confidence)
        drop_doubtful(e);
    if (n_planned)
        forget_missing(e);
    return n_chunks;
}

void qr_draft_record(struct quire_engine *e, struct qr_request *r, uint32_t n_drafted,
                     uint32_t n_accepted)
{
    const bool by_model = r->n_model_draft > 0;
    struct qr_draft_costs costs = costs_of(e, r->draft_class);
    costs.block_seconds += r->n_doubtful * costs.draft_seconds; /* they were drawn, too */
    *(by_model ? &e->counters.model_drafted_tokens : &e->counters.lookup_drafted_tokens) +=
        n_drafted;
    *(by_model ? &e->counters.model_accepted_tokens : &e->counters.lookup_accepted_tokens) +=
        n_accepted;
    qr_draft_depth_record(&r->draft_depth, &costs, r->draft_class, r->draft_available, n_drafted,
                          n_accepted);
    if (by_model && e->draft_model->has_confidence)
        qr_draft_confidence_record(&e->draft_model->confidence, r->draft_confidence, n_drafted,
                                   n_accepted);
    if (!qr_mtp_in_use(e)) /* the head computes accepted tokens with the model's hidden states */
        qr_draft_model_commit(e, r, n_accepted);
    r->draft_available = 0;
}
