/* SPDX-License-Identifier: Apache-2.0 */
#include "constraint.h"
#include "exit_code.h"
#include "terminal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum { MAX_TEXT = 16 << 20 };

static int read_file(const char *path, struct text *out)
{
    char buf[65536];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f) {
        print_message("cannot read %s: %s", path, strerror(errno));
        return EX_NOINPUT;
    }
    while (out->size <= MAX_TEXT && (n = fread(buf, 1, sizeof buf, f)) > 0)
        text_add(out, buf, n);
    text_add(out, "", 0);
    int code = 0;
    if (ferror(f)) {
        code = errno == EISDIR ? EX_NOINPUT : EX_IOERR;
        print_message("cannot read %s: %s", path, strerror(errno));
    } else if (out->failed || out->size > MAX_TEXT) {
        code = EX_DATAERR;
        print_message("%s exceeds 16 MiB", path);
    }
    fclose(f);
    return code;
}

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
    const int code = path && !o->regex ? read_file(path, text) : 0;
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
    text_free(&text);
    return code;
}

void constraint_close(struct session *s)
{
    quire_grammar_destroy(s->grammar);
    s->grammar = NULL;
}
