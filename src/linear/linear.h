/* SPDX-License-Identifier: Apache-2.0 */
/* linear.h - out = x W^T (+ bias) for packed weights, by a team of threads. */
#ifndef QR_LINEAR_LINEAR_H
#define QR_LINEAR_LINEAR_H
#include "linear/activation.h"
#include "linear/packed.h"
#include <quire/compute.h>

/* What happens to a sum before it is stored. */
enum qr_epilogue {
    QR_EPILOGUE_NONE, /* out = sum + bias */
};

struct qr_linear_args {
    const struct qr_packed *w;
    const struct qr_act *x; /* k as w's; has the view qr_linear_view names */
    float *out;             /* [x->m][out_stride], the first w->n of each row are written */
    size_t out_stride;      /* floats, >= w->n */
    const float *bias;      /* [w->n], added last; or NULL */
    enum quire_compute compute;
    enum qr_epilogue epilogue;
};

/* The view of the activations that a weight of this type reads. */
enum qr_act_view qr_linear_view(enum qr_weight_type type, enum quire_compute compute);
/* That view of this weight's, and how its provider wants the rows. */
unsigned qr_linear_views(const struct qr_packed *w, enum quire_compute compute);

/* QUIRE_E_INVALID_ARG naming the argument that does not fit the others. For callers' set-up time:
 * the part function itself checks nothing. */
quire_status qr_linear_check(const struct qr_linear_args *args, struct quire_error *err);

/* Outputs j0 .. j1 - 1 of activation rows i0 .. i1 - 1. j0 is a multiple of w->panel_rows, and so is
 * j1 unless it is w->n. */
struct qr_linear_block {
    size_t j0, j1, i0, i1;
};

/* Computes one block; args->out is where its first row and output go. */
void qr_linear_run_block(const struct qr_linear_args *args, const struct qr_linear_block *b,
                         const struct qr_kernels *kernels);

/* Outputs that are best computed together, for m rows. */
size_t qr_linear_unit(const struct qr_packed *w, size_t m);

/* Called by all members of a team with the same arguments, after the views are filled and a
 * barrier. Each output is computed whole by one member, one chain over k ascending: the bits do not
 * depend on the team or on x->m. */
void qr_linear_part(const struct qr_linear_args *args, const struct qr_kernels *kernels,
                    const struct quire_team *team);

#endif
