/* SPDX-License-Identifier: Apache-2.0 */
/* context_check.h - the parameters of a context: limits, and the pools that its model needs. */
#ifndef QR_MODEL_FORWARD_CONTEXT_CHECK_H
#define QR_MODEL_FORWARD_CONTEXT_CHECK_H
#include "model/load/model.h"

/* QUIRE_E_INVALID_ARG a handle, a limit, a pool that is missing or not needed; QUIRE_E_MISMATCH a
 * pool of another model; QUIRE_E_UNSUPPORTED adapters or expanded latents of models without. */
quire_status qr_context_check(const struct quire_model *m, const struct quire_context_params *p,
                              struct quire_error *err) QUIRE_MUST_CHECK;

#endif
