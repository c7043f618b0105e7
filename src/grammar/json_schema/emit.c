/* SPDX-License-Identifier: Apache-2.0 */
/* emit.c - nodes of a grammar for the values of expressions. */
#include "grammar/json_schema/emit.h"
#include "grammar/json_schema/emit_array.h"
#include "grammar/json_schema/emit_object.h"
#include "grammar/json_schema/number_text.h"
#include "grammar/json_schema/pieces.h"

/* White space in one place: two blanks, or two line ends and an indentation. Pretty-printed text
 * needs no more, and models that begin to write blanks do not find an end by themselves. */
enum { MAX_BLANKS = 2, MAX_LINES = 2, MAX_INDENT = 32 };

static qr_regex white_space(struct qr_schema *s)
{
    const struct qr_byte_set blanks = { { UINT64_C(1) << ' ' | UINT64_C(1) << '\t' } };
    const qr_regex blank = qr_regex_bytes(s->regexes, &blanks);
    const qr_regex ends[] = { qr_regex_literal(s->regexes, "\n", 1),
                              qr_regex_literal(s->regexes, "\r\n", 2) };
    const qr_regex lines[] = { qr_regex_repeat(s->regexes, qr_regex_or(s->regexes, ends, 2), 1,
                                               MAX_LINES),
                               qr_regex_repeat(s->regexes, blank, 0, MAX_INDENT) };
    const qr_regex either[] = { qr_regex_repeat(s->regexes, blank, 0, MAX_BLANKS),
                                qr_regex_concat(s->regexes, lines, 2) };
    return qr_regex_or(s->regexes, either, 2);
}

/* ---- Scalars */

static qr_regex word(struct qr_schema *s, const char *text)
{
    return qr_regex_literal(s->regexes, text, strlen(text));
}

/* The strings of a set between their quotes. */
static qr_regex quoted(struct qr_emitter *e, const struct qr_value_set *set)
{
    struct qr_schema *s = e->s;
    const qr_regex text = set->strings == QR_REGEX_ANY ? s->any_string : set->strings;
    const qr_regex list[3] = { word(s, s->notation->string_open), text,
                               word(s, s->notation->string_close) };
    return text == QR_REGEX_NONE ? text : qr_regex_concat(s->regexes, list, 3);
}

qr_regex qr_emit_scalars(struct qr_emitter *e, const struct qr_value_set *set, bool with_strings)
{
    struct qr_schema *s = e->s;
    const struct qr_notation *n = s->notation;
    struct qr_list list = { 0 };
    const qr_regex words[3] = { word(s, n->null_text), word(s, n->false_text),
                                word(s, n->true_text) };
    for (uint32_t i = 0; i < 3; i++)
        if (set->scalars & (QR_TYPE_NULL << i) && !qr_list_push(s, &list, &words[i], sizeof *words))
            return QR_REGEX_NONE;
    for (uint32_t i = 0; i < set->n_numbers; i++) {
        const qr_regex r = qr_number_regex(s, &set->numbers[i]);
        if (r != QR_REGEX_NONE && !qr_list_push(s, &list, &r, sizeof r))
            return QR_REGEX_NONE;
    }
    const qr_regex string =
        with_strings && !n->raw_strings ? quoted(e, set) : (qr_regex)QR_REGEX_NONE;
    if (string != QR_REGEX_NONE && !qr_list_push(s, &list, &string, sizeof string))
        return QR_REGEX_NONE;
    if (!list.n)
        return QR_REGEX_NONE;
    const qr_regex any = qr_regex_or(s->regexes, list.items, list.n);
    return qr_regex_concat(s->regexes, (qr_regex[]){ e->space, any }, 2);
}

/* The part of a marker that a parser looks for: white space around it may be cut. */
static qr_regex contains_marker(struct qr_schema *s, const char *close)
{
    size_t first = strspn(close, " \n\r\t"), n = strlen(close);
    while (n > first && strchr(" \n\r\t", close[n - 1]))
        n--;
    const qr_regex list[3] = { QR_REGEX_ANY, qr_regex_literal(s->regexes, close + first, n - first),
                               QR_REGEX_ANY };
    return qr_regex_concat(s->regexes, list, 3);
}

/* Texts with a line that begins with `text`. */
static qr_regex contains_line(struct qr_schema *s, const char *text)
{
    const qr_regex line_end = qr_regex_concat(
        s->regexes, (qr_regex[]){ QR_REGEX_ANY, qr_regex_literal(s->regexes, "\n", 1) }, 2);
    const qr_regex before = qr_regex_or(s->regexes, (qr_regex[]){ QR_REGEX_EMPTY, line_end }, 2);
    return qr_regex_concat(s->regexes, (qr_regex[]){ before, word(s, text), QR_REGEX_ANY }, 3);
}

