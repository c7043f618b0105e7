/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/front_end/structural_tag.h"
#include "base/error.h"
#include "grammar/core/control_token.h"
#include "grammar/front_end/gbnf.h"
#include "grammar/front_end/lark.h"
#include "grammar/front_end/part.h"
#include "grammar/front_end/regex.h"
#include "grammar/front_end/tag_members.h"
#include "grammar/json_schema/schema.h"
#include "grammar/regex/json_string.h"
#include "json/parse.h"
#include <string.h>

static quire_status build_format(struct qr_tags *t, const struct qr_json *format, const char *end,
                                 const struct qr_tag_place *at, qr_node *out);

/* ---- Text ---- */

/* Any text without control tokens in which none of the strings occurs. */
static qr_regex text_without(struct qr_tags *t, const char *const *strings, size_t n)
{
    static const struct qr_char_range all = { 0, 0x10ffff };
    qr_regex r = qr_regex_repeat(t->set, qr_utf8_class(t->set, &all, 1), 0, QR_REGEX_UNBOUNDED);
    for (size_t i = 0; i < n; i++) {
        QR_INVARIANT(strings);
        const size_t size = strlen(strings[i]);
        size_t name;
        if (size == 0 || (qr_control_token(t->f->tok, strings[i], size, &name) >= 0))
            continue; /* it begins with a control token, which text does not contain */
        const qr_regex parts[] = { QR_REGEX_ANY, qr_regex_literal(t->set, strings[i], size),
                                   QR_REGEX_ANY };
        const qr_regex both[] = { r, qr_regex_not(t->set, qr_regex_concat(t->set, parts, 3)) };
        r = qr_regex_and(t->set, both, 2);
    }
    return r;
}

/* The free text of a format: without the n strings, the text that ends the tag around it, and the
 * strings of the member "excludes". */
static quire_status free_text(struct qr_tags *t, const struct qr_json *format,
                              const char *const *strings, size_t n, const char *end,
                              const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place here = { .parent = at, .name = "excludes" };
    const struct qr_json *array = qr_json_get(format, "excludes");
    size_t i = 0;
    const qr_regex first[] = { text_without(t, strings, n), text_without(t, &end, end != NULL) };
    qr_regex r = qr_regex_and(t->set, first, 2);
    if (array != NULL && !qr_json_is_array(array))
        return qr_tags_bad(t, &here, "an array of strings is expected");
    for (struct qr_json_iter it = qr_json_iterate(array); qr_json_next(&it); i++) {
        const struct qr_tag_place element = { .parent = &here, .index = i };
        const char *text = qr_json_string(it.value);
        if (text == NULL || text[0] == '\0')
            return qr_tags_bad(t, &element, "a string that is not empty is expected");
        const qr_regex both[] = { r, text_without(t, &text, 1) };
        r = qr_regex_and(t->set, both, 2);
    }
    *out = qr_build_lexeme(t->f->builder, r);
    return QUIRE_OK;
}

static qr_node marked(struct qr_tags *t, const char *text)
{
    return qr_build_marked_text(t->f->builder, t->f->tok, text, strlen(text));
}

/* ---- Formats ---- */

static quire_status build_schema(struct qr_tags *t, const struct qr_json *format,
                                 const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place here = { .parent = at, .name = "json_schema" };
    const struct qr_tag_place notation_at = { .parent = at, .name = "notation" };
    const struct qr_json *schema = qr_json_get(format, "json_schema");
    const struct qr_json *name = qr_json_get(format, "notation");
    const struct qr_notation *notation = &qr_notation_json;
    char path[QR_TAG_MAX_PATH];
    if (schema == NULL)
        return qr_tags_bad(t, &here, "a JSON schema is expected");
    if (name != NULL)
        notation = qr_json_string(name) ? qr_notation_find(qr_json_string(name)) : NULL;
    if (notation == NULL)
        return qr_tags_bad(t, &notation_at, "the name of a notation is expected");
    qr_tags_path(&here, path, sizeof path);
    return qr_schema_build_value(t->f, schema, notation, path, out, t->err);
}

