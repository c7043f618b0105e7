/* SPDX-License-Identifier: Apache-2.0 */
/* test_tool_grammar.c - random texts that the structural tags of constrained calls allow, for
 * random tools in all formats: each must parse into the calls it was made of, whole and in pieces.
 * A naive generator, which shares no code with the grammar engine, reads the tags. */
#include "grammar/json_schema/notation.h"
#include "quire_cmocka.h"
#include "test_chat_output.h"
#include "json/parse.h"

enum { TOOL_SETS = 200, MAX_EXPECTED = 8 };

static uint64_t random_state;

static unsigned below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* A text under construction, and the calls that it holds. */
struct made {
    struct joined_text text;
    struct {
        char name[16];
        struct joined_text arguments;
    } calls[MAX_EXPECTED];
    unsigned n_calls;
};

static void add(struct joined_text *t, const char *text)
{
    if (text)
        joined_add(t, text, strlen(text));
}

static void add_quoted(struct joined_text *t, const char *text)
{
    char *const out = malloc(QR_JSON_QUOTED_MAX(strlen(text)));
    joined_add(t, out, qr_json_quote(out, text, strlen(text)));
    free(out);
}

/* ---- Random tools */

static void add_schema(struct joined_text *t, unsigned depth)
{
    static const char *const types[] = {
        "{\"type\":\"string\"}",
        "{\"type\":\"integer\"}",
        "{\"type\":\"boolean\"}",
        "{\"type\":\"number\"}",
        "{\"enum\":[\"red\",\"deep blue\"]}",
        "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
        "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}",
    };
    const unsigned n = sizeof types / sizeof *types;
    const unsigned k = below(n + (depth < 2));
    if (k < n) {
        add(t, types[k]);
        return;
    }
    add(t, "{\"type\":\"object\",\"properties\":{\"x\":");
    add_schema(t, depth + 1);
    add(t, ",\"y_2\":");
    add_schema(t, depth + 1);
    add(t, "},\"required\":[\"y_2\"],\"additionalProperties\":false}");
}

/* `title` tells the generator which tool a schema belongs to. */
static char *random_tools(unsigned *n_tools)
{
    struct joined_text t = { 0 };
    char text[160];
    *n_tools = 1 + below(4);
    add(&t, "[");
    for (unsigned i = 0; i < *n_tools; i++) {
        const unsigned n = below(4);
        snprintf(text, sizeof text,
                 "%s{\"type\":\"function\",\"function\":{\"name\":\"tool_%u\",\"parameters\":{"
                 "\"title\":\"tool_%u\",\"type\":\"object\",\"properties\":{",
                 i ? "," : "", i, i);
        add(&t, text);
        for (unsigned p = 0; p < n; p++) {
            snprintf(text, sizeof text, "%s\"p%u\":", p ? "," : "", p);
            add(&t, text);
            add_schema(&t, 0);
        }
        add(&t, n ? "},\"required\":[\"p0\"]}}}" : "}}}}");
    }
    add(&t, "]");
    return t.text;
}

/* ---- Values */

static void random_text(char *out, size_t size)
{
    static const char *const parts[] = { "a",   "Z9",   " ", "\n", "\"",  "'",  "\\", "{",
                                         "}",   "[",    "]", "<",  ">",   "</", ",",  "=",
                                         ":",   "(",    ")", "`",  "é",   "漢", "🎉",  "\t",
                                         "001", "true", "b", "<|", "call" };
    out[0] = 0;
    for (unsigned n = below(8); n > 0 && strlen(out) + 8 < size; n--)
        strcat(out, parts[below(sizeof parts / sizeof *parts)]);
}

static void add_value(const struct qr_json *schema, const struct qr_notation *n, bool raw,
                      struct joined_text *text, struct joined_text *json);

static void add_object(const struct qr_json *schema, const struct qr_notation *n,
                       const struct qr_object_notation *o, struct joined_text *text,
                       struct joined_text *json)
{
    const struct qr_json *const required = qr_json_get(schema, "required");
    bool first = true;
    add(text, o->open);
    add(json, "{");
    for (struct qr_json_iter i = qr_json_iterate(qr_json_get(schema, "properties"));
         qr_json_next(&i);) {
        const char *const type = qr_json_string(qr_json_get(i.value, "type"));
        const bool string = !type || strcmp(type, "string") == 0;
        bool needed = false;
        for (struct qr_json_iter r = qr_json_iterate(required); qr_json_next(&r);)
            needed = needed || strcmp(qr_json_string(r.value), i.key) == 0;
        if (!needed && below(2))
            continue;
        if (!first) {
            add(text, o->separator);
            add(json, ",");
            if (o->white_space && below(2))
                add(text, " ");
        }
        first = false;
        add(text, o->key_open);
        add(text, i.key);
        add(text,
            string && o->raw_strings && o->key_close_string ? o->key_close_string : o->key_close);
        add_quoted(json, i.key);
        add(json, ":");
        add_value(i.value, n, o->raw_strings, text, json);
        add(text, o->member_close);
    }
    add(text, o->close);
    add(json, "}");
}

