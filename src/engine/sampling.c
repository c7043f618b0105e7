/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.c - the sampler: logit bias, penalties, top-k, top-p, min-p, temperature, draw. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "engine/philox.h"
#include <math.h>
#include <quire/sampling.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_VOCAB = 1 << 28 };

struct candidate {
    float logit;
    int32_t id;
};

struct quire_sampler {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    uint32_t n_vocab;
    struct candidate *list; /* [n_vocab] */
    float *logits;          /* [n_vocab] copy with bias and penalties applied */
    uint32_t *counts;       /* [n_vocab] occurrences in the history; all zero between calls */
};

void quire_sampling_params_init(struct quire_sampling_params *params, size_t struct_size)
{
    const struct quire_sampling_params defaults = {
        .temperature = 0.8f,
        .top_k = 40,
        .top_p = 0.95f,
        .min_p = 0.05f,
        .repetition_penalty = 1.0f,
        .penalty_last_n = 64,
    };
    qr_struct_init(params, struct_size, &defaults, sizeof defaults);
}

static quire_status check_bias(const struct quire_sampling_params *p, uint32_t n_vocab,
                               struct quire_error *err)
{
    if (p->n_logit_bias && !p->logit_bias)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "logit_bias is NULL but n_logit_bias is %u",
                       p->n_logit_bias);
    for (uint32_t i = 0; i < p->n_logit_bias; i++) {
        const struct quire_logit_bias *b = &p->logit_bias[i];
        if (b->token < 0 || (uint32_t)b->token >= n_vocab)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "logit_bias[%u].token %d is outside the vocabulary of %u", i, b->token,
                           n_vocab);
        if (isnan(b->bias) || b->bias == INFINITY)
            return qr_fail(err, QUIRE_E_INVALID_ARG,
                           "logit_bias[%u].bias must be finite or -infinity", i);
    }
    return QUIRE_OK;
}

static quire_status read_params(struct quire_sampling_params *out,
                                const struct quire_sampling_params *p, struct quire_error *err)
{
    if (!p)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "sampling params is NULL");
    QR_READ_STRUCT(out, p, seed, "sampling", err);
    return QUIRE_OK;
}

quire_status quire_sampling_validate(const struct quire_sampling_params *params, uint32_t n_vocab,
                                     struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_sampling_params copy;
    const struct quire_sampling_params *p = &copy;
    QR_TRY(read_params(&copy, params, err));
    /* the comparisons are written so that NaN fails them */
    if (!(p->temperature >= 0 && isfinite(p->temperature)))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "temperature %g must be finite and not negative",
                       (double)p->temperature);
    if (!(p->top_p >= 0 && p->top_p <= 1))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "top_p %g must be in 0..1", (double)p->top_p);
    if (!(p->min_p >= 0 && p->min_p <= 1))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "min_p %g must be in 0..1", (double)p->min_p);
    if (!(p->repetition_penalty > 0 && isfinite(p->repetition_penalty)))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "repetition_penalty %g must be finite and above 0",
                       (double)p->repetition_penalty);
    if (!isfinite(p->presence_penalty))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "presence_penalty must be finite");
    if (!isfinite(p->frequency_penalty))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "frequency_penalty must be finite");
    if (p->penalty_last_n < -1)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "penalty_last_n %d must be -1, 0 or positive",
                       p->penalty_last_n);
    return check_bias(p, n_vocab, err);
}

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
    s->n_vocab = n_vocab;
    s->list = qr_alloc(allocator, n_vocab, sizeof *s->list);
    s->logits = qr_alloc(allocator, n_vocab, sizeof *s->logits);
    s->counts = qr_calloc(allocator, n_vocab, sizeof *s->counts);
    if (!s->list || !s->logits || !s->counts) {
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
    qr_free(s->allocator, s->list, s->n_vocab, sizeof *s->list);
    qr_free(s->allocator, s->logits, s->n_vocab, sizeof *s->logits);
    qr_free(s->allocator, s->counts, s->n_vocab, sizeof *s->counts);
    qr_free(s->allocator, s, 1, sizeof *s);
}