/* The elements of an array of formats, as nodes. list: freed by the caller. */
static quire_status build_list(struct qr_tags *t, const struct qr_json *format, const char *name,
                               const char *end, const struct qr_tag_place *at,
                               struct qr_parts *list)
{
    const struct qr_tag_place here = { .parent = at, .name = name };
    const struct qr_json *array = qr_json_get(format, name);
    size_t i = 0;
    if (!qr_json_is_array(array) || qr_json_size(array) == 0)
        return qr_tags_bad(t, &here, "an array of at least one format is expected");
    for (struct qr_json_iter it = qr_json_iterate(array); qr_json_next(&it); i++) {
        const struct qr_tag_place element = { .parent = &here, .index = i };
        qr_node node;
        QR_TRY(build_format(t, it.value, end, &element, &node));
        QR_TRY(qr_parts_add(list, qr_part_node(node), t->err));
    }
    return QUIRE_OK;
}

static quire_status build_elements(struct qr_tags *t, const struct qr_json *format, bool sequence,
                                   const char *end, const struct qr_tag_place *at, qr_node *out)
{
    struct qr_parts list = { .f = t->f };
    const quire_status status = build_list(t, format, "elements", end, at, &list);
    if (status == QUIRE_OK)
        *out = (sequence ? qr_parts_sequence(&list) : qr_parts_choice(&list)).node;
    qr_parts_free(&list);
    return status;
}

static const char tag_members[] = " begin content end";

/* A tag: {"begin", "content", "end"}. */
static quire_status build_tag(struct qr_tags *t, const struct qr_json *tag,
                              const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place content_at = { .parent = at, .name = "content" };
    const char *begin, *end;
    qr_node content;
    QR_TRY(qr_tags_string(t, tag, "begin", at, &begin));
    QR_TRY(qr_tags_string(t, tag, "end", at, &end));
    QR_TRY(build_format(t, qr_json_get(tag, "content"), end, &content_at, &content));
    const qr_node parts[] = { marked(t, begin), content, marked(t, end) };
    *out = qr_build_sequence(t->f->builder, parts, 3);
    return QUIRE_OK;
}

/* A choice of the tags of an array. */
static quire_status build_tags(struct qr_tags *t, const struct qr_json *format,
                               const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place here = { .parent = at, .name = "tags" };
    const struct qr_json *array = qr_json_get(format, "tags");
    struct qr_parts list = { .f = t->f };
    quire_status status = QUIRE_OK;
    size_t i = 0;
    if (!qr_json_is_array(array) || qr_json_size(array) == 0)
        return qr_tags_bad(t, &here, "an array of at least one tag is expected");
    for (struct qr_json_iter it = qr_json_iterate(array); status == QUIRE_OK && qr_json_next(&it);
         i++) {
        const struct qr_tag_place element = { .parent = &here, .index = i };
        qr_node node;
        status = qr_tags_check_members(t, it.value, tag_members, &element);
        if (status == QUIRE_OK)
            status = build_tag(t, it.value, &element, &node);
        if (status == QUIRE_OK)
            status = qr_parts_add(&list, qr_part_node(node), t->err);
    }
    if (status == QUIRE_OK)
        *out = qr_parts_choice(&list).node;
    qr_parts_free(&list);
    return status;
}

/* The triggers, each of which some tag begins with. strings: [n], freed by the caller. */
static quire_status read_triggers(struct qr_tags *t, const struct qr_json *format,
                                  const struct qr_tag_place *at, const char ***strings, size_t *n)
{
    const struct qr_tag_place here = { .parent = at, .name = "triggers" };
    const struct qr_json *array = qr_json_get(format, "triggers");
    size_t i = 0;
    *n = qr_json_size(array);
    *strings = NULL;
    if (!qr_json_is_array(array) || *n == 0)
        return qr_tags_bad(t, &here, "an array of at least one string is expected");
    *strings = qr_alloc(t->f->allocator, *n, sizeof **strings);
    if (*strings == NULL)
        return qr_fail(t->err, QUIRE_E_NOMEM, "no memory for the grammar");
    for (struct qr_json_iter it = qr_json_iterate(array); qr_json_next(&it); i++) {
        const struct qr_tag_place element = { .parent = &here, .index = i };
        (*strings)[i] = qr_json_string(it.value);
        if ((*strings)[i] == NULL || (*strings)[i][0] == '\0')
            return qr_tags_bad(t, &element, "a string that is not empty is expected");
    }
    return qr_tags_check_overlap(t, *strings, *n, &here);
}

