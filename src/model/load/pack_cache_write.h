/* SPDX-License-Identifier: Apache-2.0 */
/* pack_cache_write.h - writes a pack cache. */
#ifndef QR_MODEL_LOAD_PACK_CACHE_WRITE_H
#define QR_MODEL_LOAD_PACK_CACHE_WRITE_H
#include "model/load/pack_cache.h"

/* Writes the panels of the items to a locked temporary file in the same folder, which then
 * atomically replaces c->path. QUIRE_E_IO (also for a file above RLIMIT_FSIZE, before it is
 * created), QUIRE_E_NOMEM; on failure no file is left behind. */
quire_status qr_pack_cache_write(const struct qr_pack_cache *c, const struct qr_pack_item *items,
                                 size_t n, struct quire_error *err) QUIRE_MUST_CHECK;

#endif
