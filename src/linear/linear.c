/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - the matmul driver: chooses the kernel and divides a matmul into work units. */
#include "linear/linear.h"
#include "base/error.h"
#include "base/threads.h"
#include "linear/onednn.h"
#include "linear/panel_format.h"

typedef void linear_kernel(const struct qr_linear_kernel_args *a);

static linear_kernel *pick(const struct qr_packed *w, enum quire_compute compute,
                           const struct qr_kernels *k)
{
    const bool native = compute != QUIRE_COMPUTE_F32 && !w->order;
    switch (w->type) {
    case QR_WEIGHT_F32:
        return k->linear_f32_f32;
    case QR_WEIGHT_F16:
        return k->linear_f32_f16;
    case QR_WEIGHT_BF16:
        return native ? k->linear_native_bf16 : k->linear_f32_bf16;
#define X(name, NAME, ...)                                                                         \
    case QR_WEIGHT_##NAME:                                                                         \
        return native ? k->linear_q8_##name : k->linear_f32_##name;
        QR_INTEGER_TYPES(X)
#undef X
#define X(name, NAME, ...)                                                                         \
    case QR_WEIGHT_##NAME:                                                                         \
        return k->linear_f32_##name;
        QR_FLOAT_CODE_TYPES(X)
#undef X
    }
    return NULL;
}

enum qr_act_form qr_linear_act_form(enum qr_weight_type type, enum quire_compute compute,
                                    const struct qr_kernels *kernels)
{
    const struct qr_panel_format *f = qr_weight_panel_format(type);
    if (compute == QUIRE_COMPUTE_F32 || type == QR_WEIGHT_F32)
        return QR_ACT_F32;
    if (compute == QUIRE_COMPUTE_THROUGHPUT || type == QR_WEIGHT_BF16)
        return kernels->native_bf16_reads_f32 ? QR_ACT_BF16_F32 : QR_ACT_BF16;
    return type == QR_WEIGHT_F16 || (f && qr_panel_is_float(*f)) ? QR_ACT_F32 : QR_ACT_Q8;
}

/* Whether one row of activations may multiply w by tables of sums. */
static bool has_one_bit_codes(const struct qr_packed *w)
{
    const struct qr_panel_format *f = qr_weight_panel_format(w->type);
    return f && f->low_bits == 1;
}

unsigned qr_linear_act_forms(const struct qr_packed *w, enum quire_compute compute,
                             const struct qr_kernels *kernels, uint32_t n_threads)
{
    if (w->order)
        return QR_ACT_F32;
    const enum qr_act_form form = qr_linear_act_form(w->type, compute, kernels);
    if (w->onednn && form != QR_ACT_F32)
        return QR_ACT_BF16 | QR_ACT_DENSE;
    if (form != QR_ACT_Q8)
        return form;
    const struct qr_panel_format *f = qr_weight_panel_format(w->type);
    const bool tables = has_one_bit_codes(w) && kernels->sum_tables &&
                        w->n / n_threads >= kernels->sum_tables_min_outputs,
               delta = f && qr_panel_has_delta(*f) && kernels->delta_sums;
    return QR_ACT_Q8 | (tables ? QR_ACT_Q8_SUMS : 0) | (delta ? QR_ACT_Q8_DELTA : 0);
}