static void add_string(const struct qr_json *schema, const struct qr_notation *n, bool raw,
                       struct joined_text *text, struct joined_text *json)
{
    char value[128];
    struct joined_text quoted = { 0 };
    const struct qr_json *const choices = qr_json_get(schema, "enum");
    random_text(value, sizeof value);
    if (choices)
        snprintf(value, sizeof value, "%s",
                 qr_json_string(qr_json_at(choices, below((unsigned)qr_json_size(choices)))));
    add_quoted(&quoted, value);
    joined_add(json, quoted.text, quoted.size);
    if (!raw)
        add(text, n->string_open);
    if (raw || n->raw_strings)
        add(text, value);
    else
        joined_add(text, quoted.text + 1, quoted.size - 2);
    if (!raw)
        add(text, n->string_close);
    free(quoted.text);
}

static void add_value(const struct qr_json *schema, const struct qr_notation *n, bool raw,
                      struct joined_text *text, struct joined_text *json)
{
    static const char *const numbers[] = { "0", "-7", "42", "2.5", "-0.125", "3e2" };
    const char *const type = qr_json_string(qr_json_get(schema, "type"));
    if (!type || strcmp(type, "string") == 0) {
        add_string(schema, n, raw, text, json);
    } else if (strcmp(type, "boolean") == 0) {
        const bool yes = below(2);
        add(text, yes ? n->true_text : n->false_text);
        add(json, yes ? "true" : "false");
    } else if (strcmp(type, "object") == 0) {
        add_object(schema, n, &n->object, text, json);
    } else if (strcmp(type, "array") == 0) {
        add(text, "[");
        add(json, "[");
        for (unsigned i = below(4), k = 0; k < i; k++) {
            add(text, k ? "," : "");
            add(json, k ? "," : "");
            add_value(qr_json_get(schema, "items"), n, false, text, json);
        }
        add(text, "]");
        add(json, "]");
    } else {
        const char *const number = numbers[below(strcmp(type, "integer") == 0 ? 3 : 6)];
        add(text, number);
        add(json, number);
    }
}

/* ---- Structural tags */

static void add_schema_text(struct made *m, const struct qr_json *f)
{
    const struct qr_json *const schema = qr_json_get(f, "json_schema");
    const char *const name = qr_json_string(qr_json_get(f, "notation"));
    const struct qr_notation *const n = qr_notation_find(name ? name : "json");
    const char *const title = qr_json_string(qr_json_get(schema, "title"));
    assert_non_null(n);
    assert_non_null(title);
    assert_true(m->n_calls < MAX_EXPECTED);
    struct joined_text *const json = &m->calls[m->n_calls].arguments;
    snprintf(m->calls[m->n_calls++].name, sizeof m->calls->name, "%s", title);
    add_object(schema, n, n->outer ? n->outer : &n->object, &m->text, json);
}

static void add_free_text(struct made *m)
{
    static const char *const words[] = {
        "Hello ", "1 < 2 ", "{x} ", "[y] ", "so\n", "é ", "f(x) "
    };
    for (unsigned n = below(4); n > 0; n--)
        add(&m->text, words[below(sizeof words / sizeof *words)]);
}

static void generate(struct made *m, const struct qr_json *f);

static void generate_tag(struct made *m, const struct qr_json *tags)
{
    generate(m, qr_json_at(tags, below((unsigned)qr_json_size(tags))));
}

static void generate_regex(struct made *m, const char *pattern)
{
    if (strcmp(pattern, "[0-9]{1,3}") == 0)
        add(&m->text, below(2) ? "7" : "120");
    else if (strcmp(pattern, "\\n{0,2}") == 0)
        add(&m->text, &"\n\n"[below(3)]);
    else
        fail_msg("unknown pattern %s", pattern);
}

static void generate(struct made *m, const struct qr_json *f)
{
    const char *const type = qr_json_string(qr_json_get(f, "type"));
    const struct qr_json *const elements = qr_json_get(f, "elements");
    const struct qr_json *const tags = qr_json_get(f, "tags");
    const bool one = qr_json_is_true(qr_json_get(f, "stop_after_first"));
    const unsigned max = one || m->n_calls > 2 ? 1 : 2;
    assert_non_null(type);
    if (strcmp(type, "const_string") == 0)
        add(&m->text, qr_json_string(qr_json_get(f, "value")));
    else if (strcmp(type, "regex") == 0)
        generate_regex(m, qr_json_string(qr_json_get(f, "pattern")));
    else if (strcmp(type, "any_text") == 0)
        add_free_text(m);
    else if (strcmp(type, "json_schema") == 0)
        add_schema_text(m, f);
    else if (strcmp(type, "sequence") == 0)
        for (struct qr_json_iter i = qr_json_iterate(elements); qr_json_next(&i);)
            generate(m, i.value);
    else if (strcmp(type, "or") == 0)
        generate(
            m, qr_json_at(elements, m->n_calls > 2 ? 0 : below((unsigned)qr_json_size(elements))));
    else if (strcmp(type, "tag") == 0) {
        add(&m->text, qr_json_string(qr_json_get(f, "begin")));
        generate(m, qr_json_get(f, "content"));
        add(&m->text, qr_json_string(qr_json_get(f, "end")));
    } else if (strcmp(type, "triggered_tags") == 0) {
        add_free_text(m);
        for (unsigned n = below(max + 1); n > 0; n--) {
            generate_tag(m, tags);
            add_free_text(m);
        }
    } else if (strcmp(type, "tags_with_separator") == 0) {
        generate_tag(m, tags);
        for (unsigned n = below(max); n > 0; n--) {
            add(&m->text, qr_json_string(qr_json_get(f, "separator")));
            generate_tag(m, tags);
        }
    } else
        fail_msg("unknown type %s", type);
}

