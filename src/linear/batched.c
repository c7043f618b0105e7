/* SPDX-License-Identifier: Apache-2.0 */
/* batched.c - batched matmul: one weight matrix per attention head. */
#include "linear/batched.h"
#include "base/checked.h"
#include "base/threads.h"

/* Forms of the rows of one head, whose few outputs one thread computes. */
static unsigned head_forms(const struct qr_packed *w, enum quire_compute compute,
                           const struct qr_kernels *kernels)
{
    return qr_linear_act_forms(w, compute, kernels, 1) & ~(unsigned)QR_ACT_Q8_MODIFIERS;
}

bool qr_batched_act_bytes(const struct qr_packed *w, enum quire_compute compute,
                          const struct qr_kernels *kernels, size_t n_heads, size_t n_rows,
                          size_t *bytes)
{
    size_t one;
    return qr_act_bytes(head_forms(w, compute, kernels), n_rows, w->k, &one) &&
           qr_mul_size(one, n_heads, bytes);
}

/* Describes the rows of one head. */
static struct qr_act head_rows(const struct qr_batched_args *a, const struct qr_kernels *kernels,
                               size_t head)
{
    const struct qr_packed *w = a->w[head];
    const unsigned forms = head_forms(w, a->compute, kernels);
    struct qr_act act;
    size_t bytes = 0;
    (void)qr_act_bytes(forms, a->n_rows, w->k, &bytes); /* fits: the memory exists */
    unsigned char *memory = a->memory;
    qr_act_init(&act, forms, a->in + head * a->in_head_stride, a->in_stride, a->n_rows, w->k,
                memory ? memory + head * bytes : NULL);
    return act;
}

void qr_batched_convert_part(const struct qr_batched_args *args, const struct qr_kernels *kernels,
                             const struct quire_team *team)
{
    for (size_t h = 0; !args->x && h < args->n_heads; h++) {
        const struct qr_act act = head_rows(args, kernels, h);
        qr_act_convert_part(&act, kernels, team);
    }
}

/* Panels [panel, panel + n) of one head for all rows. */
static void run_panels(const struct qr_batched_args *a, const struct qr_kernels *kernels,
                       size_t head, size_t panel, size_t n)
{
    const struct qr_packed *w = a->w[head];
    const size_t first = panel * w->panel_rows, end = (panel + n) * w->panel_rows;
    const struct qr_act rows = a->x ? *a->x : head_rows(a, kernels, head);
    const struct qr_linear_block b = { first, end < w->n ? end : w->n, 0, rows.m };
    const struct qr_linear_args args = { .w = w,
                                         .x = &rows,
                                         .out = a->out + head * a->out_head_stride + first,
                                         .out_stride = a->out_stride,
                                         .compute = a->compute,
                                         .unpacked = a->unpacked };
    if (rows.m)
        qr_linear_run_block(&args, &b, kernels);
}

/* The matrices have one shape, so equal ranges of panels are equal work and need no stealing. */
void qr_batched_part(const struct qr_batched_args *args, const struct qr_kernels *kernels,
                     const struct quire_team *team)
{
    const size_t panels = args->w[0]->n_panels;
    size_t begin, end;
    qr_team_range(team, args->n_heads * panels, 1, &begin, &end);
    while (begin < end) {
        const size_t panel = begin % panels, left = panels - panel;
        const size_t n = left < end - begin ? left : end - begin;
        run_panels(args, kernels, begin / panels, panel, n);
        begin += n;
    }
}