/* Every tag must begin with a trigger: otherwise it could never be reached. */
static quire_status check_triggers(struct qr_tags *t, const struct qr_json *tags,
                                   const char *const *triggers, size_t n,
                                   const struct qr_tag_place *at)
{
    size_t i = 0;
    for (struct qr_json_iter it = qr_json_iterate(tags); qr_json_next(&it); i++) {
        const struct qr_tag_place element = { .parent = at, .index = i };
        const char *begin = qr_json_string(qr_json_get(it.value, "begin"));
        bool found = false;
        QR_INVARIANT(triggers); /* at least one */
        for (size_t k = 0; k < n && begin != NULL; k++)
            found = found || strncmp(begin, triggers[k], strlen(triggers[k])) == 0;
        if (!found)
            return qr_tags_bad(t, &element, "begin must start with one of the triggers");
    }
    return QUIRE_OK;
}

/* Free text, and behind a trigger one of the tags that begin with it. */
static quire_status build_triggered(struct qr_tags *t, const struct qr_json *format,
                                    const char *end, const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place tags_at = { .parent = at, .name = "tags" };
    struct qr_builder *b = t->f->builder;
    const char **triggers;
    size_t n;
    qr_node tags = 0;
    bool at_least_one, stop;
    quire_status status = read_triggers(t, format, at, &triggers, &n);
    const size_t allocated = n;
    if (status == QUIRE_OK)
        status = check_triggers(t, qr_json_get(format, "tags"), triggers, n, &tags_at);
    if (status == QUIRE_OK)
        status = build_tags(t, format, at, &tags);
    if (status == QUIRE_OK)
        status = qr_tags_flag(t, format, "at_least_one", at, &at_least_one);
    if (status == QUIRE_OK)
        status = qr_tags_flag(t, format, "stop_after_first", at, &stop);
    qr_node text = 0;
    if (status == QUIRE_OK)
        status = free_text(t, format, triggers, n, end, at, &text);
    if (status == QUIRE_OK) {
        const qr_node parts[] = { text, tags };
        const qr_node pair = qr_build_sequence(b, parts, 2);
        const qr_node pairs =
            qr_build_repeat(b, pair, 0, at_least_one, stop ? 1 : QR_REGEX_UNBOUNDED);
        /* text behind the last tag; without one also if it stops after the first */
        const qr_node with_tail[] = { pairs, text };
        const qr_node whole = qr_build_sequence(b, with_tail, 2);
        const qr_node either[] = { pair, text };
        *out = !stop ? whole : at_least_one ? pair : qr_build_choice(b, either, 2);
    }
    qr_free(t->f->allocator, triggers, allocated, sizeof *triggers);
    return status;
}

static quire_status build_separated(struct qr_tags *t, const struct qr_json *format,
                                    const struct qr_tag_place *at, qr_node *out)
{
    struct qr_builder *b = t->f->builder;
    const char *separator;
    bool at_least_one, stop;
    qr_node tags = 0;
    QR_TRY(qr_tags_string(t, format, "separator", at, &separator));
    QR_TRY(qr_tags_flag(t, format, "at_least_one", at, &at_least_one));
    QR_TRY(qr_tags_flag(t, format, "stop_after_first", at, &stop));
    QR_TRY(build_tags(t, format, at, &tags));
    *out = qr_build_repeat(b, tags, separator[0] != '\0' ? marked(t, separator) : 0, at_least_one,
                           stop ? 1 : QR_REGEX_UNBOUNDED);
    return QUIRE_OK;
}

static quire_status build_grammar(struct qr_tags *t, const struct qr_json *format,
                                  const struct qr_tag_place *at, qr_node *out)
{
    const char *text;
    QR_TRY(qr_tags_string(t, format, "grammar", at, &text));
    const quire_status status = strstr(text, "::=") != NULL
                                    ? qr_gbnf_build(t->f, text, strlen(text), out, t->err)
                                    : qr_lark_build(t->f, text, strlen(text), out, t->err);
    return qr_tags_within(t, at, "grammar", status);
}

static quire_status build_token(struct qr_tags *t, const struct qr_json *format,
                                const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place here = { .parent = at, .name = "token" };
    const struct qr_json *v = qr_json_get(format, "token");
    int64_t id = qr_json_integer(v);
    size_t n;
    if (qr_json_string(v) != NULL) {
        id = qr_control_token(t->f->tok, qr_json_string(v), strlen(qr_json_string(v)), &n);
        if (id >= 0 && n != strlen(qr_json_string(v)))
            id = -1;
    } else if (!qr_json_is_integer(v) || t->f->tok == NULL || id < 0 ||
               (uint64_t)id >= quire_tokenizer_vocab_size(t->f->tok) ||
               !quire_tokenizer_is_special(t->f->tok, (int32_t)id)) {
        id = -1;
    }
    if (id < 0)
        return qr_tags_bad(t, &here,
                           "the name or id of a control token of the vocabulary is expected");
    *out = qr_build_token(t->f->builder, (int32_t)id);
    return QUIRE_OK;
}

