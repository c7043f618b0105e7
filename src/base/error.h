/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - error records and log messages. */
#ifndef QR_BASE_ERROR_H
#define QR_BASE_ERROR_H
#include <quire/status.h>
#include <stdbool.h>

/* Writes code and a printf-style message to err (may be NULL) and returns code, for failures in one
 * line: return qr_fail(err, QUIRE_E_RANGE, "block_table[%zu] = %d", i, id);
 * A message that is too long is cut after a whole word and ends with "...". */
quire_status qr_fail(struct quire_error *err, quire_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* qr_fail with the byte offset in the file that is being read. */
quire_status qr_fail_at(struct quire_error *err, quire_status code, uint64_t offset,
                        const char *fmt, ...) __attribute__((format(printf, 4, 5), cold));

/* qr_fail with an errno value, whose text is appended to the message. */
quire_status qr_fail_errno(struct quire_error *err, quire_status code, int errnum, const char *fmt,
                           ...) __attribute__((format(printf, 4, 5), cold));

/* For script/analyze: analyzers learn that a failure is not QUIRE_OK, and invariants that they
 * cannot derive. */
#ifdef QR_STATIC_ANALYSIS
static inline quire_status qr_code(quire_status code) { return code; }
#define qr_fail(err, code, ...) (qr_fail(err, code, __VA_ARGS__), qr_code(code))
#define qr_fail_at(err, code, offset, ...)                                                         \
    (qr_fail_at(err, code, offset, __VA_ARGS__), qr_code(code))
#define qr_fail_errno(err, code, errnum, ...)                                                      \
    (qr_fail_errno(err, code, errnum, __VA_ARGS__), qr_code(code))
#define QR_INVARIANT(condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            __builtin_unreachable();                                                               \
    } while (0)
#else
#define QR_INVARIANT(condition) ((void)0)
#endif

/* Whether *err can be written: not NULL, and all zeros or as large as its first version. */
bool qr_error_writable(const struct quire_error *err);

/* Passes a printf-style message to the log hook. No-op when logger or its function is NULL. */
void qr_log(const struct quire_logger *logger, enum quire_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the status of expr from the enclosing function unless it is QUIRE_OK. */
#define QR_TRY(expr)                                                                               \
    do {                                                                                           \
        const quire_status qs_ = (expr);                                                           \
        if (qs_ != QUIRE_OK)                                                                       \
            return qs_;                                                                            \
    } while (0)

#endif
