/* SPDX-License-Identifier: Apache-2.0 */
#include "structure_fields.h"
#include "template_fields.h"
#include <string.h>

/* name: of the parameter, for errors. */
static void set(struct generation *g, const char *name, enum quire_grammar_kind kind,
                const char *text, uint32_t flags)
{
    const size_t n = strlen(name) + 1;
    char *copy = generation_alloc(g, n);
    if (copy != NULL)
        memcpy(copy, name, n);
    g->grammar_param = copy;
    struct quire_request_params *r = &g->requests[0];
    r->has_grammar = true;
    r->grammar_kind = kind;
    r->grammar_text = text;
    r->grammar_text_size = QUIRE_NUL_TERMINATED;
    r->grammar_flags = flags;
}

/* The same with a JSON value as the text. */
static bool set_json(struct generation *g, const char *name, enum quire_grammar_kind kind,
                     const json_t *value, uint32_t flags, struct api_error *error)
{
    const char *text = template_fields_dump(g, value, error);
    if (text != NULL)
        set(g, name, kind, text, flags);
    return text != NULL;
}

void structure_set_json_object(struct generation *g, const char *name)
{
    set(g, name, QUIRE_GRAMMAR_JSON_OBJECT, NULL, 0);
}

bool structure_set_schema(struct generation *g, const char *name, const json_t *schema,
                          bool ordered, struct api_error *error)
{
    if (!json_is_object(schema) && !json_is_boolean(schema))
        return api_fail(error, 400, NULL, name, "%s must be a JSON schema: an object or a boolean.",
                        name);
    return set_json(g, name, QUIRE_GRAMMAR_JSON_SCHEMA, schema, ordered ? QUIRE_GRAMMAR_ORDERED : 0,
                    error);
}

/* {"name", "description", "schema", "strict"}, or the same members beside "type". */
static bool read_json_schema(struct fields *f, struct generation *g, json_t *object,
                             const char *path, const char *const *other_members)
{
    struct fields s;
    json_t *schema = NULL;
    const char *text;
    bool strict = false;
    char name[128];
    if (!fields_init(&s, object, path, f->error))
        return false;
    fields_string(&s, "name", &text);
    fields_string(&s, "description", &text);
    fields_boolean(&s, "strict", &strict);
    snprintf(name, sizeof name, "%s.schema", path);
    if (!fields_value(&s, "schema", &schema))
        fields_fail(&s, "schema", "%s is missing.", name);
    return fields_finish(&s, other_members) &&
           structure_set_schema(g, name, schema, strict, f->error);
}

bool structure_read_format(struct fields *f, struct generation *g, json_t *object, const char *path,
                           bool inline_schema)
{
    enum { FORMAT_TEXT, FORMAT_OBJECT, FORMAT_SCHEMA, FORMAT_TAG };
    static const char *const types[] = { "text", "json_object", "json_schema", "structural_tag",
                                         NULL };
    static const char *const type_only[] = { "type", NULL };
    struct fields o;
    json_t *schema = NULL;
    unsigned type = FORMAT_TEXT;
    char name[128];
    if (!fields_init(&o, object, path, f->error))
        return false;
    if (!fields_choice(&o, "type", types, &type))
        return fields_fail(&o, "type", "%s.type is missing.", path);
    if (type == FORMAT_TAG)
        return set_json(g, path, QUIRE_GRAMMAR_STRUCTURAL_TAG, object, 0, f->error);
    if (type == FORMAT_SCHEMA && inline_schema)
        return read_json_schema(f, g, object, path, type_only);
    if (type == FORMAT_SCHEMA) {
        snprintf(name, sizeof name, "%s.json_schema", path);
        if (!fields_object(&o, "json_schema", &schema))
            fields_fail(&o, "json_schema", "%s is missing.", name);
        return fields_finish(&o, NULL) && read_json_schema(f, g, schema, name, NULL);
    }
    /* llama.cpp: a schema beside json_object */
    snprintf(name, sizeof name, "%s.schema", path);
    if (type == FORMAT_OBJECT && fields_object(&o, "schema", &schema))
        structure_set_schema(g, name, schema, false, f->error);
    else if (type == FORMAT_OBJECT)
        structure_set_json_object(g, path);
    return fields_finish(&o, NULL) && type == FORMAT_OBJECT;
}

