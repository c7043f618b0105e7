/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c - values of the document as sets, and as members of sets. */
#include "grammar/json_schema/instance.h"
#include "grammar/json_schema/array_set.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/decimal.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/normalize.h"
#include "grammar/json_schema/number_set.h"
#include "grammar/json_schema/object_set.h"
#include "grammar/json_schema/value_set.h"
#include <string.h>

/* ---- A value as a set */

static bool number_set(struct qr_schema *s, const struct qr_json *v, struct qr_value_set *out)
{
    struct qr_number_alt *alt = qr_schema_alloc(s, 1, sizeof *alt);
    struct qr_decimal *value = qr_schema_alloc(s, 1, sizeof *value);
    if (!alt || !value || !qr_decimal_read(s, v, value))
        return false;
    alt->low = alt->high = value;
    out->numbers = alt;
    out->n_numbers = 1;
    return true;
}

static bool array_set(struct qr_schema *s, const struct qr_json *v, struct qr_value_set *out)
{
    const size_t n = qr_json_size(v);
    struct qr_array_alt *alt = qr_schema_alloc(s, 1, sizeof *alt);
    qr_expr *prefix = qr_schema_alloc(s, n, sizeof *prefix);
    if (!alt || !prefix)
        return false;
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);)
        prefix[i.index] = qr_expr_value(s, i.value);
    *alt = (struct qr_array_alt){ .prefix = prefix,
                                  .n_prefix = (uint32_t)n,
                                  .rest = QR_EXPR_NONE,
                                  .min = (uint32_t)n,
                                  .max = (uint32_t)n };
    out->arrays = alt;
    out->n_arrays = 1;
    return qr_schema_ok(s);
}

static bool object_set(struct qr_schema *s, const struct qr_json *v, struct qr_value_set *out)
{
    const size_t n = qr_json_size(v);
    struct qr_object_alt *alt = qr_schema_alloc(s, 1, sizeof *alt);
    struct qr_property *list = qr_schema_alloc(s, n, sizeof *list);
    if (!alt || !list)
        return false;
    for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);) {
        const uint32_t key = qr_key_id(s, i.key, strlen(i.key));
        if (key == UINT32_MAX)
            return false;
        list[i.index] = (struct qr_property){ key, qr_expr_value(s, i.value), true };
    }
    *alt = (struct qr_object_alt){
        .properties = list, .n_properties = (uint32_t)n, .min = (uint32_t)n, .max = (uint32_t)n
    };
    out->objects = alt;
    out->n_objects = 1;
    return qr_schema_ok(s);
}

static void set_string(struct qr_schema *s, const struct qr_json *v, struct qr_value_set *out)
{
    const char *text = qr_json_string(v);
    const size_t size = qr_json_string_size(v);
    out->strings = qr_string_literal(s, text, size);
    if (s->with_raw)
        out->raw = qr_regex_literal(s->regexes, text, size);
}

bool qr_set_of_value(struct qr_schema *s, const struct qr_json *v, struct qr_value_set *out)
{
    *out = (struct qr_value_set){ 0 };
    if (qr_json_is_null(v))
        out->scalars = QR_TYPE_NULL;
    else if (qr_json_is_bool(v))
        out->scalars = qr_json_is_true(v) ? QR_TYPE_TRUE : QR_TYPE_FALSE;
    else if (qr_json_is_string(v))
        set_string(s, v, out);
    else if (qr_json_is_number(v))
        return number_set(s, v, out);
    else
        return qr_json_is_array(v) ? array_set(s, v, out) : object_set(s, v, out);
    return qr_schema_ok(s);
}

/* ---- Membership */

static bool expr_has(struct qr_schema *s, qr_expr e, const struct qr_json *value, bool *has)
{
    *has = e == QR_EXPR_ALL;
    if (e == QR_EXPR_ALL || e == QR_EXPR_NONE)
        return true;
    const struct qr_value_set *set = qr_normalize(s, e);
    return set && qr_set_has(s, set, value, has);
}

