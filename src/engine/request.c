/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - submit, count and cancel requests; the memory of their answers. */
#include "engine/request.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "engine/beam_setup.h"
#include "engine/constraint.h"
#include "engine/draft.h"
#include "engine/drive.h"
#include "engine/events.h"
#include "engine/prompt.h"
#include "engine/prompt_parts.h"
#include "engine/request_sampling.h"
#include "engine/source.h"
#include "engine/vector.h"
#include "engine/vector_check.h"
#include <math.h>
#include <string.h>

/* Room for the text between two polls; longer text grows the buffers. */
enum { TEXT_BYTES = 4096 };

void quire_request_params_init(struct quire_request_params *params, size_t struct_size)
{
    const struct quire_request_params defaults = { .text_flags = QUIRE_ENCODE_ADD_BOS,
                                                   .pooling = QUIRE_POOLING_DEFAULT,
                                                   .normalize = true,
                                                   .length_penalty = 1,
                                                   .adapter_scale = 1 };
    qr_struct_init(params, struct_size, &defaults, sizeof defaults);
}

/* ---- Validation */

static uint32_t answer_count(const struct quire_request_params *p)
{
    const uint32_t n = p->n ? p->n : 1, generated = p->beam_width ? p->beam_width : p->best_of;
    return generated > n ? generated : n;
}

static quire_status check_answers(const struct quire_engine *e,
                                  const struct quire_request_params *p, struct quire_error *err)
{
    if (p->n > QR_MAX_CHOICES || p->best_of > QR_MAX_CHOICES)
        return qr_fail(err, QUIRE_E_LIMIT, "%s %u is above %d",
                       p->n > QR_MAX_CHOICES ? "n" : "best_of",
                       p->n > QR_MAX_CHOICES ? p->n : p->best_of, QR_MAX_CHOICES);
    if (p->best_of && p->best_of < p->n)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "best_of %u is below n %u", p->best_of, p->n);
    if (answer_count(p) > e->n_requests && !e->dry_run)
        return qr_fail(err, QUIRE_E_LIMIT, "%u answers exceed max_requests %u", answer_count(p),
                       e->n_requests);
    if (p->n_logprobs > QR_MAX_LOGPROBS)
        return qr_fail(err, QUIRE_E_LIMIT, "n_logprobs %u is above %d", p->n_logprobs,
                       QR_MAX_LOGPROBS);
    return QUIRE_OK;
}

static quire_status check_limits(const struct quire_engine *e, const struct quire_request_params *p,
                                 struct quire_error *err)
{
    if (isnan(p->deadline) || p->deadline < 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "deadline %g is not a number of seconds >= 0",
                       p->deadline);
    if (p->max_tokens && p->min_tokens > p->max_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "min_tokens %u is above max_tokens %u",
                       p->min_tokens, p->max_tokens);
    if (p->reserved || p->reserved4)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is not 0",
                       p->reserved ? "reserved" : "reserved4");
    if (p->draft_tokens > e->info.max_draft_tokens)
        return qr_fail(err, QUIRE_E_LIMIT, "draft_tokens %u is above max_draft_tokens %u",
                       p->draft_tokens, e->info.max_draft_tokens);
    if (p->n_stop_tokens > QR_MAX_STOP_TOKENS)
        return qr_fail(err, QUIRE_E_LIMIT, "n_stop_tokens %u is above %d", p->n_stop_tokens,
                       QR_MAX_STOP_TOKENS);
    if (p->n_stop_tokens && !p->stop_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "stop_tokens is NULL");
    for (uint32_t i = 0; i < p->n_stop_tokens; i++)
        if (p->stop_tokens[i] < 0 || (uint32_t)p->stop_tokens[i] >= e->vocab_size)
            return qr_fail(err, QUIRE_E_RANGE, "stop_tokens[%u] is %d, the model has %u tokens", i,
                           p->stop_tokens[i], e->vocab_size);
    return QUIRE_OK;
}

