/* SPDX-License-Identifier: Apache-2.0 */
/* unknown.h - keys and tensors that the description of a model family does not account for. */
#ifndef QR_MODEL_CONFIG_UNKNOWN_H
#define QR_MODEL_CONFIG_UNKNOWN_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>

struct qr_ignored_key;

/* Such a key may ask for a computation that quire does not perform, so it is an error unless the
 * host allows it. A NULL policy allows nothing. */
struct qr_unknown_policy {
    bool allow;                        /* warnings instead of errors */
    const struct quire_logger *logger; /* receives the warnings; may be NULL */
};

/* Reports one of them: QUIRE_E_UNSUPPORTED with the printf-style message, or a warning. */
quire_status qr_unknown_report(const struct qr_unknown_policy *policy, struct quire_error *err,
                               const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Whether text matches a pattern, in which a '*' at the begin or the end stands for any
 * characters. */
bool qr_name_matches(const char *pattern, const char *text);

/* The entry of a list (may be NULL) that matches a key, or NULL. */
const struct qr_ignored_key *qr_ignored_find(const struct qr_ignored_key *list, const char *key);

#endif