static quire_status build_repeated(struct qr_tags *t, const struct qr_json *format, uint32_t min,
                                   uint32_t max, bool counted, const char *end,
                                   const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place content_at = { .parent = at, .name = "content" };
    qr_node content;
    if (counted) {
        QR_TRY(qr_tags_count(t, format, "min", at, 0, &min));
        QR_TRY(qr_tags_count(t, format, "max", at, QR_REGEX_UNBOUNDED, &max));
    }
    if (min > max)
        return qr_tags_bad(t, at, "min exceeds max");
    QR_TRY(build_format(t, qr_json_get(format, "content"), end, &content_at, &content));
    *out = qr_build_repeat(t->f->builder, content, 0, min, max);
    return QUIRE_OK;
}

enum format_type {
    CONST_STRING,
    REGEX,
    ANY_TEXT,
    JSON_SCHEMA,
    SEQUENCE,
    OR,
    TAG,
    TRIGGERED_TAGS,
    TAGS_WITH_SEPARATOR,
    GRAMMAR,
    TOKEN,
    OPTIONAL,
    STAR,
    PLUS,
    REPEAT,
    N_TYPES
};
static const char *const type_names[N_TYPES] = {
    "const_string", "regex",          "any_text",
    "json_schema",  "sequence",       "or",
    "tag",          "triggered_tags", "tags_with_separator",
    "grammar",      "token",          "optional",
    "star",         "plus",           "repeat"
};

/* Members besides "type", each behind a blank: others are refused, since they could mean more than
 * what is built. */
static const char *const type_members[N_TYPES] = {
    " value",
    " pattern",
    " excludes",
    " json_schema notation",
    " elements",
    " elements",
    tag_members,
    " triggers tags at_least_one stop_after_first excludes",
    " tags separator at_least_one stop_after_first",
    " grammar",
    " token",
    " content",
    " content",
    " content",
    " content min max"
};

static quire_status build_typed(struct qr_tags *t, enum format_type type,
                                const struct qr_json *format, const char *end,
                                const struct qr_tag_place *at, qr_node *out)
{
    const char *text;
    switch (type) {
    case CONST_STRING:
        QR_TRY(qr_tags_string(t, format, "value", at, &text));
        *out = marked(t, text);
        return QUIRE_OK;
    case REGEX:
        QR_TRY(qr_tags_string(t, format, "pattern", at, &text));
        return qr_tags_within(t, at, "pattern",
                              qr_regex_build(t->f, text, strlen(text), out, t->err));
    case ANY_TEXT:
        return free_text(t, format, NULL, 0, end, at, out);
    case JSON_SCHEMA:
        return build_schema(t, format, at, out);
    case SEQUENCE:
    case OR:
        return build_elements(t, format, type == SEQUENCE, end, at, out);
    case TAG:
        return build_tag(t, format, at, out);
    case TRIGGERED_TAGS:
        return build_triggered(t, format, end, at, out);
    case TAGS_WITH_SEPARATOR:
        return build_separated(t, format, at, out);
    case GRAMMAR:
        return build_grammar(t, format, at, out);
    case TOKEN:
        return build_token(t, format, at, out);
    case OPTIONAL:
        return build_repeated(t, format, 0, 1, false, end, at, out);
    case STAR:
    case PLUS:
        return build_repeated(t, format, type == PLUS, QR_REGEX_UNBOUNDED, false, end, at, out);
    default:
        return build_repeated(t, format, 0, 0, true, end, at, out);
    }
}

/* end: text that ends the tag around it, or NULL. */
static quire_status build_format(struct qr_tags *t, const struct qr_json *format, const char *end,
                                 const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place type_at = { .parent = at, .name = "type" };
    const char *type = qr_json_string(qr_json_get(format, "type"));
    if (!qr_json_is_object(format))
        return qr_tags_bad(t, at, "a format is expected");
    if (type == NULL)
        return qr_tags_bad(t, &type_at, "a string is expected");
    for (int i = 0; i < N_TYPES; i++)
        if (strcmp(type, type_names[i]) == 0) {
            QR_TRY(qr_tags_check_members(t, format, type_members[i], at));
            return build_typed(t, i, format, end, at, out);
        }
    return qr_tags_bad(t, &type_at, "an unknown type of format");
}

