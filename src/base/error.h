/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - filling struct quire_error; used by every layer. */
#ifndef QR_BASE_ERROR_H
#define QR_BASE_ERROR_H
#include <quire/status.h>
#include <stdbool.h>

/* Writes code and a printf-style message to err (may be NULL) and returns code, so that a failure is one
 * line: return qr_fail(err, QUIRE_E_RANGE, "block_table[%zu] = %d", i, id); */
quire_status qr_fail(struct quire_error *err, quire_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Same, with the byte offset in the file that is being read. */
quire_status qr_fail_at(struct quire_error *err, quire_status code, uint64_t offset,
                        const char *fmt, ...) __attribute__((format(printf, 4, 5), cold));

/* Same, with an errno value; appends its text. */
quire_status qr_fail_errno(struct quire_error *err, quire_status code, int errnum, const char *fmt,
                           ...) __attribute__((format(printf, 4, 5), cold));

/* Whether *err can be written: not NULL, and as large as its first version or all zeros. */
bool qr_error_writable(const struct quire_error *err);

/* Sends a printf-style message to a log hook; does nothing when it is NULL or has no function. */
void qr_log(const struct quire_logger *logger, enum quire_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns early from a function that returns quire_status. */
#define QR_TRY(expr)                                                                               \
    do {                                                                                           \
        const quire_status qs_ = (expr);                                                           \
        if (qs_ != QUIRE_OK)                                                                       \
            return qs_;                                                                            \
    } while (0)

#endif
