/* SPDX-License-Identifier: Apache-2.0 */
/* chat_tool_grammar.c - the public function for the grammar of constrained calls. */
#include "base/error.h"
#include "base/struct_size.h"
#include "chat_format/output/formats/formats.h"
#include "chat_format/output/machine.h"
#include "chat_format/output/tool_grammar.h"
#include "json/parse.h"
#include <string.h>

QR_DEFINE_ZERO_INIT(quire_chat_tool_grammar_params)

static quire_status check(const struct quire_chat_tool_grammar_params *p, struct quire_error *err)
{
    const bool tools = p->tool_choice != QUIRE_TOOL_CHOICE_NONE;
    if ((unsigned)p->tool_choice > QUIRE_TOOL_CHOICE_NAMED)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.tool_choice = %d", (int)p->tool_choice);
    if ((unsigned)p->thinking > QUIRE_THINKING_CLOSED)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.thinking = %d", (int)p->thinking);
    if (!p->format || !qr_output_format_find(p->format))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.format: there is no format \"%s\"",
                       p->format ? p->format : "(NULL)");
    if (!p->prompt_end && p->prompt_end_size > 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.prompt_end is NULL, its size is %zu",
                       p->prompt_end_size);
    if (tools && !p->tools_json)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.tools_json is NULL");
    if (p->tool_choice == QUIRE_TOOL_CHOICE_NAMED && !p->tool_name)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.tool_name is NULL");
    return QUIRE_OK;
}

static quire_status write_text(struct qr_tool_grammar *g,
                               const struct quire_chat_tool_grammar_params *p, char **out,
                               struct quire_error *err)
{
    size_t at;
    const bool open = p->prompt_end &&
                      qr_prompt_opens_thinking(g->format, p->prompt_end, p->prompt_end_size, &at);
    g->thinking_open =
        p->thinking == QUIRE_THINKING_OPEN || (p->thinking == QUIRE_THINKING_BY_PROMPT && open);
    if (p->tool_choice == QUIRE_TOOL_CHOICE_NAMED) {
        g->only = qr_tools_find(g->tools, p->tool_name, strlen(p->tool_name));
        if (!g->only)
            return qr_fail(err, QUIRE_E_INVALID_ARG, "params.tool_name: no tool is named \"%s\"",
                           p->tool_name);
    }
    if (p->tool_choice != QUIRE_TOOL_CHOICE_NONE && g->tools->n == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.tools_json has no tools");
    quire_status status = qr_tool_grammar_write(g, err);
    if (status == QUIRE_OK) {
        *out = qr_strndup(p->allocator, g->w.out.data, g->w.out.size);
        if (!*out)
            status = qr_fail(err, QUIRE_E_NOMEM, "quire_chat_tool_grammar: out of memory");
    }
    qr_bytes_free(p->allocator, &g->w.out);
    return status;
}

quire_status quire_chat_tool_grammar(const struct quire_chat_tool_grammar_params *params,
                                     char **out, struct quire_error *err)
{
    struct quire_chat_tool_grammar_params p;
    struct qr_json_error e;
    struct qr_tools tools;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_READ_STRUCT(&p, params, reserved_, "params", err);
    QR_TRY(check(&p, err));
    if (p.tool_choice == QUIRE_TOOL_CHOICE_NONE && !p.response_schema_json)
        return QUIRE_OK;
    struct qr_json *response = NULL;
    if (p.response_schema_json) {
        response = qr_json_parse(p.response_schema_json, strlen(p.response_schema_json),
                                 QR_JSON_ALLOW_BIG_INTEGERS, p.allocator, &e);
        if (!response)
            return qr_fail(err, e.code, "response_schema_json: %s at byte %zu", e.text, e.offset);
    }
    quire_status status = qr_tools_read(&tools, p.tools_json, p.allocator, err);
    if (status == QUIRE_OK) {
        struct qr_tool_grammar g = {
            .w.allocator = p.allocator,
            .format = qr_output_format_find(p.format),
            .tools = &tools,
            .response = response,
            .tool_choice = p.tool_choice,
            .single = p.single_call,
            .no_thinking = p.no_thinking,
        };
        status = write_text(&g, &p, out, err);
        qr_tools_free(&tools);
    }
    qr_json_free(response);
    return status;
}

void quire_chat_tool_grammar_free(const struct quire_allocator *allocator, char *text)
{
    qr_strfree(allocator, text);
}
