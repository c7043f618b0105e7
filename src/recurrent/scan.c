/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - the recurrences, token by token, over the rows of one sequence. */
#include "recurrent/scan.h"
#include <string.h>

/* The state of a sequence that starts with the rows of s. */
static void clear_state(const struct qr_scan *s)
{
    for (size_t i = 0; i < s->n_keys; i++)
        if (s->bf16)
            memset(s->bf16 + i * s->state_stride, 0, s->n_values * sizeof *s->bf16);
        else
            memset(s->state + i * s->state_stride, 0, s->n_values * sizeof *s->state);
}

void qr_scan_outer(const struct qr_scan *s, const struct qr_kernels *kernels)
{
    if (s->fresh)
        clear_state(s);
    kernels->state_outer(s);
}

void qr_scan_delta(const struct qr_scan *s, const struct qr_kernels *kernels)
{
    if (s->fresh)
        clear_state(s);
    kernels->state_delta(s);
}

void qr_scan_wkv6(const struct qr_scan *s, const struct qr_kernels *kernels)
{
    if (s->fresh)
        clear_state(s);
    kernels->state_wkv6(s);
}

void qr_scan_wkv7(const struct qr_scan *s, const struct qr_kernels *kernels)
{
    if (s->fresh)
        clear_state(s);
    kernels->state_wkv7(s);
}

void qr_scan_channels(const struct qr_scan *s, const float *rates, const float *d,
                      const struct qr_kernels *kernels)
{
    if (s->fresh)
        clear_state(s);
    kernels->state_channels(s, rates, d);
}
