/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - JSON Schema to the nodes of a grammar. */
#include "grammar/json_schema/schema.h"
#include "base/error.h"
#include "grammar/json_schema/context.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/emit.h"
#include "grammar/json_schema/expr.h"
#include "grammar/json_schema/keys.h"
#include "grammar/regex/json_string.h"
#include "json/parse.h"
#include <string.h>

enum { POINTER_BYTES = 200 };

static bool build(struct qr_schema *s, const struct qr_json *root, qr_node *out)
{
    static const struct qr_char_range all = { 0, 0x10FFFF };
    const struct qr_object_notation *outer = s->notation->outer;
    struct qr_reach reach;
    s->any_string = qr_json_any_string(s->regexes, 0, QR_UNLIMITED);
    s->with_raw = s->notation->raw_strings || (outer && outer->raw_strings);
    s->any_raw = s->with_raw ? qr_regex_repeat(s->regexes, qr_utf8_class(s->regexes, &all, 1), 0,
                                               QR_REGEX_UNBOUNDED)
                             : (qr_regex)QR_REGEX_ANY;
    s->keys = qr_keys_new(s);
    s->exprs = s->keys ? qr_exprs_new(s) : NULL;
    s->document = s->exprs ? qr_document_new(s, root) : NULL;
    return s->document && qr_reach(s, qr_expr_schema(s, root), &reach) && qr_emit(s, &reach, out);
}

/* "PATH/properties/a: why"; the path of the root is # where the caller has none. */
static quire_status report(const struct qr_schema *s, const struct qr_json *root, const char *path,
                           struct quire_error *err)
{
    char pointer[POINTER_BYTES];
    const struct qr_schema_failure *f = &s->failure;
    qr_document_pointer(root, f->at, pointer, sizeof pointer);
    return qr_fail(err, f->status, "%s%s%s%.100s: %s", path, pointer, f->keyword ? "/" : "",
                   f->keyword ? f->keyword : "", f->text);
}

quire_status qr_schema_build_value(struct qr_front_end *f, const struct qr_json *schema,
                                   const struct qr_notation *notation, const char *path,
                                   qr_node *out, struct quire_error *err)
{
    struct qr_schema s = { .f = f,
                           .regexes = qr_builder_regexes(f->builder),
                           .notation = notation ? notation : &qr_notation_json };
    quire_status status = QUIRE_OK;
    *out = 0;
    qr_arena_init(&s.arena, f->allocator, 0);
    if (!build(&s, schema, out)) {
        *out = 0;
        status = report(&s, schema, path ? path : "#", err);
    }
    qr_arena_free(&s.arena);
    return status;
}

quire_status qr_schema_build_notation(struct qr_front_end *f, const char *text, size_t size,
                                      const struct qr_notation *notation, qr_node *out,
                                      struct quire_error *err)
{
    struct qr_json_error e;
    *out = 0;
    struct qr_json *root = qr_json_parse(text, size, QR_JSON_ALLOW_BIG_INTEGERS, f->allocator, &e);
    if (!root && (e.code == QUIRE_E_FORMAT || e.code == QUIRE_E_RANGE))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "the schema is no JSON, byte %zu, line %u: %s%s%s",
                       e.offset, e.line, e.text, *e.key ? " " : "", e.key);
    if (!root)
        return qr_fail(err, e.code, "the schema: %s", e.text);
    const quire_status status = qr_schema_build_value(f, root, notation, "#", out, err);
    qr_json_free(root);
    return status;
}

quire_status qr_schema_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                             struct quire_error *err)
{
    return qr_schema_build_notation(f, text, size, &qr_notation_json, out, err);
}
