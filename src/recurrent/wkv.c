/* SPDX-License-Identifier: Apache-2.0 */
/* wkv.c - the recurrence of RWKV-4. Order of operations: docs/numerics.md, R10. */
#include "recurrent/wkv.h"
#include "base/error.h"

enum { N = QR_WKV_CHANNELS };

static const float ones[N] = { [0 ... N - 1] = 1 };

/* old[c] = exp(x[c] - p), new[c] = exp(y[c] - p), p = max(x[c], y[c]), which goes to top. */
static void weigh(const float *x, const float *y, float *old, float *new, float *top, size_t n,
                  const struct qr_kernels *kernels)
{
    for (size_t c = 0; c < n; c++) {
        top[c] = x[c] > y[c] ? x[c] : y[c];
        old[c] = x[c] - top[c];
        new[c] = y[c] - top[c];
    }
    kernels->exp_mul(old, ones, n);
    kernels->exp_mul(new, ones, n);
}

static void run_row(const struct qr_wkv *a, const float *k, const float *v, float *out, size_t n,
                    const struct qr_kernels *kernels)
{
    float x[N], old[N], new[N], top[N];
    QR_INVARIANT(n > 0);
    for (size_t c = 0; c < n; c++)
        x[c] = a->first[c] + k[c];
    weigh(a->top, x, old, new, top, n, kernels);
    for (size_t c = 0; c < n; c++)
        out[c] = (old[c] * a->sum[c] + new[c] * v[c]) / (old[c] * a->weight[c] + new[c]);
    for (size_t c = 0; c < n; c++)
        x[c] = a->top[c] + a->decay[c];
    weigh(x, k, old, new, a->top, n, kernels);
    for (size_t c = 0; c < n; c++) {
        a->sum[c] = old[c] * a->sum[c] + new[c] * v[c];
        a->weight[c] = old[c] * a->weight[c] + new[c];
    }
}

void qr_wkv_run(const struct qr_wkv *a, size_t n, const struct qr_kernels *kernels)
{
    for (size_t c = 0; a->fresh && c < n; c++) {
        a->sum[c] = a->weight[c] = 0;
        a->top[c] = -1e38f; /* of no token; finite, so that differences are numbers */
    }
    for (size_t t = 0; t < a->n_rows; t++)
        run_row(a, a->k + t * a->stride, a->v + t * a->stride, a->out + t * a->stride, n, kernels);
}