quire_status qr_linear_check(const struct qr_linear_args *args, const struct qr_kernels *kernels,
                             struct quire_error *err)
{
    if (!args->w || !args->x || !args->out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "linear: w, x or out is NULL");
    if (args->compute < QUIRE_COMPUTE_NATIVE || args->compute > QUIRE_COMPUTE_THROUGHPUT)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "linear: compute mode %d is unknown",
                       (int)args->compute);
    if (args->w->onednn && args->w->type == QR_WEIGHT_BF16 && args->compute == QUIRE_COMPUTE_F32)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "linear: bf16 weights held by oneDNN take bf16 activations only");
    if (args->x->k != args->w->k)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "linear: rows of x have %zu values, rows of w %zu",
                       args->x->k, args->w->k);
    if (args->x->m > 1 && args->out_stride < args->w->n)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "linear: out_stride %zu is less than the %zu outputs", args->out_stride,
                       args->w->n);
    if (qr_linear_unpacks(args->w, args->compute) &&
        (!args->unpacked || args->unpacked->bytes < qr_unpacked_bytes(args->w->k)))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "linear: no memory for an unpacked panel");
    const unsigned forms = qr_linear_act_forms(args->w, args->compute, kernels, 1);
    if (!(args->x->forms & forms & ~(unsigned)(QR_ACT_DENSE | QR_ACT_Q8_MODIFIERS)))
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "linear: x lacks the activation form that weights of type %s read",
                       qr_weight_type_info(args->w->type)->name);
    return QUIRE_OK;
}

/* What multiplies: a kernel, or a oneDNN runner (NULL when memory is short). */
struct backend {
    linear_kernel *kernel;
    struct qr_onednn_runner *runner;
};

static struct backend take_backend(const struct qr_linear_args *args,
                                   const struct qr_kernels *kernels)
{
    return (struct backend){
        .kernel = pick(args->w, args->compute, kernels),
        .runner = args->w->onednn ? qr_onednn_acquire(args->w->onednn) : NULL,
    };
}

/* Multiplies a block in bf16 panels of 64 outputs; a: its arguments but for the weights. */
static void run_unpacked(const struct qr_linear_args *args, const struct qr_linear_block *b,
                         struct qr_linear_kernel_args *a, const struct qr_kernels *kernels)
{
    for (size_t j = b->j0; j < b->j1; j += a->n) {
        a->n = b->j1 - j < QR_FLOAT_PANEL_ROWS ? b->j1 - j : QR_FLOAT_PANEL_ROWS;
        a->w = qr_unpacked_get(args->unpacked, args->w, j, a->n, kernels);
        a->bias = args->bias ? args->bias + j : NULL;
        a->out = args->out + (j - b->j0);
        kernels->linear_native_bf16(a);
    }
}

/* Prefetches of a light stream of weights of this type. */
static enum qr_weight_prefetch prefetch_of(uint32_t type, const struct qr_kernels *kernels)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    const bool wide = info->block_bytes >= info->block_elems;
    switch (kernels->followed_streams) {
    case QR_CPU_STREAMS_ALL:
        return QR_WEIGHT_PREFETCH_NEAR;
    case QR_CPU_STREAMS_WIDE:
        return wide ? QR_WEIGHT_PREFETCH_L1 : QR_WEIGHT_PREFETCH_TWICE;
    case QR_CPU_STREAMS_NONE:
        break;
    }
    return QR_WEIGHT_PREFETCH_TWICE;
}

/* Computes a block without the scale of the matrix. */
static void multiply_block(const struct qr_linear_args *args, const struct qr_linear_block *b,
                           const struct qr_kernels *kernels)
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
        .prefetch = prefetch_of(w->type, kernels),
        .order = w->order,
        .x = x->f32 + b->i0 * x->f32_stride,
        .x_stride = x->f32_stride,
    };
    if (x->forms & QR_ACT_BF16) {
        a.x_bf16 = x->bf16 + b->i0 * x->bf16_stride;
        a.x_bf16_stride = x->bf16_stride;
    }
    if (qr_linear_act_forms(w, args->compute, kernels, 1) == QR_ACT_BF16_F32) {
        a.x = x->bf16_f32 + b->i0 * x->bf16_f32_stride;
        a.x_stride = x->bf16_f32_stride;
    }
    if (x->forms & QR_ACT_Q8) {
        a.q = x->q + b->i0 * x->q_stride;
        a.q_stride = x->q_stride;
        a.half_sums = x->half_sums + 2 * b->i0 * x->q_stride;
        a.sum_tables = x->sum_tables;
        a.delta_sums = x->delta_sums;
    }
    if (qr_linear_unpacks(w, args->compute)) {
        run_unpacked(args, b, &a, kernels);
        return;
    }
    const struct backend backend = take_backend(args, kernels);
    if (w->onednn)
        qr_onednn_multiply(w->onednn, backend.runner, &a);
    else
        backend.kernel(&a);
    qr_onednn_release(backend.runner);
}

