/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/string_format.h"
#include "grammar/regex/string_format_rules.h"
#include <string.h>

/* Names of rules too. */
static const char *const supported[] = {
    "date",          "time",         "date-time",     "duration",
    "email",         "hostname",     "ipv4",          "ipv6",
    "uuid",          "uri",          "uri-reference", "iri",
    "iri-reference", "uri-template", "json-pointer",  "relative-json-pointer",
};
/* idn-*: the properties of characters (RFC 5892) and Bidi rules of labels; regex: balanced. */
static const char *const unsupported[] = { "regex", "idn-hostname", "idn-email" };

quire_status qr_string_format(struct qr_regex_set *set, const char *name, bool json, qr_regex *out)
{
    struct qr_formats f = { .set = set, .json = json };
    *out = QR_REGEX_NONE;
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (strcmp(name, unsupported[i]) == 0)
            return QUIRE_E_UNSUPPORTED;
    for (size_t i = 0; i < sizeof supported / sizeof *supported; i++) {
        if (strcmp(name, supported[i]) != 0)
            continue;
        *out = qr_format_rule(&f, name);
        return qr_regex_set_status(set);
    }
    return QUIRE_E_INVALID_ARG;
}
