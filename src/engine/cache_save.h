/* SPDX-License-Identifier: Apache-2.0 */
/* cache_save.h - writes the prefix cache to a file. */
#ifndef QR_ENGINE_CACHE_SAVE_H
#define QR_ENGINE_CACHE_SAVE_H
#include "engine/types.h"

/* quire_engine_save_cache() without its checks of arguments. Excludes steps itself. */
quire_status qr_cache_save(struct quire_engine *e, const struct quire_cache_file_params *params,
                           struct quire_cache_file_result *result, struct quire_error *err);

#endif
