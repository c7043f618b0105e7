/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"
#include "chat_messages.h"
#include "exchange.h"
#include "fields.h"
#include "json_build.h"
#include "message_answer.h"
#include "message_input.h"
#include "sampling_fields.h"
#include "server.h"
#include "structure_fields.h"
#include "template_fields.h"
#include "tool_fields.h"
#include <stdio.h>
#include <string.h>

/* ---- Request */

/* `system`: a string, or blocks of type text. */
static const char *read_system(struct fields *f, struct generation *g)
{
    json_t *v;
    struct text joined = { 0 };
    if (!fields_value(f, "system", &v))
        return NULL;
    if (json_is_string(v)) {
        const char *system = NULL;
        fields_string(f, "system", &system);
        return system;
    }
    if (!json_is_array(v))
        fields_fail(f, "system", "system must be a string or an array of text blocks.");
    for (size_t i = 0; i < json_array_size(v); i++) {
        static const char *const types[] = { "text", NULL };
        struct fields block;
        char path[40];
        unsigned type = 0;
        const char *text = "";
        snprintf(path, sizeof path, "system[%zu]", i);
        if (fields_init(&block, json_array_get(v, i), path, f->error) &&
            (!fields_choice(&block, "type", types, &type) || !fields_string(&block, "text", &text)))
            fields_fail(&block, "", "%s must have a type and a text.", path);
        text_add_string(&joined, text);
    }
    char *copy = generation_alloc(g, joined.size + 1);
    if (copy == NULL || joined.failed)
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    else if (joined.size > 0)
        memcpy(copy, joined.data, joined.size);
    text_free(&joined);
    return copy;
}

static bool read_messages(struct fields *f, struct generation *g)
{
    struct quire_request_params *r = &g->requests[0];
    struct message *m = g->state;
    json_t *messages = NULL;
    fields_value(f, "messages", &messages);
    const char *system = read_system(f, g);
    m->input = f->error->status == 0 ? message_input(messages, f->error) : NULL;
    if (m->input == NULL || !chat_messages_read(g, r, m->input, "messages", f->error))
        return false;
    if (system == NULL)
        return true;
    struct quire_chat_message *all = generation_alloc(g, (r->n_messages + 1) * sizeof *all);
    if (all == NULL)
        return api_fail(f->error, 500, NULL, NULL, "out of memory");
    all[0] = (struct quire_chat_message){ .role = "system", .content = system };
    memcpy(all + 1, r->messages, r->n_messages * sizeof *all);
    r->messages = all;
    r->n_messages++;
    return true;
}

/* tool_choice: {"type": "auto" | "any" | "tool" | "none", "name", "disable_parallel_tool_use"} */
static bool read_tool_choice(struct fields *f, struct generation *g)
{
    static const char *const types[] = { "auto", "any", "tool", "none", NULL };
    static const enum quire_tool_choice choices[] = { QUIRE_TOOL_CHOICE_AUTO,
                                                      QUIRE_TOOL_CHOICE_REQUIRED,
                                                      QUIRE_TOOL_CHOICE_NAMED,
                                                      QUIRE_TOOL_CHOICE_NONE };
    struct fields c;
    json_t *object;
    unsigned type = 0;
    const char *name = NULL;
    bool single = false;
    if (!fields_object(f, "tool_choice", &object))
        return f->error->status == 0;
    fields_init(&c, object, "tool_choice", f->error);
    if (!fields_choice(&c, "type", types, &type))
        fields_fail(&c, "type", "tool_choice.type is missing.");
    fields_boolean(&c, "disable_parallel_tool_use", &single);
    if (choices[type] == QUIRE_TOOL_CHOICE_NAMED && !fields_string(&c, "name", &name))
        fields_fail(&c, "name", "tool_choice.name is missing.");
    g->output.single_call = single;
    return fields_finish(&c, NULL) &&
           tool_fields_set_choice(g, choices[type], name, "tool_choice", f->error);
}

/* thinking: {"type": "enabled" | "disabled" | "adaptive"}. It goes to the template; its budget is
 * not enforced. */
