/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_oracle.h - the samplers in double precision, written from their definitions: every step
 * sorts all tokens. */
#ifndef QUIRE_TEST_SAMPLING_ORACLE_H
#define QUIRE_TEST_SAMPLING_ORACLE_H
#include <math.h>
#include <quire/sampling.h>
#include <stdbool.h>
#include <stdlib.h>

enum { ORACLE_MAX_V = 4096 };

struct oracle_token {
    double logit, p, score;
    int32_t id;
};

struct oracle {
    const struct quire_sampling_params *p;
    const int32_t *history;
    size_t n_history;
    bool xtc_acts;
    struct oracle_token
        t[ORACLE_MAX_V]; /* the tokens that are left, by descending logit, then id */
    size_t n;
    /* a comparison was too close to be the same in other arithmetic */
    bool ambiguous;
};

static inline int oracle_by_rank(const void *a, const void *b)
{
    const struct oracle_token *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit > y->logit ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static inline int oracle_by_score(const void *a, const void *b)
{
    const struct oracle_token *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return oracle_by_rank(a, b);
}

static inline void oracle_close(struct oracle *o, double a, double b)
{
    if (fabs(a - b) <= 3e-6 * fmax(1, fabs(a) + fabs(b)))
        o->ambiguous = true;
}

/* A cut between two tokens, of which the first is kept. Equal values are told apart by the id. */
static inline void oracle_cut(struct oracle *o, double kept, double dropped)
{
    if (kept != dropped)
        oracle_close(o, kept, dropped);
}

static inline void oracle_normalize(struct oracle *o)
{
    double sum = 0;
    qsort(o->t, o->n, sizeof o->t[0], oracle_by_rank);
    for (size_t i = 0; i < o->n; i++)
        sum += o->t[i].p = exp(o->t[i].logit - o->t[0].logit);
    for (size_t i = 0; i < o->n; i++)
        o->t[i].p /= sum;
}

static inline double oracle_entropy(const struct oracle *o)
{
    double h = 0;
    for (size_t i = 0; i < o->n; i++)
        h -= o->t[i].p > 0 ? o->t[i].p * log(o->t[i].p) : 0;
    return h;
}

static inline size_t oracle_window(const struct oracle *o, int32_t last_n)
{
    return last_n < 0 || (size_t)last_n > o->n_history ? o->n_history : (size_t)last_n;
}

static inline void oracle_penalties(struct oracle *o)
{
    const size_t n = oracle_window(o, o->p->penalty_last_n);
    for (size_t i = 0; i < o->n; i++) {
        double *logit = &o->t[i].logit;
        int count = 0;
        for (size_t j = o->n_history - n; j < o->n_history; j++)
            count += o->history[j] == o->t[i].id;
        if (!count)
            continue;
        *logit = *logit > 0 ? *logit / (double)o->p->repetition_penalty
                            : *logit * (double)o->p->repetition_penalty;
        *logit -= (double)o->p->presence_penalty + count * (double)o->p->frequency_penalty;
    }
}

/* Length of the longest breaker that begins at history[at], or 0. */
static inline size_t oracle_breaker_at(const struct oracle *o, size_t at)
{
    const int32_t *b = o->p->dry_breakers, *stop = b + o->p->n_dry_breakers;
    size_t longest = 0;
    for (size_t n; b < stop; b += n + 1) {
        bool same = true;
        for (n = 0; b[n] != -1; n++)
            same = same && at + n < o->n_history && b[n] == o->history[at + n];
        longest = same && n > longest ? n : longest;
    }
    return longest;
}

static inline bool oracle_is_breaker(const struct oracle *o, int32_t token)
{
    const int32_t *b = o->p->dry_breakers;
    for (uint32_t i = 0; i < o->p->n_dry_breakers; i++)
        if (b[i] == token && b[i + 1] == -1 && (i == 0 || b[i - 1] == -1))
            return true;
    return false;
}

static inline void oracle_dry(struct oracle *o)
{
    const struct quire_sampling_params *p = o->p;
    const int32_t last_n = p->dry_penalty_last_n == 0 ? -1 : p->dry_penalty_last_n;
    const size_t n = oracle_window(o, last_n), begin = o->n_history - n, end = o->n_history;
    const size_t allowed = p->dry_allowed_length ? (size_t)p->dry_allowed_length : 2;
    const double base = p->dry_base != 0 ? (double)p->dry_base : 1.75;
    size_t limit = n; /* tokens since the breaker that begins last */
    for (size_t at = begin; at < end; at++)
        if (oracle_breaker_at(o, at))
            limit = end - at - oracle_breaker_at(o, at);
    for (size_t i = 0; i < o->n; i++) {
        size_t longest = 0;
        for (size_t at = begin + 1; at < end; at++) { /* an earlier place of the token */
            size_t same = 0;
            while (same < limit && same < at - begin &&
                   o->history[at - 1 - same] == o->history[end - 1 - same])
                same++;
            if (o->history[at] == o->t[i].id && same > longest)
                longest = same;
        }
        if (longest >= allowed && !oracle_is_breaker(o, o->t[i].id)) {
            double exponent = (double)(longest - allowed);
            if (base > 1.000001)
                exponent = fmin(exponent, floor(88.7228391 / log(base)));
            o->t[i].logit -= (double)p->dry_multiplier * pow(base, exponent);
        }
    }
}

static inline void oracle_top_n_sigma(struct oracle *o)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < o->n; i++)
        mean += o->t[i].logit / (double)o->n;
    for (size_t i = 0; i < o->n; i++)
        variance += pow(o->t[i].logit - mean, 2) / (double)o->n;
    const double least = o->t[0].logit - (double)o->p->top_n_sigma * sqrt(variance);
    size_t kept = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (i && variance > 1e-12) /* of equal logits all are kept */
            oracle_close(o, o->t[i].logit, least);
        kept += o->t[i].logit >= least || variance <= 1e-12;
    }
    o->n = kept;
}

