/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_chain.c - samplers that remove tokens, the temperature, and the draw. */
#include "engine/sampling_chain.h"
#include "base/error.h"
#include "engine/philox.h"
#include "engine/sampling_penalties.h"
#include <float.h>
#include <math.h>

/* Logarithm of the probability of a candidate, up to a constant: 0 for the most likely one. */
static double log_weight(const struct qr_sampling_chain *c, float logit)
{
    return (logit - c->max) / c->temperature;
}

/* Sum of the weights exp(log_weight) of the tokens that are left: their probability mass, not
 * normalized. */
static double mass(const struct qr_sampling_chain *c)
{
    const struct qr_sampling_scratch *s = c->scratch;
    const struct qr_candidate *list = s->list;
    double sum = 0;
    if (!c->listed)
        return s->kernels->exp_sum(s->logits, s->n_vocab, c->max, c->temperature);
    for (size_t i = 0; i < c->n; i++)
        sum += exp(log_weight(c, list[i].logit));
    return sum;
}

/* Entropy in nats of the tokens that are left, and the logarithm of their mass. */
static double entropy(const struct qr_sampling_chain *c, double *log_mass)
{
    double sum = 0, weighted = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double x = log_weight(c, c->scratch->list[i].logit), weight = exp(x);
        sum += weight;
        weighted += weight > 0 ? weight * x : 0; /* x may be -infinity */
    }
    /* cppcheck-suppress invalidFunctionArg ; one token or more is left */
    *log_mass = log(sum);
    return *log_mass - weighted / sum;
}

static void make_list(struct qr_sampling_chain *c, float least)
{
    const struct qr_sampling_scratch *s = c->scratch;
    c->n = qr_candidates_select(s->kernels, s->logits, s->n_vocab, least, s->list);
    c->listed = true;
    c->ranked = false;
}

static void need_list(struct qr_sampling_chain *c)
{
    if (!c->listed)
        make_list(c, -FLT_MAX);
}

/* Lists the tokens whose log weight is at least `least`, and perhaps some whose is little less. */
static void list_log_weights(struct qr_sampling_chain *c, double least)
{
    make_list(c, nextafterf((float)fmax(c->max + least * c->temperature, -FLT_MAX), -FLT_MAX));
}

static void keep_best(struct qr_sampling_chain *c, size_t k)
{
    c->n = qr_candidates_keep_best(c->scratch->list, c->n, k);
    c->ranked = true;
}

/* Keeps candidates whose log weight is at least `least`; their order stays. */
static void keep_log_weights(struct qr_sampling_chain *c, double least)
{
    struct qr_candidate *list = c->scratch->list;
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++)
        if (log_weight(c, list[i].logit) >= least)
            list[kept++] = list[i];
    c->n = kept;
}

/* ---- The samplers */

/* Penalties that are not the first samplers: the list goes through the dense logits. */
static quire_status apply_penalties(struct qr_sampling_chain *c, enum quire_sampler_kind kind,
                                    struct quire_error *err)
{
    const struct qr_sampling_scratch *s = c->scratch;
    if (!qr_penalties_active(c->p, kind))
        return QUIRE_OK;
    need_list(c);
    for (size_t i = 0; i < c->n; i++)
        s->logits[s->list[i].id] = (float)(s->list[i].logit / c->temperature);
    c->temperature = 1;
    qr_penalties_apply(c->scratch, c->p, kind, c->args->history, c->args->n_history);
    size_t kept = 0;
    c->max = -INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        const struct qr_candidate x = { s->logits[s->list[i].id], s->list[i].id };
        if (!(x.logit < INFINITY))
            return qr_fail(err, QUIRE_E_NUMERIC, "the logit of token %d is %s", x.id,
                           isnan(x.logit) ? "NaN" : "infinite");
        if (x.logit == -INFINITY)
            continue;
        if (x.logit > c->max)
            c->max = x.logit;
        s->list[kept++] = x;
    }
    c->n = kept;
    c->ranked = false;
    return kept ? QUIRE_OK
                : qr_fail(err, QUIRE_E_NUMERIC, "no token is possible: the penalties exclude all");
}

