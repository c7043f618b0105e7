/* SPDX-License-Identifier: Apache-2.0 */
/** Adapters of an engine by name; part of quire/engine.h.
 *
 *  Requests choose an adapter by its name or by its handle (struct quire_request_params). Adapters
 *  come and go while the engine runs: requests that use a removed adapter go on to their end. */
#ifndef QUIRE_ENGINE_ADAPTER_H
#define QUIRE_ENGINE_ADAPTER_H
#include <quire/adapter.h>
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_engine;

enum { QUIRE_ADAPTER_NAME_BYTES = 128 }; /* of a name, with its terminator */

struct quire_engine_adapter_params {
    uint32_t struct_size;
    /** UTF-8 of 1 .. QUIRE_ADAPTER_NAME_BYTES - 1 bytes; copied */
    const char *name;
    /* exactly one of path and adapter */
    const char *path; /**< as in struct quire_adapter_params; the engine opens and closes it */
    /** open, for the engine's model; borrowed until it is removed and its requests have ended:
     *  quire_adapter_close() returns QUIRE_E_BUSY until then */
    struct quire_adapter *adapter;
    uint32_t flags; /**< QUIRE_ADAPTER_* for path */
};
QUIRE_API void quire_engine_adapter_params_init(struct quire_engine_adapter_params *params,
                                                size_t struct_size);

/** Adds an adapter. Steps go on meanwhile; the files are read by the calling thread.
 *  QUIRE_E_INVALID_ARG; QUIRE_E_MISUSE struct_size; QUIRE_E_RANGE the name is in use; QUIRE_E_LIMIT
 *  its rank is above max_adapter_rank of the engine; QUIRE_E_MISMATCH it belongs to another model;
 *  errors of quire_adapter_open(). */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_engine_add_adapter(struct quire_engine *engine,
                         const struct quire_engine_adapter_params *params, struct quire_error *err);

/** Removes an adapter: new requests do not find the name. Its memory is freed when the last of its
 *  requests has ended and its last event was returned. Its prefixes stay in the prefix cache for
 *  when it is added again. QUIRE_E_INVALID_ARG, QUIRE_E_RANGE no such name. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_remove_adapter(struct quire_engine *engine,
                                                                    const char *name,
                                                                    struct quire_error *err);

/** An adapter of an engine. */
struct quire_engine_adapter_info {
    uint32_t struct_size; /**< set by the caller */
    char name[QUIRE_ADAPTER_NAME_BYTES];
    uint32_t rank, n_modules, n_requests; /**< n_requests: answers that use it now */
    uint64_t bytes, fingerprint;
};
QUIRE_API void quire_engine_adapter_info_init(struct quire_engine_adapter_info *info,
                                              size_t struct_size);

/** Describes adapter number `index` in the order of their addition. QUIRE_E_INVALID_ARG;
 *  QUIRE_E_RANGE there are no more. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_get_adapter(
    struct quire_engine *engine, uint32_t index, struct quire_engine_adapter_info *info);

#ifdef __cplusplus
}
#endif
#endif
