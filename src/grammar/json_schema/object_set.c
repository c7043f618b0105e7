/* SPDX-License-Identifier: Apache-2.0 */
/* object_set.c - sets of objects: unions of alternatives. */
#include "grammar/json_schema/object_set.h"
#include "base/error.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/finite.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/list.h"
#include "grammar/json_schema/normalize.h"

static const struct qr_key_region any_region = { QR_REGEX_ANY, QR_EXPR_ALL };
const struct qr_object_alt qr_object_any = { .regions = &any_region,
                                             .n_regions = 1,
                                             .max = QR_UNLIMITED };

qr_expr qr_object_region_value(struct qr_schema *s, const struct qr_object_alt *alt, uint32_t key)
{
    size_t size;
    const char *text = qr_key_text(s, key, &size);
    for (uint32_t i = 0; i < alt->n_regions; i++)
        if (qr_string_matches(s, alt->regions[i].keys, text, size))
            return alt->regions[i].value;
    return QR_EXPR_NONE;
}

static void set_slots(struct qr_schema *s, const struct qr_object_alt *alt, bool used)
{
    uint32_t *slots = qr_key_slots(s);
    for (uint32_t i = 0; i < alt->n_properties; i++)
        slots[alt->properties[i].key] = used ? i + 1 : 0;
}

/* ---- Intersection */

/* Replaces contradictions, so that alternatives that need them are dropped. Not deep inside others:
 * there the question is only whether a contradiction is certain. */
static void prune(struct qr_schema *s, struct qr_property *list, uint32_t n,
                  const struct qr_object_alt *a)
{
    for (uint32_t i = 0; i < n && s->probing < 2; i++) {
        const bool same = i < a->n_properties && list[i].value == a->properties[i].value;
        if (!same && qr_expr_is_none(s, list[i].value))
            list[i].value = QR_EXPR_NONE;
    }
}

static bool and_properties(struct qr_schema *s, const struct qr_object_alt *a,
                           const struct qr_object_alt *b, struct qr_object_alt *out)
{
    const uint32_t *slots = qr_key_slots(s);
    struct qr_property *list = qr_schema_alloc(s, a->n_properties + b->n_properties, sizeof *list);
    uint32_t n = 0;
    if (!list)
        return false;
    set_slots(s, b, true);
    for (uint32_t i = 0; i < a->n_properties; i++) {
        struct qr_property p = a->properties[i];
        const uint32_t other = slots[p.key];
        if (other) {
            p.required |= b->properties[other - 1].required;
            p.value = qr_expr_and(s, p.value, b->properties[other - 1].value);
        } else {
            p.value = qr_expr_and(s, p.value, qr_object_region_value(s, b, p.key));
        }
        list[n++] = p;
    }
    set_slots(s, b, false);
    set_slots(s, a, true);
    for (uint32_t i = 0; i < b->n_properties; i++) {
        struct qr_property p = b->properties[i];
        if (slots[p.key])
            continue;
        p.value = qr_expr_and(s, p.value, qr_object_region_value(s, a, p.key));
        list[n++] = p;
    }
    set_slots(s, a, false);
    prune(s, list, n, a);
    out->properties = list;
    out->n_properties = n;
    return qr_schema_check(s);
}

static bool and_regions(struct qr_schema *s, const struct qr_object_alt *a,
                        const struct qr_object_alt *b, struct qr_object_alt *out)
{
    struct qr_list list = { 0 };
    for (uint32_t i = 0; i < a->n_regions; i++)
        for (uint32_t k = 0; k < b->n_regions; k++) {
            const qr_regex x = a->regions[i].keys, y = b->regions[k].keys;
            const struct qr_key_region r = { qr_regex_and(s->regexes, (qr_regex[]){ x, y }, 2),
                                             qr_expr_and(s, a->regions[i].value,
                                                         b->regions[k].value) };
            const bool derived = r.keys != x && r.keys != y;
            if (r.value == QR_EXPR_NONE || r.keys == QR_REGEX_NONE ||
                (derived && qr_string_is_none(s, r.keys)))
                continue;
            if (!qr_list_push(s, &list, &r, sizeof r) || !qr_schema_check(s))
                return false;
        }
    out->regions = list.items;
    out->n_regions = list.n;
    return true;
}