static void made_free(struct made *m)
{
    free(m->text.text);
    for (unsigned i = 0; i < m->n_calls; i++)
        free(m->calls[i].arguments.text);
}

static bool as_made(const struct made *m, const struct joined *j)
{
    bool same = m->n_calls == j->n_calls && !j->disorder;
    for (unsigned i = 0; same && i < m->n_calls; i++) {
        struct qr_json_error e;
        const struct joined_text *const got = &j->calls[i].arguments;
        struct qr_json *const want =
            qr_json_parse(m->calls[i].arguments.text, m->calls[i].arguments.size, 0, NULL, &e);
        struct qr_json *const v = qr_json_parse(got->text, got->size, 0, NULL, &e);
        same = want && v && qr_json_equal(want, v) &&
               strcmp(m->calls[i].name, j->calls[i].name.text) == 0;
        qr_json_free(want);
        qr_json_free(v);
    }
    return same;
}

/* One answer in a format under random settings. False: its calls do not parse as made. */
static bool answer(const char *format, const char *tools, unsigned n_tools)
{
    struct quire_chat_tool_grammar_params g;
    struct quire_chat_output_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_json_error e;
    struct made m = { 0 };
    struct joined j;
    char *text, name[16];
    snprintf(name, sizeof name, "tool_%u", below(n_tools));
    quire_chat_tool_grammar_params_init(&g, sizeof g);
    quire_chat_output_params_init(&p, sizeof p);
    p.format = g.format = format;
    p.tools_json = g.tools_json = tools;
    p.tool_choice = g.tool_choice =
        (enum quire_tool_choice[]){ QUIRE_TOOL_CHOICE_AUTO, QUIRE_TOOL_CHOICE_REQUIRED,
                                    QUIRE_TOOL_CHOICE_NAMED }[below(3)];
    g.tool_name = name;
    g.single_call = below(2);
    p.thinking = g.thinking = QUIRE_THINKING_CLOSED;
    const quire_status status = quire_chat_tool_grammar(&g, &text, &err);
    if (status == QUIRE_E_UNSUPPORTED)
        return true;
    if (status != QUIRE_OK)
        fail_msg("%s: %s", format, err.msg);
    struct qr_json *const tag = qr_json_parse(text, strlen(text), 0, NULL, &e);
    if (!tag)
        fail_msg("%s: %s at %zu of %s", format, e.text, e.offset, text);
    add(&m.text, "");
    generate(&m, qr_json_get(tag, "format"));
    assert_int_equal(joined_run(&j, &p, m.text.text, m.text.size, (struct pieces){ 0 }, &err),
                     QUIRE_OK);
    bool ok = as_made(&m, &j);
    for (unsigned seed = 0; ok && seed < 4; seed++) {
        struct joined k;
        assert_int_equal(joined_run(&k, &p, m.text.text, m.text.size,
                                    (struct pieces){ .longest = 1 + 4 * seed, .seed = seed }, &err),
                         QUIRE_OK);
        ok = joined_same(&j, &k);
        joined_free(&k);
    }
    if (g.tool_choice != QUIRE_TOOL_CHOICE_AUTO)
        ok = ok && j.n_calls > 0 && (!g.single_call || j.n_calls == 1);
    if (!ok) {
        fprintf(stderr, "%s choice %d: %s\n  content %s\n", format, (int)g.tool_choice, m.text.text,
                j.content.text);
        for (unsigned i = 0; i < m.n_calls; i++)
            fprintf(stderr, "  made %s %s\n", m.calls[i].name, m.calls[i].arguments.text);
        for (unsigned i = 0; i < j.n_calls; i++)
            fprintf(stderr, "  got  %s %s\n", j.calls[i].name.text, j.calls[i].arguments.text);
    }
    joined_free(&j);
    made_free(&m);
    qr_json_free(tag);
    quire_chat_tool_grammar_free(NULL, text);
    return ok;
}

static void random_answers(void **state)
{
    unsigned bad = 0;
    (void)state;
    for (unsigned set = 0; set < TOOL_SETS && bad < 5; set++) {
        const char *format;
        unsigned n_tools;
        random_state = 1000 + set;
        char *const tools = random_tools(&n_tools);
        for (size_t f = 0; (format = quire_chat_output_format_name(f)); f++)
            bad += !answer(format, tools, n_tools);
        free(tools);
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_answers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
