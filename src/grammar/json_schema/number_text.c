/* SPDX-License-Identifier: Apache-2.0 */
/* number_text.c - the JSON texts of numbers. */
#include "grammar/json_schema/number_text.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/decimal.h"
#include "grammar/regex/number_range.h"

static bool bound_text(struct qr_schema *s, const struct qr_decimal *d, const char **out)
{
    *out = d ? qr_decimal_text(s, d) : NULL;
    return !d || *out;
}

qr_regex qr_number_regex(struct qr_schema *s, const struct qr_number_alt *alt)
{
    static const enum qr_number_kind kinds[] = { [QR_ANY_NUMBER] = QR_NUMBER_ANY,
                                                 [QR_INTEGER] = QR_NUMBER_INTEGER,
                                                 [QR_FRACTIONAL] = QR_NUMBER_FRACTIONAL };
    struct qr_number_range range = { .min_exclusive = alt->low_open,
                                     .max_exclusive = alt->high_open,
                                     .kind = kinds[alt->integrality],
                                     .n_multiples = alt->n_multiples };
    struct qr_number_multiple *multiples = qr_schema_alloc(s, alt->n_multiples, sizeof *multiples);
    const char *which = "";
    qr_regex out;
    if (!multiples || !bound_text(s, alt->low, &range.min) || !bound_text(s, alt->high, &range.max))
        return QR_REGEX_NONE;
    for (uint32_t i = 0; i < alt->n_multiples; i++) {
        multiples[i].negated = alt->multiples[i].negated;
        if (!bound_text(s, &alt->multiples[i].of, &multiples[i].divisor))
            return QR_REGEX_NONE;
    }
    range.multiples = multiples;
    const quire_status status = qr_number_range(s->regexes, &range, &out, &which);
    if (status == QUIRE_OK)
        return out;
    qr_schema_fail(s, status, NULL, NULL, "numbers with the bound or divisor %.60s", which);
    return QR_REGEX_NONE;
}
