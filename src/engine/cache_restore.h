/* SPDX-License-Identifier: Apache-2.0 */
/* cache_restore.h - brings a saved prefix cache back into an engine. */
#ifndef QR_ENGINE_CACHE_RESTORE_H
#define QR_ENGINE_CACHE_RESTORE_H
#include "engine/types.h"

/* quire_engine_restore_cache() without its checks of arguments. Excludes steps itself. */
quire_status qr_cache_restore(struct quire_engine *e, const struct quire_cache_file_params *params,
                              struct quire_cache_file_result *result, struct quire_error *err);

#endif
