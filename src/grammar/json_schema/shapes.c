/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c - alternatives of objects and arrays in the form that the grammar needs. */
#include "grammar/json_schema/shapes.h"
#include "base/error.h"
#include "grammar/json_schema/array_shapes.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/list.h"

enum { MAX_SHAPES = 1024 };

/* ---- Objects: `exists` */

/* An alternative of which `next` conditions are dealt with. */
struct partial {
    struct qr_object_alt alt;
    struct qr_list groups; /* qr_regex: a further key for each */
    uint32_t next;
};

static bool copy_list(struct qr_schema *s, const struct qr_list *from, struct qr_list *to)
{
    *to = (struct qr_list){ 0 };
    for (uint32_t i = 0; i < from->n; i++)
        if (!qr_list_push(s, to, (const qr_regex *)from->items + i, sizeof(qr_regex)))
            return false;
    return true;
}

/* Appends the alternative in which property i is required. */
static bool require(struct qr_schema *s, const struct partial *p, uint32_t i, struct qr_list *work)
{
    struct partial next = *p;
    struct qr_property *list = qr_schema_alloc(s, p->alt.n_properties, sizeof *list);
    if (!list)
        return false;
    memcpy(list, p->alt.properties, p->alt.n_properties * sizeof *list);
    list[i].required = true;
    next.alt.properties = list;
    next.next++;
    return qr_list_push(s, work, &next, sizeof next);
}

/* Appends the alternatives in which a key that is no property satisfies the condition: a new one,
 * or one that satisfies another condition as well. */
static bool add_groups(struct qr_schema *s, const struct partial *p, qr_regex exists,
                       struct qr_list *work)
{
    struct partial next = *p;
    next.next++;
    for (uint32_t i = 0; i < p->groups.n; i++) {
        if (!copy_list(s, &p->groups, &next.groups))
            return false;
        qr_regex *group = (qr_regex *)next.groups.items + i;
        QR_INVARIANT(group); /* the copy has as many as the list */
        *group = qr_regex_and(s->regexes, (qr_regex[]){ *group, exists }, 2);
        if (!qr_string_is_none(s, *group) && !qr_list_push(s, work, &next, sizeof next))
            return false;
    }
    return copy_list(s, &p->groups, &next.groups) &&
           qr_list_push(s, &next.groups, &exists, sizeof exists) &&
           qr_list_push(s, work, &next, sizeof next);
}

static bool expand(struct qr_schema *s, const struct partial *p, struct qr_list *work)
{
    const qr_regex exists = p->alt.exists[p->next];
    struct partial same = *p;
    bool match[64] = { false };
    for (uint32_t i = 0; i < p->alt.n_properties; i++) {
        size_t size;
        const struct qr_property *prop = &p->alt.properties[i];
        const char *text = qr_key_text(s, prop->key, &size);
        const bool matches =
            prop->value != QR_EXPR_NONE && qr_string_matches(s, exists, text, size);
        if (matches && prop->required) {
            same.next++;
            return qr_list_push(s, work, &same, sizeof same);
        }
        if (i < 64)
            match[i] = matches;
        else if (matches)
            return qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL,
                                  "too many properties in a negation");
    }
    for (uint32_t i = 0; i < p->alt.n_properties && i < 64; i++)
        if (match[i] && !require(s, p, i, work))
            return false;
    return add_groups(s, p, exists, work);
}

static bool shape_object(struct qr_schema *s, const struct qr_object_alt *alt, struct qr_list *out)
{
    struct qr_list work = { 0 };
    const struct partial first = { .alt = *alt };
    if (!qr_list_push(s, &work, &first, sizeof first))
        return false;
    for (uint32_t i = 0; i < work.n; i++) {
        const struct partial p = ((const struct partial *)work.items)[i];
        if (p.next < p.alt.n_exists) {
            if (!expand(s, &p, &work))
                return false;
        } else {
            struct qr_object_alt *copy = qr_schema_alloc(s, 1, sizeof *copy);
            if (!copy)
                return false;
            *copy = p.alt;
            const struct qr_object_shape shape = { copy, p.groups.items, p.groups.n };
            if (!qr_list_push(s, out, &shape, sizeof shape))
                return false;
        }
        if (work.n > MAX_SHAPES)
            return qr_schema_fail(s, QUIRE_E_LIMIT, NULL, NULL, "too many negated conditions");
    }
    return qr_schema_check(s);
}

bool qr_shape_of(struct qr_schema *s, const struct qr_value_set *set, struct qr_shape *out)
{
    struct qr_list objects = { 0 }, arrays = { 0 };
    for (uint32_t i = 0; i < set->n_objects; i++)
        if (!shape_object(s, &set->objects[i], &objects))
            return false;
    for (uint32_t i = 0; i < set->n_arrays; i++)
        if (!qr_shape_array(s, &set->arrays[i], &arrays))
            return false;
    *out = (struct qr_shape){ set, objects.items, arrays.items, objects.n, arrays.n };
    return true;
}