static bool numbers_have(struct qr_schema *s, const struct qr_value_set *a, const struct qr_json *v,
                         bool *has)
{
    struct qr_decimal value;
    bool known = true;
    if (!a->n_numbers)
        return true;
    if (!qr_decimal_read(s, v, &value))
        return false;
    for (uint32_t i = 0; i < a->n_numbers && !*has; i++) {
        *has = qr_number_in(&a->numbers[i], &value, &known);
        if (!known)
            return qr_schema_fail(s, QUIRE_E_UNSUPPORTED, v, NULL,
                                  "the number has too many digits for multipleOf");
    }
    return true;
}

static bool array_alt_has(struct qr_schema *s, const struct qr_array_alt *a,
                          const struct qr_json *v, bool *has)
{
    const size_t n = qr_json_size(v);
    bool found = false;
    *has = n >= a->min && n <= a->max;
    for (struct qr_json_iter i = qr_json_iterate(v); *has && qr_json_next(&i);) {
        if (!expr_has(s, qr_array_item(a, (uint32_t)i.index), i.value, has))
            return false;
        struct qr_json_iter k = i;
        while (a->unique && *has && qr_json_next(&k))
            *has = !qr_json_equal(i.value, k.value);
    }
    for (uint32_t c = 0; *has && c < a->n_contains; c++) {
        uint32_t count = 0;
        for (struct qr_json_iter i = qr_json_iterate(v); qr_json_next(&i);) {
            if (!expr_has(s, a->contains[c].item, i.value, &found))
                return false;
            count += found && i.index >= a->contains[c].from;
        }
        *has = count >= a->contains[c].min && count <= a->contains[c].max;
    }
    return true;
}

static bool member_in(struct qr_schema *s, const struct qr_object_alt *a, const char *name,
                      const struct qr_json *value, bool *has)
{
    const uint32_t key = qr_key_id(s, name, strlen(name));
    if (key == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < a->n_properties; i++)
        if (a->properties[i].key == key)
            return expr_has(s, a->properties[i].value, value, has);
    return expr_has(s, qr_object_region_value(s, a, key), value, has);
}

static bool object_alt_has(struct qr_schema *s, const struct qr_object_alt *a,
                           const struct qr_json *v, bool *has)
{
    const size_t n = qr_json_size(v);
    *has = n >= a->min && n <= a->max;
    for (struct qr_json_iter i = qr_json_iterate(v); *has && qr_json_next(&i);)
        if (!member_in(s, a, i.key, i.value, has))
            return false;
    for (uint32_t i = 0; *has && i < a->n_properties; i++) {
        size_t size;
        const char *text = qr_key_text(s, a->properties[i].key, &size);
        *has = !a->properties[i].required || qr_json_get_n(v, text, size);
    }
    for (uint32_t i = 0; *has && i < a->n_exists; i++) {
        *has = false;
        for (struct qr_json_iter k = qr_json_iterate(v); !*has && qr_json_next(&k);)
            *has = qr_string_matches(s, a->exists[i], k.key, strlen(k.key));
    }
    return true;
}

static bool containers_have(struct qr_schema *s, const struct qr_value_set *a,
                            const struct qr_json *value, bool *has)
{
    bool ok = true;
    if (s->depth >= QR_SCHEMA_MAX_DEPTH)
        return qr_schema_fail(s, QUIRE_E_LIMIT, value, NULL, "nested too deeply");
    s->depth++;
    if (qr_json_is_array(value))
        for (uint32_t i = 0; i < a->n_arrays && !*has && ok; i++)
            ok = array_alt_has(s, &a->arrays[i], value, has);
    else
        for (uint32_t i = 0; i < a->n_objects && !*has && ok; i++)
            ok = object_alt_has(s, &a->objects[i], value, has);
    s->depth--;
    return ok;
}

bool qr_set_has(struct qr_schema *s, const struct qr_value_set *a, const struct qr_json *v,
                bool *has)
{
    *has = false;
    if (qr_json_is_null(v))
        *has = a->scalars & QR_TYPE_NULL;
    else if (qr_json_is_bool(v))
        *has = a->scalars & (qr_json_is_true(v) ? QR_TYPE_TRUE : QR_TYPE_FALSE);
    else if (qr_json_is_string(v))
        *has = qr_string_matches(s, a->strings, qr_json_string(v), qr_json_string_size(v));
    else if (qr_json_is_number(v))
        return numbers_have(s, a, v, has);
    else
        return containers_have(s, a, v, has);
    return qr_schema_ok(s);
}
