/* SPDX-License-Identifier: Apache-2.0 */
/* tools.c - lets a model call a tool, runs the call and prints the model's answer to the result.
 * Usage: tools MODEL QUESTION */
#include <quire/chat_output.h>
#include <quire/quire.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"shout\",\"description\":\"Upper case\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"word\":{\"enum\":[\"yes\",\"no\"]}},"
    "\"required\":[\"word\"],\"additionalProperties\":false}}}]";
/* For models whose template does not show tools (format "generic_json"). */
static const char system_text[] =
    "Tools: [{\"name\":\"shout\",\"parameters\":{\"word\":\"yes or no\"}}]. To call tools, answer "
    "with {\"tool_calls\": [{\"name\": NAME, \"arguments\": {...}}]}, otherwise with "
    "{\"response\": TEXT}.";

struct turn {
    struct quire_chat_message messages[4];
    size_t n;
    enum quire_tool_choice choice;
    bool has_thinking; /* the model may think before it answers */
};

/* Generates one answer; *parser then holds its content and calls. */
static quire_status answer(struct quire_engine *engine, const char *format, const struct turn *turn,
                           struct quire_chat_output **parser, struct quire_error *err)
{
    struct quire_request_params rp;
    quire_request_params_init(&rp, sizeof rp);
    rp.messages = turn->messages;
    rp.n_messages = turn->n;
    rp.tools_json = tools;
    rp.max_tokens = 100;
    rp.flags = QUIRE_REQUEST_SHOW_SPECIAL; /* markers of calls can be special tokens */
    struct quire_chat_prompt *prompt;
    quire_status s = quire_engine_render_prompt(engine, &rp, true, &prompt, err);
    if (s != QUIRE_OK)
        return s;
    /* the end of the prompt tells whether the model is thinking when it begins */
    struct quire_chat_tool_grammar_params gp;
    struct quire_chat_output_params op;
    char *grammar = NULL;
    quire_chat_tool_grammar_params_init(&gp, sizeof gp);
    quire_chat_output_params_init(&op, sizeof op);
    gp.format = op.format = format;
    gp.tools_json = op.tools_json = tools;
    gp.tool_choice = op.tool_choice = turn->choice;
    gp.prompt_end = op.prompt_end = quire_chat_prompt_text(prompt, &op.prompt_end_size);
    gp.prompt_end_size = op.prompt_end_size;
    gp.no_thinking = !turn->has_thinking;
    s = quire_chat_output_create(&op, parser, err);
    if (s == QUIRE_OK)
        s = quire_chat_tool_grammar(&gp, &grammar, err);
    rp.has_grammar = grammar != NULL; /* calls then always parse */
    rp.grammar_kind = QUIRE_GRAMMAR_STRUCTURAL_TAG;
    rp.grammar_text = grammar;
    rp.grammar_text_size = QUIRE_NUL_TERMINATED;
    quire_request_id id;
    struct quire_event ev;
    quire_event_init(&ev, sizeof ev);
    if (s == QUIRE_OK)
        s = quire_engine_submit(engine, &rp, &id, err);
    while (s == QUIRE_OK && ev.kind != QUIRE_EVENT_DONE) {
        s = quire_engine_wait(engine, id, -1, &ev, err);
        if (s == QUIRE_OK && ev.kind == QUIRE_EVENT_TEXT)
            s = quire_chat_output_push(*parser, ev.text, ev.text_size, false, err);
    }
    quire_chat_tool_grammar_free(NULL, grammar);
    quire_chat_prompt_destroy(prompt);
    return s == QUIRE_OK ? quire_chat_output_finish(*parser, err) : s;
}

/* The tool: its arguments follow the schema, so this small reader is enough. */
static const char *shout(const char *arguments)
{
    return strstr(arguments, "\"yes\"") ? "YES" : "NO";
}

static int converse(struct quire_engine *engine, const char *question, struct quire_error *err)
{
    const char *source = quire_tokenizer_chat_template(quire_engine_tokenizer(engine), NULL);
    const char *format = quire_chat_output_detect(source, source ? strlen(source) : 0);
    struct turn turn = { .n = 2, .choice = QUIRE_TOOL_CHOICE_REQUIRED };
    turn.has_thinking = quire_chat_output_has_thinking(format, source, QUIRE_NUL_TERMINATED);
    struct quire_chat_output *first = NULL, *last = NULL;
    struct quire_chat_output_message m = { .struct_size = sizeof m };
    char call[512], result[128];
    turn.messages[0] = (struct quire_chat_message){ .role = "system", .content = system_text };
    turn.messages[1] = (struct quire_chat_message){ .role = "user", .content = question };
    quire_status s = answer(engine, format, &turn, &first, err);
    if (s == QUIRE_OK)
        s = quire_chat_output_get_message(first, &m, err);
    if (s == QUIRE_OK && m.n_tool_calls > 0) {
        const struct quire_chat_tool_call *c = &m.tool_calls[0];
        printf("%s %s -> %s\n", c->name, c->arguments, shout(c->arguments));
        snprintf(call, sizeof call,
                 "{\"tool_calls\":[{\"id\":\"%s\",\"type\":\"function\",\"function\":"
                 "{\"name\":\"%s\",\"arguments\":%s}}]}",
                 c->id, c->name, c->arguments);
        snprintf(result, sizeof result, "{\"tool_call_id\":\"%s\",\"name\":\"%s\"}", c->id,
                 c->name);
        turn.messages[2] = (struct quire_chat_message){ .role = "assistant",
                                                        .content = m.content,
                                                        .extra_json = call };
        turn.messages[3] = (struct quire_chat_message){ .role = "tool",
                                                        .content = shout(c->arguments),
                                                        .extra_json = result };
        turn.n = 4; /* for several calls, a message for each */
        turn.choice = QUIRE_TOOL_CHOICE_AUTO; /* now it may answer */
        s = answer(engine, format, &turn, &last, err);
    }
    if (s == QUIRE_OK && last)
        s = quire_chat_output_get_message(last, &m, err);
    if (s == QUIRE_OK && last)
        printf("%s\n", m.n_tool_calls ? "the model calls again" : m.content);
    else
        fprintf(stderr, "%s\n", s == QUIRE_OK ? "the model has not called the tool" : err->msg);
    quire_chat_output_destroy(first);
    quire_chat_output_destroy(last);
    return s != QUIRE_OK || !last;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return fprintf(stderr, "usage: tools MODEL QUESTION\n"), 64;
    struct quire_error err = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&err); /* on failure a lower ISA level runs */
    struct quire_engine *engine;
    struct quire_engine_params ep;
    quire_engine_params_init(&ep, sizeof ep);
    ep.model_path = argv[1];
    if (quire_engine_open(&ep, &engine, &err) != QUIRE_OK)
        return fprintf(stderr, "%s\n", err.msg), 65;
    const int code = converse(engine, argv[2], &err);
    quire_engine_close(engine);
    return code;
}
