/* SPDX-License-Identifier: Apache-2.0 */
/* dependencies.c - dependencies, dependentRequired, dependentSchemas. */
#include "grammar/json_schema/dependencies.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/normalize.h"
#include "grammar/json_schema/object_set.h"
#include "grammar/json_schema/value_set.h"

/* All values; of objects those in which the keys are required, or the first is absent. */
static bool set_of_keys(struct qr_schema *s, const struct qr_list *keys, bool absent,
                        struct qr_value_set *out)
{
    const uint32_t n = absent ? 1 : keys->n;
    struct qr_object_alt *alt = qr_schema_alloc(s, 1, sizeof *alt);
    struct qr_property *list = qr_schema_alloc(s, n, sizeof *list);
    if (!alt || !list)
        return false;
    for (uint32_t i = 0; i < n; i++)
        list[i] = (struct qr_property){ ((const uint32_t *)keys->items)[i],
                                        absent ? QR_EXPR_NONE : QR_EXPR_ALL, !absent };
    *alt = qr_object_any;
    alt->properties = list;
    alt->n_properties = n;
    *out = qr_set_of_types(absent ? QR_TYPE_ALL : QR_TYPE_OBJECT);
    out->objects = alt;
    return true;
}

static bool add_key(struct qr_schema *s, struct qr_list *keys, const char *text)
{
    const uint32_t id = qr_key_id(s, text, strlen(text)), *known = keys->items;
    for (uint32_t i = 0; i < keys->n; i++)
        if (known[i] == id)
            return true;
    return id != UINT32_MAX && qr_list_push(s, keys, &id, sizeof id);
}

/* One dependency: the key is absent, or it is present with what it needs. */
static QR_OWN_FRAME bool depend(struct qr_schema *s, const struct qr_keywords *k,
                                const char *keyword, const char *key, const struct qr_json *need,
                                struct qr_value_set *set)
{
    struct qr_list keys = { 0 };
    struct qr_value_set absent, present, both, before = *set;
    const struct qr_value_set *schema = NULL;
    if (!add_key(s, &keys, key))
        return false;
    for (struct qr_json_iter i = qr_json_iterate(need); qr_json_is_array(need) && qr_json_next(&i);)
        if (!qr_json_is_string(i.value))
            return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, keyword,
                                  "the keys that \"%.60s\" needs must be strings", key);
        else if (!add_key(s, &keys, qr_json_string(i.value)))
            return false;
    if (!set_of_keys(s, &keys, true, &absent) || !set_of_keys(s, &keys, false, &present))
        return false;
    if (!qr_json_is_array(need)) {
        schema = qr_normalize(s, qr_expr_schema(s, need));
        both = present;
        if (!schema || !qr_set_and(s, &both, schema, &present))
            return false;
    }
    return qr_set_or(s, &absent, &present, &both) && qr_set_and(s, &before, &both, set);
}

static bool depend_all(struct qr_schema *s, const struct qr_keywords *k, const char *keyword,
                       const struct qr_json *map, struct qr_value_set *set)
{
    if (!map)
        return true;
    if (!qr_json_is_object(map))
        return qr_schema_fail(s, QUIRE_E_INVALID_ARG, k->schema, keyword, "must be an object");
    for (struct qr_json_iter i = qr_json_iterate(map); qr_json_next(&i);)
        if (!depend(s, k, keyword, i.key, i.value, set)) {
            if (!s->failure.at) {
                s->failure.at = k->schema;
                s->failure.keyword = keyword;
            }
            return false;
        }
    return true;
}

bool qr_apply_dependencies(struct qr_schema *s, const struct qr_keywords *k,
                           struct qr_value_set *set)
{
    return depend_all(s, k, "dependencies", k->dependencies, set) &&
           depend_all(s, k, "dependentRequired", k->dependent_required, set) &&
           depend_all(s, k, "dependentSchemas", k->dependent_schemas, set);
}
