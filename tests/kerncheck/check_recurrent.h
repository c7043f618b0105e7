/* SPDX-License-Identifier: Apache-2.0 */
/* check_recurrent.h - sizes, inputs and comparisons of the checks of recurrent layers. */
#ifndef QR_KERNCHECK_CHECK_RECURRENT_H
#define QR_KERNCHECK_CHECK_RECURRENT_H
#include "kerncheck.h"

enum { KC_MAX_N = 300 };

/* A number of channels: first a list of odd ones, then random ones up to KC_MAX_N. */
size_t kc_pick_size(struct kc_env *env, int round);

/* n values of that standard deviation; nothing behind them may be read. */
float *kc_normals(struct kc_env *env, size_t n, float scale);

/* Whether |got - want| <= tol * scale; reports element i of `what` if not. Vector levels flush
 * exponentials below 2^-125 to 0: a floor of 1e-31 in `scale` admits that. */
bool kc_near(struct kc_env *env, const char *what, size_t i, double got, double want, double tol,
             double scale);

#endif
