/* SPDX-License-Identifier: Apache-2.0 */
/* draft_depth.c - the depth with most expected tokens per second, within a budget of losses. */
#include "engine/speculation/draft_depth.h"
#include <math.h>
#include <stdbool.h>

/* In steps whose draft was skipped. The interval doubles with each probe that is rejected. */
enum { MIN_PROBE_INTERVAL = 2, MAX_PROBE_INTERVAL = 64 };

/* The constants were chosen by simulation and by replaying texts as answers; half and twice
 * their values change the speed there by less than 2 % (docs/notes/tuning.md). */

/* Weight of a draft after the next one: averages over about 33 drafts. */
static const double decay = 0.97;
/* Acceptance of the first position before any measurement, worth one draft. */
static const double prior = 0.5;
/* The estimate of the position before is worth so many drafts: few drafts reach the late ones. */
static const double neighbor_weight = 3;
/* Rejections in a row that are less probable than this show that the text has changed. The
 * averages alone would hold on to deep drafts for tens of steps after a copy ends. */
static const double change_probability = 1e-3;
/* Weight of the rejections that are left of the averages after a change. */
static const double weight_after_change = 4;
/* Losses allowed, as a fraction of the time of decoding without drafts. */
static const double loss_fraction = 0.02;
static const double initial_reserve = 0.5; /* steps of one row */
/* Upper bound of the reserve, in drafts of the largest depth. A larger one allows longer losses
 * after long savings, a smaller one blocks drafts that gain on average but vary. */
static const double max_reserve = 4;

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static double first_acceptance(const struct qr_draft_acceptance *a)
{
    return (a->accepted[0] + prior) / (a->tried[0] + 1);
}

void qr_draft_depth_init(struct qr_draft_depth *d)
{
    *d = (struct qr_draft_depth){ .reserve = initial_reserve };
    for (uint32_t i = 0; i < QR_DRAFT_CLASSES; i++) {
        d->classes[i].streak_probability = 1;
        d->classes[i].probe_interval = MIN_PROBE_INTERVAL;
    }
}

uint32_t qr_draft_class(uint32_t match_length)
{
    uint32_t c = 0;
    for (; match_length > 1 && c + 1 < QR_DRAFT_LOOKUP_CLASSES; match_length /= 2)
        c++;
    return c;
}

/* Largest depth whose cost is known; -1 = not even that of a step of one row is. */
static int32_t known_depth(const struct qr_draft_costs *costs)
{
    uint32_t n = 0;
    while (n < costs->n_costs && n < QR_DRAFT_COSTS && costs->step_seconds[n] > 0 &&
           costs->step_seconds[n] < HUGE_VAL)
        n++;
    return n ? (1 << (n - 1)) - 1 : -1;
}

uint32_t qr_draft_depth_known(const struct qr_draft_costs *costs)
{
    const int32_t known = known_depth(costs);
    return known > 0 ? (uint32_t)known : 0;
}

double qr_draft_step_seconds(const struct qr_draft_costs *costs, uint32_t depth)
{
    const uint32_t rows = depth + 1;
    const double *s = costs->step_seconds;
    uint32_t i = 0;
    while (rows >> (i + 1))
        i++;
    const uint32_t power = 1u << i;
    return rows > power ? s[i] + (s[i + 1] - s[i]) * (rows - power) / power : s[i];
}

/* Cost of drafting and verifying `depth` tokens, in steps of one row. */
static double relative_cost(const struct qr_draft_costs *costs, uint32_t depth)
{
    const double draft = depth * costs->draft_seconds + (depth ? costs->block_seconds : 0);
    return (qr_draft_step_seconds(costs, depth) + draft) / costs->step_seconds[0];
}

uint32_t qr_draft_depth_choose(const struct qr_draft_depth *d, const struct qr_draft_costs *costs,
                               uint32_t draft_class, uint32_t available)
{
    const struct qr_draft_acceptance *a = &d->classes[draft_class];
    const uint32_t most = smaller(available, qr_draft_depth_known(costs));
    double acceptance = first_acceptance(a), reached = 1, tokens = 1, best_rate = 0;
    uint32_t best = 0; /* of the depths above 0 */
    for (uint32_t depth = 1; depth <= most; depth++) {
        if (depth > 1)
            acceptance = (a->accepted[depth - 1] + neighbor_weight * acceptance) /
                         (a->tried[depth - 1] + neighbor_weight);
        reached *= acceptance;
        tokens += reached;
        const double cost = relative_cost(costs, depth);
        if (tokens / cost > best_rate && cost - 1 <= d->reserve) {
            best_rate = tokens / cost;
            best = depth;
        }
    }
    const bool probe = a->skipped >= a->probe_interval;
    return best_rate > 1 || probe ? best : 0;
}

static void forget(struct qr_draft_acceptance *a)
{
    *a = (struct qr_draft_acceptance){
        .tried = { weight_after_change },
        .streak_probability = 1,
        .probe_interval = MIN_PROBE_INTERVAL,
    };
}

static void record_draft(struct qr_draft_acceptance *a, uint32_t drafted, uint32_t accepted)
{
    a->skipped = 0;
    if (accepted) {
        a->streak_probability = 1;
        a->probe_interval = MIN_PROBE_INTERVAL;
    } else {
        a->streak_probability *= 1 - first_acceptance(a);
        a->probe_interval = smaller(2 * a->probe_interval, MAX_PROBE_INTERVAL);
    }
    for (uint32_t i = 0; i < QR_DRAFT_MAX_DEPTH; i++) {
        a->tried[i] = a->tried[i] * decay + (i < drafted && i <= accepted);
        a->accepted[i] = a->accepted[i] * decay + (i < accepted);
    }
    if (a->streak_probability < change_probability)
        forget(a);
}

void qr_draft_depth_skip(struct qr_draft_depth *d, uint32_t draft_class)
{
    d->classes[draft_class].skipped++;
}

void qr_draft_depth_record(struct qr_draft_depth *d, const struct qr_draft_costs *costs,
                           uint32_t draft_class, uint32_t available, uint32_t drafted,
                           uint32_t accepted)
{
    const int32_t known = known_depth(costs);
    if (drafted)
        record_draft(&d->classes[draft_class], drafted, accepted);
    else if (available)
        qr_draft_depth_skip(d, draft_class);
    if (known < 0 || (uint32_t)known < drafted)
        return;
    const double bound = max_reserve * relative_cost(costs, (uint32_t)known);
    d->reserve += (1 + accepted) * (1 + loss_fraction) - relative_cost(costs, drafted);
    if (d->reserve > bound)
        d->reserve = bound;
}
