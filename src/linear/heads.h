/* SPDX-License-Identifier: Apache-2.0 */
/* heads.h - one matrix for each attention head, each multiplied with rows of its own. */
#ifndef QUIRE_LINEAR_HEADS_H
#define QUIRE_LINEAR_HEADS_H
#include "linear/linear.h"

struct qr_heads_args {
    struct qr_packed *const *w; /* [n_heads], all of one type and shape; none of oneDNN's */
    size_t n_heads, n_rows;
    /* Row t of head h is at in + t * in_stride + h * in_head_stride, in floats, and stays f32. With x
     * it is row t of x, the same for all heads, and `compute` says how it meets the weights. */
    const float *in;
    size_t in_stride, in_head_stride;
    const struct qr_act *x;
    enum quire_compute compute;
    float *out; /* row t of head h at out + t * out_stride + h * out_head_stride */
    size_t out_stride, out_head_stride;
};

/* Called by all members of a team with the same arguments. An output is computed whole by one
 * member, as qr_linear_part computes it. */
void qr_heads_part(const struct qr_heads_args *args, const struct quire_kernels *kernels,
                   const struct quire_team *team);

#endif
