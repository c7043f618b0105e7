/* SPDX-License-Identifier: Apache-2.0 */
/* linear.h - out = x W^T (+ bias) for packed weights, by a team of threads. */
#ifndef QUIRE_LINEAR_LINEAR_H
#define QUIRE_LINEAR_LINEAR_H
#include "linear/activation.h"
#include "linear/packed.h"

/* How weights and activations meet (docs/numerics.md). */
enum qr_compute {
    QR_COMPUTE_F32,    /* activations stay f32, weights of any type are widened exactly */
    QR_COMPUTE_NATIVE, /* bf16 x bf16, quantised x int8; f32 and f16 weights as F32 */
};

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
    enum qr_compute compute;
    enum qr_epilogue epilogue;
};

/* The view of the activations that a weight of this type reads. */
enum qr_act_view qr_linear_view(enum qr_weight_type type, enum qr_compute compute);

/* QUIRE_E_INVALID_ARG naming the argument that does not fit the others. For callers' set-up time:
 * the part function itself checks nothing. */
quire_status qr_linear_check(const struct qr_linear_args *args, struct quire_error *err);

/* Called by all members of a team with the same arguments, after the views are filled and a
 * barrier. Each output is computed whole by one member, one chain over k ascending: the bits do not
 * depend on the team or on x->m. */
void qr_linear_part(const struct qr_linear_args *args, const struct quire_kernels *kernels,
                    const struct quire_team *team);

#endif
