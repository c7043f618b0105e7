/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_params.h - sampling parameters of a call. */
#ifndef QR_ENGINE_SAMPLING_PARAMS_H
#define QR_ENGINE_SAMPLING_PARAMS_H
#include <quire/sampling.h>

/* Copies and checks the caller's parameters; zeros that stand for a default are replaced by it, and
 * an empty list of samplers by the default order. Errors as quire_sampling_validate(). */
quire_status qr_sampling_read(struct quire_sampling_params *out,
                              const struct quire_sampling_params *params, uint32_t n_vocab,
                              struct quire_error *err) QUIRE_MUST_CHECK;

#endif
