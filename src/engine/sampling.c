/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.c - the sampler: checks of a call, logit bias, leading penalties, greedy choice. */
#include "engine/sampling.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "engine/sampling_chain.h"
#include "engine/sampling_params.h"
#include "engine/sampling_penalties.h"
#include "kernels/dispatch.h"
#include <math.h>
#include <string.h>

enum {
    MAX_VOCAB = 1 << 28,
    BLOCK = 512, /* logits that are compared at once */
};

struct quire_sampler {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    struct qr_sampling_scratch scratch;
};

quire_status quire_sampler_create(uint32_t n_vocab, const struct quire_allocator *allocator,
                                  struct quire_sampler **out, struct quire_error *err)
{
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    if (n_vocab == 0 || n_vocab > MAX_VOCAB)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "n_vocab %u must be in 1..%d", n_vocab, MAX_VOCAB);
    struct quire_sampler *s = qr_calloc(allocator, 1, sizeof *s);
    if (!s)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a sampler");
    s->handle.kind = QR_KIND_SAMPLER;
    s->allocator = allocator;
    struct qr_sampling_scratch *m = &s->scratch;
    m->n_vocab = n_vocab;
    m->kernels = qr_kernels_any();
    m->list = qr_alloc(allocator, n_vocab, sizeof *m->list);
    m->logits = qr_alloc(allocator, n_vocab, sizeof *m->logits);
    m->counts = qr_calloc(allocator, n_vocab, sizeof *m->counts);
    if (!m->list || !m->logits || !m->counts) {
        quire_sampler_destroy(s);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a sampler over %u tokens", n_vocab);
    }
    *out = s;
    return QUIRE_OK;
}

void quire_sampler_destroy(struct quire_sampler *s)
{
    if (!qr_handle_end(s, QR_KIND_SAMPLER))
        return;
    const struct qr_sampling_scratch *m = &s->scratch;
    qr_free(s->allocator, m->list, m->n_vocab, sizeof *m->list);
    qr_free(s->allocator, m->logits, m->n_vocab, sizeof *m->logits);
    qr_free(s->allocator, m->counts, m->n_vocab, sizeof *m->counts);
    qr_free(s->allocator, s, 1, sizeof *s);
}

/* Compares the logits [begin, end) with *best one by one. */
static quire_status compare_each(const float *logits, uint32_t begin, uint32_t end,
                                 struct qr_candidate *best, struct quire_error *err)
{
    for (uint32_t i = begin; i < end; i++) {
        const float x = logits[i];
        if (!(x < INFINITY))
            return qr_fail(err, QUIRE_E_NUMERIC, "the logit of token %u is %s", i,
                           isnan(x) ? "NaN" : "infinite");
        if (x > best->logit)
            *best = (struct qr_candidate){ x, (int32_t)i };
    }
    return QUIRE_OK;
}

/* Gets the first of the most likely tokens of logits[n]. QUIRE_E_NUMERIC when all logits are
 * -infinity or one is NaN or +infinity. */
static quire_status most_likely(const struct qr_kernels *kernels, const float *logits, uint32_t n,
                                struct qr_candidate *best, struct quire_error *err)
{
    *best = (struct qr_candidate){ -INFINITY, -1 };
    for (uint32_t i = 0; i < n; i += BLOCK) {
        const uint32_t end = n - i < BLOCK ? n : i + BLOCK;
        if (kernels->largest(logits + i, end - i) > best->logit)
            QR_TRY(compare_each(logits, i, end, best, err));
    }
    if (best->id < 0)
        return qr_fail(err, QUIRE_E_NUMERIC, "no token is possible: all %u logits are -infinity",
                       n);
    return QUIRE_OK;
}

static bool is_penalty(uint8_t kind)
{
    return kind == QUIRE_SAMPLER_PENALTIES || kind == QUIRE_SAMPLER_DRY;
}

/* Whether the greedy choice takes the logits as they are. */
static bool is_unchanged(const struct quire_sampling_params *p)
{
    bool changed = p->n_logit_bias > 0;
    for (const uint8_t *kind = p->samplers; *kind; kind++)
        changed |= is_penalty(*kind) && qr_penalties_active(p, *kind);
    return !changed;
}