/* Number, sum and sum of squares of logits relative to the largest one. */
struct moments {
    double n, sum, squares;
};

static void add_moments(struct moments *m, double x)
{
    m->n++;
    m->sum += x;
    m->squares += x * x;
}

static void apply_top_n_sigma(struct qr_sampling_chain *c)
{
    const struct qr_sampling_scratch *s = c->scratch;
    if (!(c->p->top_n_sigma > 0))
        return;
    struct moments m = { 0, 0, 0 };
    for (size_t i = 0; c->listed && i < c->n; i++)
        add_moments(&m, s->list[i].logit - c->max);
    for (uint32_t i = 0; !c->listed && i < s->n_vocab; i++)
        if (s->logits[i] != -INFINITY)
            add_moments(&m, s->logits[i] - c->max);
    const double mean = m.sum / m.n, variance = fmax(m.squares / m.n - mean * mean, 0);
    const double least = fmax(c->max - c->p->top_n_sigma * sqrt(variance), -FLT_MAX);
    if (c->listed) {
        keep_log_weights(c, (least - c->max) / c->temperature);
        return;
    }
    const float rounded = (float)least;
    make_list(c, rounded < least ? nextafterf(rounded, INFINITY) : rounded);
}

static void apply_top_k(struct qr_sampling_chain *c)
{
    const struct qr_sampling_scratch *s = c->scratch;
    const size_t k = c->p->top_k > 0 ? (size_t)c->p->top_k : SIZE_MAX;
    if (k >= (c->listed ? c->n : s->n_vocab))
        return;
    if (c->listed) {
        if (c->ranked)
            c->n = k;
        else
            keep_best(c, k);
        return;
    }
    c->n = qr_candidates_select_best(s->kernels, s->logits, s->n_vocab, k, s->list);
    c->listed = c->ranked = true;
}

/* Log weight of n candidates that together have half of the mass `unwanted`: a selection by mass
 * does not reach those below it. */
static double tail(double unwanted, size_t n) { return log(unwanted / 2 / (double)n); }

/* Lists the most likely tokens, with the mass `wanted` or more: those above a log weight, which is
 * doubled until they have it, at most to `least`. */
static void list_head(struct qr_sampling_chain *c, double wanted, double least)
{
    double edge = -4;
    while (edge > least) {
        list_log_weights(c, edge);
        if (mass(c) >= wanted)
            return;
        edge *= 2;
    }
    list_log_weights(c, least);
}

/* Drops candidates that are all less likely than the kept ones and whose mass is less than half of
 * `unwanted`, so that fewer are ranked. Candidates whose log weight is at least `most` stay. */
static void drop_tail(struct qr_sampling_chain *c, double unwanted, double most)
{
    keep_log_weights(c, fmin(tail(unwanted, c->n), most));
}

/* Keeps the tokens whose -log(p) is closest to the entropy until their probability exceeds
 * typical_p. In order of rank they are a range, which grows by the closer of its two neighbors; of
 * two equally close ones the more likely one is first. */
static void apply_typical_p(struct qr_sampling_chain *c)
{
    struct qr_candidate *list = c->scratch->list;
    if (c->p->typical_p >= 1)
        return;
    need_list(c);
    double log_mass;
    const double h = entropy(c, &log_mass), total = exp(log_mass), wanted = c->p->typical_p * total;
    const double center = log_mass - h; /* log weight of -log(p) = h; at most 0 */
    if (c->p->min_keep == 1)
        /* below 2 * center they are farther from it than the most likely token */
        drop_tail(c, total - wanted, 2 * center - 1e-6 * fabs(center));
    if (!c->ranked)
        keep_best(c, c->n);
    size_t end = 0;
    while (end < c->n && log_weight(c, list[end].logit) > center)
        end++;
    size_t begin = end;
    for (double sum = 0; end - begin < c->n && (end - begin < c->p->min_keep || sum <= wanted);) {
        const bool more_likely =
            begin && (end == c->n || log_weight(c, list[begin - 1].logit) - center <=
                                         center - log_weight(c, list[end].logit));
        const size_t next = more_likely ? --begin : end++;
        sum += exp(log_weight(c, list[next].logit));
    }
    /* of equal logits at the beginning of the range, those with the lowest ids are kept */
    size_t first = begin, equal = 0;
    while (first && list[first - 1].logit == list[begin].logit)
        first--;
    while (begin + equal < end && list[begin + equal].logit == list[begin].logit)
        equal++;
    c->n = end - begin;
    for (size_t i = 0; i < c->n; i++)
        list[i] = list[(i < equal ? first : begin) + i];
    c->max = list[0].logit;
}

