/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - validation of the caller's strided tensors and their address ranges. */
#ifndef QR_ATTENTION_TENSOR_H
#define QR_ATTENTION_TENSOR_H
#include <quire/status.h>
#include <stdbool.h>

/* Rows (token, head) of `width` elements at p + (token * token_stride + head * head_stride) *
 * elem_bytes. */
struct qr_tensor {
    const char *name; /* for error messages */
    const void *p;
    size_t tokens, heads, width, token_stride, head_stride, elem_bytes;
};

/* Address range of a tensor; empty when begin == end. */
struct qr_extent {
    uintptr_t begin, end;
};

static inline bool qr_extent_overlap(struct qr_extent a, struct qr_extent b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* Checks that p is not NULL and that rows neither overlap each other nor exceed the address space.
 * *out is the address range. */
quire_status qr_tensor_check(const struct qr_tensor *t, struct qr_extent *out,
                             struct quire_error *err);

#endif
