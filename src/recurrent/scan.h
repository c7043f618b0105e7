/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - the recurrences, token by token, over the rows of one sequence.
 *
 * Prefill and decode run the same steps in the same order (docs/numerics.md, R1), so the results do
 * not depend on how the tokens are divided among steps. */
#ifndef QR_RECURRENT_SCAN_H
#define QR_RECURRENT_SCAN_H
#include "kernels/kernels.h"

/* S = decay S + k (dt v); out = S^T q + d v. */
void qr_scan_outer(const struct qr_scan *s, const struct qr_kernels *kernels);

/* S = decay S; S += k beta (v - S^T k); out = S^T q. */
void qr_scan_delta(const struct qr_scan *s, const struct qr_kernels *kernels);

/* RWKV-6: out = S^T q; S = decay S + k v. */
void qr_scan_wkv6(const struct qr_scan *s, const struct qr_kernels *kernels);

/* RWKV-7: p = S^T read; S = decay S + remove p + k v; out = S^T q. */
void qr_scan_wkv7(const struct qr_scan *s, const struct qr_kernels *kernels);

/* Mamba-1. Per channel c: S_n = exp(dt a_n) S_n + dt x b_n; out = sum of c_n S_n + d x. dt is one
 * per channel, rates and d belong to the channels:
 *   rates  [n_keys][state_stride]
 *   d      [n_values] */
void qr_scan_channels(const struct qr_scan *s, const float *rates, const float *d,
                      const struct qr_kernels *kernels);

#endif