/* The older description: {"structures": [{"begin", "schema", "end"}], "triggers": [...]}. */
static quire_status build_structures(struct qr_tags *t, const struct qr_json *root,
                                     const struct qr_tag_place *at, qr_node *out)
{
    const struct qr_tag_place here = { .parent = at, .name = "structures" };
    const struct qr_json *array = qr_json_get(root, "structures");
    struct qr_builder *b = t->f->builder;
    struct qr_parts list = { .f = t->f };
    const char **triggers = NULL, *begin, *end;
    size_t n = 0, i = 0;
    char path[QR_TAG_MAX_PATH];
    quire_status status = read_triggers(t, root, at, &triggers, &n);
    if (status == QUIRE_OK && (!qr_json_is_array(array) || qr_json_size(array) == 0))
        status = qr_tags_bad(t, &here, "an array of at least one structure is expected");
    if (status == QUIRE_OK)
        status = check_triggers(t, array, triggers, n, &here);
    for (struct qr_json_iter it = qr_json_iterate(array); status == QUIRE_OK && qr_json_next(&it);
         i++) {
        const struct qr_tag_place element = { .parent = &here, .index = i };
        const struct qr_tag_place schema_at = { .parent = &element, .name = "schema" };
        qr_node content = 0;
        qr_tags_path(&schema_at, path, sizeof path);
        status = qr_tags_check_members(t, it.value, " begin schema end", &element);
        if (status == QUIRE_OK)
            status = qr_tags_string(t, it.value, "begin", &element, &begin);
        if (status == QUIRE_OK)
            status = qr_tags_string(t, it.value, "end", &element, &end);
        if (status == QUIRE_OK && qr_json_get(it.value, "schema") == NULL)
            status = qr_tags_bad(t, &schema_at, "a JSON schema is expected");
        if (status == QUIRE_OK)
            status = qr_schema_build_value(t->f, qr_json_get(it.value, "schema"), &qr_notation_json,
                                           path, &content, t->err);
        if (status == QUIRE_OK) {
            const qr_node parts[] = { marked(t, begin), content, marked(t, end) };
            status = qr_parts_add(&list, qr_part_node(qr_build_sequence(b, parts, 3)), t->err);
        }
    }
    if (status == QUIRE_OK) {
        const qr_node text = qr_build_lexeme(b, text_without(t, triggers, n));
        const qr_node pair[] = { text, qr_parts_choice(&list).node };
        const qr_node parts[] = {
            qr_build_repeat(b, qr_build_sequence(b, pair, 2), 0, 0, QR_REGEX_UNBOUNDED), text
        };
        *out = qr_build_sequence(b, parts, 2);
    }
    qr_parts_free(&list);
    qr_free(t->f->allocator, triggers, n, sizeof *triggers);
    return status;
}

quire_status qr_structural_tag_build(struct qr_front_end *f, const char *text, size_t size,
                                     qr_node *out, struct quire_error *err)
{
    struct qr_tags t = { .f = f, .set = qr_builder_regexes(f->builder), .err = err };
    const struct qr_tag_place at = { 0 }, format_at = { .parent = &at, .name = "format" };
    struct qr_json_error e;
    struct qr_json *root = qr_json_parse(text, size, QR_JSON_ALLOW_BIG_INTEGERS, f->allocator, &e);
    if (root == NULL)
        return qr_fail(err, e.code == QUIRE_E_FORMAT ? QUIRE_E_INVALID_ARG : e.code,
                       "the structural tag is no JSON, byte %zu: %s", e.offset, e.text);
    const struct qr_tag_place type_at = { .parent = &at, .name = "type" };
    const struct qr_json *type = qr_json_get(root, "type");
    const char *name = qr_json_string(type);
    quire_status status;
    if (type != NULL && (name == NULL || strcmp(name, "structural_tag") != 0))
        status = qr_tags_bad(&t, &type_at, "\"structural_tag\" is expected");
    else if (qr_json_get(root, "structures") != NULL)
        status = build_structures(&t, root, &at, out);
    else
        status = build_format(&t, qr_json_get(root, "format"), NULL, &format_at, out);
    qr_json_free(root);
    return status;
}
