/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - causal convolution per channel over the tokens of one sequence. */
#include "recurrent/conv.h"
#include <string.h>

/* Rows of the tail. */
static size_t kept_rows(const struct qr_conv *a) { return (a->taps - 1) * a->dilation; }

/* Row number `at` of the tail and the sequence's rows behind it. */
static const float *input(const struct qr_conv *a, size_t at)
{
    const size_t kept = kept_rows(a);
    return at < kept ? a->tail + at * a->width : a->x + (at - kept) * a->x_stride;
}

void qr_conv_run(const struct qr_conv *a, size_t c0, size_t c1, const struct qr_kernels *k)
{
    const size_t n = c1 - c0, kept = kept_rows(a);
    const float *rows[QR_CONV_MAX_TAPS];
    for (size_t j = 0; a->fresh && j < kept; j++)
        memset(a->tail + j * a->width + c0, 0, n * sizeof *a->tail);
    for (size_t t = 0; t < a->n_rows; t++) {
        for (size_t j = 0; j < a->taps; j++)
            rows[j] = input(a, t + j * a->dilation) + c0;
        k->conv_taps(a->out + t * a->out_stride + c0, rows, a->w + c0, a->width,
                     a->bias ? a->bias + c0 : NULL, a->taps, n);
    }
    /* ascending: row j takes a row of the tail behind it, or of x */
    for (size_t j = 0; j < kept; j++)
        memmove(a->tail + j * a->width + c0, input(a, a->n_rows + j) + c0, n * sizeof *a->tail);
}
