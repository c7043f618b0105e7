/* SPDX-License-Identifier: Apache-2.0 */
/* heads.c - views of every head's rows, and the panels of all heads' matrices shared among a team. */
#include "linear/heads.h"
#include "base/checked.h"
#include "base/threads.h"

bool qr_heads_bytes(const struct qr_packed *w, enum quire_compute compute, size_t n_heads,
                    size_t n_rows, size_t *bytes)
{
    size_t one;
    return qr_act_bytes(qr_linear_views(w, compute), n_rows, w->k, &one) &&
           qr_mul_size(one, n_heads, bytes);
}

/* Describes the rows of one head. */
static struct qr_act rows_of(const struct qr_heads_args *a, size_t head)
{
    const struct qr_packed *w = a->w[head];
    const unsigned views = qr_linear_views(w, a->compute);
    struct qr_act act;
    size_t bytes = 0;
    (void)qr_act_bytes(views, a->n_rows, w->k, &bytes); /* fits: the memory exists */
    unsigned char *memory = a->memory;
    qr_act_init(&act, views, a->in + head * a->in_head_stride, a->in_stride, a->n_rows, w->k,
                memory ? memory + head * bytes : NULL);
    return act;
}

void qr_heads_prepare(const struct qr_heads_args *args, const struct qr_kernels *kernels,
                      const struct quire_team *team)
{
    for (size_t h = 0; !args->x && h < args->n_heads; h++) {
        const struct qr_act act = rows_of(args, h);
        qr_act_part(&act, kernels, team);
    }
}

/* Panels [panel, panel + n) of one head for all rows. */
static void multiply(const struct qr_heads_args *a, const struct qr_kernels *kernels, size_t head,
                     size_t panel, size_t n)
{
    static const struct quire_team alone = { 0, 1, NULL };
    const struct qr_packed *whole = a->w[head];
    const size_t first = panel * whole->panel_rows, left = whole->n - first;
    const struct qr_act rows = a->x ? *a->x : rows_of(a, head);
    struct qr_packed w = *whole;
    w.data += panel * w.panel_bytes;
    w.n_panels = n;
    w.n = n * w.panel_rows < left ? n * w.panel_rows : left;
    const struct qr_linear_args args = { .w = &w,
                                         .x = &rows,
                                         .out = a->out + head * a->out_head_stride + first,
                                         .out_stride = a->out_stride,
                                         .compute = a->compute };
    qr_linear_part(&args, kernels, &alone);
}

void qr_heads_part(const struct qr_heads_args *args, const struct qr_kernels *kernels,
                   const struct quire_team *team)
{
    const size_t panels = args->w[0]->n_panels;
    size_t begin, end;
    qr_team_range(team, args->n_heads * panels, 1, &begin, &end);
    while (begin < end) {
        const size_t panel = begin % panels, left = panels - panel;
        const size_t n = left < end - begin ? left : end - begin;
        multiply(args, kernels, begin / panels, panel, n);
        begin += n;
    }
}