static void apply_min_p(struct qr_sampling_chain *c)
{
    struct qr_candidate *list = c->scratch->list;
    const double min_p = c->p->min_p, edge = log(min_p);
    if (min_p == 0)
        return;
    if (!c->listed && c->p->min_keep == 1)
        list_log_weights(c, edge);
    need_list(c);
    /* The first pass moves nothing: min_keep may need other tokens. */
    for (int pass = c->p->min_keep == 1; pass < 2; pass++) {
        size_t kept = 0;
        for (size_t i = 0; i < c->n; i++) {
            const double x = log_weight(c, list[i].logit);
            /* exp is slow and decides near the edge only */
            if (x < edge - 1e-9 || (x < edge + 1e-9 && exp(x) < min_p))
                continue;
            if (pass == 1)
                list[kept] = list[i];
            kept++;
        }
        if (kept < c->p->min_keep) {
            keep_best(c, c->p->min_keep);
            return;
        }
        if (pass == 1)
            c->n = kept;
    }
}

static void apply_top_p(struct qr_sampling_chain *c)
{
    if (c->p->top_p >= 1)
        return;
    const double total = mass(c), wanted = c->p->top_p * total;
    /* Ranks fewer: min_p and top_p both keep the head of the ranking, so min_p may cut first. */
    if (!c->ranked && *c->next == QUIRE_SAMPLER_MIN_P && c->p->min_p > 0)
        apply_min_p(c);
    else if (!c->listed && c->p->min_keep == 1)
        list_head(c, wanted, tail(total - wanted, c->scratch->n_vocab));
    else if (!c->ranked && c->p->min_keep == 1)
        drop_tail(c, total - wanted, 0);
    need_list(c);
    c->n = qr_candidates_keep_mass(c->scratch->list, c->n, c->max, c->temperature, wanted,
                                   c->p->min_keep, c->ranked);
}

static void apply_xtc(struct qr_sampling_chain *c)
{
    struct qr_candidate *list = c->scratch->list;
    const struct quire_sampling_params *p = c->p;
    const double u = qr_philox_draw(p->seed, c->args->stream, c->args->index, QR_DRAW_XTC);
    if (u >= p->xtc_probability || p->xtc_threshold > 0.5f)
        return;
    need_list(c);
    const double least = log(p->xtc_threshold * mass(c));
    struct qr_candidate last = { INFINITY, 0 }; /* lowest-ranked one above the threshold */
    size_t above = 0;
    for (size_t i = 0; i < c->n; i++)
        if (log_weight(c, list[i].logit) >= least) {
            above++;
            if (list[i].logit < last.logit || (list[i].logit == last.logit && list[i].id > last.id))
                last = list[i];
        }
    if (above < 2 || c->n - above + 1 < p->min_keep)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++)
        if (list[i].id == last.id || !(log_weight(c, list[i].logit) >= least))
            list[kept++] = list[i];
    c->n = kept;
    c->max = last.logit;
}

static void apply_temperature(struct qr_sampling_chain *c)
{
    const struct quire_sampling_params *p = c->p;
    double t = p->temperature;
    if (p->dynatemp_range > 0) {
        need_list(c);
        const double low = fmax(t - p->dynatemp_range, 0), high = t + p->dynatemp_range;
        double log_mass, part = 0; /* entropy relative to that of a uniform distribution */
        if (c->n > 1)
            part = fmin(fmax(entropy(c, &log_mass) / log((double)c->n), 0), 1);
        t = low + (high - low) * pow(part, p->dynatemp_exponent);
    }
    if (t > 0)
        c->temperature = t;
    else
        keep_best(c, 1);
}

/* ---- The draw */

