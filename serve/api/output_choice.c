/* SPDX-License-Identifier: Apache-2.0 */
#include "output_choice.h"
#include "generation.h"
#include "text.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* What the parser sees of the prompt. */
enum { PROMPT_END = 512 };

struct setup {
    struct generation *g;
    struct quire_request_params *request;
    const char *format;
    char *prompt_end; /* [prompt_end_size] */
    size_t prompt_end_size;
};

static bool has_tools(const struct setup *s)
{
    return s->request->tools_json != NULL && s->g->output.tool_choice != QUIRE_TOOL_CHOICE_NONE;
}

/* ---- Tools of a model whose chat template has none ---- */

/* Describes the tools and the notation of calls in the system message. */
static bool describe_tools(struct setup *s)
{
    struct quire_request_params *r = s->request;
    const bool has_system = strcmp(r->messages[0].role, "system") == 0;
    struct quire_chat_message *all = generation_alloc(s->g, (r->n_messages + 1) * sizeof *all);
    struct text t = { 0 };
    if (has_system && r->messages[0].content != NULL) {
        const size_t n = r->messages[0].content_len;
        text_add(&t, r->messages[0].content,
                 n == QUIRE_NUL_TERMINATED ? strlen(r->messages[0].content) : n);
        text_add_string(&t, "\n\n");
    }
    text_format(&t,
                "These tools can be called:\n%s\n"
                "To call tools, answer with {\"tool_calls\": [{\"name\": NAME, \"arguments\": "
                "ARGUMENTS}]}, otherwise with {\"response\": TEXT}.",
                r->tools_json);
    char *content = t.failed || all == NULL ? NULL : generation_alloc(s->g, t.size + 1);
    if (content != NULL) {
        memcpy(content, t.data, t.size + 1);
        all[0] = (struct quire_chat_message){ .role = "system",
                                              .content = content,
                                              .content_len = t.size };
        memcpy(all + 1, r->messages + has_system, (r->n_messages - has_system) * sizeof *all);
        r->messages = all;
        r->n_messages += !has_system;
    }
    text_free(&t);
    return content != NULL;
}

/* ---- The prompt ---- */

/* Keeps the end of the rendered prompt, which tells whether a thinking block is open. */
static bool read_prompt_end(struct setup *s, struct api_error *error)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_prompt *prompt = NULL;
    size_t n;
    const quire_status status =
        quire_engine_render_prompt(s->g->model->engine, s->request, true, &prompt, &err);
    if (status != QUIRE_OK)
        return generation_engine_error(s->g, 0, status, &err, error);
    const char *text = quire_chat_prompt_text(prompt, &n);
    s->prompt_end_size = n < PROMPT_END ? n : PROMPT_END;
    s->prompt_end = generation_alloc(s->g, s->prompt_end_size + 1);
    if (s->prompt_end != NULL)
        memcpy(s->prompt_end, text + n - s->prompt_end_size, s->prompt_end_size);
    quire_chat_prompt_destroy(prompt);
    return s->prompt_end != NULL || api_fail(error, 500, NULL, NULL, "out of memory");
}

/* ---- Grammar ---- */