static bool and_exists(struct qr_schema *s, const struct qr_object_alt *a,
                       const struct qr_object_alt *b, struct qr_object_alt *out)
{
    if (!a->n_exists || !b->n_exists) {
        const struct qr_object_alt *from = a->n_exists ? a : b;
        out->exists = from->exists;
        out->n_exists = from->n_exists;
        return true;
    }
    qr_regex *list = qr_schema_alloc(s, a->n_exists + b->n_exists, sizeof *list);
    uint32_t n = a->n_exists;
    if (!list)
        return false;
    memcpy(list, a->exists, n * sizeof *list);
    for (uint32_t i = 0; i < b->n_exists; i++) {
        bool known = false;
        for (uint32_t k = 0; k < a->n_exists; k++)
            known |= a->exists[k] == b->exists[i];
        if (!known)
            list[n++] = b->exists[i];
    }
    out->exists = list;
    out->n_exists = n;
    return true;
}

bool qr_object_is_obviously_none(const struct qr_object_alt *a)
{
    uint32_t n_required = 0, n_possible = 0;
    for (uint32_t i = 0; i < a->n_properties; i++) {
        if (a->properties[i].required && a->properties[i].value == QR_EXPR_NONE)
            return true;
        n_required += a->properties[i].required;
        n_possible += a->properties[i].value != QR_EXPR_NONE;
    }
    return a->min > a->max || n_required > a->max || (!a->n_regions && n_possible < a->min) ||
           (!a->n_regions && !a->n_properties && a->n_exists);
}

static bool and_alt(struct qr_schema *s, const struct qr_object_alt *a,
                    const struct qr_object_alt *b, struct qr_object_alt *out)
{
    *out = (struct qr_object_alt){ .min = a->min > b->min ? a->min : b->min,
                                   .max = a->max < b->max ? a->max : b->max,
                                   .evaluated = a->evaluated };
    if (a->evaluated != b->evaluated)
        out->evaluated = qr_regex_or(s->regexes, (qr_regex[]){ a->evaluated, b->evaluated }, 2);
    return and_properties(s, a, b, out) && and_regions(s, a, b, out) && and_exists(s, a, b, out);
}

static bool same_alt(const struct qr_object_alt *a, const struct qr_object_alt *b)
{
    if (a->n_properties != b->n_properties || a->n_regions != b->n_regions ||
        a->n_exists != b->n_exists || a->min != b->min || a->max != b->max ||
        a->evaluated != b->evaluated)
        return false;
    QR_INVARIANT(a->n_properties == 0 || (a->properties && b->properties));
    QR_INVARIANT(a->n_exists == 0 || (a->exists && b->exists));
    for (uint32_t i = 0; i < a->n_properties; i++)
        if (a->properties[i].key != b->properties[i].key ||
            a->properties[i].value != b->properties[i].value ||
            a->properties[i].required != b->properties[i].required)
            return false;
    for (uint32_t i = 0; i < a->n_regions; i++)
        if (a->regions[i].keys != b->regions[i].keys || a->regions[i].value != b->regions[i].value)
            return false;
    return !a->n_exists || memcmp(a->exists, b->exists, a->n_exists * sizeof *a->exists) == 0;
}

