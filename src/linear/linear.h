/* SPDX-License-Identifier: Apache-2.0 */
/* linear.h - the matmul driver: out = x W^T (+ bias) for packed weights, on a team of threads. */
#ifndef QR_LINEAR_LINEAR_H
#define QR_LINEAR_LINEAR_H
#include "base/work_steal.h"
#include "linear/activation.h"
#include "linear/packed.h"
#include "linear/unpacked.h"
#include <quire/compute.h>

struct qr_linear_block;

/* What qr_linear_part does with each block besides computing it, on the thread that computes it. */
struct qr_linear_epilogue {
    /* Before the block: prefetches what `run` will read. */
    void (*prefetch)(const struct qr_linear_epilogue *self, const struct qr_linear_block *b);
    /* After the block. out: the block's first row and output. */
    void (*run)(const struct qr_linear_epilogue *self, const struct qr_linear_block *b, float *out,
                size_t out_stride);
};

struct qr_linear_args {
    const struct qr_packed *w;
    const struct qr_act *x; /* k as w's; has the form that qr_linear_act_form returns */
    float *out;             /* [x->m][out_stride]; the first w->n of each row are written */
    size_t out_stride;      /* floats, >= w->n */
    const float *bias;      /* [w->n], added last; or NULL */
    enum quire_compute compute;
    struct qr_unpacked
        *unpacked; /* of this thread, with room for a panel; if qr_linear_unpacks(w) */
    const struct qr_linear_epilogue *epilogue; /* NULL: none */
};

/* The activation form that the kernels of a weight type read. */
enum qr_act_form qr_linear_act_form(enum qr_weight_type type, enum quire_compute compute,
                                    const struct qr_kernels *kernels);
/* That form for this weight, with the layout its backend (quire's kernels or oneDNN) requires and
 * what n_threads threads that divide its outputs read besides. */
unsigned qr_linear_act_forms(const struct qr_packed *w, enum quire_compute compute,
                             const struct qr_kernels *kernels, uint32_t n_threads);

/* QUIRE_E_INVALID_ARG, with the name of the argument that does not fit the others. For set-up time:
 * the functions below check nothing. */
quire_status qr_linear_check(const struct qr_linear_args *args, const struct qr_kernels *kernels,
                             struct quire_error *err);

/* Outputs [j0, j1) of activation rows [i0, i1). j0 is a multiple of w->panel_rows, and so is j1
 * unless it is w->n. */
struct qr_linear_block {
    size_t j0, j1, i0, i1;
};

/* Computes one block on the calling thread. args->out points to the block's first row and
 * output. */
void qr_linear_run_block(const struct qr_linear_args *args, const struct qr_linear_block *b,
                         const struct qr_kernels *kernels);

/* Outputs that a block's width should be a multiple of, for m rows: the GEMM kernels of quantized
 * weights compute two panels at once, those of weights that are unpacked four. */
size_t qr_linear_granule(const struct qr_packed *w, size_t m, enum quire_compute compute);

/* A matmul divided into work units, each a block of outputs and rows. */
struct qr_linear_units {
    size_t n, m, width; /* width: outputs of a unit, but for the last */
    size_t row_parts;   /* units per block of outputs */
    size_t rows;        /* not 0: units are in row-major order, with this many rows */
    size_t count;
};

/* Divides a matmul of n outputs, m rows and k inputs for n_threads threads. Unit widths are
 * multiples of `granule` outputs. */
struct qr_linear_units qr_linear_divide(size_t n, size_t k, size_t m, size_t granule,
                                        uint32_t n_threads);
struct qr_linear_block qr_linear_unit_block(const struct qr_linear_units *units, size_t unit);

enum { QR_LINEAR_MAX_FUSED = 8 }; /* the projections of a layer's input */

/* Computes up to QR_LINEAR_MAX_FUSED matmuls with equally many rows as one stage of a work-stealing
 * loop. All threads of the team call it with the same sizes, after the forms are converted and a
 * barrier; `counters` [team->size] are those of all stages of the team (base/work_steal.h). One
 * thread computes all of an output, in one chain over ascending k: the bits depend neither on the
 * team nor on x->m. */
void qr_linear_part(const struct qr_linear_args *args, size_t n_matmuls,
                    const struct qr_kernels *kernels, struct qr_work_steal_counters *counters,
                    const struct quire_team *team);

#endif