static bool copy_grammar(struct setup *s, const char *text, struct api_error *error)
{
    struct quire_request_params *r = s->request;
    const size_t n = strlen(text);
    char *copy = generation_alloc(s->g, n + 1);
    if (copy == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    memcpy(copy, text, n + 1);
    r->has_grammar = true;
    r->grammar_kind = QUIRE_GRAMMAR_STRUCTURAL_TAG;
    r->grammar_text = copy;
    if (has_tools(s))
        s->g->grammar_param = "tools";
    r->grammar_text_size = n;
    return true;
}

/* Calls in the notation of the model, and content that satisfies the schema of the request. */
static bool set_grammar(struct setup *s, struct api_error *error)
{
    struct quire_request_params *r = s->request;
    struct quire_chat_tool_grammar_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    char *text = NULL;
    const bool schema = r->has_grammar && (r->grammar_kind == QUIRE_GRAMMAR_JSON_SCHEMA ||
                                           r->grammar_kind == QUIRE_GRAMMAR_JSON_OBJECT);
    if (!has_tools(s) && !schema)
        return true;
    if (has_tools(s) && r->has_grammar && !schema)
        return api_fail(error, 400, NULL, "tools", "tools are not combined with a grammar.");
    quire_chat_tool_grammar_params_init(&p, sizeof p);
    p.format = s->format;
    p.tools_json = has_tools(s) ? r->tools_json : NULL;
    p.tool_choice = has_tools(s) ? s->g->output.tool_choice : QUIRE_TOOL_CHOICE_NONE;
    p.tool_name = s->g->output.tool_name;
    if (schema)
        p.response_schema_json = r->grammar_kind == QUIRE_GRAMMAR_JSON_SCHEMA
                                     ? r->grammar_text
                                     : "{\"type\":\"object\"}";
    p.prompt_end = s->prompt_end;
    p.prompt_end_size = s->prompt_end_size;
    p.single_call = s->g->output.single_call;
    p.no_thinking = !s->g->model->has_thinking;
    const quire_status status = quire_chat_tool_grammar(&p, &text, &err);
    if (status != QUIRE_OK) {
        static const char field[] = "response_schema_json";
        const bool of_schema = strncmp(err.msg, field, sizeof field - 1) == 0;
        const char *given = s->g->grammar_param ? s->g->grammar_param : "response_format";
        api_fail_status(error, status, &err);
        if (error->param[0] == '\0')
            snprintf(error->param, sizeof error->param, "%s",
                     has_tools(s) && !of_schema ? "tools" : given);
        return false;
    }
    const bool ok = text == NULL || copy_grammar(s, text, error);
    quire_chat_tool_grammar_free(NULL, text);
    return ok;
}

/* ---- Parsers ---- */

static bool create_parsers(struct setup *s, struct api_error *error)
{
    const struct output_choice *o = &s->g->output;
    struct quire_chat_output_params p;
    struct quire_error err = QUIRE_ERROR_INIT;
    uint64_t seed = s->g->id;
    (void)!getrandom(&seed, sizeof seed, 0); /* the number of the generation is good enough */
    quire_chat_output_params_init(&p, sizeof p);
    p.format = s->format;
    p.tools_json = has_tools(s) ? s->request->tools_json : NULL;
    p.tool_choice = has_tools(s) ? o->tool_choice : QUIRE_TOOL_CHOICE_NONE;
    p.reasoning = o->keep_reasoning ? QUIRE_REASONING_NONE : QUIRE_REASONING_AUTO;
    p.prompt_end = s->prompt_end;
    p.prompt_end_size = s->prompt_end_size;
    p.single_call = o->single_call;
    p.response_is_json = s->request->has_grammar;
    for (uint32_t i = 0; i < s->g->choices; i++) {
        p.id_seed = seed + i;
        const quire_status status = quire_chat_output_create(&p, &s->g->answers[i].parser, &err);
        if (status != QUIRE_OK) {
            api_fail_status(error, status, &err);
            if (status == QUIRE_E_INVALID_ARG && error->param[0] == '\0')
                strcpy(error->param, "tools");
            return false;
        }
    }
    return true;
}

bool output_choice_apply(struct generation *g, struct api_error *error)
{
    struct setup s = { .g = g, .request = &g->requests[0], .format = g->model->chat_format };
    if (!g->output.parse || s.request->messages == NULL || s.format == NULL)
        return true;
    const bool generic = strcmp(s.format, "generic_json") == 0;
    if (generic && !has_tools(&s))
        return true; /* neither reasoning nor calls: nothing to split */
    if (generic && !describe_tools(&s))
        return api_fail(error, 500, NULL, NULL, "out of memory");
    if (!has_tools(&s))
        s.request->tools_json = NULL; /* tool_choice none: the model does not see them */
    if (!read_prompt_end(&s, error) || !set_grammar(&s, error) || !create_parsers(&s, error))
        return false;
    s.request->flags |= QUIRE_REQUEST_SHOW_SPECIAL;
    return true;
}
