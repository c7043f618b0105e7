/* SPDX-License-Identifier: Apache-2.0 */
/* moe_route.c - the router: which experts a token takes, and with what weights. */
#include "model/forward/context.h"
#include <math.h>

/* Index of the greatest value; the lowest one of equals. Of nothing but NaN the first. */
static uint32_t greatest(const float *x, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (x[i] > x[best] || (isnan(x[best]) && !isnan(x[i])))
            best = i;
    return best;
}

static void softmax(float *x, uint32_t n)
{
    const float most = x[greatest(x, n)];
    float sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = expf(x[i] - most);
        sum += x[i];
    }
    for (uint32_t i = 0; i < n; i++)
        x[i] /= sum;
}

/* What decides the choice of expert e: its score, corrected where the family does so. */
static float worth(const float *scores, const float *correction, uint32_t e)
{
    return correction ? scores[e] + correction[e] : scores[e];
}

/* A group is worth its best expert, or the sum of its two best. */
static float group_worth(const struct qr_moe_config *m, const float *scores,
                         const float *correction, uint32_t group)
{
    const uint32_t size = m->n_experts / m->n_groups;
    float first = -INFINITY, second = -INFINITY;
    for (uint32_t e = group * size; e < (group + 1) * size; e++) {
        const float v = worth(scores, correction, e);
        if (v > first) {
            second = first;
            first = v;
        } else if (v > second) {
            second = v;
        }
    }
    return m->group_top2 && size > 1 ? first + second : first;
}

/* Is a group among the topk_groups best? Of equals those with the lower index are. */
static bool group_in_use(const struct qr_moe_config *m, const float *scores,
                         const float *correction, uint32_t group)
{
    const float own = group_worth(m, scores, correction, group);
    uint32_t better = 0;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const float v = group_worth(m, scores, correction, g);
        better += v > own || (v == own && g < group);
    }
    return better < m->topk_groups;
}

static bool is_taken(const uint32_t *experts, uint32_t n, uint32_t e)
{
    for (uint32_t i = 0; i < n; i++)
        if (experts[i] == e)
            return true;
    return false;
}

/* The best expert that is not taken yet, within [from, to); n_experts when there is none. NaN is chosen last. */
static uint32_t best_left(const struct qr_moe_config *m, const float *scores,
                          const float *correction, const uint32_t *taken, uint32_t n_taken,
                          uint32_t from, uint32_t to)
{
    uint32_t best = m->n_experts;
    float most = 0;
    for (uint32_t e = from; e < to; e++) {
        const float v = worth(scores, correction, e);
        if ((best == m->n_experts || v > most || (isnan(most) && !isnan(v))) &&
            !is_taken(taken, n_taken, e)) {
            best = e;
            most = v;
        }
    }
    return best;
}

/* The same over the groups in use. */
static uint32_t best_of_groups(const struct qr_moe_config *m, const float *scores,
                               const float *correction, const uint32_t *taken, uint32_t n_taken)
{
    const uint32_t size = m->n_experts / m->n_groups;
    uint32_t best = m->n_experts;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        if (!group_in_use(m, scores, correction, g))
            continue;
        const uint32_t e =
            best_left(m, scores, correction, taken, n_taken, g * size, (g + 1) * size);
        if (e < m->n_experts && (best == m->n_experts ||
                                 worth(scores, correction, e) > worth(scores, correction, best)))
            best = e;
    }
    /* fewer groups than needed compare as in use when scores are NaN: any expert is as good */
    return best < m->n_experts ? best
                               : best_left(m, scores, correction, taken, n_taken, 0, m->n_experts);
}

void qr_moe_route(const struct qr_moe_config *m, float *scores, const float *correction,
                  uint32_t *experts, float *weights)
{
    if (m->gating == QR_GATING_SOFTMAX)
        softmax(scores, m->n_experts);
    for (uint32_t e = 0; m->gating == QR_GATING_SIGMOID && e < m->n_experts; e++)
        scores[e] = 1 / (1 + expf(-scores[e]));
    for (uint32_t i = 0; i < m->top_k; i++) {
        experts[i] = m->n_groups > 1
                         ? best_of_groups(m, scores, correction, experts, i)
                         : best_left(m, scores, correction, experts, i, 0, m->n_experts);
        weights[i] = scores[experts[i]];
    }
    if (m->gating == QR_GATING_SOFTMAX_TOPK)
        softmax(weights, m->top_k);
    float sum = 0;
    for (uint32_t i = 0; i < m->top_k; i++)
        sum += weights[i];
    for (uint32_t i = 0; i < m->top_k; i++) {
        if (m->renormalize)
            weights[i] /= sum + 1e-20f; /* scores may all be zero */
        weights[i] *= m->weights_scale;
    }
}
