/* SPDX-License-Identifier: Apache-2.0 */
/* batch_check.h - validation of batches. */
#ifndef QR_ATTENTION_BATCH_CHECK_H
#define QR_ATTENTION_BATCH_CHECK_H
#include "attention/types.h"

/* Validates a batch, all but its block tables. */
quire_status qr_batch_check(const struct quire_plan *plan, const struct quire_attention_batch *b,
                            struct quire_error *err);

#endif
