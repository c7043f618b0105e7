/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - submit, cancel and finish requests. */
#include "engine/request.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "engine/call_guard.h"
#include "engine/clock.h"
#include "engine/prompt.h"
#include <string.h>

void quire_request_params_init(struct quire_request_params *params, size_t struct_size)
{
    const struct quire_request_params defaults = { .text_flags = QUIRE_ENCODE_ADD_BOS };
    qr_struct_init(params, struct_size, &defaults, sizeof defaults);
}

static quire_status check_params(const struct quire_engine *e, const struct quire_request_params *p,
                                 struct quire_error *err)
{
    if (!!p->messages + !!p->text + !!p->tokens != 1)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "give exactly one of messages, text and tokens");
    const uint32_t known =
        QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_NO_REUSE | QUIRE_REQUEST_SHOW_SPECIAL;
    if (p->flags & ~known)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "flags 0x%x has unknown bits", p->flags);
    return p->sampling ? quire_sampling_validate(p->sampling, e->vocab_size, err) : QUIRE_OK;
}

/* Replaces the arrays borrowed from the caller by copies. */
static quire_status copy_arrays(const struct quire_engine *e, struct quire_sampling_params *s,
                                struct quire_error *err)
{
    const uint32_t n_bias = s->n_logit_bias, n_breakers = s->n_dry_breakers;
    struct quire_logit_bias *bias = n_bias ? qr_alloc(e->allocator, n_bias, sizeof *bias) : NULL;
    int32_t *breakers = n_breakers ? qr_alloc(e->allocator, n_breakers, sizeof *breakers) : NULL;
    if (bias)
        memcpy(bias, s->logit_bias, n_bias * sizeof *bias);
    if (breakers)
        memcpy(breakers, s->dry_breakers, n_breakers * sizeof *breakers);
    s->logit_bias = bias;
    s->dry_breakers = breakers;
    if ((n_bias && !bias) || (n_breakers && !breakers))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u logit biases and %u dry_breakers",
                       n_bias, n_breakers);
    return QUIRE_OK;
}

/* Fills a free slot; after a failure the caller passes it to qr_request_free(). */
static quire_status prepare(struct quire_engine *e, struct qr_request *r,
                            const struct quire_request_params *p, struct quire_error *err)
{
    *r = (struct qr_request){ .flags = p->flags, .stream = p->stream };
    quire_sampling_params_init(&r->sampling, sizeof r->sampling);
    if (p->sampling)
        qr_struct_copy(&r->sampling, sizeof r->sampling, p->sampling);
    else
        QR_TRY(quire_engine_default_sampling(e, &r->sampling));
    QR_TRY(copy_arrays(e, &r->sampling, err));
    const uint32_t special = p->flags & QUIRE_REQUEST_SHOW_SPECIAL ? QUIRE_DETOKENIZE_SPECIAL : 0;
    /* a completion continues the text of its prompt; a new chat answer is a text of its own */
    const uint32_t continues = p->messages && !qr_prompt_answer(p) ? 0 : QUIRE_DETOKENIZE_CONTINUES;
    QR_TRY(qr_output_text_init(&r->output, e->tokenizer, special | continues, p->stop, p->n_stop,
                               e->allocator, err));
    struct qr_prompt prompt;
    QR_TRY(qr_prompt_create(e, p, &prompt, err));
    r->tokens = prompt.tokens;
    r->capacity = prompt.capacity;
    r->n_prompt = r->n_tokens = r->n_polled = prompt.n;
    r->max_output = p->max_tokens;
    return QUIRE_OK;
}

static quire_status submit(struct quire_engine *e, const struct quire_request_params *p,
                           quire_request_id *id, struct quire_error *err)
{
    qr_request_free_reported(e);
    uint32_t slot = 0;
    while (slot < e->n_requests && e->requests[slot].state != QR_REQUEST_FREE)
        slot++;
    if (slot == e->n_requests)
        return qr_fail(err, QUIRE_E_AGAIN,
                       "%u requests are waiting, running or finished but not polled",
                       e->n_requests);
    struct qr_request *r = &e->requests[slot];
    const quire_status s = prepare(e, r, p, err);
    if (s != QUIRE_OK) {
        qr_request_free(e, r);
        return s;
    }
    /* ids ascend in submission order; id % n_requests is the slot */
    r->id = ++e->n_submitted * e->n_requests + slot;
    r->state = QR_REQUEST_WAITING;
    r->submit_time = qr_clock_now();
    __atomic_store_n(&r->tag, r->id * 2, __ATOMIC_RELEASE);
    *id = r->id;
    return QUIRE_OK;
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
    QR_TRY(check_params(engine, &p, err));
    QR_TRY(qr_engine_enter(engine, err));
    const quire_status s = submit(engine, &p, id, err);
    qr_engine_leave(engine);
    return s;
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
    QR_TRY(qr_engine_enter(engine, err));
    const quire_status s = qr_prompt_count(engine, &p, n_tokens, err);
    qr_engine_leave(engine);
    return s;
}

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
    return __atomic_load_n(&r->tag, __ATOMIC_RELAXED) & 1;
}

void qr_request_finish(struct qr_request *r, enum quire_finish_reason reason)
{
    r->state = QR_REQUEST_FINISHED;
    r->reason = reason;
    __atomic_store_n(&r->tag, 0, __ATOMIC_RELEASE);
}

void qr_request_flush_and_finish(struct qr_request *r, enum quire_finish_reason reason)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = qr_output_text_flush(&r->output, &err);
    r->text_event_due = true;
    if (s != QUIRE_OK)
        qr_request_fail(r, s, &err);
    else
        qr_request_finish(r, reason);
}

void qr_request_fail(struct qr_request *r, quire_status status, const struct quire_error *err)
{
    r->error = *err;
    r->error.code = status;
    qr_request_finish(r, QUIRE_FINISH_ERROR);
}

void qr_request_free(struct quire_engine *e, struct qr_request *r)
{
    const struct quire_sampling_params *s = &r->sampling;
    qr_free(e->allocator, (void *)(uintptr_t)s->logit_bias, s->n_logit_bias, sizeof *s->logit_bias);
    qr_free(e->allocator, (void *)(uintptr_t)s->dry_breakers, s->n_dry_breakers,
            sizeof *s->dry_breakers);
    qr_output_text_free(&r->output);
    qr_free(e->allocator, r->tokens, r->capacity, sizeof *r->tokens);
    __atomic_store_n(&r->tag, 0, __ATOMIC_RELEASE);
    *r = (struct qr_request){ .state = QR_REQUEST_FREE };
}

void qr_request_free_reported(struct quire_engine *e)
{
    for (uint32_t i = 0; i < e->n_requests; i++)
        if (e->requests[i].state == QR_REQUEST_REPORTED)
            qr_request_free(e, &e->requests[i]);
}

uint32_t quire_engine_active_count(const struct quire_engine *engine)
{
    uint32_t n = 0;
    if (!qr_handle_is(engine, QR_KIND_ENGINE))
        return 0;
    for (uint32_t i = 0; i < engine->n_requests; i++)
        n += qr_request_is_active(&engine->requests[i]);
    return n;
}
