/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c - regular expressions and formats of strings. */
#include "grammar/json_schema/pattern.h"
#include "grammar/json_schema/context.h"
#include "grammar/regex/regex_syntax.h"
#include "grammar/regex/string_format.h"
#include <string.h>

static QR_OWN_FRAME bool parse(struct qr_schema *s, const struct qr_json *at, const char *keyword,
                               const char *pattern, uint32_t flags, qr_regex *out)
{
    struct quire_error err = { 0 };
    const quire_status status =
        qr_regex_parse(s->regexes, pattern, strlen(pattern), flags, s->f->deadline, out, &err);
    return status == QUIRE_OK || qr_schema_fail(s, status, at, keyword, "%s", err.msg);
}

bool qr_schema_pattern(struct qr_schema *s, const struct qr_json *at, const char *keyword,
                       const char *pattern, struct qr_value_set *out)
{
    *out = (struct qr_value_set){ .strings = QR_REGEX_ANY, .raw = QR_REGEX_ANY };
    if (!*pattern)
        return true;
    return parse(s, at, keyword, pattern, QR_REGEX_SEARCH | QR_REGEX_JSON_STRING, &out->strings) &&
           (!s->with_raw || parse(s, at, keyword, pattern, QR_REGEX_SEARCH, &out->raw));
}

bool qr_schema_format(struct qr_schema *s, const struct qr_json *at, const char *name,
                      struct qr_value_set *out)
{
    *out = (struct qr_value_set){ .strings = QR_REGEX_ANY, .raw = QR_REGEX_ANY };
    quire_status status = qr_string_format(s->regexes, name, true, &out->strings);
    if (status == QUIRE_E_INVALID_ARG) { /* no standard format: an annotation */
        out->strings = QR_REGEX_ANY;
        return true;
    }
    if (status == QUIRE_OK && s->with_raw)
        status = qr_string_format(s->regexes, name, false, &out->raw);
    return status == QUIRE_OK ||
           qr_schema_fail(s, status, at, "format", "the format \"%.60s\"", name);
}
