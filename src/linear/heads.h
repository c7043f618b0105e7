/* SPDX-License-Identifier: Apache-2.0 */
/* heads.h - one matrix for each attention head, each multiplied with rows of its own or with rows that all share. */
#ifndef QR_LINEAR_HEADS_H
#define QR_LINEAR_HEADS_H
#include "linear/linear.h"

struct qr_heads_args {
    struct qr_packed *const *w; /* [n_heads], all of one type and shape; none of oneDNN's */
    size_t n_heads, n_rows;
    /* Row t of head h is at in + t * in_stride + h * in_head_stride, in floats; with x it is row t of
     * x for all heads, and what follows is not used. */
    const struct qr_act *x;
    const float *in;
    size_t in_stride, in_head_stride;
    void *memory; /* qr_heads_bytes; may be NULL in compute mode f32 */
    float *out;   /* row t of head h at out + t * out_stride + h * out_head_stride */
    size_t out_stride, out_head_stride;
    enum quire_compute compute;
};

/* Bytes for the views of up to n_rows rows of each head, a multiple of 64; the caller lends them, 64-byte
 * aligned. False on overflow. */
bool qr_heads_bytes(const struct qr_packed *w, enum quire_compute compute, size_t n_heads,
                    size_t n_rows, size_t *bytes);

/* Both are called by all members of a team with the same arguments, with a barrier between them and
 * one after. The first makes the views of the rows (nothing to do with x). In the second an output is
 * computed whole by one member, as qr_linear_part computes it. */
void qr_heads_prepare(const struct qr_heads_args *args, const struct qr_kernels *kernels,
                      const struct quire_team *team);
void qr_heads_part(const struct qr_heads_args *args, const struct qr_kernels *kernels,
                   const struct quire_team *team);

#endif
