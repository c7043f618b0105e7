/* SPDX-License-Identifier: Apache-2.0 */
/* unknown.c - keys and tensors that the description of a model family does not account for. */
#include "model/config/unknown.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

quire_status qr_unknown_report(const struct qr_unknown_policy *policy, struct quire_error *err,
                               const char *fmt, ...)
{
    char message[sizeof((struct quire_error *)0)->msg];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (!policy || !policy->allow)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s", message);
    qr_log(policy->logger, QUIRE_LOG_WARN, "%s; results may be wrong", message);
    return QUIRE_OK;
}

bool qr_name_matches(const char *pattern, const char *text)
{
    const size_t n = strlen(pattern), m = strlen(text);
    if (pattern[0] == '*')
        return m + 1 >= n && strcmp(text + m + 1 - n, pattern + 1) == 0;
    if (n && pattern[n - 1] == '*')
        return strncmp(text, pattern, n - 1) == 0;
    return strcmp(pattern, text) == 0;
}

const struct qr_ignored_key *qr_ignored_find(const struct qr_ignored_key *list, const char *key)
{
    for (const struct qr_ignored_key *k = list; k && k->key; k++)
        if (qr_name_matches(k->key, key))
            return k;
    return NULL;
}