/* Inverse transform sampling: the token whose interval of the CDF contains u in [0, 1). */
static struct qr_candidate draw(const struct qr_sampling_chain *c, double u)
{
    const struct qr_candidate *list = c->scratch->list;
    double sum = 0;
    const double target = u * mass(c);
    size_t i = 0;
    for (; i + 1 < c->n; i++) {
        sum += exp(log_weight(c, list[i].logit));
        if (sum > target)
            break;
    }
    return list[i];
}

/* The same for all tokens of the vocabulary, without a list, in the order of their ids. */
static int32_t draw_any(const struct qr_sampling_chain *c, double u)
{
    enum { BLOCK = 1024 };
    const struct qr_sampling_scratch *s = c->scratch;
    const double target = u * mass(c);
    double sum = 0;
    for (uint32_t i = 0, n; i < s->n_vocab; i += n) {
        n = s->n_vocab - i < BLOCK ? s->n_vocab - i : BLOCK;
        const double block = s->kernels->exp_sum(s->logits + i, n, c->max, c->temperature);
        if (sum + block <= target) {
            sum += block;
            continue;
        }
        for (uint32_t t = i; t < i + n; t++) {
            sum += exp(log_weight(c, s->logits[t]));
            if (sum > target)
                return (int32_t)t;
        }
    }
    /* u is almost 1, and the sums are rounded: the last token that is possible */
    uint32_t t = s->n_vocab - 1;
    while (t && exp(log_weight(c, s->logits[t])) == 0)
        t--;
    return (int32_t)t;
}

static quire_status apply(struct qr_sampling_chain *c, enum quire_sampler_kind kind,
                          struct quire_error *err)
{
    switch (kind) {
    case QUIRE_SAMPLER_PENALTIES:
    case QUIRE_SAMPLER_DRY:
        return apply_penalties(c, kind, err);
    case QUIRE_SAMPLER_TOP_N_SIGMA:
        apply_top_n_sigma(c);
        break;
    case QUIRE_SAMPLER_TOP_K:
        apply_top_k(c);
        break;
    case QUIRE_SAMPLER_TYPICAL_P:
        apply_typical_p(c);
        break;
    case QUIRE_SAMPLER_TOP_P:
        apply_top_p(c);
        break;
    case QUIRE_SAMPLER_MIN_P:
        apply_min_p(c);
        break;
    case QUIRE_SAMPLER_XTC:
        apply_xtc(c);
        break;
    case QUIRE_SAMPLER_TEMPERATURE:
        apply_temperature(c);
        break;
    case QUIRE_SAMPLER_NONE:
        break;
    }
    return QUIRE_OK;
}

quire_status qr_sampling_chain_run(struct qr_sampling_chain *c, int32_t *token,
                                   struct quire_error *err)
{
    while (*c->next)
        QR_TRY(apply(c, (enum quire_sampler_kind) * c->next++, err));
    const double u = qr_philox_draw(c->p->seed, c->args->stream, c->args->index, QR_DRAW_TOKEN);
    *token = c->listed ? draw(c, u).id : draw_any(c, u);
    return QUIRE_OK;
}

int32_t qr_sampling_mirostat(struct qr_sampling_chain *c)
{
    const double ln2 = 0.69314718055994530942, max_bits = 1074; /* of a weight in double */
    struct quire_sampling_state *state = c->args->state;
    const double tau = c->p->mirostat_tau, mu = state->n_sampled ? state->mirostat_mu : 2 * tau;
    c->temperature = c->p->temperature;
    need_list(c);
    const double least = log(mass(c)) - mu * ln2;
    if (least > 0) /* even the most likely token has more information than mu */
        keep_best(c, 1);
    else
        keep_log_weights(c, least);
    const struct qr_candidate drawn =
        draw(c, qr_philox_draw(c->p->seed, c->args->stream, c->args->index, QR_DRAW_MIROSTAT));
    const double bits = (log(mass(c)) - log_weight(c, drawn.logit)) / ln2;
    state->mirostat_mu = mu - c->p->mirostat_eta * (fmin(bits, max_bits) - tau);
    state->n_sampled++;
    return drawn.id;
}
