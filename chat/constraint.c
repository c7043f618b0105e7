/* SPDX-License-Identifier: Apache-2.0 */
#include "constraint.h"
#include "exit_code.h"
#include "input_file.h"
#include "terminal.h"
#include <string.h>
#include <sysexits.h>

/* Whether the argument of --json-schema is a schema itself, not the name of a file. */
static bool is_schema(const char *text)
{
    text += strspn(text, " \t\n\r");
    return text[0] == '{' || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

static bool has_suffix(const char *path, const char *suffix)
{
    const size_t n = strlen(path), k = strlen(suffix);
    return n >= k && strcmp(path + n - k, suffix) == 0;
}

/* The text of the grammar and its notation. */
static int read_grammar(const struct options *o, struct quire_grammar_params *p, struct text *text)
{
    const char *path = o->grammar;
    if (o->regex) {
        p->kind = QUIRE_GRAMMAR_REGEX;
        text_add(text, o->regex, strlen(o->regex));
        text_add(text, "", 0);
    } else if (o->json_schema) {
        p->kind = QUIRE_GRAMMAR_JSON_SCHEMA;
        p->flags = QUIRE_GRAMMAR_ORDERED;
        path = is_schema(o->json_schema) ? NULL : o->json_schema;
        if (!path)
            text_add(text, o->json_schema, strlen(o->json_schema));
    } else {
        p->kind = has_suffix(path, ".lark") ? QUIRE_GRAMMAR_LARK : QUIRE_GRAMMAR_GBNF;
    }
    const int code = path && !o->regex ? input_file_read(path, text) : 0;
    p->text = text->data;
    p->text_size = text->size;
    return code;
}

static int compile(struct session *s, const struct quire_grammar_params *p, const char *option)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar_vocab *vocab;
    quire_status status = quire_engine_grammar_vocab(s->engine, &vocab, &err);
    if (status == QUIRE_OK)
        status = quire_grammar_compile(vocab, p, &s->grammar, &err);
    if (status == QUIRE_OK)
        return 0;
    print_message("%s: %s", option, err.msg);
    return status == QUIRE_E_NOMEM ? exit_code_of_status(status, &err, false) : EX_DATAERR;
}

int constraint_open(struct session *s)
{
    const struct options *o = s->options;
    struct quire_grammar_params p;
    struct text text = { 0 };
    const int n = !!o->json_schema + !!o->grammar + !!o->regex;
    if (n == 0)
        return 0;
    if (n > 1) {
        print_message("give one of --json-schema, --grammar and --regex");
        return EX_USAGE;
    }
    quire_grammar_params_init(&p, sizeof p);
    int code = read_grammar(o, &p, &text);
    if (code == 0)
        code = compile(s, &p,
                       o->json_schema ? "--json-schema"
                       : o->grammar   ? "--grammar"
                                      : "--regex");
    if (code == 0 && o->json_schema)
        s->schema = text;
    else
        text_free(&text);
    return code;
}

void constraint_close(struct session *s)
{
    text_free(&s->schema);
    quire_grammar_destroy(s->grammar);
    s->grammar = NULL;
}
