/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - reads and packs the weights of a model. */
#ifndef QR_MODEL_LOAD_LOAD_H
#define QR_MODEL_LOAD_LOAD_H
#include "model/load/model.h"

/* Reads and packs all weights of m->config, in parallel if threads is not NULL. pack_cache: file to
 * map packed matrices from, or to write them to if there is none that fits; NULL = none. On
 * failure, qr_model_unload frees what was loaded. */
quire_status qr_model_load(struct quire_model *m, const char *pack_cache,
                           struct quire_threads *threads, struct quire_error *err);
void qr_model_unload(struct quire_model *m);

#endif