static void apply_penalties(struct quire_sampler *s, const struct quire_sampling_params *p,
                            const int32_t *history, size_t n)
{
    if (p->repetition_penalty == 1 && p->presence_penalty == 0 && p->frequency_penalty == 0)
        return;
    if (p->penalty_last_n >= 0 && (size_t)p->penalty_last_n < n) {
        history += n - (size_t)p->penalty_last_n;
        n = (size_t)p->penalty_last_n;
    }
    for (size_t i = 0; i < n; i++)
        if (history[i] >= 0 && (uint32_t)history[i] < s->n_vocab)
            s->counts[history[i]]++;
    /* applies each count once and resets it */
    for (size_t i = 0; i < n; i++) {
        if (history[i] < 0 || (uint32_t)history[i] >= s->n_vocab || !s->counts[history[i]])
            continue;
        float *logit = &s->logits[history[i]];
        *logit = *logit > 0 ? *logit / p->repetition_penalty : *logit * p->repetition_penalty;
        *logit -= p->presence_penalty + p->frequency_penalty * (float)s->counts[history[i]];
        s->counts[history[i]] = 0;
    }
}

/* Total order of candidates: descending logit, then ascending id. Logits are never NaN here. */
static bool ranks_before(struct candidate a, struct candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/* Restores the heap property below node i. The root is the lowest-ranked candidate if min_heap,
 * else the highest-ranked. */
static void sift_down(struct candidate *heap, size_t n, size_t i, bool min_heap)
{
    const struct candidate moved = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && ranks_before(heap[child + 1], heap[child]) != min_heap)
            child++;
        if (ranks_before(heap[child], moved) == min_heap)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static void make_heap(struct candidate *list, size_t n, bool min_heap)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(list, n, i, min_heap);
}

/* Lists all tokens whose logit is not -infinity by ascending id. */
static size_t select_all(struct quire_sampler *s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_vocab; i++)
        if (s->logits[i] != -INFINITY)
            s->list[n++] = (struct candidate){ s->logits[i], (int32_t)i };
    return n;
}

/* Lists the k highest-ranked tokens in order: one pass over the vocabulary with a min-heap of size
 * k, then heap sort. */
static size_t select_top_k(struct quire_sampler *s, size_t k)
{
    struct candidate *list = s->list;
    size_t n = 0;
    uint32_t i = 0;
    for (; i < s->n_vocab && n < k; i++)
        if (s->logits[i] != -INFINITY)
            list[n++] = (struct candidate){ s->logits[i], (int32_t)i };
    make_heap(list, n, true);
    for (; i < s->n_vocab; i++)
        /* a later id loses every tie, so only a greater logit enters the heap */
        if (s->logits[i] > list[0].logit) {
            list[0] = (struct candidate){ s->logits[i], (int32_t)i };
            sift_down(list, n, 0, true);
        }
    for (size_t left = n; left > 1; left--) { /* heap sort: the lowest-ranked goes last */
        const struct candidate worst = list[0];
        list[0] = list[left - 1];
        list[left - 1] = worst;
        sift_down(list, left - 1, 0, true);
    }
    return n;
}

/* Sum of exp(logit - max) over a list: its probability mass, not normalized. */
static double mass(const struct candidate *list, size_t n, double max)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += exp(list[i].logit - max);
    return sum;
}

static size_t apply_min_p(struct candidate *list, size_t n, double max, float min_p)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (exp(list[i].logit - max) >= min_p)
            list[kept++] = list[i];
    return kept;
}

/* Keeps the highest-ranked candidates until their mass reaches top_mass, at least one, and moves
 * them to the front. ranked: the list is in order; otherwise a heap orders only the kept ones. */