static inline void oracle_typical_p(struct oracle *o, size_t min_keep)
{
    const double h = oracle_entropy(o);
    for (size_t i = 0; i < o->n; i++)
        o->t[i].score = fabs(-log(o->t[i].p) - h);
    qsort(o->t, o->n, sizeof o->t[0], oracle_by_score);
    double sum = 0;
    size_t kept = 0;
    while (kept < o->n && (kept < min_keep || sum <= (double)o->p->typical_p)) {
        sum += o->t[kept++].p;
        if (kept < o->n && kept >= min_keep)
            oracle_close(o, sum, (double)o->p->typical_p);
    }
    if (kept < o->n && o->t[kept - 1].logit != o->t[kept].logit)
        oracle_close(o, o->t[kept - 1].score, o->t[kept].score);
    o->n = kept;
}

static inline void oracle_top_p(struct oracle *o, size_t min_keep)
{
    double sum = 0;
    size_t kept = 0;
    while (kept < o->n && (kept < min_keep || sum < (double)o->p->top_p)) {
        sum += o->t[kept++].p;
        if (kept < o->n && kept >= min_keep)
            oracle_close(o, sum, (double)o->p->top_p);
    }
    o->n = kept;
}

static inline void oracle_min_p(struct oracle *o, size_t min_keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->n; i++) {
        const double ratio = exp(o->t[i].logit - o->t[0].logit);
        if (ratio != 1)
            oracle_close(o, log(ratio), log((double)o->p->min_p));
        kept += ratio >= (double)o->p->min_p;
    }
    o->n = kept > min_keep ? kept : min_keep < o->n ? min_keep : o->n;
}

