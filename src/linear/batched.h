/* SPDX-License-Identifier: Apache-2.0 */
/* batched.h - batched matmul: one weight matrix per attention head, as latent attention needs. */
#ifndef QR_LINEAR_BATCHED_H
#define QR_LINEAR_BATCHED_H
#include "linear/linear.h"

struct qr_batched_args {
    struct qr_packed *const *w; /* [n_heads], all of one type and shape; none held by oneDNN */
    size_t n_heads, n_rows;
    /* The rows that all heads read; or NULL: row t of head h is at
     * in + t * in_stride + h * in_head_stride, in floats. */
    const struct qr_act *x;
    const float *in;
    size_t in_stride, in_head_stride;
    void *memory; /* qr_batched_act_bytes; may be NULL in compute mode f32 */
    float *out;   /* row t of head h at out + t * out_stride + h * out_head_stride */
    size_t out_stride, out_head_stride;
    enum quire_compute compute;
    struct qr_unpacked *unpacked; /* of the calling thread, as in qr_linear_args */
};

/* Computes the bytes for the activation forms of up to n_rows rows of each head, a multiple of 64.
 * The caller owns the memory, 64-byte aligned. False on overflow. */
bool qr_batched_act_bytes(const struct qr_packed *w, enum quire_compute compute,
                          const struct qr_kernels *kernels, size_t n_heads, size_t n_rows,
                          size_t *bytes);

/* Converts the rows of all heads; does nothing when args->x is given. All threads of the team call
 * it with the same arguments; a barrier must follow. */
void qr_batched_convert_part(const struct qr_batched_args *args, const struct qr_kernels *kernels,
                             const struct quire_team *team);

/* Multiplies. All threads call it with the same arguments; a barrier must follow. One thread
 * computes all of an output, with the bits of qr_linear_part. */
void qr_batched_part(const struct qr_batched_args *args, const struct qr_kernels *kernels,
                     const struct quire_team *team);

#endif