static size_t apply_top_p(struct candidate *list, size_t n, double max, double top_mass,
                          bool ranked)
{
    double sum = 0;
    size_t kept = 0;
    if (ranked) {
        while (kept < n && (kept == 0 || sum < top_mass))
            sum += exp(list[kept++].logit - max);
        return kept;
    }
    make_heap(list, n, false);
    while (kept < n && (kept == 0 || sum < top_mass)) {
        const struct candidate best = list[0];
        kept++;
        list[0] = list[n - kept];
        sift_down(list, n - kept, 0, false);
        list[n - kept] = best; /* the tail collects the kept ones in reverse order */
        sum += exp(best.logit - max);
    }
    memmove(list, list + (n - kept), kept * sizeof *list);
    return kept;
}

/* Inverse transform sampling: the token whose interval of the CDF contains u in [0, 1). */
static int32_t draw(const struct candidate *list, size_t n, double max, double temperature,
                    double u)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        total += exp((list[i].logit - max) / temperature);
    const double target = u * total;
    size_t i = 0;
    for (; i + 1 < n; i++) {
        sum += exp((list[i].logit - max) / temperature);
        if (sum > target)
            break;
    }
    return list[i].id;
}

/* Computes s->logits from the step and returns the most likely token, or -1 with QUIRE_E_NUMERIC
 * when all logits are -infinity or one is NaN or +infinity. */
static int32_t process_logits(struct quire_sampler *s, const struct quire_sampling_params *p,
                              const struct quire_sample_args *step, struct quire_error *err)
{
    memcpy(s->logits, step->logits, s->n_vocab * sizeof *s->logits);
    for (uint32_t i = 0; i < p->n_logit_bias; i++)
        s->logits[p->logit_bias[i].token] += p->logit_bias[i].bias;
    apply_penalties(s, p, step->history, step->n_history);
    float max = -INFINITY;
    int32_t best = -1;
    for (uint32_t i = 0; i < s->n_vocab; i++) {
        const float x = s->logits[i];
        if (!(x < INFINITY)) {
            (void)qr_fail(err, QUIRE_E_NUMERIC, "the logit of token %u is %s", i,
                          isnan(x) ? "NaN" : "infinite");
            return -1;
        }
        if (x > max) {
            max = x;
            best = (int32_t)i;
        }
    }
    if (best < 0)
        (void)qr_fail(err, QUIRE_E_NUMERIC, "no token is possible: all %u logits are -infinity",
                      s->n_vocab);
    return best;
}

/* Draws from the processed logits, whose largest is that of `best`. */
static int32_t sample(struct quire_sampler *s, const struct quire_sampling_params *p,
                      const struct quire_sample_args *args, int32_t best)
{
    const double max = s->logits[best];
    const bool ranked = p->top_k > 0 && (uint32_t)p->top_k < s->n_vocab;
    size_t n = ranked ? select_top_k(s, (size_t)p->top_k) : select_all(s);
    /* top_p and min_p both keep the head of the ranking, so min_p may cut first as long as top_p
     * uses the mass of the whole list */
    const double top_mass = p->top_p < 1 ? p->top_p * mass(s->list, n, max) : 0;
    if (p->min_p > 0)
        n = apply_min_p(s->list, n, max, p->min_p);
    if (p->top_p < 1)
        n = apply_top_p(s->list, n, max, top_mass, ranked);
    return draw(s->list, n, max, p->temperature,
                qr_philox_uniform(p->seed, args->stream, args->index));
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
    if (!a.logits || (!a.history && a.n_history))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "args.%s is NULL",
                       a.logits ? "history" : "logits");
    QR_TRY(read_params(&p, params, err));
    QR_TRY(quire_sampling_validate(&p, sampler->n_vocab, err));
    const int32_t best = process_logits(sampler, &p, &a, err);
    if (best < 0)
        return QUIRE_E_NUMERIC;
    *token = p.temperature == 0 ? best : sample(sampler, &p, &a, best);
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_sample_args)
