/* SPDX-License-Identifier: Apache-2.0 */
/* emit_object.c - nodes of objects. */
#include "grammar/json_schema/emit_object.h"
#include "grammar/json_schema/keys.h"
#include "grammar/json_schema/pieces.h"
#include "grammar/regex/json_string.h"

struct object_emitter {
    struct qr_emitter *e;
    const struct qr_object_notation *n;
    qr_regex space; /* around keys and separators */
};

/* ---- Keys */

/* The declared key as text. QR_REGEX_NONE and a failure if the notation cannot write it. */
static qr_regex declared_key(struct object_emitter *o, uint32_t key)
{
    struct qr_schema *s = o->e->s;
    size_t size;
    const char *text = qr_key_text(s, key, &size), *close = o->n->key_close;
    if (!o->n->bare_keys)
        return qr_string_literal(s, text, size);
    if (!size || (close && memchr(text, *close, size)) || memchr(text, '\n', size)) {
        qr_schema_fail(s, QUIRE_E_UNSUPPORTED, NULL, NULL,
                       "the name of the property \"%.60s\" cannot be written in this format", text);
        return QR_REGEX_NONE;
    }
    return qr_regex_literal(s->regexes, text, size);
}

/* [A-Za-z_][A-Za-z0-9_.-]* */
static qr_regex identifier(struct qr_schema *s)
{
    static const struct qr_char_range first[] = { { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
    static const struct qr_char_range more[] = {
        { '-', '.' }, { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }
    };
    const qr_regex rest = qr_utf8_class(s->regexes, more, 5);
    return qr_regex_concat(s->regexes,
                           (qr_regex[]){ qr_utf8_class(s->regexes, first, 3),
                                         qr_regex_repeat(s->regexes, rest, 0, QR_REGEX_UNBOUNDED) },
                           2);
}

/* Keys that are no properties, as QR_REGEX_ANY if all are. */
static qr_regex other_keys(struct object_emitter *o, const struct qr_object_alt *alt)
{
    struct qr_schema *s = o->e->s;
    const qr_regex any = o->n->bare_keys ? identifier(s) : s->any_string;
    qr_regex *list = qr_schema_alloc(s, alt->n_properties, sizeof *list);
    if (!list)
        return QR_REGEX_NONE;
    for (uint32_t i = 0; i < alt->n_properties; i++) {
        size_t size;
        const char *text = qr_key_text(s, alt->properties[i].key, &size);
        list[i] = qr_string_literal(s, text, size);
    }
    if (!alt->n_properties)
        return any;
    const qr_regex known = qr_regex_or(s->regexes, list, alt->n_properties);
    return qr_regex_and(s->regexes, (qr_regex[]){ any, qr_regex_not(s->regexes, known) }, 2);
}

/* ---- Members */

static void begin_member(struct object_emitter *o, struct qr_pieces *p, qr_regex key,
                         const char *close)
{
    struct qr_schema *s = o->e->s;
    const char *colon = close ? strrchr(close, ':') : NULL;
    qr_pieces_regex(s, p, o->space);
    qr_pieces_text(s, p, o->n->key_open);
    qr_pieces_regex(s, p, key);
    if (colon == NULL || colon[1] || o->space == QR_REGEX_EMPTY) {
        qr_pieces_text(s, p, close);
        return;
    }
    /* white space before the colon, which stands at the end */
    if (colon > close)
        qr_pieces_regex(s, p, qr_regex_literal(s->regexes, close, (size_t)(colon - close)));
    qr_pieces_regex(s, p, o->space);
    qr_pieces_text(s, p, ":");
}

static qr_node plain_member(struct object_emitter *o, qr_regex key, qr_node value)
{
    struct qr_pieces p = { 0 };
    begin_member(o, &p, key, o->n->key_close);
    qr_pieces_node(o->e->s, &p, value);
    qr_pieces_text(o->e->s, &p, o->n->member_close);
    return qr_pieces_finish(o->e->s, &p);
}

/* A member whose value is a string as raw text, or another value. */
static qr_node raw_member(struct object_emitter *o, qr_regex key, qr_expr value)
{
    struct qr_schema *s = o->e->s;
    const struct qr_value_set *set = qr_reached_get(s, o->e->reach, value)->shape.set;
    const qr_regex raw = qr_emit_raw_string(o->e, set, o->n->member_close, o->n);
    const qr_regex scalars = qr_emit_scalars(o->e, set, false);
    const qr_node containers = qr_emit_containers(o->e, value);
    qr_node options[3];
    uint32_t n = 0;
    if (raw != QR_REGEX_NONE) {
        struct qr_pieces p = { 0 };
        begin_member(o, &p, key, o->n->key_close_string ? o->n->key_close_string : o->n->key_close);
        qr_pieces_regex(s, &p, raw);
        qr_pieces_text(s, &p, o->n->member_close);
        options[n++] = qr_pieces_finish(s, &p);
    }
    if (scalars != QR_REGEX_NONE)
        options[n++] = plain_member(o, key, qr_build_lexeme(s->f->builder, scalars));
    if (containers)
        options[n++] = plain_member(o, key, containers);
    return n ? qr_build_choice(s->f->builder, options, n) : 0;
}

static qr_node member(struct object_emitter *o, qr_regex key, qr_expr value)
{
    return o->n->raw_strings ? raw_member(o, key, value)
                             : plain_member(o, key, qr_emit_value(o->e, value));
}

/* The members of the regions whose keys are in `keys`. 0 = none. */
static qr_node region_member(struct object_emitter *o, const struct qr_object_alt *alt,
                             qr_regex keys)
{
    struct qr_schema *s = o->e->s;
    struct qr_list options = { 0 };
    for (uint32_t i = 0; i < alt->n_regions; i++) {
        const struct qr_key_region *r = &alt->regions[i];
        const qr_regex key = qr_regex_and(s->regexes, (qr_regex[]){ keys, r->keys }, 2);
        if (!qr_is_productive(s, o->e->reach, r->value) || qr_string_is_none(s, key))
            continue;
        const qr_node node = member(o, key, r->value);
        if (node && !qr_list_push(s, &options, &node, sizeof node))
            return 0;
    }
    return options.n ? qr_build_choice(s->f->builder, options.items, options.n) : 0;
}

/* ---- Objects */

static bool build_members(struct object_emitter *o, const struct qr_object_shape *shape,
                          struct qr_list *members)
{
    struct qr_schema *s = o->e->s;
    const struct qr_object_alt *alt = shape->alt;
    for (uint32_t i = 0; i < alt->n_properties; i++) {
        const struct qr_property *p = &alt->properties[i];
        if (!qr_is_productive(s, o->e->reach, p->value))
            continue;
        const qr_regex key = declared_key(o, p->key);
        const struct qr_loop_member m = { member(o, key, p->value), true, p->required };
        if (m.node && !qr_list_push(s, members, &m, sizeof m))
            return false;
        if (!m.node && p->required)
            return false;
    }
    if (!alt->n_regions)
        return qr_schema_check(s);
    const qr_regex other = other_keys(o, alt);
    for (uint32_t i = 0; i < shape->n_exists; i++) {
        const qr_regex key = qr_regex_and(s->regexes, (qr_regex[]){ other, shape->exists[i] }, 2);
        const struct qr_loop_member m = { region_member(o, alt, key), true, true };
        if (!m.node || !qr_list_push(s, members, &m, sizeof m))
            return false;
    }
    const struct qr_loop_member rest = { region_member(o, alt, other), false, false };
    return (!rest.node || qr_list_push(s, members, &rest, sizeof rest)) && qr_schema_check(s);
}

qr_node qr_emit_objects(struct qr_emitter *e, const struct qr_reached *entry,
                        const struct qr_object_notation *n)
{
    struct qr_schema *s = e->s;
    struct object_emitter o = { e, n, n->white_space ? e->space : (qr_regex)QR_REGEX_EMPTY };
    struct qr_list options = { 0 };
    struct qr_pieces p = { 0 };
    qr_pieces_regex(s, &p, o.space);
    qr_pieces_text(s, &p, n->separator);
    const qr_node separator = n->separator && *n->separator ? qr_pieces_finish(s, &p) : 0;
    p = (struct qr_pieces){ 0 };
    for (uint32_t i = 0; i < entry->shape.n_objects; i++) {
        const struct qr_object_shape *shape = &entry->shape.objects[i];
        struct qr_list members = { 0 };
        if (!qr_object_is_productive(s, e->reach, shape) || !build_members(&o, shape, &members))
            continue;
        const struct qr_loop loop = { members.items,   members.n,
                                      separator,       shape->alt->min,
                                      shape->alt->max, s->f->flags & QUIRE_GRAMMAR_ORDERED };
        const qr_node node = members.n ? qr_build_loop(s->f->builder, &loop)
                                       : qr_build_sequence(s->f->builder, NULL, 0);
        if (!qr_list_push(s, &options, &node, sizeof node))
            return 0;
    }
    if (!options.n || !qr_schema_check(s))
        return 0;
    if (n->open && *n->open)
        qr_pieces_regex(s, &p, o.space);
    qr_pieces_text(s, &p, n->open);
    qr_pieces_node(s, &p, qr_build_choice(s->f->builder, options.items, options.n));
    if (n->close && *n->close)
        qr_pieces_regex(s, &p, o.space);
    qr_pieces_text(s, &p, n->close);
    return qr_pieces_finish(s, &p);
}
