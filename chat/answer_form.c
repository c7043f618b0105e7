/* SPDX-License-Identifier: Apache-2.0 */
#include "answer_form.h"
#include "exit_code.h"
#include "session.h"
#include "template_variables.h"
#include "terminal.h"
#include <quire/chat_output.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static bool is_generic(const char *format) { return strcmp(format, "generic_json") == 0; }

/* The format of the answers, or NULL: a grammar of the options describes the whole text, and the
 * generic format is used for tools only. */
static const char *choose_format(const struct session *s, const char *template_text)
{
    const struct options *o = s->options;
    if (!template_text || o->raw || o->grammar || o->regex)
        return NULL;
    const char *format = quire_chat_output_detect(template_text, strlen(template_text));
    return is_generic(format) && !tools_are_offered(&s->tools) ? NULL : format;
}

static char *describe_tools(const struct tools *t)
{
    static const char before[] = "These tools can be called:\n";
    static const char after[] =
        "\nTo call tools, answer with {\"tool_calls\": [{\"name\": NAME, \"arguments\": "
        "ARGUMENTS}]}, otherwise with {\"response\": TEXT}.";
    struct text note = { 0 };
    text_add(&note, before, sizeof before - 1);
    text_add(&note, t->list.json, strlen(t->list.json));
    text_add(&note, after, sizeof after - 1);
    if (note.failed)
        text_free(&note);
    return note.data;
}

/* The end of the prompt, which tells whether a thinking block is open. */
struct prompt_end {
    const char *text;
    size_t size;
};

/* Only the last bytes: earlier messages may have the same marks. */
static struct prompt_end end_of(const struct quire_chat_prompt *prompt)
{
    enum { END_BYTES = 512 };
    size_t size;
    const char *text = quire_chat_prompt_text(prompt, &size);
    const size_t skipped = size > END_BYTES ? size - END_BYTES : 0;
    return (struct prompt_end){ text + skipped, size - skipped };
}

/* The structural tag of an answer; NULL with QUIRE_OK: it may be any text. */
static quire_status make_grammar(const struct session *s, enum quire_tool_choice choice,
                                 const struct prompt_end *end, char **out, struct quire_error *err)
{
    struct quire_chat_tool_grammar_params p;
    const bool offers = tools_are_offered(&s->tools);
    quire_chat_tool_grammar_params_init(&p, sizeof p);
    p.format = s->form.format;
    p.tools_json = offers ? s->tools.list.json : NULL;
    p.tool_choice = offers ? choice : QUIRE_TOOL_CHOICE_NONE;
    p.tool_name = choice == QUIRE_TOOL_CHOICE_NAMED ? s->tools.name : NULL;
    p.response_schema_json = s->schema.size ? s->schema.data : NULL;
    p.prompt_end = end->text;
    p.prompt_end_size = end->size;
    p.no_thinking = !s->form.has_thinking;
    return quire_chat_tool_grammar(&p, out, err);
}

/* Answers follow the order of a schema, as without tools. */
static uint32_t grammar_flags(const struct session *s)
{
    return s->schema.size ? QUIRE_GRAMMAR_ORDERED : 0;
}

