/* SPDX-License-Identifier: Apache-2.0 */
/* work_list.c - appends work items and sorts them by cost. */
#include "attention/work_list.h"

enum { N_CLASSES = 64 }; /* of cost, by power of two */

uint32_t qr_work_list_num_splits(const struct qr_partitioner *p, uint32_t n_spans, uint64_t cost)
{
    if (p->plan->flags & QUIRE_PLAN_FAST || n_spans < 2 || cost < p->target + p->target / 2)
        return 1;
    const uint64_t per_span = cost / n_spans + 1,
                   spans_each = p->target / per_span ? p->target / per_span : 1;
    return (uint32_t)((n_spans + spans_each - 1) / spans_each);
}

void qr_work_list_append(struct qr_partitioner *p, const struct qr_work_item *item, uint32_t n,
                         uint64_t cost)
{
    struct quire_plan *plan = p->plan;
    struct qr_work_item *to = p->g->items + p->g->n_items;
    const uint32_t class = (uint32_t)__builtin_clzll(cost | 1);
    if (!plan->n_cost_runs || plan->cost_runs[plan->n_cost_runs - 1].class != class)
        plan->cost_runs[plan->n_cost_runs++] = (struct qr_cost_run){ class, 0 };
    plan->cost_runs[plan->n_cost_runs - 1].n += n;
    struct qr_work_item one = *item;
    for (uint32_t i = 0; i < n; i++, one.kv_head++)
        to[i] = one;
    p->g->n_items += n;
}

void qr_work_list_sort(const struct quire_plan *plan, struct qr_plan_group *g)
{
    const struct qr_cost_run *runs = plan->cost_runs;
    uint32_t start[N_CLASSES + 1] = { 0 }, item = 0;
    for (uint32_t i = 0; i < plan->n_cost_runs; i++)
        start[runs[i].class + 1] += runs[i].n;
    for (uint32_t c = 0; c < N_CLASSES; c++)
        start[c + 1] += start[c];
    for (uint32_t i = 0; i < plan->n_cost_runs; i++) {
        const struct qr_cost_run run = runs[i];
        uint32_t *const order = g->order + start[run.class];
        for (uint32_t k = 0; k < run.n; k++)
            order[k] = item + k;
        start[run.class] += run.n;
        item += run.n;
    }
}
