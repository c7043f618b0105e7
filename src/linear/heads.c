/* SPDX-License-Identifier: Apache-2.0 */
/* heads.c - shares the panels of all heads' matrices among a team. */
#include "linear/heads.h"
#include "base/threads.h"

/* Panels [panel, panel + n) of one head for all rows. */
static void multiply(const struct qr_heads_args *a, const struct quire_kernels *kernels,
                     size_t head, size_t panel, size_t n)
{
    static const struct quire_team alone = { 0, 1, NULL };
    const struct qr_packed *whole = a->w[head];
    const size_t first = panel * whole->panel_rows, left = whole->n - first;
    struct qr_packed w = *whole;
    struct qr_act own;
    w.data += panel * w.panel_bytes;
    w.n_panels = n;
    w.n = n * w.panel_rows < left ? n * w.panel_rows : left;
    if (!a->x)
        qr_act_init(&own, QR_ACT_F32, a->in + head * a->in_head_stride, a->in_stride, a->n_rows,
                    w.k, NULL);
    const struct qr_linear_args args = { .w = &w,
                                         .x = a->x ? a->x : &own,
                                         .out = a->out + head * a->out_head_stride + first,
                                         .out_stride = a->out_stride,
                                         .compute = a->x ? a->compute : QUIRE_COMPUTE_F32 };
    qr_linear_part(&args, kernels, &alone);
}

void qr_heads_part(const struct qr_heads_args *args, const struct quire_kernels *kernels,
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
