/* SPDX-License-Identifier: Apache-2.0 */
/** Saving the prefix cache of an engine in a file, and bringing it back; part of quire/engine.h. */
#ifndef QUIRE_ENGINE_CACHE_H
#define QUIRE_ENGINE_CACHE_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_engine;

/** File and selection, for quire_engine_save_cache() and quire_engine_restore_cache(). */
struct quire_cache_file_params {
    uint32_t struct_size;
    const char *path;
    /** only prefixes of requests with this salt; NULL = of every salt, with tokens: salt 0 */
    const uint64_t *cache_salt;
    /** save: [n_tokens] only the longest cached prefix of these tokens, e.g. of one session; NULL =
     *  all prefixes. restore: NULL */
    const int32_t *tokens;
    size_t n_tokens;
    /** save: the prefixes used most recently, as many as fit into a file of this size; restore:
     *  larger files are refused; 0 = no limit */
    uint64_t max_bytes;
};
QUIRE_API void quire_cache_file_params_init(struct quire_cache_file_params *params,
                                            size_t struct_size);

struct quire_cache_file_result {
    uint32_t struct_size; /**< set by the caller */
    uint64_t n_tokens;    /**< saved or restored; a common part of prefixes counts once */
    uint64_t n_blocks;    /**< their blocks in all KV groups */
    uint64_t bytes;       /**< save: of the file; restore: of sections that were read */
};
QUIRE_API void quire_cache_file_result_init(struct quire_cache_file_result *result,
                                            size_t struct_size);

/** Saves the prefix cache in a file (docs/cache-file.md) that replaces params->path atomically and
 *  durably: after a failure, or the end of the process at any moment, the old file is intact. The
 *  file has mode 0600, for it contains prompts and answers. An existing file is replaced only if it
 *  is empty or a cache file. The call waits for the end of a running step, and no step runs until
 *  keys and values are copied; active requests are not disturbed otherwise. Of their tokens it
 *  saves whole blocks. With recurrent layers, prefixes are saved up to their last checkpoint, with
 *  the states of all checkpoints.
 *  result  may be NULL; written on success
 *  QUIRE_E_INVALID_ARG names the field; QUIRE_E_MISUSE struct_size or a dry run; QUIRE_E_RANGE
 *  nothing is cached that could be saved; QUIRE_E_LIMIT max_bytes has no room for one block;
 *  QUIRE_E_UNSUPPORTED the model is an encoder;
 *  QUIRE_E_FORMAT the path is a file of another kind; QUIRE_E_IO; QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_engine_save_cache(struct quire_engine *engine, const struct quire_cache_file_params *params,
                        struct quire_cache_file_result *result, struct quire_error *err);

/** Brings saved prefixes back: requests that begin with their tokens, with the same cache_salt,
 *  reuse them, with the bits that computing them would give. Adds to the cache as many prefixes as
 *  free blocks, and free slots of recurrent states, can hold, those used most recently first, and
 *  evicts nothing. The file is one of an engine with the same library version, model, ISA level,
 *  compute mode, KV dtypes and KV scales; block size, capacity and number of threads may differ. On
 *  failure the cache is unchanged. No step runs meanwhile, as in quire_engine_save_cache().
 *  result  may be NULL; written on success
 *  QUIRE_E_INVALID_ARG names the field; QUIRE_E_MISUSE struct_size or a dry run; QUIRE_E_IO the
 *  file cannot be read; QUIRE_E_FORMAT it is no cache file; QUIRE_E_MISMATCH it is of another
 *  version or engine, with what differs; QUIRE_E_CORRUPT it is damaged; QUIRE_E_RANGE it has
 *  nothing of params->cache_salt; QUIRE_E_LIMIT it is larger than max_bytes, or not even one block
 *  or slot is free; QUIRE_E_UNSUPPORTED the model is an encoder; QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_restore_cache(
    struct quire_engine *engine, const struct quire_cache_file_params *params,
    struct quire_cache_file_result *result, struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
