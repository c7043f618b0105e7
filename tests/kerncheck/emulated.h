/* SPDX-License-Identifier: Apache-2.0 */
/* emulated.h - the templates over vec_scalar.h, as a level of the tests alone. */
#ifndef QR_TESTS_KERNCHECK_EMULATED_H
#define QR_TESTS_KERNCHECK_EMULATED_H
#include "kerncheck.h"
#include "kernels/kernels.h"

#define X(ret, name, params) ret qr_##name##_emulated params;
QR_KERNELS(X)
#undef X
QR_DECLARE_INIT(emulated, )
void qr_init_linear_q8_emulated(struct qr_kernels *k);

/* The templates over emulated vectors, and the generic kernels where there is none; those alone in
 * builds without templates. */
const struct qr_kernels *kc_emulated(const struct qr_kernels *generic);

#endif
