/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h - scales that minimize the weighted squared error of a block. */
#ifndef QUIRE_QUANTIZE_FIT_H
#define QUIRE_QUANTIZE_FIT_H
#include <stddef.h>
#include <stdint.h>

/* The values that codes stand for, before the scale: the integers lo .. hi, or a table of 16 in
 * rising order. */
struct grid {
    int lo, hi;
    const int8_t *table; /* [16]; lo and hi are its first and last value. NULL: integers */
};

/* fminf and fmaxf are library calls, since they ignore NaN; here every value is finite. */
static inline float fit_clamp(float v, float lo, float hi)
{
    v = v < lo ? lo : v;
    return v > hi ? hi : v;
}

/* Nearest value of the grid to v. *index: its position, from 0. */
int fit_nearest(const struct grid *g, float v, uint8_t *index);

/* Scale s that minimizes sum w (x - s q)^2 with the nearest q of the grid; 0 if all x are 0. */
float fit_scale(const struct grid *g, const float *x, const float *w, size_t n);

/* Scale s >= 0 and minimum m >= 0 that minimize sum w (x - s q + m)^2 with q in 0 .. max. */
struct affine {
    float scale, min;
};
struct affine fit_affine(int max, const float *x, const float *w, size_t n);

/* sum w (x - s q + m)^2 with the nearest q in 0 .. max, which go to q[n]. */
float fit_assign(int max, struct affine a, const float *x, const float *w, size_t n, uint8_t *q);

#endif