qr_regex qr_emit_raw_string(struct qr_emitter *e, const struct qr_value_set *set, const char *close,
                            const struct qr_object_notation *n)
{
    struct qr_schema *s = e->s;
    const qr_regex text = set->raw == QR_REGEX_ANY ? s->any_raw : set->raw;
    qr_regex excluded[3];
    size_t n_excluded = 0;
    bool none;
    if (text == QR_REGEX_NONE || !close || !*close)
        return text;
    excluded[n_excluded++] = contains_marker(s, close);
    for (size_t i = 0; n && i < 2 && n->excluded_lines[i]; i++)
        excluded[n_excluded++] = contains_line(s, n->excluded_lines[i]);
    const qr_regex bad = qr_regex_or(s->regexes, excluded, n_excluded);
    const qr_regex allowed =
        qr_regex_and(s->regexes, (qr_regex[]){ text, qr_regex_not(s->regexes, bad) }, 2);
    return qr_regex_is_none(s->regexes, allowed, QR_SCHEMA_MAX_STATES, &none) == QUIRE_OK && none
               ? (qr_regex)QR_REGEX_NONE
               : allowed;
}

/* ---- Values */

static qr_node containers_of(struct qr_emitter *e, const struct qr_reached *entry,
                             const struct qr_object_notation *n)
{
    struct qr_builder *b = e->s->f->builder;
    const qr_node list[2] = { qr_emit_objects(e, entry, n), qr_emit_arrays(e, entry) };
    if (!list[0] || !list[1])
        return list[0] ? list[0] : list[1];
    return qr_build_choice(b, list, 2);
}

static qr_node raw_string_node(struct qr_emitter *e, const struct qr_value_set *set)
{
    struct qr_pieces p = { 0 };
    const struct qr_notation *n = e->s->notation;
    const qr_regex raw = qr_emit_raw_string(e, set, n->string_close, NULL);
    if (raw == QR_REGEX_NONE)
        return 0;
    qr_pieces_text(e->s, &p, n->string_open);
    qr_pieces_regex(e->s, &p, raw);
    qr_pieces_text(e->s, &p, n->string_close);
    return qr_pieces_finish(e->s, &p);
}

static qr_node value_of(struct qr_emitter *e, const struct qr_value_set *set, qr_node containers)
{
    struct qr_builder *b = e->s->f->builder;
    const qr_regex scalars = qr_emit_scalars(e, set, true);
    qr_node list[3];
    uint32_t n = 0;
    if (scalars != QR_REGEX_NONE)
        list[n++] = qr_build_lexeme(b, scalars);
    const qr_node string = e->s->notation->raw_strings ? raw_string_node(e, set) : 0;
    if (string)
        list[n++] = string;
    if (containers)
        list[n++] = containers;
    return n > 1 ? qr_build_choice(b, list, n) : n ? list[0] : 0;
}

static bool has_containers(const struct qr_emitter *e, const struct qr_reached *entry)
{
    for (uint32_t i = 0; i < entry->shape.n_objects; i++)
        if (qr_object_is_productive(e->s, e->reach, &entry->shape.objects[i]))
            return true;
    for (uint32_t i = 0; i < entry->shape.n_arrays; i++)
        if (qr_array_is_productive(e->s, e->reach, &entry->shape.arrays[i]))
            return true;
    return false;
}

qr_node qr_emit_containers(struct qr_emitter *e, qr_expr expr)
{
    struct qr_reached *entry = qr_reached_get(e->s, e->reach, expr);
    if (!has_containers(e, entry))
        return 0;
    if (!entry->containers) {
        entry->containers = qr_build_rule(e->s->f->builder);
        entry->containers_is_rule = true;
    }
    return entry->containers;
}

qr_node qr_emit_value(struct qr_emitter *e, qr_expr expr)
{
    struct qr_reached *entry = qr_reached_get(e->s, e->reach, expr);
    if (!entry->value && !has_containers(e, entry))
        entry->value = value_of(e, entry->shape.set, 0);
    if (!entry->value) {
        entry->value = qr_build_rule(e->s->f->builder);
        entry->value_is_rule = true;
    }
    return entry->value;
}

/* Builds the node of an entry, after those of the entries behind it. */
static void build_entry(struct qr_emitter *e, struct qr_reached *entry)
{
    struct qr_builder *b = e->s->f->builder;
    if (!entry->productive)
        return;
    const qr_node node = containers_of(e, entry, &e->s->notation->object);
    if (node && entry->containers_is_rule)
        qr_build_define(b, entry->containers, node);
    else if (node)
        entry->containers = node;
    if (entry->value && !entry->value_is_rule)
        return;
    const qr_node value = value_of(e, entry->shape.set, entry->containers);
    if (entry->value_is_rule)
        qr_build_define(b, entry->value, value);
    else
        entry->value = value;
}

bool qr_emit(struct qr_schema *s, struct qr_reach *reach, qr_node *out)
{
    struct qr_emitter e = { s, reach, QR_REGEX_EMPTY };
    struct qr_reached *list = reach->list.items;
    const struct qr_object_notation *outer = s->notation->outer;
    if (s->notation->white_space && !(s->f->flags & QUIRE_GRAMMAR_COMPACT))
        e.space = white_space(s);
    for (uint32_t i = reach->list.n; i-- > 0;) {
        build_entry(&e, &list[i]);
        if (i % 16 == 0 && !qr_schema_check(s))
            return false;
    }
    *out = outer ? qr_emit_objects(&e, &list[0], outer) : list[0].value;
    if (!*out && qr_schema_ok(s))
        qr_schema_fail(s, QUIRE_E_UNSUPPORTED, NULL, NULL,
                       outer ? "no object satisfies the schema" : "no value satisfies the schema");
    return qr_schema_check(s);
}
