/* SPDX-License-Identifier: Apache-2.0 */
/* cache_identity.h - what the bits of cached keys and values depend on, besides the tokens. */
#ifndef QR_ENGINE_CACHE_IDENTITY_H
#define QR_ENGINE_CACHE_IDENTITY_H
#include "engine/types.h"

enum { QR_CACHE_IDENTITY_MAX = 65536 }; /* bytes */

/* Describes library, model, ISA level, compute mode and KV groups of an engine as lines
 * "name: value\n". Cache files of an equal text hold the bits that the engine would compute; block
 * size, threads and pool size are not part of it. *text is NUL-terminated and freed with
 * qr_strfree(); NULL on failure. QUIRE_E_NOMEM, QUIRE_E_LIMIT. */
quire_status qr_cache_identity(const struct quire_engine *e, char **text, struct quire_error *err);

/* QUIRE_OK if the text of a file, of `size` bytes, equals that of the engine; otherwise
 * QUIRE_E_MISMATCH with the first line that differs. */
quire_status qr_cache_identity_check(const char *mine, const char *file, size_t size,
                                     struct quire_error *err);

#endif