/* Compiles the grammar once: what is wrong with the tools is said before the first question. */
static int check_grammar(struct session *s)
{
    const struct prompt_end end = { "", 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_grammar_vocab *vocab;
    struct quire_grammar *grammar = NULL;
    struct quire_grammar_params p;
    char *text = NULL;
    quire_status status = make_grammar(s, s->tools.choice, &end, &text, &err);
    quire_grammar_params_init(&p, sizeof p);
    p.kind = QUIRE_GRAMMAR_STRUCTURAL_TAG;
    p.text = text;
    p.text_size = QUIRE_NUL_TERMINATED;
    p.flags = grammar_flags(s);
    if (status == QUIRE_OK && text)
        status = quire_engine_grammar_vocab(s->engine, &vocab, &err);
    if (status == QUIRE_OK && text)
        status = quire_grammar_compile(vocab, &p, &grammar, &err);
    quire_grammar_destroy(grammar);
    quire_chat_tool_grammar_free(NULL, text);
    if (status == QUIRE_OK)
        return 0;
    print_message("%s: %s", tools_are_offered(&s->tools) ? "--tools" : "--json-schema", err.msg);
    return status == QUIRE_E_NOMEM ? exit_code_of_status(status, &err, false) : EX_DATAERR;
}

int answer_form_open(struct session *s, const char *template_text)
{
    int code = template_variables_open(s->options, template_text, &s->form.variables);
    s->form.format = choose_format(s, template_text);
    s->form.has_thinking = quire_chat_output_has_thinking(
        s->form.format, template_text, template_text ? strlen(template_text) : 0);
    if (code || !s->form.format)
        return code;
    if (is_generic(s->form.format)) {
        s->form.note = describe_tools(&s->tools);
        if (!s->form.note)
            return EX_TEMPFAIL;
    }
    return tools_are_offered(&s->tools) || s->schema.size ? check_grammar(s) : 0;
}

void answer_form_close(struct session *s)
{
    quire_chat_tool_grammar_free(NULL, s->form.grammar);
    free(s->form.variables);
    free(s->form.note);
    s->form = (struct answer_form){ 0 };
}

void answer_form_set(const struct session *s, struct quire_request_params *request)
{
    request->variables_json = s->form.variables;
    request->tools_json = tools_are_offered(&s->tools) ? s->tools.list.json : NULL;
}

static quire_status create_parser(struct session *s, const struct prompt_end *end,
                                  struct quire_error *err)
{
    struct quire_chat_output_params p;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = s->form.format;
    p.tools_json = tools_are_offered(&s->tools) ? s->tools.list.json : NULL;
    p.tool_choice = tools_are_offered(&s->tools) ? s->tools.choice : QUIRE_TOOL_CHOICE_NONE;
    p.prompt_end = end->text;
    p.prompt_end_size = end->size;
    p.response_is_json = s->schema.size > 0;
    /* the ids of one conversation differ, and a seed gives the same ones again */
    p.id_seed = s->settings.sampling.seed * 1000003 + s->conversation->n;
    return quire_chat_output_create(&p, &s->answer.parser, err);
}

/* A result has been given for the calls that were required: the model may answer. */
static enum quire_tool_choice choice_now(const struct session *s,
                                         const struct quire_request_params *request)
{
    const size_t n = request->n_messages;
    const bool has_result = n && strcmp(request->messages[n - 1].role, "tool") == 0;
    return has_result ? QUIRE_TOOL_CHOICE_AUTO : s->tools.choice;
}

quire_status answer_form_begin(struct session *s, struct quire_request_params *request,
                               struct quire_error *err)
{
    struct quire_chat_prompt *prompt = NULL;
    quire_chat_tool_grammar_free(NULL, s->form.grammar);
    s->form.grammar = NULL;
    if (!s->form.format)
        return QUIRE_OK;
    quire_status status = quire_engine_render_prompt(s->engine, request, true, &prompt, err);
    if (status != QUIRE_OK)
        return status;
    const struct prompt_end end = end_of(prompt);
    status = make_grammar(s, choice_now(s, request), &end, &s->form.grammar, err);
    if (status == QUIRE_OK)
        status = create_parser(s, &end, err);
    quire_chat_prompt_destroy(prompt);
    request->flags |= QUIRE_REQUEST_SHOW_SPECIAL;
    if (s->form.grammar) {
        request->grammar = NULL;
        request->has_grammar = true;
        request->grammar_kind = QUIRE_GRAMMAR_STRUCTURAL_TAG;
        request->grammar_text = s->form.grammar;
        request->grammar_text_size = QUIRE_NUL_TERMINATED;
        request->grammar_flags = grammar_flags(s);
    }
    return status;
}