/* A schema that is given as JSON, or as text of JSON. */
static bool read_schema(struct fields *f, struct generation *g, const char *name, json_t *value)
{
    if (!json_is_string(value))
        return structure_set_schema(g, name, value, false, f->error);
    set(g, name, QUIRE_GRAMMAR_JSON_SCHEMA, json_string_value(value), 0);
    return true;
}

/* vLLM takes two notations under one name: rules of GBNF are defined by "::=". */
static enum quire_grammar_kind notation(const char *grammar)
{
    return strstr(grammar, "::=") != NULL ? QUIRE_GRAMMAR_GBNF : QUIRE_GRAMMAR_LARK;
}

enum guided { BY_SCHEMA, BY_REGEX, BY_CHOICE, BY_GRAMMAR, ANY_OBJECT, BY_TAG, N_GUIDED };

/* One member; whether it constrains the answer. */
static bool read_guided(struct fields *f, struct generation *g, enum guided which, const char *name)
{
    const char *text;
    json_t *v = NULL;
    bool any_object = false;
    if (which == ANY_OBJECT) {
        if (fields_boolean(f, name, &any_object) && any_object)
            structure_set_json_object(g, name);
        return any_object;
    }
    if (which == BY_REGEX || which == BY_GRAMMAR) {
        if (!fields_string(f, name, &text))
            return false;
        set(g, name, which == BY_REGEX ? QUIRE_GRAMMAR_REGEX : notation(text), text, 0);
        return true;
    }
    if (!fields_value(f, name, &v))
        return false;
    if (which == BY_SCHEMA)
        read_schema(f, g, name, v);
    else
        set_json(g, name, which == BY_CHOICE ? QUIRE_GRAMMAR_CHOICE : QUIRE_GRAMMAR_STRUCTURAL_TAG,
                 v, 0, f->error);
    return true;
}

/* The parameters of vLLM, older and newer names; the number of those that constrain the answer. */
static unsigned read_vllm(struct fields *f, struct generation *g)
{
    static const char *const older[N_GUIDED] = { "guided_json",        "guided_regex",
                                                 "guided_choice",      "guided_grammar",
                                                 "guided_json_object", "structural_tag" };
    static const char *const newer[N_GUIDED] = { "json",    "regex",       "choice",
                                                 "grammar", "json_object", "structural_tag" };
    struct fields o;
    json_t *object;
    unsigned given = 0;
    for (unsigned i = 0; i < N_GUIDED; i++)
        given += read_guided(f, g, i, older[i]);
    if (!fields_object(f, "structured_outputs", &object))
        return given;
    fields_init(&o, object, "structured_outputs", f->error);
    for (unsigned i = 0; i < N_GUIDED; i++)
        given += read_guided(&o, g, i, newer[i]);
    fields_finish(&o, NULL);
    return given;
}

bool structure_fields_read(struct fields *f, struct generation *g)
{
    json_t *v;
    const char *text;
    unsigned given = read_vllm(f, g);
    if (fields_string(f, "grammar", &text) && text[0] != '\0') {
        set(g, "grammar", QUIRE_GRAMMAR_GBNF, text, 0);
        given++;
    }
    if (fields_value(f, "json_schema", &v)) {
        read_schema(f, g, "json_schema", v);
        given++;
    }
    if (fields_object(f, "response_format", &v))
        given += structure_read_format(f, g, v, "response_format", false);
    fields_unsupported(f, "guided_whitespace_pattern", NULL);
    if (given > 1)
        fields_fail(f, "",
                    "Only one of response_format, json_schema, grammar, guided_* and "
                    "structured_outputs may constrain the answer.");
    return f->error->status == 0;
}