/* Appends an alternative unless it is empty or there already. */
static bool add_alt(struct qr_schema *s, struct qr_list *list, const struct qr_object_alt *alt)
{
    const struct qr_object_alt *items = list->items;
    if (qr_object_is_obviously_none(alt))
        return true;
    for (uint32_t i = 0; i < list->n && i < 64; i++)
        if (same_alt(&items[i], alt))
            return true;
    if (list->n >= QR_SCHEMA_MAX_ALTERNATIVES)
        return qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL,
                              "more than %d alternatives of an object", QR_SCHEMA_MAX_ALTERNATIVES);
    return qr_list_push(s, list, alt, sizeof *alt);
}

static void finish(const struct qr_list *list, struct qr_value_set *out)
{
    out->objects = list->items;
    out->n_objects = list->n;
}

bool qr_objects_and(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                    struct qr_value_set *out)
{
    struct qr_list list = { 0 };
    struct qr_object_alt alt;
    if (a->objects == &qr_object_any || b->objects == &qr_object_any) {
        const struct qr_value_set *other = a->objects == &qr_object_any ? b : a;
        out->objects = other->objects;
        out->n_objects = other->n_objects;
        return true;
    }
    for (uint32_t i = 0; i < a->n_objects; i++)
        for (uint32_t k = 0; k < b->n_objects; k++)
            if (!and_alt(s, &a->objects[i], &b->objects[k], &alt) || !add_alt(s, &list, &alt))
                return false;
    finish(&list, out);
    return true;
}

bool qr_objects_or(struct qr_schema *s, const struct qr_value_set *a, const struct qr_value_set *b,
                   struct qr_value_set *out)
{
    struct qr_list list = { 0 };
    const bool all = a->objects == &qr_object_any && !s->track_evaluated;
    if (!a->n_objects || !b->n_objects || all ||
        (b->objects == &qr_object_any && !s->track_evaluated)) {
        const struct qr_value_set *from = !b->n_objects || all ? a : b;
        out->objects = from->objects;
        out->n_objects = from->n_objects;
        return true;
    }
    for (uint32_t i = 0; i < a->n_objects; i++)
        if (!add_alt(s, &list, &a->objects[i]))
            return false;
    for (uint32_t i = 0; i < b->n_objects; i++)
        if (!add_alt(s, &list, &b->objects[i]))
            return false;
    finish(&list, out);
    return true;
}

/* ---- Complement */

/* Keys that the alternative does not allow, as far as they are no properties. */
static qr_regex forbidden_keys(struct qr_schema *s, const struct qr_object_alt *a)
{
    struct qr_list list = { 0 };
    for (uint32_t i = 0; i < a->n_properties; i++) {
        size_t size;
        const char *text = qr_key_text(s, a->properties[i].key, &size);
        const qr_regex r = qr_string_literal(s, text, size);
        if (!qr_list_push(s, &list, &r, sizeof r))
            return QR_REGEX_NONE;
    }
    for (uint32_t i = 0; i < a->n_regions; i++)
        if (!qr_list_push(s, &list, &a->regions[i].keys, sizeof a->regions[i].keys))
            return QR_REGEX_NONE;
    return list.n ? qr_regex_not(s->regexes, qr_regex_or(s->regexes, list.items, list.n))
                  : (qr_regex)QR_REGEX_ANY;
}

/* Appends the objects where one property has no value of its set. */
static bool not_property(struct qr_schema *s, const struct qr_property *p, struct qr_list *out)
{
    struct qr_property *absent = qr_schema_alloc(s, 2, sizeof *absent);
    struct qr_object_alt alt = qr_object_any;
    if (!absent)
        return false;
    struct qr_property *wrong = absent + 1;
    *absent = (struct qr_property){ p->key, QR_EXPR_NONE, false };
    *wrong = (struct qr_property){ p->key, qr_expr_not(s, p->value), true };
    alt.n_properties = 1;
    alt.properties = absent;
    if (p->required && !add_alt(s, out, &alt))
        return false;
    alt.properties = wrong;
    return p->value == QR_EXPR_ALL || add_alt(s, out, &alt);
}

