/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.h - matmul with weights held by oneDNN, and the self-test that chooses the backend. */
#ifndef QR_LINEAR_ONEDNN_H
#define QR_LINEAR_ONEDNN_H
#include "linear/linear.h"
#include "linear/onednn_shim.h"

/* Multiplies like a kernel of kernels/kernels_linear.h, over panels in the layout of `p`. f32
 * weights read a->x; bf16 weights read a->x_bf16, whose rows are padded with zeros to p->width. `r`
 * was acquired for `p`; with NULL a slow scalar loop computes the sums. */
void qr_onednn_multiply(const struct qr_onednn_matmul *p, struct qr_onednn_runner *r,
                        const struct qr_linear_kernel_args *a);

/* Measures for at most about 50 ms on the calling thread whether oneDNN is faster than `kernels`
 * for large batches with weights of this type and k. False also when the test cannot run. */
bool qr_onednn_is_faster(enum qr_weight_type type, size_t k, const struct qr_kernels *kernels,
                         const struct quire_allocator *allocator);

#endif
