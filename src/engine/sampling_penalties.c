/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_penalties.c - repetition, presence and frequency penalties; DRY. */
#include "engine/sampling_penalties.h"
#include <float.h>
#include <math.h>

bool qr_penalties_active(const struct quire_sampling_params *p, enum quire_sampler_kind kind)
{
    return kind == QUIRE_SAMPLER_DRY ? p->dry_multiplier > 0
                                     : p->repetition_penalty != 1 || p->presence_penalty != 0 ||
                                           p->frequency_penalty != 0;
}

/* The last tokens of a history. */
struct window {
    const int32_t *tokens;
    size_t n;
};

/* last_n < 0: the whole history. */
static struct window last_tokens(const int32_t *history, size_t n, int32_t last_n)
{
    if (last_n < 0 || (size_t)last_n >= n)
        return (struct window){ history, n };
    return (struct window){ history + (n - (size_t)last_n), (size_t)last_n };
}

static bool in_vocabulary(const struct qr_sampling_scratch *s, int32_t token)
{
    return token >= 0 && (uint32_t)token < s->n_vocab;
}

static void apply_penalties(struct qr_sampling_scratch *s, const struct quire_sampling_params *p,
                            struct window w)
{
    for (size_t i = 0; i < w.n; i++)
        if (in_vocabulary(s, w.tokens[i]))
            s->counts[w.tokens[i]]++;
    /* applies each count once and resets it */
    for (size_t i = 0; i < w.n; i++) {
        if (!in_vocabulary(s, w.tokens[i]) || !s->counts[w.tokens[i]])
            continue;
        float *logit = &s->logits[w.tokens[i]];
        *logit = *logit > 0 ? *logit / p->repetition_penalty : *logit * p->repetition_penalty;
        *logit -= p->presence_penalty + p->frequency_penalty * (float)s->counts[w.tokens[i]];
        s->counts[w.tokens[i]] = 0;
    }
}

/* ---- DRY (p-e-w, "Don't Repeat Yourself"), with the rules of llama.cpp. Positions count from the
 * end of the window: token 0 is the last one. */

static int32_t token_at(struct window w, size_t i) { return w.tokens[w.n - 1 - i]; }

/* Length of the sequence of dry_breakers that begins at `at`, without its -1. */
static size_t breaker_length(const struct quire_sampling_params *p, uint32_t at)
{
    size_t n = 0;
    while (p->dry_breakers[at + n] >= 0)
        n++;
    return n;
}

/* Length of the longest breaker that begins at position i, or 0. */
static size_t longest_breaker_at(const struct quire_sampling_params *p, struct window w, size_t i)
{
    size_t longest = 0, n;
    for (uint32_t at = 0; at < p->n_dry_breakers; at += (uint32_t)n + 1) {
        n = breaker_length(p, at);
        size_t same = 0;
        while (same < n && same <= i && p->dry_breakers[at + same] == token_at(w, i - same))
            same++;
        if (same == n && n > longest)
            longest = n;
    }
    return longest;
}

/* Number of last tokens that come after the last breaker, or after the last id outside the
 * vocabulary, which equals nothing: no repeat is longer. */
static size_t longest_repeat(struct qr_sampling_scratch *s, const struct quire_sampling_params *p,
                             struct window w)
{
    uint32_t at;
    size_t limit = w.n;
    for (at = 0; at < p->n_dry_breakers; at += (uint32_t)breaker_length(p, at) + 1)
        s->counts[p->dry_breakers[at]] = 1; /* first tokens: rarely compares whole sequences */
    for (size_t i = 0; i < w.n && limit == w.n; i++) {
        const int32_t token = token_at(w, i);
        if (!in_vocabulary(s, token)) {
            limit = i;
            break;
        }
        const size_t n = s->counts[token] ? longest_breaker_at(p, w, i) : 0;
        if (n)
            limit = i + 1 - n;
    }
    for (at = 0; at < p->n_dry_breakers; at += (uint32_t)breaker_length(p, at) + 1)
        s->counts[p->dry_breakers[at]] = 0;
    return limit < QUIRE_DRY_MAX_REPEAT ? limit : QUIRE_DRY_MAX_REPEAT;
}

/* Sets counts[token] to the length of the longest repeat, up to `limit`, that the token would
 * extend, if that is at least dry_allowed_length. The tokens before position k - 1 that repeat the
 * last ones are the Z function of the reversed window, whose computation is linear: [left, right)
 * is the match that reaches farthest. */
static void measure_repeats(struct qr_sampling_scratch *s, const struct quire_sampling_params *p,
                            struct window w, size_t limit)
{
    size_t left = 0, right = 0;
    for (size_t k = 1; k < w.n; k++) {
        size_t n = 0;
        if (k < right)
            n = s->repeats[k - left] < right - k ? s->repeats[k - left] : right - k;
        while (n < limit && k + n < w.n && token_at(w, n) == token_at(w, k + n))
            n++;
        if (k + n > right) {
            left = k;
            right = k + n;
        }
        if (k < limit)
            s->repeats[k] = (uint32_t)n;
        const int32_t next = token_at(w, k - 1);
        if (n >= (size_t)p->dry_allowed_length && in_vocabulary(s, next) && s->counts[next] < n)
            s->counts[next] = (uint32_t)n;
    }
}

static void apply_dry(struct qr_sampling_scratch *s, const struct quire_sampling_params *p,
                      struct window w)
{
    const double log_float_max = 88.7228391; /* the power stays in the range of float */
    const double base = p->dry_base;
    const double most = base > 1.000001 ? floor(log_float_max / log(base)) : INFINITY;
    const size_t limit = longest_repeat(s, p, w);
    if (limit < (size_t)p->dry_allowed_length)
        return;
    measure_repeats(s, p, w, limit);
    size_t n;
    for (uint32_t at = 0; at < p->n_dry_breakers; at += (uint32_t)n + 1) {
        n = breaker_length(p, at);
        if (n == 1)
            s->counts[p->dry_breakers[at]] = 0;
    }
    for (size_t i = 0; i < w.n; i++) {
        const int32_t token = w.tokens[i];
        if (!in_vocabulary(s, token) || !s->counts[token])
            continue;
        const double exponent = s->counts[token] - (double)p->dry_allowed_length;
        const double logit = s->logits[token] - p->dry_multiplier * pow(base, fmin(exponent, most));
        /* the token stays possible: it may be the only one */
        if (s->logits[token] != -INFINITY)
            s->logits[token] = logit < -FLT_MAX ? -FLT_MAX : (float)logit;
        s->counts[token] = 0;
    }
}

void qr_penalties_apply(struct qr_sampling_scratch *s, const struct quire_sampling_params *p,
                        enum quire_sampler_kind kind, const int32_t *history, size_t n_history)
{
    if (!qr_penalties_active(p, kind))
        return;
    if (kind == QUIRE_SAMPLER_PENALTIES)
        apply_penalties(s, p, last_tokens(history, n_history, p->penalty_last_n));
    else
        apply_dry(s, p, last_tokens(history, n_history, p->dry_penalty_last_n));
}
