/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - validates strided tensors. */
#include "attention/tensor.h"
#include "base/checked.h"
#include "base/error.h"

quire_status qr_tensor_check(const struct qr_tensor *t, struct qr_extent *out,
                             struct quire_error *err)
{
    size_t token_span, head_span, n, bytes;
    if (!t->p)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s is NULL", t->name);
    if (t->token_stride < t->width || t->head_stride < t->width)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s: stride %zu is smaller than a row of %zu",
                       t->name, t->token_stride < t->width ? t->token_stride : t->head_stride,
                       t->width);
    if (!t->tokens) {
        *out = (struct qr_extent){ 0, 0 };
        return QUIRE_OK;
    }
    if (!qr_mul_size(t->tokens - 1, t->token_stride, &token_span) ||
        !qr_mul_size(t->heads - 1, t->head_stride, &head_span) ||
        !qr_add_size(token_span, head_span, &n) || !qr_add_size(n, t->width, &n) ||
        !qr_mul_size(n, t->elem_bytes, &bytes) || bytes > PTRDIFF_MAX ||
        (uintptr_t)t->p > UINTPTR_MAX - bytes)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s: %zu tokens of stride %zu overflow", t->name,
                       t->tokens, t->token_stride);
    if (t->token_stride < head_span + t->width && t->head_stride < token_span + t->width)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s: rows of strides %zu and %zu overlap", t->name,
                       t->token_stride, t->head_stride);
    *out = (struct qr_extent){ (uintptr_t)t->p, (uintptr_t)t->p + bytes };
    return QUIRE_OK;
}
