/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - causal convolution per channel over the tokens of one sequence. */
#ifndef QR_RECURRENT_CONV_H
#define QR_RECURRENT_CONV_H
#include "kernels/kernels.h"
#include <stdbool.h>
#include <stddef.h>

enum { QR_CONV_MAX_TAPS = 32 };

/* Output t of channel c: bias[c] + sum over j < taps of w[j][c] * input t - (taps - 1 - j) d, d
 * being the dilation. */
struct qr_conv {
    const float *x; /* [rows][x_stride], first row of the sequence */
    float *out;     /* [rows][out_stride]; does not overlap x */
    size_t x_stride, out_stride, n_rows;
    const float *w, *bias; /* [taps][width], [width] or NULL */
    size_t width, taps;    /* 1 <= taps <= QR_CONV_MAX_TAPS */
    size_t dilation;       /* >= 1 */
    /* [(taps - 1) * dilation][width] inputs before the first row, oldest first; replaced by the
     * last inputs */
    float *tail;
    bool fresh; /* the sequence starts with these rows: its earlier inputs are 0 */
};

/* Computes channels [c0, c1). Channels are independent of each other. */
void qr_conv_run(const struct qr_conv *a, size_t c0, size_t c1, const struct qr_kernels *k);

#endif
