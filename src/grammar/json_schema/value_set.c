/* SPDX-License-Identifier: Apache-2.0 */
/* value_set.c - sets of JSON values. */
#include "grammar/json_schema/value_set.h"
#include "grammar/json_schema/array_set.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/number_set.h"
#include "grammar/json_schema/object_set.h"

struct qr_value_set qr_set_of_types(uint32_t types)
{
    struct qr_value_set set = { .scalars = types & QR_TYPE_SCALAR };
    if (types & QR_TYPE_STRING)
        set.strings = set.raw = QR_REGEX_ANY;
    if (types & QR_TYPE_NUMBER) {
        set.numbers = &qr_number_any;
        set.n_numbers = 1;
    }
    if (types & QR_TYPE_ARRAY) {
        set.arrays = &qr_array_any;
        set.n_arrays = 1;
    }
    if (types & QR_TYPE_OBJECT) {
        set.objects = &qr_object_any;
        set.n_objects = 1;
    }
    return set;
}

static qr_regex and2(struct qr_schema *s, qr_regex a, qr_regex b)
{
    return qr_regex_and(s->regexes, (qr_regex[]){ a, b }, 2);
}

bool qr_set_and(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                struct qr_value_set *out)
{
    *out = (struct qr_value_set){ .scalars = a->scalars & b->scalars,
                                  .strings = and2(s, a->strings, b->strings),
                                  .raw = and2(s, a->raw, b->raw) };
    return qr_numbers_and(s, a, b, out) && qr_arrays_and(s, a, b, out) &&
           qr_objects_and(s, a, b, out);
}

bool qr_set_or(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
               struct qr_value_set *out)
{
    *out =
        (struct qr_value_set){ .scalars = a->scalars | b->scalars,
                               .strings = qr_regex_or(s->regexes,
                                                      (qr_regex[]){ a->strings, b->strings }, 2),
                               .raw = qr_regex_or(s->regexes, (qr_regex[]){ a->raw, b->raw }, 2) };
    return qr_numbers_or(s, a, b, out) && qr_arrays_or(s, a, b, out) && qr_objects_or(s, a, b, out);
}

static qr_regex without(struct qr_schema *s, qr_regex a, qr_regex b, qr_regex any)
{
    return and2(s, a == QR_REGEX_ANY ? any : a, qr_regex_not(s->regexes, b));
}

bool qr_set_minus(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                  struct qr_value_set *out)
{
    const uint32_t overlap = qr_set_overlap(s, a, b);
    struct qr_value_set not_b;
    *out = *a;
    out->scalars &= ~b->scalars;
    if (overlap & QR_TYPE_STRING) {
        out->strings = without(s, a->strings, b->strings, s->any_string);
        out->raw = without(s, a->raw, b->raw, s->any_raw);
    }
    not_b = (struct qr_value_set){ 0 };
    if (overlap & QR_TYPE_NUMBER &&
        (!qr_numbers_not(s, b, &not_b) || !qr_numbers_and(s, a, &not_b, out)))
        return false;
    if (overlap & QR_TYPE_ARRAY &&
        (!qr_arrays_not(s, b, &not_b) || !qr_arrays_and(s, a, &not_b, out)))
        return false;
    if (overlap & QR_TYPE_OBJECT &&
        (!qr_objects_not(s, b, &not_b) || !qr_objects_and(s, a, &not_b, out)))
        return false;
    return qr_schema_ok(s);
}

/* ---- Disjointness and emptiness */

static QR_OWN_FRAME bool numbers_overlap(struct qr_schema *s, const struct qr_value_set *a,
                                         const struct qr_value_set *b)
{
    struct qr_value_set both = { 0 };
    if (!a->n_numbers || !b->n_numbers || !qr_numbers_and(s, a, b, &both))
        return a->n_numbers && b->n_numbers;
    for (uint32_t i = 0; i < both.n_numbers; i++)
        if (!qr_number_is_none(s, &both.numbers[i]))
            return true;
    return false;
}

static QR_OWN_FRAME bool arrays_overlap(struct qr_schema *s, const struct qr_value_set *a,
                                        const struct qr_value_set *b)
{
    for (uint32_t i = 0; i < a->n_arrays; i++)
        for (uint32_t k = 0; k < b->n_arrays; k++)
            if (!qr_arrays_disjoint(s, &a->arrays[i], &b->arrays[k]) || !qr_schema_check(s))
                return true;
    return false;
}

static QR_OWN_FRAME bool objects_overlap(struct qr_schema *s, const struct qr_value_set *a,
                                         const struct qr_value_set *b)
{
    for (uint32_t i = 0; i < a->n_objects; i++)
        for (uint32_t k = 0; k < b->n_objects; k++)
            if (!qr_objects_disjoint(s, &a->objects[i], &b->objects[k]) || !qr_schema_check(s))
                return true;
    return false;
}

uint32_t qr_set_overlap(struct qr_schema *s, const struct qr_value_set *a,
                        const struct qr_value_set *b)
{
    uint32_t types = a->scalars & b->scalars;
    if (a->strings != QR_REGEX_NONE && b->strings != QR_REGEX_NONE &&
        !qr_string_is_none(s, and2(s, a->strings, b->strings)))
        types |= QR_TYPE_STRING;
    if (numbers_overlap(s, a, b))
        types |= QR_TYPE_NUMBER;
    if (arrays_overlap(s, a, b))
        types |= QR_TYPE_ARRAY;
    if (objects_overlap(s, a, b))
        types |= QR_TYPE_OBJECT;
    return types;
}

bool qr_set_is_none(struct qr_schema *s, const struct qr_value_set *a)
{
    if (a->scalars || !qr_string_is_none(s, a->strings))
        return false;
    for (uint32_t i = 0; i < a->n_numbers; i++)
        if (!qr_number_is_none(s, &a->numbers[i]))
            return false;
    for (uint32_t i = 0; i < a->n_arrays; i++)
        if (!qr_array_is_none(s, &a->arrays[i]))
            return false;
    for (uint32_t i = 0; i < a->n_objects; i++)
        if (!qr_object_is_none(s, &a->objects[i]))
            return false;
    return true;
}