static bool not_alt(struct qr_schema *s, const struct qr_object_alt *a, struct qr_value_set *out)
{
    struct qr_list list = { 0 };
    for (uint32_t i = 0; i < a->n_properties; i++)
        if (!not_property(s, &a->properties[i], &list))
            return false;
    for (uint32_t i = 0; i < a->n_regions; i++)
        if (a->regions[i].value != QR_EXPR_ALL)
            return qr_schema_fail(s, QUIRE_E_UNSUPPORTED, NULL, NULL,
                                  "the negation of a schema for the values of additional or "
                                  "pattern properties");
    for (uint32_t i = 0; i < a->n_exists; i++) {
        struct qr_key_region *region = qr_schema_alloc(s, 1, sizeof *region);
        struct qr_object_alt alt = { .regions = region, .n_regions = 1, .max = QR_UNLIMITED };
        if (!region)
            return false;
        *region = (struct qr_key_region){ qr_regex_not(s->regexes, a->exists[i]), QR_EXPR_ALL };
        if (!add_alt(s, &list, &alt))
            return false;
    }
    qr_regex *exists = qr_schema_alloc(s, 1, sizeof *exists);
    if (!exists)
        return false;
    *exists = forbidden_keys(s, a);
    if (!qr_string_is_none(s, *exists)) {
        struct qr_object_alt alt = qr_object_any;
        alt.exists = exists;
        alt.n_exists = 1;
        if (!add_alt(s, &list, &alt))
            return false;
    }
    struct qr_object_alt few = qr_object_any, many = qr_object_any;
    few.max = a->min - 1;
    many.min = a->max + 1;
    if ((a->min && !add_alt(s, &list, &few)) ||
        (a->max != QR_UNLIMITED && !add_alt(s, &list, &many)))
        return false;
    finish(&list, out);
    return qr_schema_check(s);
}

bool qr_objects_not(struct qr_schema *s, const struct qr_value_set *a, struct qr_value_set *out)
{
    struct qr_value_set rest = { .objects = &qr_object_any, .n_objects = 1 }, other;
    for (uint32_t i = 0; i < a->n_objects && rest.n_objects; i++) {
        struct qr_value_set next = { 0 };
        other = (struct qr_value_set){ 0 };
        if (!not_alt(s, &a->objects[i], &other) || !qr_objects_and(s, &rest, &other, &next))
            return false;
        rest = next;
    }
    out->objects = rest.objects;
    out->n_objects = rest.n_objects;
    return true;
}

/* ---- Emptiness */

bool qr_object_is_none(struct qr_schema *s, const struct qr_object_alt *a)
{
    if (qr_object_is_obviously_none(a))
        return true;
    for (uint32_t i = 0; i < a->n_properties; i++)
        if (a->properties[i].required && qr_expr_is_none(s, a->properties[i].value))
            return true;
    return false;
}

/* Properties of a that contradict b, where one of the two requires them. */
static bool contradicts(struct qr_schema *s, const struct qr_object_alt *a,
                        const struct qr_object_alt *b)
{
    bool found = false;
    for (uint32_t i = 0; i < a->n_properties && !found; i++) {
        const struct qr_property *p = &a->properties[i], *q = NULL;
        for (uint32_t k = 0; k < b->n_properties && !q; k++)
            if (b->properties[k].key == p->key)
                q = &b->properties[k];
        if (!p->required && !(q && q->required))
            continue;
        const qr_expr other = q ? q->value : qr_object_region_value(s, b, p->key);
        found = qr_exprs_differ(s, p->value, other) ||
                qr_expr_is_none(s, qr_expr_and(s, p->value, other));
    }
    return found;
}

bool qr_objects_disjoint(struct qr_schema *s, const struct qr_object_alt *a,
                         const struct qr_object_alt *b)
{
    if (a->min > b->max || b->min > a->max)
        return true;
    return contradicts(s, a, b) || contradicts(s, b, a);
}