static quire_status check_params(struct quire_engine *e, const struct quire_request_params *p,
                                 struct quire_error *err)
{
    if (!!p->messages + !!p->text + !!p->tokens + !!p->parts != 1)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "give exactly one of messages, text, tokens and parts");
    if (!p->messages && (p->tools_json || p->variables_json))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is given without messages",
                       p->tools_json ? "tools_json" : "variables_json");
    if (p->flags >= 2 * QUIRE_REQUEST_NO_FAST_FORWARD) /* the last flag */
        return qr_fail(err, QUIRE_E_INVALID_ARG, "flags 0x%x has unknown bits", p->flags);
    QR_TRY(qr_source_check(e, p, err));
    QR_TRY(qr_vector_check(e, p, err));
    QR_TRY(check_answers(e, p, err));
    QR_TRY(check_limits(e, p, err));
    QR_TRY(qr_prompt_check_only(p, err));
    QR_TRY(qr_adapters_check(e, p, err));
    QR_TRY(qr_constraint_check(e, p, err));
    if (p->sampling)
        QR_TRY(quire_sampling_validate(p->sampling, e->vocab_size, err));
    return qr_beam_check(e, p, err);
}

/* ---- Preparation */

static quire_status init_text(struct quire_engine *e, struct qr_request *r,
                              const struct quire_request_params *p, struct quire_error *err)
{
    const uint32_t special = p->flags & QUIRE_REQUEST_SHOW_SPECIAL ? QUIRE_DETOKENIZE_SPECIAL : 0;
    /* a completion continues the text of its prompt; a new chat answer is a text of its own */
    const bool own_text = e->max_source_tokens || (p->messages && !qr_prompt_answer(p));
    const uint32_t continues = own_text ? 0 : QUIRE_DETOKENIZE_CONTINUES;
    r->text_flags = special | continues;
    QR_TRY(qr_output_text_init(&r->output, e->tokenizer, r->text_flags, p->stop, p->n_stop,
                               e->allocator, err));
    if (qr_grow(e->allocator, (void **)&r->text.text, &r->text.capacity, TEXT_BYTES, 1) &&
        qr_grow(e->allocator, (void **)&r->polled.text, &r->polled.capacity, TEXT_BYTES, 1))
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for the output text");
}

static quire_status init_logprobs(struct quire_engine *e, struct qr_request *r,
                                  const struct quire_request_params *p, struct quire_error *err)
{
    if (!p->n_logprobs && !(p->flags & QUIRE_REQUEST_LOGPROBS))
        return QUIRE_OK;
    r->n_logprobs = 1 + p->n_logprobs;
    const size_t n = (size_t)r->capacity * r->n_logprobs;
    r->logprobs = qr_alloc(e->allocator, n, sizeof *r->logprobs);
    if (!r->logprobs)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu log-probabilities", n);
    for (uint32_t i = 0; i < r->task.n_prompt; i++)
        for (uint32_t k = 0; k < r->n_logprobs; k++)
            r->logprobs[(size_t)i * r->n_logprobs + k] =
                (struct quire_token_logprob){ k ? -1 : r->tokens[i], NAN };
    r->task.reads_rows = r->flags & QUIRE_REQUEST_ECHO;
    return QUIRE_OK;
}

/* Shows the prompt before the answer. Its text contains no stop string that counts. */
static quire_status echo_prompt(struct quire_engine *e, struct qr_request *r,
                                struct quire_error *err)
{
    struct qr_output_text text;
    const uint32_t special = r->flags & QUIRE_REQUEST_SHOW_SPECIAL ? QUIRE_DETOKENIZE_SPECIAL : 0;
    QR_TRY(qr_output_text_init(&text, e->tokenizer, special, NULL, 0, e->allocator, err));
    quire_status s = QUIRE_OK;
    for (uint32_t i = 0; i < r->task.n_prompt && s == QUIRE_OK; i++) {
        bool stopped;
        if (r->tokens[i] == QR_EMBEDDING_TOKEN)
            continue;
        s = qr_output_text_push(&text, r->tokens[i], &stopped, err);
        if (s == QUIRE_OK)
            s = qr_output_text_move(&text, &r->text, err);
    }
    qr_output_text_free(&text);
    r->n_published = r->task.n_prompt;
    r->text_event_due = !r->task.reads_rows; /* else after their computation */
    return s;
}

