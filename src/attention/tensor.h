/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - strided rows that callers hand in: checked, and where in memory they lie. */
#ifndef QR_ATTENTION_TENSOR_H
#define QR_ATTENTION_TENSOR_H
#include <quire/status.h>
#include <stdbool.h>

/* Rows (token, head) of `width` elements at p + (token * token_stride + head * head_stride) *
 * elem_bytes. */
struct qr_tensor {
    const char *name; /* for messages */
    const void *p;
    size_t tokens, heads, width, token_stride, head_stride, elem_bytes;
};

/* Addresses that a tensor may touch; none when begin is end. */
struct qr_extent {
    uintptr_t begin, end;
};

static inline bool qr_extent_overlap(struct qr_extent a, struct qr_extent b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* p is not NULL, rows neither overlap each other nor leave the address space. */
quire_status qr_tensor_check(const struct qr_tensor *t, struct qr_extent *out,
                             struct quire_error *err);

#endif