static inline void oracle_xtc(struct oracle *o, size_t min_keep)
{
    const double threshold = o->p->xtc_threshold != 0 ? (double)o->p->xtc_threshold : (double)0.1f;
    size_t above = 0;
    for (size_t i = 0; i < o->n; i++) {
        oracle_close(o, o->t[i].p, threshold);
        above += o->t[i].p >= threshold;
    }
    if (!o->xtc_acts || threshold > 0.5 || above < 2 || o->n - (above - 1) < min_keep)
        return;
    oracle_cut(o, o->t[above - 1].logit, o->t[above - 2].logit);
    for (size_t i = above - 1; i < o->n; i++)
        o->t[i - (above - 1)] = o->t[i];
    o->n -= above - 1;
}

static inline void oracle_temperature(struct oracle *o)
{
    double t = (double)o->p->temperature;
    const double range = (double)o->p->dynatemp_range;
    const double exponent = o->p->dynatemp_exponent != 0 ? (double)o->p->dynatemp_exponent : 1;
    if (range > 0) {
        const double part = o->n > 1 ? fmin(fmax(oracle_entropy(o) / log((double)o->n), 0), 1) : 0;
        const double low = fmax(t - range, 0);
        t = low + (t + range - low) * pow(part, exponent);
    }
    for (size_t i = 0; t > 0 && i < o->n; i++)
        o->t[i].logit /= t;
    if (t <= 0)
        o->n = 1;
}

static inline void oracle_apply(struct oracle *o, int kind)
{
    const struct quire_sampling_params *p = o->p;
    const size_t min_keep = p->min_keep ? p->min_keep : 1;
    oracle_normalize(o);
    if (kind == QUIRE_SAMPLER_PENALTIES)
        oracle_penalties(o);
    else if (kind == QUIRE_SAMPLER_DRY && p->dry_multiplier > 0)
        oracle_dry(o);
    else if (kind == QUIRE_SAMPLER_TOP_N_SIGMA && p->top_n_sigma > 0)
        oracle_top_n_sigma(o);
    else if (kind == QUIRE_SAMPLER_TOP_K && p->top_k > 0 && (size_t)p->top_k < o->n) {
        o->n = (size_t)p->top_k;
        oracle_cut(o, o->t[o->n - 1].logit, o->t[o->n].logit);
    } else if (kind == QUIRE_SAMPLER_TYPICAL_P && p->typical_p > 0 && p->typical_p < 1)
        oracle_typical_p(o, min_keep);
    else if (kind == QUIRE_SAMPLER_TOP_P && p->top_p < 1)
        oracle_top_p(o, min_keep);
    else if (kind == QUIRE_SAMPLER_MIN_P && p->min_p > 0)
        oracle_min_p(o, min_keep);
    else if (kind == QUIRE_SAMPLER_XTC && p->xtc_probability > 0)
        oracle_xtc(o, min_keep);
    else if (kind == QUIRE_SAMPLER_TEMPERATURE)
        oracle_temperature(o);
    oracle_normalize(o);
}

/* Computes the distribution of the draw: o->t[o->n]. */
static inline void oracle_run(struct oracle *o, const struct quire_sampling_params *p,
                              const float *logits, uint32_t n_vocab, const int32_t *history,
                              size_t n_history, bool xtc_acts)
{
    o->p = p;
    o->history = history;
    o->n_history = n_history;
    o->xtc_acts = xtc_acts;
    o->ambiguous = false;
    o->n = 0;
    for (uint32_t i = 0; i < n_vocab; i++) {
        double logit = (double)logits[i];
        for (uint32_t j = 0; j < p->n_logit_bias; j++)
            if (p->logit_bias[j].token == (int32_t)i)
                logit += (double)p->logit_bias[j].bias;
        if (logit > -INFINITY)
            o->t[o->n++] = (struct oracle_token){ .logit = logit, .id = (int32_t)i };
    }
    for (int i = 0; i < QUIRE_MAX_SAMPLERS; i++)
        if (p->samplers[0])
            oracle_apply(o, p->samplers[i]);
        else if (i < QUIRE_SAMPLER_TEMPERATURE)
            oracle_apply(o, i + 1);
}

#endif
