/* SPDX-License-Identifier: Apache-2.0 */
/* reach.c - the expressions that a root needs, and which of them have values. */
#include "grammar/json_schema/reach.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/normalize.h"
#include "grammar/json_schema/number_set.h"

/* ---- Collection */

static bool need(struct qr_schema *s, struct qr_reach *reach, qr_expr e)
{
    const struct qr_reached entry = { .expr = e };
    if (e == QR_EXPR_NONE || qr_expr_get(s, e)->reached)
        return qr_schema_ok(s);
    if (!qr_list_push(s, &reach->list, &entry, sizeof entry))
        return false;
    qr_expr_get(s, e)->reached = reach->list.n;
    return true;
}

static bool need_children(struct qr_schema *s, struct qr_reach *reach, const struct qr_shape *shape)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < shape->n_objects; i++) {
        const struct qr_object_alt *alt = shape->objects[i].alt;
        for (uint32_t k = 0; ok && k < alt->n_properties; k++)
            ok = need(s, reach, alt->properties[k].value);
        for (uint32_t k = 0; ok && k < alt->n_regions; k++)
            ok = need(s, reach, alt->regions[k].value);
    }
    for (uint32_t i = 0; ok && i < shape->n_arrays; i++) {
        const struct qr_array_shape *a = &shape->arrays[i];
        for (uint32_t k = 0; ok && k < a->n_prefix && k < a->max; k++)
            ok = need(s, reach, a->prefix[k]);
        for (uint32_t k = 0; ok && k < a->n_once; k++)
            ok = need(s, reach, a->once[k]);
        if (ok && a->max > a->n_prefix)
            ok = need(s, reach, a->rest);
    }
    return ok;
}

static bool collect(struct qr_schema *s, struct qr_reach *reach)
{
    for (uint32_t i = 0; i < reach->list.n; i++) {
        struct qr_shape shape;
        const qr_expr e = ((const struct qr_reached *)reach->list.items)[i].expr;
        const struct qr_value_set *set = qr_normalize(s, e);
        bool ok = set && qr_shape_of(s, set, &shape);
        if (!ok && !s->failure.at)
            s->failure.at = qr_expr_get(s, e)->json;
        if (!ok)
            return false;
        ((struct qr_reached *)reach->list.items)[i].shape = shape;
        if (!need_children(s, reach, &shape))
            return false;
    }
    return true;
}

/* ---- Values of finite size */

struct qr_reached *qr_reached_get(const struct qr_schema *s, const struct qr_reach *reach,
                                  qr_expr e)
{
    return (struct qr_reached *)reach->list.items + (qr_expr_get(s, e)->reached - 1);
}

bool qr_is_productive(const struct qr_schema *s, const struct qr_reach *reach, qr_expr e)
{
    return e != QR_EXPR_NONE && qr_expr_get(s, e)->reached &&
           qr_reached_get(s, reach, e)->productive;
}

bool qr_object_is_productive(const struct qr_schema *s, const struct qr_reach *reach,
                             const struct qr_object_shape *shape)
{
    const struct qr_object_alt *alt = shape->alt;
    uint32_t required = shape->n_exists, possible = 0;
    bool region = false;
    for (uint32_t i = 0; i < alt->n_properties; i++) {
        const bool productive = qr_is_productive(s, reach, alt->properties[i].value);
        if (alt->properties[i].required && !productive)
            return false;
        required += alt->properties[i].required;
        possible += productive;
    }
    for (uint32_t i = 0; i < alt->n_regions && !region; i++)
        region = qr_is_productive(s, reach, alt->regions[i].value);
    return required <= alt->max && alt->min <= alt->max && (region || !shape->n_exists) &&
           (region || possible >= alt->min);
}

uint32_t qr_array_max(const struct qr_schema *s, const struct qr_reach *reach,
                      const struct qr_array_shape *shape)
{
    for (uint32_t i = 0; i < shape->n_prefix && i < shape->max; i++)
        if (!qr_is_productive(s, reach, shape->prefix[i]))
            return i;
    if (shape->max <= shape->n_prefix || qr_is_productive(s, reach, shape->rest))
        return shape->max;
    uint32_t max = shape->n_prefix;
    for (uint32_t i = 0; i < shape->n_once; i++)
        max += qr_is_productive(s, reach, shape->once[i]);
    return max < shape->max ? max : shape->max;
}

bool qr_array_is_productive(const struct qr_schema *s, const struct qr_reach *reach,
                            const struct qr_array_shape *shape)
{
    const uint32_t max = qr_array_max(s, reach, shape);
    for (uint32_t i = 0; i < shape->n_required; i++)
        if (!qr_is_productive(s, reach, shape->once[i]))
            return false;
    return shape->min <= max && (!shape->n_required || max >= shape->n_prefix + shape->n_required);
}

static bool has_scalar(struct qr_schema *s, const struct qr_value_set *set)
{
    if (set->scalars || !qr_string_is_none(s, set->strings))
        return true;
    for (uint32_t i = 0; i < set->n_numbers; i++)
        if (!qr_number_is_none(s, &set->numbers[i]))
            return true;
    return false;
}

static bool has_container(struct qr_schema *s, const struct qr_reach *reach,
                          const struct qr_shape *shape)
{
    for (uint32_t i = 0; i < shape->n_objects; i++)
        if (qr_object_is_productive(s, reach, &shape->objects[i]))
            return true;
    for (uint32_t i = 0; i < shape->n_arrays; i++)
        if (qr_array_is_productive(s, reach, &shape->arrays[i]))
            return true;
    return false;
}

/* Least fixpoint: in each round at least one expression is found to have a value. */
static bool find_productive(struct qr_schema *s, struct qr_reach *reach)
{
    struct qr_reached *list = reach->list.items;
    for (uint32_t i = 0; i < reach->list.n; i++) {
        list[i].productive = has_scalar(s, list[i].shape.set);
        if (i % 64 == 0 && !qr_schema_check(s))
            return false;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = reach->list.n; i-- > 0;)
            if (!list[i].productive && has_container(s, reach, &list[i].shape))
                list[i].productive = changed = true;
        if (!qr_schema_check(s))
            return false;
    }
    return true;
}

bool qr_reach(struct qr_schema *s, qr_expr root, struct qr_reach *out)
{
    *out = (struct qr_reach){ 0 };
    if (!need(s, out, root) || !collect(s, out) || !find_productive(s, out))
        return false;
    return qr_is_productive(s, out, root) ||
           qr_schema_fail(s, QUIRE_E_UNSUPPORTED, NULL, NULL, "no value satisfies the schema");
}
