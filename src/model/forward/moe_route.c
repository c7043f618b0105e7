/* SPDX-License-Identifier: Apache-2.0 */
/* moe_route.c - top-k routing of a token to experts. */
#include "model/forward/moe_route.h"
#include <math.h>

/* Index of the maximum; of equal values the lowest index. NaN loses; if all are NaN, 0. */
static uint32_t argmax(const float *x, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (x[i] > x[best] || (isnan(x[best]) && !isnan(x[i])))
            best = i;
    return best;
}

static void softmax(float *x, uint32_t n)
{
    const float most = x[argmax(x, n)];
    float sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = expf(x[i] - most);
        sum += x[i];
    }
    for (uint32_t i = 0; i < n; i++)
        x[i] /= sum;
}

/* The value that experts are chosen by: the score of expert e, plus its correction if there is
 * one. */
static float choice_score(const float *scores, const float *correction, uint32_t e)
{
    return correction ? scores[e] + correction[e] : scores[e];
}

/* The value that groups are chosen by: the score of their best expert, or the sum of the two
 * best. */
static float group_score(const struct qr_moe_config *m, const float *scores,
                         const float *correction, uint32_t group)
{
    const uint32_t size = m->n_experts / m->n_groups;
    float first = -INFINITY, second = -INFINITY;
    for (uint32_t e = group * size; e < (group + 1) * size; e++) {
        const float v = choice_score(scores, correction, e);
        if (v > first) {
            second = first;
            first = v;
        } else if (v > second) {
            second = v;
        }
    }
    return m->group_top2 && size > 1 ? first + second : first;
}

/* Whether a group is among the topk_groups best. Of equal groups the lower index wins. */
static bool group_is_chosen(const struct qr_moe_config *m, const float *scores,
                            const float *correction, uint32_t group)
{
    const float own = group_score(m, scores, correction, group);
    uint32_t better = 0;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const float v = group_score(m, scores, correction, g);
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

/* The best expert in [from, to) that is not taken; n_experts when there is none. NaN is chosen
 * last. */
static uint32_t best_in_range(const struct qr_moe_config *m, const float *scores,
                              const float *correction, const uint32_t *taken, uint32_t n_taken,
                              uint32_t from, uint32_t to)
{
    uint32_t best = m->n_experts;
    float most = 0;
    for (uint32_t e = from; e < to; e++) {
        const float v = choice_score(scores, correction, e);
        if ((best == m->n_experts || v > most || (isnan(most) && !isnan(v))) &&
            !is_taken(taken, n_taken, e)) {
            best = e;
            most = v;
        }
    }
    return best;
}

/* The best expert of the chosen groups that is not taken. */
static uint32_t best_in_groups(const struct qr_moe_config *m, const float *scores,
                               const float *correction, const uint32_t *taken, uint32_t n_taken)
{
    const uint32_t size = m->n_experts / m->n_groups;
    uint32_t best = m->n_experts;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        if (!group_is_chosen(m, scores, correction, g))
            continue;
        const uint32_t e =
            best_in_range(m, scores, correction, taken, n_taken, g * size, (g + 1) * size);
        if (e < m->n_experts &&
            (best == m->n_experts ||
             choice_score(scores, correction, e) > choice_score(scores, correction, best)))
            best = e;
    }
    /* NaN scores leave fewer chosen groups than needed: fall back to all experts */
    return best < m->n_experts
               ? best
               : best_in_range(m, scores, correction, taken, n_taken, 0, m->n_experts);
}

/* SparseMixer: expert n of the selection is the best that is not taken; its weight is its softmax
 * over the experts left whose distance to it is at most margin * max(|score|, best score). */
static void sparsemixer(const struct qr_moe_config *m, const float *scores, uint32_t *experts,
                        float *weights)
{
    for (uint32_t i = 0; i < m->top_k; i++) {
        experts[i] = best_in_range(m, scores, NULL, experts, i, 0, m->n_experts);
        const float best = scores[experts[i]];
        float sum = 0;
        for (uint32_t e = 0; e < m->n_experts; e++) {
            const float size = fmaxf(fabsf(scores[e]), best);
            if (!is_taken(experts, i, e) && !((best - scores[e]) / size > m->sparsemixer_margin))
                sum += expf(scores[e] - best);
        }
        weights[i] = 1 / sum;
    }
}

void qr_moe_route(const struct qr_moe_config *m, float *scores, const float *correction,
                  const uint32_t *chosen, uint32_t *experts, float *weights)
{
    for (uint32_t e = 0; m->logit_softcap > 0 && e < m->n_experts; e++)
        scores[e] = m->logit_softcap * tanhf(scores[e] / m->logit_softcap);
    if (m->gating == QR_GATING_SPARSEMIXER) {
        sparsemixer(m, scores, experts, weights);
        return;
    }
    if (m->gating == QR_GATING_SOFTMAX)
        softmax(scores, m->n_experts);
    for (uint32_t e = 0; m->gating == QR_GATING_SIGMOID && e < m->n_experts; e++)
        scores[e] = 1 / (1 + expf(-scores[e]));
    for (uint32_t e = 0; m->gating == QR_GATING_SQRT_SOFTPLUS && e < m->n_experts; e++)
        scores[e] = sqrtf(scores[e] > 20 ? scores[e] : log1pf(expf(scores[e])));
    for (uint32_t i = 0; i < m->top_k; i++) {
        experts[i] = chosen ? chosen[i]
                     : m->n_groups > 1
                         ? best_in_groups(m, scores, correction, experts, i)
                         : best_in_range(m, scores, correction, experts, i, 0, m->n_experts);
        weights[i] = scores[experts[i]];
    }
    if (m->gating == QR_GATING_SOFTMAX_TOPK)
        softmax(weights, m->top_k);
    float sum = 0;
    for (uint32_t i = 0; i < m->top_k; i++)
        sum += weights[i];
    for (uint32_t i = 0; i < m->top_k; i++) {
        if (m->renormalize)
            weights[i] /= sum + 1e-20f; /* all scores may be zero */
        weights[i] *= m->weights_scale;
    }
}
