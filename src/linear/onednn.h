/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.h - multiplying weights that oneDNN holds, and whether that pays. */
#ifndef QR_LINEAR_ONEDNN_H
#define QR_LINEAR_ONEDNN_H
#include "linear/linear.h"
#include "linear/onednn_shim.h"

/* As a kernel of base/kernels_linear.h, over panels that lie as `p` says. f32 weights read a->x, bf16
 * weights a->x_bf16, whose rows are padded with zeros to p->width. `r` was taken for `p`; with NULL
 * the sums are made by hand, slowly. */
void qr_onednn_multiply(const struct qr_onednn_product *p, struct qr_onednn_runner *r,
                        const struct qr_linear_kernel_args *a);

/* Self-test of at most about 50 ms on the calling thread: is oneDNN faster than `kernels` for large
 * batches with weights of this type and k? False as well when it cannot be tried. */
bool qr_onednn_wins(enum qr_weight_type type, size_t k, const struct qr_kernels *kernels,
                    const struct quire_allocator *allocator);

#endif
