/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - the matmul driver: picks the kernel and shares out the work. */
#include "linear/linear.h"
#include "base/error.h"
#include "base/threads.h"
#include "linear/onednn.h"

typedef void linear_kernel(const struct qr_linear_kernel_args *a);

static linear_kernel *pick(enum qr_weight_type type, enum quire_compute compute,
                           const struct qr_kernels *k)
{
    const bool native = compute == QUIRE_COMPUTE_NATIVE;
    switch (type) {
    case QR_WEIGHT_F32:
        return k->linear_f32_f32;
    case QR_WEIGHT_F16:
        return k->linear_f32_f16;
    case QR_WEIGHT_BF16:
        return native ? k->linear_native_bf16 : k->linear_f32_bf16;
#define X(name, NAME, ...)                                                                         \
    case QR_WEIGHT_##NAME:                                                                         \
        return native ? k->linear_q8_##name : k->linear_f32_##name;
        QR_QUANT_TYPES(X)
#undef X
    }
    return NULL;
}

enum qr_act_view qr_linear_view(enum qr_weight_type type, enum quire_compute compute)
{
    if (compute == QUIRE_COMPUTE_F32 || type == QR_WEIGHT_F32 || type == QR_WEIGHT_F16)
        return QR_ACT_F32;
    return type == QR_WEIGHT_BF16 ? QR_ACT_BF16 : QR_ACT_Q8;
}

unsigned qr_linear_views(const struct qr_packed *w, enum quire_compute compute)
{
    const unsigned view = qr_linear_view(w->type, compute);
    return view == QR_ACT_BF16 && w->onednn ? view | QR_ACT_DENSE : view;
}

quire_status qr_linear_check(const struct qr_linear_args *args, struct quire_error *err)
{
    if (!args->w || !args->x || !args->out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "linear: w, x or out is NULL");
    if (args->compute != QUIRE_COMPUTE_F32 && args->compute != QUIRE_COMPUTE_NATIVE)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "linear: compute mode %d is unknown",
                       (int)args->compute);
    if (args->epilogue != QR_EPILOGUE_NONE)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "linear: epilogue %d is unknown",
                       (int)args->epilogue);
    if (args->w->onednn && args->w->type == QR_WEIGHT_BF16 && args->compute == QUIRE_COMPUTE_F32)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "linear: bf16 weights that oneDNN holds take bf16 activations only");
    if (args->x->k != args->w->k)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "linear: x has rows of %zu values, w of %zu",
                       args->x->k, args->w->k);
    if (args->x->m > 1 && args->out_stride < args->w->n)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "linear: out_stride %zu is less than the %zu outputs", args->out_stride,
                       args->w->n);
    if (!(args->x->views & qr_linear_view(args->w->type, args->compute)))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "linear: x lacks the view that weights of type %s read",
                       qr_weight_type_info(args->w->type)->name);
    return QUIRE_OK;
}

/* Who multiplies: a kernel, or a runner of oneDNN's (NULL when memory is short). */
struct worker {
    linear_kernel *kernel;
    struct qr_onednn_runner *runner;
};

/* A block; args->out is where it begins. */
static void run(const struct qr_linear_args *args, struct worker by,
                const struct qr_linear_block *b)
{
    const struct qr_packed *w = args->w;
    const struct qr_act *x = args->x;
    struct qr_linear_kernel_args a = {
        .w = w->data + b->j0 / w->panel_rows * w->panel_bytes,
        .panel_bytes = w->panel_bytes,
        .bias = args->bias ? args->bias + b->j0 : NULL,
        .out = args->out,
        .out_stride = args->out_stride,
        .m = b->i1 - b->i0,
        .n = b->j1 - b->j0,
        .k = w->k,
        .x = x->f32 + b->i0 * x->f32_stride,
        .x_stride = x->f32_stride,
    };
    if (x->views & QR_ACT_BF16) {
        a.x_bf16 = x->bf16 + b->i0 * x->bf16_stride;
        a.x_bf16_stride = x->bf16_stride;
    }
    if (x->views & QR_ACT_Q8) {
        a.q = x->q + b->i0 * x->q_stride;
        a.q_stride = x->q_stride;
    }
    if (w->onednn)
        qr_onednn_multiply(w->onednn, by.runner, &a);
    else
        by.kernel(&a);
}

static struct worker worker_of(const struct qr_linear_args *args, const struct qr_kernels *kernels)
{
    return (struct worker){
        .kernel = pick(args->w->type, args->compute, kernels),
        .runner = args->w->onednn ? qr_onednn_take(args->w->onednn) : NULL,
    };
}

void qr_linear_run_block(const struct qr_linear_args *args, const struct qr_linear_block *b,
                         const struct qr_kernels *kernels)
{
    const struct worker by = worker_of(args, kernels);
    run(args, by, b);
    qr_onednn_give_back(by.runner);
}

enum {
    MIN_ROWS = 32, /* of a piece of work: fewer would unpack the same weights too often */
    FEW_ROWS = 8,  /* more are multiplied with two quantised panels at once */
};

static size_t grain_of(const struct qr_packed *w, size_t m)
{
    return w->panel_rows == QR_PANEL_ROWS && m > FEW_ROWS ? 2 : 1;
}

size_t qr_linear_unit(const struct qr_packed *w, size_t m)
{
    return w->panel_rows * grain_of(w, m);
}

/* Panels [p0, p1) for rows [i0, i1) to their place among all outputs. */
static void run_panels(const struct qr_linear_args *args, struct worker by, size_t p0, size_t p1,
                       size_t i0, size_t i1)
{
    const size_t rows = args->w->panel_rows, n = args->w->n;
    const struct qr_linear_block b = { p0 * rows, p1 * rows < n ? p1 * rows : n, i0, i1 };
    struct qr_linear_args a = *args;
    a.out += i0 * a.out_stride + b.j0;
    run(&a, by, &b);
}

void qr_linear_part(const struct qr_linear_args *args, const struct qr_kernels *kernels,
                    const struct quire_team *team)
{
    const struct qr_packed *w = args->w;
    const size_t m = args->x->m, grain = grain_of(w, m), units = (w->n_panels + grain - 1) / grain;
    if (m == 0)
        return;
    const struct worker by = worker_of(args, kernels);
    /* Panels first: a member streams its weights once. Rows are cut as well only when there are too
     * few panels to go round evenly: pieces of a panel range, `cuts` for each unit of panels. */
    size_t cuts = 1;
    while (units * cuts < 4 * (size_t)team->size && team->size > 1 && m / (cuts * 2) >= MIN_ROWS)
        cuts *= 2;
    size_t u, end;
    qr_team_range(team, units * cuts, 1, &u, &end);
    while (u < end) {
        /* the longest run of whole units from here, else one piece of a unit */
        const size_t unit = u / cuts, cut = u % cuts;
        const size_t whole = cut == 0 ? (end - u) / cuts : 0, last = unit + (whole ? whole : 1);
        const size_t p0 = unit * grain,
                     p1 = last * grain < w->n_panels ? last * grain : w->n_panels;
        if (whole > 0) {
            run_panels(args, by, p0, p1, 0, m);
            u += whole * cuts;
        } else {
            run_panels(args, by, p0, p1, cut * m / cuts, (cut + 1) * m / cuts);
            u++;
        }
    }
    qr_onednn_give_back(by.runner);
}
