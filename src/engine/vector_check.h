/* SPDX-License-Identifier: Apache-2.0 */
/* vector_check.h - which fields of a request its task allows. */
#ifndef QR_ENGINE_VECTOR_CHECK_H
#define QR_ENGINE_VECTOR_CHECK_H
#include "engine/types.h"

/* Checks the fields of a request that concern its task, and those that its task does not use. */
quire_status qr_vector_check(const struct quire_engine *e, const struct quire_request_params *p,
                             struct quire_error *err);

#endif
