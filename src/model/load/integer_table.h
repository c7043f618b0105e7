/* SPDX-License-Identifier: Apache-2.0 */
/* integer_table.h - tables of integers: the experts of each token, the tokens of each cluster. */
#ifndef QR_MODEL_LOAD_INTEGER_TABLE_H
#define QR_MODEL_LOAD_INTEGER_TABLE_H
#include "model/load/model.h"

/* Reads a table [vocab][top_k] of I64 or I32 into m->vectors. QUIRE_E_FORMAT: a number that is not
 * an expert, or an expert twice for a token; QUIRE_E_UNSUPPORTED: another type. */
quire_status qr_router_table_load(struct quire_model *m, const struct qr_weight *w,
                                  const uint32_t **out, struct quire_error *err);

/* Reads a table of I64 or I32, the tokens of the rows of an output matrix, into m->vectors.
 * QUIRE_E_FORMAT: they are not different tokens; QUIRE_E_UNSUPPORTED: another type. */
quire_status qr_token_order_load(struct quire_model *m, const struct qr_weight *w,
                                 const uint32_t **out, struct quire_error *err);

#endif