/* Fills a claimed slot, without its identity. After a failure the caller destroys it. */
static quire_status prepare(struct quire_engine *e, struct qr_request *r,
                            const struct quire_request_params *p, struct qr_prompt *prompt,
                            struct quire_error *err)
{
    r->flags = p->flags;
    r->stream = p->stream + r->choice;
    r->min_output = p->min_tokens;
    r->max_output = p->max_tokens;
    r->logits_hook = p->logits_hook;
    r->logits_hook_user = p->logits_hook_user;
    r->user = p->user;
    r->event_callback = p->event_callback;
    r->event_user = p->event_user;
    r->n_stop_tokens = p->n_stop_tokens;
    if (p->n_stop_tokens)
        memcpy(r->stop_tokens, p->stop_tokens, p->n_stop_tokens * sizeof *p->stop_tokens);
    r->tokens = qr_alloc(e->allocator, prompt->n_with_output, sizeof *r->tokens);
    if (!r->tokens)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u tokens", prompt->n_with_output);
    r->capacity = prompt->n_with_output;
    memcpy(r->tokens, prompt->tokens, prompt->n * sizeof *r->tokens);
    QR_TRY(qr_prompt_parts_attach(e, r, p, prompt->n, err));
    r->task = (struct qr_task){
        .priority = p->priority,
        .client = p->client,
        .salt = p->cache_salt,
        .no_reuse = p->flags & QUIRE_REQUEST_NO_REUSE,
        .n_prompt = prompt->n,
        .tokens = r->keys,
        .n_tokens = prompt->n,
        .embeddings = r->embeddings,
    };
    QR_TRY(qr_adapters_hold(e, r, p, err));
    r->usage.prompt_tokens = prompt->n;
    QR_TRY(qr_source_attach(e, r, prompt, err));
    r->n_polled = p->flags & QUIRE_REQUEST_ECHO ? 0 : prompt->n;
    r->n_published = r->n_polled;
    if (p->task != QUIRE_TASK_GENERATE)
        return qr_vector_init(e, r, p, prompt, err);
    QR_TRY(qr_request_copy_sampling(e, r, p, err));
    QR_TRY(init_text(e, r, p, err));
    QR_TRY(init_logprobs(e, r, p, err));
    QR_TRY(qr_constraint_init(e, r, p, err));
    if (p->draft_tokens)
        QR_TRY(qr_draft_init(e, r, p->draft_tokens, err));
    return p->flags & QUIRE_REQUEST_ECHO ? echo_prompt(e, r, err) : QUIRE_OK;
}

void qr_request_destroy(struct quire_engine *e, struct qr_request *r)
{
    qr_request_free_sampling(e, r);
    qr_beam_free(e, r);
    qr_constraint_free(e, r);
    qr_adapters_release(e, r);
    qr_draft_free(e, r);
    qr_vector_free(e, r);
    qr_output_text_free(&r->output);
    qr_free(e->allocator, r->text.text, r->text.capacity, 1);
    qr_free(e->allocator, r->polled.text, r->polled.capacity, 1);
    qr_free(e->allocator, r->logprobs, (size_t)r->capacity * r->n_logprobs, sizeof *r->logprobs);
    qr_prompt_parts_detach(e, r);
    qr_source_detach(e, r);
    qr_free(e->allocator, r->tokens, r->capacity, sizeof *r->tokens);
    r->text = r->polled = (struct qr_text_buffer){ 0 };
    r->logprobs = NULL;
    r->tokens = NULL;
}

void qr_request_free_slot(struct quire_engine *e, struct qr_request *r)
{
    __atomic_store_n(&r->tag, 0, __ATOMIC_RELEASE);
    r->state = QR_REQUEST_FREE;
    e->n_free++;
}