void qr_linear_run_block(const struct qr_linear_args *args, const struct qr_linear_block *b,
                         const struct qr_kernels *kernels)
{
    const float scale = args->w->scale;
    if (scale == 1) {
        multiply_block(args, b, kernels);
        return;
    }
    struct qr_linear_args products = *args;
    products.bias = NULL;
    multiply_block(&products, b, kernels);
    for (size_t i = 0; i < b->i1 - b->i0; i++) {
        float *row = args->out + i * args->out_stride;
        kernels->scale(row, scale, b->j1 - b->j0);
        if (args->bias)
            kernels->add(row, args->bias + b->j0, b->j1 - b->j0);
    }
}

/* ---- division into work units */

enum {
    /* Up to this many rows (skinny GEMM) the granule is one panel, which balances the load best.
     * With more rows, the register tile of quantized weights spans two panels, and a granule of one
     * would leave half of it unused; so do sums from tables. */
    SKINNY_GEMM_MAX_ROWS = 8,
    /* More units per thread reduce load imbalance at the end of a stage. */
    UNITS_PER_THREAD = 16,
    UNIT_MAX_GRANULES = 16, /* limits the same imbalance in wide matmuls */
    /* Multiply-adds of a unit: with fewer, the atomic add that takes it is measurable. */
    UNIT_MIN_WORK = 1 << 15,
    /* Rows of a unit: with fewer, weights are dequantized too often. */
    UNIT_MIN_ROWS = 32,
    /* Rows that GEMM kernels multiply while they are in L2, and their bytes of int8 activations. */
    GEMM_ROW_BLOCK = 128,
    GEMM_ROW_BYTES = 1 << 20,
    ROW_TILE = 16, /* rows of the largest register tile */
};

size_t qr_linear_granule(const struct qr_packed *w, size_t m, enum quire_compute compute)
{
    if (qr_linear_unpacks(w, compute))
        return QR_FLOAT_PANEL_ROWS;
    const bool two = (w->panel_rows == QR_PANEL_ROWS && m > SKINNY_GEMM_MAX_ROWS) ||
                     (m == 1 && has_one_bit_codes(w));
    return two ? 2 * w->panel_rows : w->panel_rows;
}

/* Granules of a unit; `work` multiply-adds each. */
static size_t granules_per_unit(size_t granules, size_t work, size_t n_threads)
{
    const size_t fair = (granules + n_threads - 1) / n_threads,
                 least = (UNIT_MIN_WORK + work - 1) / work;
    size_t n = granules / (UNITS_PER_THREAD * n_threads);
    n = n > UNIT_MAX_GRANULES && n_threads > 1 ? UNIT_MAX_GRANULES : n;
    n = n < least ? least : n;
    return n < fair ? n : fair;
}

struct qr_linear_units qr_linear_divide(size_t n, size_t k, size_t m, size_t granule,
                                        uint32_t n_threads)
{
    const size_t granules = (n + granule - 1) / granule;
    struct qr_linear_units units = { .n = n, .m = m, .row_parts = 1 };
    if (m == 0)
        return units;
    const size_t per_unit = granules_per_unit(granules, granule * k * m, n_threads);
    /* Rows are divided only where there are few granules per thread: each part of the rows streams
     * the same weights again. */
    while (granules * units.row_parts < 4 * (size_t)n_threads && n_threads > 1 &&
           m / (units.row_parts * 2) >= UNIT_MIN_ROWS)
        units.row_parts *= 2;
    units.width = per_unit * granule;
    units.count = (granules + per_unit - 1) / per_unit * units.row_parts;
    return units;
}