static bool read_thinking(struct fields *f)
{
    static const char *const types[] = { "disabled", "enabled", "adaptive", NULL };
    static const char *const harmless[] = { "budget_tokens", "display", NULL };
    struct fields t;
    json_t *object;
    unsigned type = 0;
    if (!fields_object(f, "thinking", &object))
        return f->error->status == 0;
    fields_init(&t, object, "thinking", f->error);
    t.ignored = f->ignored;
    t.user = f->user;
    if (!fields_choice(&t, "type", types, &type))
        fields_fail(&t, "type", "thinking.type is missing.");
    json_t *variables = json_object_get(f->object, "chat_template_kwargs");
    variables = variables ? json_incref(variables) : json_object();
    json_build_set(&variables, "enable_thinking", json_boolean(type != 0));
    if (json_object_set_new(f->object, "chat_template_kwargs", variables) != 0)
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    return fields_finish(&t, harmless);
}

/* output_format, or output_config.format: a JSON schema. */
static bool read_format(struct fields *f, struct generation *g)
{
    static const char *const harmless[] = { "effort", NULL };
    json_t *format, *config;
    struct fields c;
    if (fields_object(f, "output_format", &format))
        structure_read_format(f, g, format, "output_format", true);
    if (!fields_object(f, "output_config", &config))
        return f->error->status == 0;
    fields_init(&c, config, "output_config", f->error);
    c.ignored = f->ignored;
    c.user = f->user;
    if (fields_object(&c, "format", &format))
        structure_read_format(f, g, format, "output_config.format", true);
    return fields_finish(&c, harmless);
}

/* What an answer and the count of its prompt have in common. */
static bool read_prompt(struct fields *f, struct generation *g)
{
    g->output.parse = true;
    fields_unsupported(f, "mcp_servers", json_array());
    fields_unsupported(f, "container", NULL);
    return read_messages(f, g) && tool_fields_read(f, g, TOOLS_ANTHROPIC) &&
           read_tool_choice(f, g) && read_thinking(f) && template_fields_read(f, g) &&
           read_format(f, g);
}

static const char *const harmless[] = { "metadata", "service_tier", "context_management", NULL };

static struct message *new_message(struct generation *g, struct fields *f, struct api_error *error)
{
    struct message *m = g->state = generation_alloc(g, sizeof *m);
    if (m == NULL)
        api_fail(error, 500, NULL, NULL, "out of memory");
    fields_init(f, g->body, "", error);
    return m;
}

static bool parse(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct message *m = new_message(g, &f, error);
    int64_t max_tokens = 0;
    if (m == NULL || !openai_answer_init(&m->common, g, &f, "msg") || !read_prompt(&f, g))
        return false;
    if (!fields_integer(&f, "max_tokens", 1, INT32_MAX, &max_tokens))
        fields_fail(&f, "max_tokens", "max_tokens is missing.");
    g->requests[0].max_tokens = (uint32_t)max_tokens;
    fields_boolean(&f, "stream", &m->common.stream);
    g->flags = KEEP_TEXT | (m->common.stream ? KEEP_ALIVE : 0);
    if (!sampling_fields_read(&f, g))
        return false;
    if (g->requests[0].n > 1)
        return fields_fail(&f, "n", "n must be 1.");
    return fields_finish(&f, harmless);
}

void messages_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &message_format, body, body != NULL, parse, &error);
}

/* ---- POST /v1/messages/count_tokens */

static bool count_work(struct generation *g, struct api_error *error)
{
    struct message *m = g->state;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s =
        quire_engine_count_tokens(g->model->engine, &g->requests[0], &m->count, &err);
    return s == QUIRE_OK || generation_engine_error(g, 0, s, &err, error);
}

static void count_finish(struct generation *g)
{
    const struct message *m = g->state;
    exchange_reply_json(g->exchange, 200, json_pack("{s:I}", "input_tokens", (json_int_t)m->count));
}

static const struct generation_format count_format = {
    .input = "messages", .work = count_work, .finish = count_finish, .destroy = message_destroy
};

static bool parse_count(struct generation *g, struct api_error *error)
{
    struct fields f;
    struct message *m = new_message(g, &f, error);
    if (m == NULL || !openai_answer_init(&m->common, g, &f, "msg") || !read_prompt(&f, g))
        return false;
    return fields_finish(&f, harmless);
}

void messages_count_tokens_route(struct exchange *x)
{
    struct api_error error = { 0 };
    json_t *body = openai_body(x, &error);
    openai_start(x, &count_format, body, body != NULL, parse_count, &error);
}