void qr_request_release(struct quire_engine *e, struct qr_request *r)
{
    struct qr_request *leader = r->leader;
    qr_request_destroy(e, r);
    pthread_mutex_lock(&e->lock);
    if (r != leader) {
        /* unlink it: its slot may be claimed again before the group has ended */
        struct qr_request *before = leader;
        while (before->next != r)
            before = before->next;
        before->next = r->next;
        qr_request_free_slot(e, r);
    }
    if (--leader->n_unpolled == 0)
        qr_request_free_slot(e, leader);
    pthread_mutex_unlock(&e->lock);
}

/* ---- Submission */

/* Claims n slots and chains them, leader first. */
static quire_status claim_slots(struct quire_engine *e, uint32_t n, struct qr_request **leader,
                                struct quire_error *err)
{
    pthread_mutex_lock(&e->lock);
    const bool draining = e->draining, enough = e->n_free >= n;
    struct qr_request **link = leader;
    uint32_t found = 0;
    for (uint32_t i = 0; !draining && enough && found < n; i++) {
        struct qr_request *r = &e->requests[i];
        if (r->state != QR_REQUEST_FREE)
            continue;
        /* member by member: a cancellation may read the tag at any time */
        const uint64_t tag = 0;
        memset((char *)r + sizeof tag, 0, sizeof *r - sizeof tag);
        r->state = QR_REQUEST_CLAIMED;
        r->choice = found++;
        r->leader = *leader ? *leader : r;
        *link = r;
        link = &r->next;
        *leader = r->leader;
    }
    e->n_free -= found;
    pthread_mutex_unlock(&e->lock);
    if (draining)
        return qr_fail(err, QUIRE_E_CANCELLED, "the engine is draining");
    if (enough)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_AGAIN,
                   "%u requests are waiting, running or finished but not polled", e->n_requests);
}

static void release_slots(struct quire_engine *e, struct qr_request *leader)
{
    for (struct qr_request *r = leader; r; r = r->next)
        qr_request_destroy(e, r);
    pthread_mutex_lock(&e->lock);
    for (struct qr_request *r = leader; r; r = r->next)
        qr_request_free_slot(e, r);
    pthread_mutex_unlock(&e->lock);
}

/* Gives the answers their identities and hands them to the next step. */
static quire_request_id queue(struct quire_engine *e, struct qr_request *leader,
                              const struct quire_request_params *p)
{
    QR_INVARIANT(leader);
    const uint32_t slot = (uint32_t)(leader - e->requests);
    uint32_t n = 0;
    const double now = qr_clock_now();
    pthread_mutex_lock(&e->lock);
    /* ids ascend in submission order; id % n_requests is the slot of the leader */
    const quire_request_id id = (e->n_submitted + 1) * e->n_requests + slot;
    for (struct qr_request *r = leader; r; r = r->next, n++) {
        r->id = id;
        r->state = QR_REQUEST_QUEUED;
        r->submit_time = now;
        r->deadline = p->deadline > 0 ? now + p->deadline : 0;
        r->task.arrival = ++e->n_submitted;
        r->held = p->beam_width || p->best_of > (p->n ? p->n : 1);
    }
    leader->n_returned = p->n ? p->n : 1;
    leader->n_unpolled = n;
    leader->n_unfinished = n;
    leader->group_waits = n > 1 && !leader->beams;
    __atomic_store_n(&leader->tag, id * 2, __ATOMIC_RELEASE);
    struct qr_request **tail = &e->new_requests;
    while (*tail)
        tail = &(*tail)->next_new;
    *tail = leader;
    e->n_active += n;
    for (struct qr_request *r = leader; r; r = r->next)
        qr_events_update(e, r); /* an echoed prompt */
    if (leader->text_event_due && !leader->event_callback)
        qr_events_signal(e);
    pthread_cond_signal(&e->work_changed);
    pthread_mutex_unlock(&e->lock);
    return id;
}

