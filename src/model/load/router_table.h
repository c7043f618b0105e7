/* SPDX-License-Identifier: Apache-2.0 */
/* router_table.h - tables that give the experts of each token. */
#ifndef QR_MODEL_LOAD_ROUTER_TABLE_H
#define QR_MODEL_LOAD_ROUTER_TABLE_H
#include "model/load/model.h"

/* Reads a table [vocab][top_k] of I64 or I32 into m->vectors. QUIRE_E_FORMAT: a number that is not
 * an expert, or an expert twice for a token; QUIRE_E_UNSUPPORTED: another type. */
quire_status qr_router_table_load(struct quire_model *m, const struct qr_weight *w,
                                  const uint32_t **out, struct quire_error *err);

#endif
