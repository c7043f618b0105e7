/* SPDX-License-Identifier: Apache-2.0 */
/* keywords_string.c - the keywords of strings. */
#include "grammar/json_schema/keywords_string.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/pattern.h"
#include "grammar/regex/json_string.h"

static qr_regex and2(struct qr_schema *s, qr_regex a, qr_regex b)
{
    return qr_regex_and(s->regexes, (qr_regex[]){ a, b }, 2);
}

static bool add_length(struct qr_schema *s, uint32_t min, uint32_t max, struct qr_value_set *out)
{
    static const struct qr_char_range all = { 0, 0x10FFFF };
    if (min > max) {
        out->strings = out->raw = QR_REGEX_NONE;
        return true;
    }
    out->strings = and2(s, out->strings, qr_json_any_string(s->regexes, min, max));
    if (s->with_raw)
        out->raw = and2(s, out->raw,
                        qr_regex_repeat(s->regexes, qr_utf8_class(s->regexes, &all, 1), min, max));
    return true;
}

bool qr_keywords_string(struct qr_schema *s, const struct qr_keywords *k, struct qr_value_set *out)
{
    uint32_t min, max;
    struct qr_value_set set;
    if (!qr_keyword_count(s, k->schema, "minLength", k->min_length, 0, &min) ||
        !qr_keyword_count(s, k->schema, "maxLength", k->max_length, QR_UNLIMITED, &max))
        return false;
    if (k->pattern) {
        if (!qr_json_is_string(k->pattern))
            return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, "pattern", "must be a string");
        if (!qr_schema_pattern(s, k->schema, "pattern", qr_json_string(k->pattern), &set))
            return false;
        out->strings = and2(s, out->strings, set.strings);
        out->raw = and2(s, out->raw, set.raw);
    }
    if (k->format && qr_json_is_string(k->format)) {
        if (!qr_schema_format(s, k->schema, qr_json_string(k->format), &set))
            return false;
        out->strings = and2(s, out->strings, set.strings);
        out->raw = and2(s, out->raw, set.raw);
    }
    if (min || max != QR_UNLIMITED)
        add_length(s, min, max, out);
    return qr_schema_check(s);
}
