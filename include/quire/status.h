/* SPDX-License-Identifier: Apache-2.0 */
/** Status codes, error records, allocator and log hooks shared by all quire objects.
 *
 *  A fallible call returns quire_status and writes its results through out-pointers, which are set
 *  to NULL on failure (or left unchanged, where the call says so). A failed call leaves every
 *  object unchanged. The message goes to a caller-owned struct quire_error, which may be NULL.
 *
 *  Sized structs. A struct that begins with struct_size may grow at its end in later versions. Fill
 *  it with its init function, which stores the caller's size and the defaults, then set members:
 *
 *      struct quire_engine_params params;
 *      quire_engine_params_init(&params, sizeof params);
 *
 *  0 is the default of every member added after the first version. The library accepts a smaller
 *  struct of an older header (the missing members get their defaults) and a larger one of a newer
 *  header whose unknown members are 0; otherwise QUIRE_E_MISUSE. Structs that the library fills are
 *  filled up to the caller's struct_size. An init function ignores NULL.
 *
 *  Names. `_params` describe an object or request to create; `_args` are the operands of one call;
 *  `_config` describes what a layer or group computes; `_info`, `_caps` and `_report` are filled by
 *  the library. `n_x` is a number of x, `max_x` a limit. */
#ifndef QUIRE_STATUS_H
#define QUIRE_STATUS_H

#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define QUIRE_API        __attribute__((visibility("default")))
#define QUIRE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define QUIRE_API
#define QUIRE_MUST_CHECK
#endif

#define QUIRE_VERSION_MAJOR 0
#define QUIRE_VERSION_MINOR 2
#define QUIRE_VERSION_PATCH 0

/** X(code, text). Append only: the numbers are part of the ABI. */
#define QUIRE_STATUS_LIST(X)                                                                       \
    X(QUIRE_OK, "success")                                                                         \
    X(QUIRE_E_INVALID_ARG, "invalid argument")                                                     \
    X(QUIRE_E_MISUSE, "API misuse")                                                                \
    X(QUIRE_E_NOMEM, "out of memory")                                                              \
    X(QUIRE_E_IO, "input/output error")                                                            \
    X(QUIRE_E_FORMAT, "malformed data")                                                            \
    X(QUIRE_E_UNSUPPORTED, "unsupported")                                                          \
    X(QUIRE_E_LIMIT, "limit exceeded")                                                             \
    X(QUIRE_E_RANGE, "value out of range")                                                         \
    X(QUIRE_E_AGAIN, "resource temporarily exhausted")                                             \
    X(QUIRE_E_BUSY, "object is busy")                                                              \
    X(QUIRE_E_CANCELLED, "cancelled")                                                              \
    X(QUIRE_E_TIMEOUT, "timed out")                                                                \
    X(QUIRE_E_NUMERIC, "numeric failure")                                                          \
    X(QUIRE_E_CORRUPT, "data is corrupt")                                                          \
    X(QUIRE_E_MISMATCH, "data belongs to another model or version")                                \
    X(QUIRE_E_INTERNAL, "internal error")

typedef enum quire_status {
#define X(code, text) code,
    QUIRE_STATUS_LIST(X)
#undef X
} quire_status;

/** Caller-owned description of a failure. QUIRE_ERROR_INIT or all zeros is a valid initial state;
 *  on success the record is unchanged. */
struct quire_error {
    uint32_t struct_size; /**< sizeof(struct quire_error), or 0 */
    quire_status code;
    int32_t detail;  /**< errno or a sub-code, 0 if none */
    uint64_t offset; /**< file offset of the invalid data in bytes, 0 if none */
    char msg[488];   /**< NUL-terminated UTF-8, names the field, argument or offset */
};
#define QUIRE_ERROR_INIT                                                                           \
    {                                                                                              \
        (uint32_t)sizeof(struct quire_error), QUIRE_OK, 0, 0, { 0 }                                \
    }

/** Memory hooks. Both functions must be thread-safe. A NULL struct pointer in any params struct or
 *  argument means the C library's aligned_alloc/free.
 *  alloc: returns `size` bytes aligned to `align` (a power of two, <= 2 MiB) or NULL; contents
 *         undefined.
 *  free:  receives the size of the allocation; never called with NULL. */
struct quire_allocator {
    void *user;
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*free)(void *user, void *ptr, size_t size);
};

enum quire_log_level {
    QUIRE_LOG_ERROR,
    QUIRE_LOG_WARN,
    QUIRE_LOG_INFO,
    QUIRE_LOG_DEBUG,
};

/** Log hook; without one the library is silent. Called without locks held; must not call back into
 *  the same object. The message is valid during the call only. Prompts and generated text are never
 *  logged. */
struct quire_logger {
    void *user;
    void (*log)(void *user, enum quire_log_level level, quire_status code, const char *msg);
};

/** Progress of a long load: done <= total, both in bytes. Returning false cancels the load
 *  (QUIRE_E_CANCELLED). */
typedef bool (*quire_progress_fn)(void *user, uint64_t done, uint64_t total);

/** Static English text of a status code; "unknown status" for a number unknown to this build. */
QUIRE_API const char *quire_status_text(quire_status code);

/** Name of a status code as written in this header, e.g. "QUIRE_E_RANGE". */
QUIRE_API const char *quire_status_name(quire_status code);

/** "MAJOR.MINOR.PATCH" of the linked library, which may be newer than this header. */
QUIRE_API const char *quire_version(void);

/** Length of a NUL-terminated string, where a function takes the size of a text. */
#define QUIRE_NUL_TERMINATED ((size_t)-1)

#ifdef __cplusplus
}
#endif
#endif