static quire_status submit(struct quire_engine *e, const struct quire_request_params *p,
                           quire_request_id *id, struct quire_error *err)
{
    struct qr_request *leader = NULL;
    QR_TRY(claim_slots(e, answer_count(p), &leader, err));
    struct qr_prompt prompt;
    quire_status s = qr_prompt_create(e, p, &prompt, err);
    if (s == QUIRE_OK) {
        for (struct qr_request *r = leader; r && s == QUIRE_OK; r = r->next)
            s = prepare(e, r, p, &prompt, err);
        if (s == QUIRE_OK && p->beam_width)
            s = qr_beam_init(e, leader, p, err);
        qr_prompt_free(e, &prompt);
    }
    if (s == QUIRE_OK)
        *id = queue(e, leader, p);
    else
        release_slots(e, leader);
    return s;
}

quire_status quire_engine_submit(struct quire_engine *engine,
                                 const struct quire_request_params *params, quire_request_id *id,
                                 struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    if (!id)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "id is NULL");
    *id = 0;
    if (!params)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params is NULL");
    struct quire_request_params p;
    QR_READ_STRUCT(&p, params, stream, "params", err);
    if (engine->dry_run)
        return qr_fail(err, QUIRE_E_MISUSE, "the engine was opened for a dry run");
    QR_TRY(qr_engine_check_process(engine, err));
    QR_TRY(check_params(engine, &p, err));
    return submit(engine, &p, id, err);
}

quire_status quire_engine_count_tokens(struct quire_engine *engine,
                                       const struct quire_request_params *params, size_t *n_tokens,
                                       struct quire_error *err)
{
    QR_FP_SCOPE;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    if (!n_tokens)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_tokens is NULL");
    *n_tokens = 0;
    if (!params)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params is NULL");
    struct quire_request_params p;
    QR_READ_STRUCT(&p, params, stream, "params", err);
    QR_TRY(check_params(engine, &p, err));
    return qr_prompt_count(engine, &p, n_tokens, err);
}

quire_status quire_engine_render_prompt(struct quire_engine *engine,
                                        const struct quire_request_params *params,
                                        bool add_generation_prompt,
                                        struct quire_chat_prompt **prompt, struct quire_error *err)
{
    QR_FP_SCOPE;
    if (prompt)
        *prompt = NULL;
    QR_TRY(qr_handle_check(engine, QR_KIND_ENGINE, "engine", err));
    if (!params || !prompt)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", params ? "prompt" : "params");
    struct quire_request_params p;
    QR_READ_STRUCT(&p, params, stream, "params", err);
    QR_TRY(check_params(engine, &p, err));
    return qr_prompt_render(engine, &p, add_generation_prompt, prompt, err);
}

/* ---- Cancellation */

/* Accesses only the atomic tag: it may run in a signal handler and concurrently with any call. */
quire_status quire_request_cancel(struct quire_engine *engine, quire_request_id id)
{
    if (!qr_handle_is(engine, QR_KIND_ENGINE) || !engine->requests)
        return QUIRE_E_INVALID_ARG;
    struct qr_request *r = &engine->requests[id % engine->n_requests];
    uint64_t tag = id * 2;
    if (id == 0 || id > UINT64_MAX / 2)
        return QUIRE_E_RANGE;
    if (__atomic_compare_exchange_n(&r->tag, &tag, tag | 1, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        return QUIRE_OK;
    return tag == (id * 2 | 1) ? QUIRE_OK : QUIRE_E_RANGE;
}

bool qr_request_cancelled(const struct qr_request *r)
{
    return __atomic_load_n(&r->leader->tag, __ATOMIC_RELAXED) & 1;
}

void qr_request_cancel_all(struct quire_engine *e)
{
    for (uint32_t i = 0; i < e->n_requests; i++) {
        uint64_t tag = __atomic_load_n(&e->requests[i].tag, __ATOMIC_RELAXED);
        if (tag)
            (void)__atomic_compare_exchange_n(&e->requests[i].tag, &tag, tag | 1, false,
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

uint32_t quire_engine_active_count(const struct quire_engine *engine)
{
    if (!qr_handle_is(engine, QR_KIND_ENGINE))
        return 0;
    return __atomic_load_n(&engine->n_active, __ATOMIC_RELAXED);
}
