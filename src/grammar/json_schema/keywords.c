/* SPDX-License-Identifier: Apache-2.0 */
/* keywords.c - the keywords of a schema that restrict values. */
#include "grammar/json_schema/keywords.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/decimal.h"
#include "grammar/json_schema/document.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct keyword {
    const char *name;
    size_t offset; /* in struct qr_keywords */
    enum qr_draft first, last;
};

static const struct keyword table[] = {
#define ROW(member, name, first, last) { name, offsetof(struct qr_keywords, member), first, last },
    QR_SCHEMA_KEYWORDS(ROW)
#undef ROW
};

static int compare(const void *name, const void *row)
{
    return strcmp(name, ((const struct keyword *)row)->name);
}

bool qr_keywords_read(struct qr_schema *s, const struct qr_json *schema, struct qr_keywords *out)
{
    const enum qr_draft draft = qr_document_draft(s->document);
    *out = (struct qr_keywords){ .schema = schema };
    if (!qr_json_is_object(schema))
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, schema, NULL,
                              "a schema is an object or a boolean");
    for (struct qr_json_iter i = qr_json_iterate(schema); qr_json_next(&i);) {
        const struct keyword *k =
            bsearch(i.key, table, sizeof table / sizeof *table, sizeof *table, compare);
        if (k && draft >= k->first && draft <= k->last)
            memcpy((char *)out + k->offset, &i.value, sizeof i.value);
    }
    if (draft <= QR_DRAFT_7 && out->ref)
        *out = (struct qr_keywords){ .schema = schema, .ref = out->ref };
    return true;
}

bool qr_keyword_count(struct qr_schema *s, const struct qr_json *schema, const char *name,
                      const struct qr_json *value, uint32_t absent, uint32_t *out)
{
    struct qr_decimal d;
    uint64_t n = 0;
    *out = absent;
    if (!value)
        return true;
    if (!qr_json_is_number(value))
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, schema, name, "must be an integer >= 0");
    if (!qr_decimal_read(s, value, &d))
        return false;
    if (d.negative || !qr_decimal_is_integer(&d))
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, schema, name, "must be an integer >= 0");
    for (int64_t i = 0; i < d.n + d.exponent && d.n && n < QR_UNLIMITED; i++)
        n = 10 * n + (i < d.n ? (uint64_t)(d.digits[i] - '0') : 0);
    *out = n < QR_UNLIMITED ? (uint32_t)n : QR_UNLIMITED;
    return true;
}
