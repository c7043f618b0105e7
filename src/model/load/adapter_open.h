/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_open.h - reads the files of an adapter. */
#ifndef QR_MODEL_LOAD_ADAPTER_OPEN_H
#define QR_MODEL_LOAD_ADAPTER_OPEN_H
#include "model/load/adapter.h"

/* Fills in an adapter whose model and allocator are set. Errors as those of quire_adapter_open();
 * after a failure the caller frees what has been read. */
quire_status qr_adapter_load(struct quire_adapter *a, const struct quire_adapter_params *p,
                             struct quire_error *err);

#endif