struct qr_linear_block qr_linear_unit_block(const struct qr_linear_units *units, size_t unit)
{
    const size_t parts = units->row_parts, blocks = units->count / parts, rows = units->rows;
    const size_t part = rows ? unit / blocks : unit % parts,
                 j = (rows ? unit % blocks : unit / parts) * units->width;
    struct qr_linear_block b = { .j0 = j, .j1 = j + units->width };
    b.j1 = b.j1 < units->n ? b.j1 : units->n;
    b.i0 = rows ? part * rows : units->m * part / parts;
    b.i1 = rows ? b.i0 + rows : units->m * (part + 1) / parts;
    b.i1 = b.i1 < units->m ? b.i1 : units->m;
    return b;
}

/* Rows of a unit of a GEMM; fewer where rows of int8 activations are long. Xeon with 2 MB of L2, 16
 * to 64 threads, K = 14336: 48 rows are 1.2 times as fast as 128, which are 2.6 MB. */
static size_t gemm_row_block(const struct qr_linear_args *args, const struct qr_kernels *kernels)
{
    if (args->x->m <= GEMM_ROW_BLOCK ||
        qr_linear_act_form(args->w->type, args->compute, kernels) != QR_ACT_Q8)
        return GEMM_ROW_BLOCK;
    const size_t row_bytes = args->w->k / QR_BLOCK_K * sizeof(struct qr_q8_block),
                 rows = GEMM_ROW_BYTES / row_bytes / ROW_TILE * ROW_TILE;
    return rows < UNIT_MIN_ROWS ? UNIT_MIN_ROWS : rows < GEMM_ROW_BLOCK ? rows : GEMM_ROW_BLOCK;
}

/* Reorders the units of a GEMM row-major: consecutive units read the same rows of activations,
 * which stay in L2, and stream panels. oneDNN blocks rows itself; an unpacked panel is used for all
 * rows. */
static void order_by_rows(struct qr_linear_units *units, const struct qr_linear_args *args,
                          const struct qr_kernels *kernels, size_t n_threads)
{
    const size_t block = gemm_row_block(args, kernels), parts = (units->m + block - 1) / block;
    if (args->w->onednn || qr_linear_unpacks(args->w, args->compute) || units->m <= block ||
        parts < units->row_parts)
        return;
    const size_t even = (units->m + parts - 1) / parts,
                 wider = units->count / units->row_parts * parts / (UNITS_PER_THREAD * n_threads);
    units->width *= wider > 1 ? wider : 1;
    units->count = (units->n + units->width - 1) / units->width * parts;
    units->row_parts = parts;
    units->rows = (even + ROW_TILE - 1) / ROW_TILE * ROW_TILE;
}

void qr_linear_part(const struct qr_linear_args *args, size_t n_matmuls,
                    const struct qr_kernels *kernels, struct qr_work_steal_counters *counters,
                    const struct quire_team *team)
{
    struct qr_linear_units units[QR_LINEAR_MAX_FUSED];
    size_t total = 0;
    for (size_t i = 0; i < n_matmuls; i++) {
        const struct qr_packed *w = args[i].w;
        const size_t m = args[i].x->m;
        units[i] =
            qr_linear_divide(w->n, w->k, m, qr_linear_granule(w, m, args[i].compute), team->size);
        order_by_rows(&units[i], &args[i], kernels, team->size);
        total += units[i].count;
    }
    struct qr_work_steal loop = qr_work_steal_begin(counters, team, total);
    for (size_t unit; qr_work_steal_next(&loop, &unit);) {
        size_t i = 0;
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): unit < total */
        for (; unit >= units[i].count; i++)
            unit -= units[i].count;
        const struct qr_linear_block b = qr_linear_unit_block(&units[i], unit);
        struct qr_linear_args a = args[i];
        a.out += b.i0 * a.out_stride + b.j0;
        if (a.epilogue)
            a.epilogue->prefetch(a.epilogue, &b);
        qr_linear_run_block(&a, &b, kernels);
        if (a.epilogue)
            a.epilogue->run(a.epilogue, &b, a.out, a.out_stride);
    }
}
