/* SPDX-License-Identifier: Apache-2.0 */
/* schema_set.c - the value set of one schema. */
#include "grammar/json_schema/schema_set.h"
#include "grammar/json_schema/applicators.h"
#include "grammar/json_schema/dependencies.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/instance.h"
#include "grammar/json_schema/keywords_array.h"
#include "grammar/json_schema/keywords_number.h"
#include "grammar/json_schema/keywords_object.h"
#include "grammar/json_schema/keywords_string.h"
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/normalize.h"
#include "grammar/json_schema/unevaluated.h"
#include "grammar/json_schema/value_set.h"

/* ---- type */

static uint32_t type_by_name(const char *name, bool *integer)
{
    static const struct {
        const char *name;
        uint32_t types;
    } table[] = {
        { "null", QR_TYPE_NULL },     { "boolean", QR_TYPE_BOOLEAN }, { "integer", QR_TYPE_NUMBER },
        { "number", QR_TYPE_NUMBER }, { "string", QR_TYPE_STRING },   { "array", QR_TYPE_ARRAY },
        { "object", QR_TYPE_OBJECT },
    };
    for (size_t i = 0; name && i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0) {
            *integer = i == 2;
            return table[i].types;
        }
    return 0;
}

/* The types, and in *integers whether numbers must be integers. */
static bool read_types(struct qr_schema *s, const struct qr_keywords *k, uint32_t *types,
                       bool *integers)
{
    bool integer = false, number = false, any_integer = false;
    *types = k->type ? 0 : QR_TYPE_ALL;
    *integers = false;
    if (!k->type)
        return true;
    if (qr_json_is_string(k->type)) {
        *types = type_by_name(qr_json_string(k->type), integers);
        return *types || qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, "type",
                                        "\"%.60s\" is no type", qr_json_string(k->type));
    }
    for (struct qr_json_iter i = qr_json_iterate(k->type); qr_json_next(&i);) {
        const uint32_t t = type_by_name(qr_json_string(i.value), &integer);
        if (!t)
            return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, "type", "item %zu is no type",
                                  i.index);
        *types |= t;
        any_integer |= t == QR_TYPE_NUMBER && integer;
        number |= t == QR_TYPE_NUMBER && !integer;
    }
    *integers = any_integer && !number;
    return qr_json_is_array(k->type) || qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, "type",
                                                       "must be a string or an array of strings");
}

static QR_OWN_FRAME bool own_keywords(struct qr_schema *s, const struct qr_keywords *k,
                                      struct qr_value_set *out)
{
    uint32_t types;
    bool integers;
    if (!read_types(s, k, &types, &integers))
        return false;
    *out = qr_set_of_types(types);
    if (types & QR_TYPE_NUMBER && !qr_keywords_number(s, k, integers, out))
        return false;
    if (types & QR_TYPE_STRING && !qr_keywords_string(s, k, out))
        return false;
    if (types & QR_TYPE_ARRAY && !qr_keywords_array(s, k, out))
        return false;
    return !(types & QR_TYPE_OBJECT) || qr_keywords_object(s, k, out);
}

/* ---- enum and const */

struct value_lists {
    struct qr_list strings, raw, numbers, arrays, objects; /* qr_regex, alternatives */
};

static bool add_value(struct qr_schema *s, const struct qr_json *v, struct value_lists *lists,
                      struct qr_value_set *out)
{
    struct qr_value_set set;
    if (!qr_set_of_value(s, v, &set))
        return false;
    out->scalars |= set.scalars;
    return (set.strings == QR_REGEX_NONE ||
            (qr_list_push(s, &lists->strings, &set.strings, sizeof set.strings) &&
             qr_list_push(s, &lists->raw, &set.raw, sizeof set.raw))) &&
           (!set.n_numbers || qr_list_push(s, &lists->numbers, set.numbers, sizeof *set.numbers)) &&
           (!set.n_arrays || qr_list_push(s, &lists->arrays, set.arrays, sizeof *set.arrays)) &&
           (!set.n_objects || qr_list_push(s, &lists->objects, set.objects, sizeof *set.objects));
}

static void finish_values(struct qr_schema *s, const struct value_lists *lists,
                          struct qr_value_set *out)
{
    if (lists->strings.n) {
        out->strings = qr_regex_or(s->regexes, lists->strings.items, lists->strings.n);
        out->raw = qr_regex_or(s->regexes, lists->raw.items, lists->raw.n);
    }
    out->numbers = lists->numbers.items;
    out->n_numbers = lists->numbers.n;
    out->arrays = lists->arrays.items;
    out->n_arrays = lists->arrays.n;
    out->objects = lists->objects.items;
    out->n_objects = lists->objects.n;
}

/* The values of enum and const that are in *set. */
static QR_OWN_FRAME bool keep_values(struct qr_schema *s, const struct qr_keywords *k,
                                     struct qr_value_set *set)
{
    struct value_lists lists = { 0 };
    struct qr_value_set out = { 0 };
    bool has = true;
    if (k->constant && (!qr_set_has(s, set, k->constant, &has) ||
                        (has && !add_value(s, k->constant, &lists, &out))))
        return false;
    if (k->enumeration && !qr_json_is_array(k->enumeration))
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, "enum", "must be an array");
    for (struct qr_json_iter i = qr_json_iterate(k->constant ? NULL : k->enumeration);
         qr_json_next(&i);)
        if (!qr_set_has(s, set, i.value, &has) || (has && !add_value(s, i.value, &lists, &out)) ||
            (i.index % 64 == 0 && !qr_schema_check(s)))
            return false;
    bool listed = !k->constant || !k->enumeration;
    for (struct qr_json_iter i = qr_json_iterate(k->enumeration); !listed && qr_json_next(&i);)
        listed = qr_json_equal(i.value, k->constant);
    if (listed)
        finish_values(s, &lists, &out);
    else
        out = (struct qr_value_set){ 0 };
    *set = out;
    return qr_schema_check(s);
}

/* ---- The whole schema */

static QR_OWN_FRAME bool follow(struct qr_schema *s, const struct qr_keywords *k,
                                const struct qr_json *ref, const char *keyword,
                                struct qr_value_set *set)
{
    const struct qr_value_set before = *set, *target;
    if (!ref)
        return true;
    const struct qr_json *schema = qr_document_resolve(s, k->schema, keyword);
    if (!schema)
        return false;
    target = qr_normalize(s, qr_expr_schema(s, schema));
    return target && qr_set_and(s, &before, target, set);
}

bool qr_set_of_schema(struct qr_schema *s, const struct qr_json *schema, struct qr_value_set *out)
{
    struct qr_keywords *k = qr_schema_alloc(s, 1, sizeof *k); /* not on the stack of a recursion */
    if (!k || !qr_keywords_read(s, schema, k) || !own_keywords(s, k, out))
        return false;
    if ((k->enumeration || k->constant) && !keep_values(s, k, out))
        return false;
    if (!qr_mark_evaluated(s, k, out))
        return false;
    return follow(s, k, k->ref, "$ref", out) && follow(s, k, k->dynamic_ref, "$dynamicRef", out) &&
           follow(s, k, k->recursive_ref, "$recursiveRef", out) && qr_apply_subschemas(s, k, out) &&
           qr_apply_dependencies(s, k, out) && qr_apply_unevaluated(s, k, out);
}