static void copy_biased(struct qr_sampling_scratch *s, const struct quire_sampling_params *p,
                        const struct quire_sample_args *args)
{
    memcpy(s->logits, args->logits, s->n_vocab * sizeof *s->logits);
    for (uint32_t i = 0; i < p->n_logit_bias; i++)
        s->logits[p->logit_bias[i].token] += p->logit_bias[i].bias;
}

static quire_status sample(struct qr_sampling_scratch *s, const struct quire_sampling_params *p,
                           const struct quire_sample_args *args, int32_t *token,
                           struct quire_error *err)
{
    const uint8_t *samplers = p->samplers;
    const bool greedy =
        p->temperature == 0 && memchr(samplers, QUIRE_SAMPLER_TEMPERATURE, QUIRE_MAX_SAMPLERS);
    struct qr_candidate best;
    if (greedy && is_unchanged(p)) {
        QR_TRY(most_likely(s->kernels, args->logits, s->n_vocab, &best, err));
        *token = best.id;
        return QUIRE_OK;
    }
    copy_biased(s, p, args);
    /* penalties before the first sampler that removes tokens; greedy and mirostat run no such
     * sampler, so they take all penalties of the list */
    for (; *samplers && (greedy || p->mirostat || is_penalty(*samplers)); samplers++)
        if (is_penalty(*samplers))
            qr_penalties_apply(s, p, *samplers, args->history, args->n_history);
    QR_TRY(most_likely(s->kernels, s->logits, s->n_vocab, &best, err));
    *token = best.id;
    if (greedy)
        return QUIRE_OK;
    struct qr_sampling_chain chain = {
        .scratch = s,
        .p = p,
        .args = args,
        .max = best.logit,
        .temperature = 1,
        .next = samplers,
    };
    if (!p->mirostat)
        return qr_sampling_chain_run(&chain, token, err);
    *token = qr_sampling_mirostat(&chain);
    return QUIRE_OK;
}

static quire_status check_args(const struct quire_sample_args *a,
                               const struct quire_sampling_params *p, struct quire_error *err)
{
    if (!a->logits || (!a->history && a->n_history))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s is NULL",
                       a->logits ? "history" : "logits");
    if (!p->mirostat || p->temperature == 0)
        return QUIRE_OK;
    if (!a->state)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.state is NULL, but mirostat needs it");
    if (a->state->n_sampled && !isfinite(a->state->mirostat_mu))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.state: mirostat_mu is not finite");
    return QUIRE_OK;
}

quire_status quire_sampler_sample(struct quire_sampler *sampler,
                                  const struct quire_sampling_params *params,
                                  const struct quire_sample_args *args, int32_t *token,
                                  struct quire_error *err)
{
    QR_FP_SCOPE;
    if (!token)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "token is NULL");
    *token = -1;
    QR_TRY(qr_handle_check(sampler, QR_KIND_SAMPLER, "sampler", err));
    if (!args)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args is NULL");
    struct quire_sample_args a;
    struct quire_sampling_params p;
    QR_READ_STRUCT(&a, args, index, "args", err);
    QR_TRY(qr_sampling_read(&p, params, sampler->scratch.n_vocab, err));
    QR_TRY(check_args(&a, &p, err));
    int32_t chosen;
    QR_TRY(sample(&sampler->scratch, &p, &a, &chosen, err));
    *token = chosen;
    return QUIRE_OK;
}

quire_status qr_sampler_rank(struct quire_sampler *sampler,
                             const struct quire_sampling_params *params,
                             const struct quire_sample_args *args, size_t k,
                             struct qr_ranked_tokens *out, struct quire_error *err)
{
    struct qr_sampling_scratch *s = &sampler->scratch;
    struct quire_sampling_params p;
    QR_TRY(qr_sampling_read(&p, params, s->n_vocab, err));
    copy_biased(s, &p, args);
    for (const uint8_t *kind = p.samplers; *kind; kind++)
        if (is_penalty(*kind))
            qr_penalties_apply(s, &p, *kind, args->history, args->n_history);
    QR_TRY(qr_log_softmax_init(&out->softmax, s->logits, s->n_vocab, err));
    out->n = qr_candidates_select_best(s->kernels, s->logits, s->n_vocab, k, s->list);
    out->list = s->list;
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_sample_args)
