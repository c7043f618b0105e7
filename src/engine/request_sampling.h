/* SPDX-License-Identifier: Apache-2.0 */
/* request_sampling.h - the sampling parameters of a request, with copies of the caller's arrays. */
#ifndef QR_ENGINE_REQUEST_SAMPLING_H
#define QR_ENGINE_REQUEST_SAMPLING_H
#include "engine/types.h"

/* Fills r->sampling with the parameters of p, or with those that the model's author recommends.
 * Tokens that the author suppresses become biases of -INFINITY behind those of p, so that drafts
 * and beams exclude them as well and log-probabilities remain those of the model. Valid parameters
 * are required. On failure, too, qr_request_free_sampling() frees what was allocated. */
quire_status qr_request_copy_sampling(const struct quire_engine *e, struct qr_request *r,
                                      const struct quire_request_params *p,
                                      struct quire_error *err);
void qr_request_free_sampling(const struct quire_engine *e, struct qr_request *r);

#endif
