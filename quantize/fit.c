/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"
#include <math.h>

/* Scales are tried in steps of a tenth of a code around the one that maps the largest value to the
 * end of the grid. Clipping a few large values often pays. */
#define STEP 0.1f
enum { STEPS_BELOW = 12, STEPS_ABOVE = 20 };

int fit_nearest(const struct grid *g, float v, uint8_t *index)
{
    if (!g->table) {
        const int q = (int)lrintf(fit_clamp(v, (float)g->lo, (float)g->hi));
        *index = (uint8_t)(q - g->lo);
        return q;
    }
    int i = 0;
    for (int step = 8; step > 0; step /= 2)
        i += 2 * v > (float)(g->table[i + step - 1] + g->table[i + step]) ? step : 0;
    *index = (uint8_t)i;
    return g->table[i];
}

/* Adds sum w x q and sum w q^2 of the codes for an inverse scale. */
static void correlate(const struct grid *g, const float *x, const float *w, size_t n, float inverse,
                      float *xq, float *qq)
{
    uint8_t index;
    *xq = *qq = 0;
    for (size_t i = 0; i < n; i++) {
        const float q = (float)fit_nearest(g, x[i] * inverse, &index);
        *xq += w[i] * x[i] * q;
        *qq += w[i] * q * q;
    }
}

float fit_scale(const struct grid *g, const float *x, const float *w, size_t n)
{
    float largest = 0, best = -1, scale = 0;
    for (size_t i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(largest))
            largest = x[i];
    if (largest == 0)
        return 0;
    /* the largest value goes to either end of the grid, which need not be symmetric */
    const int ends[] = { g->lo, g->hi };
    for (int e = 0; e < 2; e++)
        for (int step = -STEPS_BELOW; step <= STEPS_ABOVE; step++) {
            const float end = (float)ends[e], unit = fabsf(end) / 8;
            float xq, qq;
            correlate(g, x, w, n, (end + copysignf(STEP * unit * (float)step, end)) / largest, &xq,
                      &qq);
            /* the error is sum w x^2 - (sum w x q)^2 / sum w q^2 */
            if (qq > 0 && xq * xq > best * qq) {
                best = xq * xq / qq;
                scale = xq / qq;
            }
        }
    return scale;
}

float fit_assign(int max, struct affine a, const float *x, const float *w, size_t n, uint8_t *q)
{
    const float inverse = a.scale > 0 ? 1 / a.scale : 0;
    float error = 0;
    for (size_t i = 0; i < n; i++) {
        q[i] = (uint8_t)lrintf(fit_clamp((x[i] + a.min) * inverse, 0, (float)max));
        const float d = x[i] - (a.scale * (float)q[i] - a.min);
        error += w[i] * d * d;
    }
    return error;
}

/* The best scale and minimum for given codes. */
static struct affine solve(const float *x, const float *w, size_t n, const uint8_t *q)
{
    double sw = 0, swq = 0, swqq = 0, swx = 0, swxq = 0;
    for (size_t i = 0; i < n; i++) {
        const double wi = w[i], qi = q[i], xi = x[i];
        sw += wi;
        swq += wi * qi;
        swqq += wi * qi * qi;
        swx += wi * xi;
        swxq += wi * xi * qi;
    }
    const double det = sw * swqq - swq * swq;
    if (swq <= 0) /* all codes are 0 */
        return (struct affine){ 0, (float)fmax(-swx / sw, 0) };
    double scale = det > 0 ? (sw * swxq - swx * swq) / det : 0,
           min = det > 0 ? (swq * swxq - swqq * swx) / det : 0;
    if (min < 0 || det <= 0) { /* the format has no positive offsets */
        min = 0;
        scale = swqq > 0 ? swxq / swqq : 0;
    }
    return (struct affine){ (float)fmax(scale, 0), (float)min };
}

struct affine fit_affine(int max, const float *x, const float *w, size_t n)
{
    float lo = 0, hi = 0, best = INFINITY;
    uint8_t q[32];
    for (size_t i = 0; i < n; i++) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    struct affine result = { 0, -lo };
    if (hi - lo <= 0)
        return result;
    for (int step = -STEPS_BELOW; step <= STEPS_ABOVE; step++) {
        struct affine a = { (hi - lo) / ((float)max + STEP * (float)step), -lo };
        fit_assign(max, a, x, w, n, q);
        a = solve(x, w, n, q);
        const float error = fit_assign(max, a, x, w, n, q);
        if (error < best) {
            best = error;
            result = a;
        }
    }
    return result;
}
