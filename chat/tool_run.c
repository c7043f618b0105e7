/* SPDX-License-Identifier: Apache-2.0 */
#include "tool_run.h"
#include "grapheme.h"
#include "terminal.h"
#include "tool_process.h"
#include "tool_question.h"
#include "json/parse.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One call while it runs. Strings belong to the document of the message. */
struct run {
    struct session *session;
    const char *id, *name, *arguments;
    bool is_printed; /* on standard output, if that is a terminal */
    struct text result;
    bool ok; /* the result is that of the program */
};

/* ---- Results */

static void fail(struct run *r, const char *what)
{
    text_clear(&r->result);
    text_addf(&r->result, "error: %s", what);
    r->ok = false;
}

/* The line of an error for people, with the first line of what the program wrote to say so. */
static void report_error(const struct run *r, const struct text *errors)
{
    const char *line = errors->size ? errors->data : "";
    const int n = (int)strcspn(line, "\n");
    if (r->ok && !r->session->options->verbose)
        return;
    if (!r->ok)
        print_message("%.60s: %.*s", r->name, (int)strcspn(r->result.data, "\n"), r->result.data);
    if (n)
        print_message("%.60s: %.*s", r->name, n < 400 ? n : 400, line);
}

/* Adds the first rows of a text, each cut to its room; the first has `label` less. */
static void add_rows(struct text *out, const char *text, unsigned width, unsigned label)
{
    enum { MAX_ROWS = 4, MARK = 4 /* cells of " ..." */ };
    unsigned room = width > label + MARK ? width - label - MARK : 0;
    for (int i = 0; i<MAX_ROWS; i++, room = width> MARK ? width - MARK : 0) {
        const size_t size = strcspn(text, "\n"), shown = text_fit(text, size, room);
        const bool more = text[size] && text[size + 1];
        text_add(out, text, shown);
        if (shown < size || (more && i + 1 == MAX_ROWS))
            text_add(out, " ...", MARK);
        text_add(out, "\n", 1);
        if (!more)
            return;
        text += size + 1;
    }
}

/* Shows the begin of a result on a terminal. */
static void show_result(const struct run *r)
{
    static const char label[] = "result: ";
    const unsigned width = terminal_width(2);
    struct text safe = { 0 }, out = { 0 };
    if (r->session->options->quiet || r->session->out->json || !terminal_has_cursor(2))
        return;
    text_add_escaped(&safe, r->result.data, r->result.size);
    text_add(&safe, "", 0);
    const bool dims = terminal_has_color(2);
    text_addf(&out, "%s%s", dims ? "\033[2m" : "", label);
    if (!safe.failed)
        add_rows(&out, safe.data, width ? width : 80, sizeof label - 1);
    text_addf(&out, dims ? "\033[22m" : "");
    if (!safe.failed && !out.failed)
        fwrite(out.data, 1, out.size, stderr);
    text_free(&safe);
    text_free(&out);
}

/* A result that takes more than half of the context leaves no room to answer. */
static void check_tokens(struct run *r)
{
    const struct session *s = r->session;
    size_t n = 0;
    char what[120];
    const quire_status status = quire_tokenizer_encode(
        quire_engine_tokenizer(s->engine), r->result.data, r->result.size, 0, NULL, 0, &n, NULL);
    if ((status != QUIRE_OK && status != QUIRE_E_LIMIT) || n <= s->info.context_length / 2)
        return;
    snprintf(what, sizeof what, "the result has %zu tokens, more than half of the context", n);
    fail(r, what);
}

/* Appends the message of the result. */
static bool keep_result(struct run *r)
{
    const struct message_extra extra = { .call_id = r->id, .tool_name = r->name };
    struct text text = { 0 };
    text_add_repaired(&text, r->result.data, r->result.size);
    text_add(&text, "", 0);
    const bool ok =
        !text.failed && !r->result.failed &&
        conversation_add_extra(r->session->conversation, "tool", text.data, text.size, &extra);
    if (ok)
        output_result(r->session->out, r->id ? r->id : "", r->name, r->ok, text.data);
    text_free(&text);
    return ok;
}

/* ---- Running */

/* Turns the end of the program into the result. */
static void set_result(struct run *r, struct tool_process *p, enum tool_end end)
{
    char what[160];
    const struct text *said = p->output.size ? &p->output : &p->errors;
    r->ok = end == TOOL_EXITED && p->code == 0;
    if (r->ok) {
        text_add(&r->result, p->output.data ? p->output.data : "", p->output.size);
        if (r->result.size && r->result.data[r->result.size - 1] == '\n')
            text_truncate(&r->result, r->result.size - 1);
        return;
    }
    if (end == TOOL_EXITED)
        snprintf(what, sizeof what, "the tool exited with code %d", p->code);
    else if (end == TOOL_SIGNALLED)
        snprintf(what, sizeof what, "the tool was ended by signal %d", p->code);
    else if (end == TOOL_NOT_STARTED)
        snprintf(what, sizeof what, "the tool cannot be run: %s", strerror(p->code));
    else if (end == TOOL_TIMED_OUT)
        snprintf(what, sizeof what, "the tool did not end within %g seconds", p->seconds);
    else if (end == TOOL_OUTPUT_LIMIT)
        snprintf(what, sizeof what, "the result exceeds %d KiB", TOOL_MAX_RESULT >> 10);
    else
        snprintf(what, sizeof what, "the user stopped the tool");
    fail(r, what);
    if (end == TOOL_EXITED && said->size) {
        text_add(&r->result, "\n", 1);
        text_add(&r->result, said->data, said->size);
    }
}

/* Runs the program of --tool-exec. False: Ctrl-C. */
static bool execute(struct run *r)
{
    const struct session *s = r->session;
    struct text input = { 0 };
    text_add_call(&input, r->name, r->arguments, false);
    struct tool_process p = { .words = s->tools.words,
                              .input = input.data,
                              .input_size = input.size,
                              .seconds = s->options->tool_timeout,
                              .max_bytes = TOOL_MAX_RESULT };
    enum tool_end end = TOOL_INTERRUPTED;
    if (input.failed)
        r->result.failed = true;
    else
        end = tool_process_run(&p);
    r->result.failed |= p.output.failed;
    set_result(r, &p, end);
    check_tokens(r);
    report_error(r, &p.errors);
    if (r->ok)
        show_result(r);
    text_free(&input);
    text_free(&p.output);
    text_free(&p.errors);
    return end != TOOL_INTERRUPTED || input.failed;
}

static bool is_object(const char *text)
{
    struct qr_json_error error;
    struct qr_json *value = qr_json_parse(
        text, strlen(text), QR_JSON_ALLOW_DUPLICATES | QR_JSON_ALLOW_BIG_INTEGERS, NULL, &error);
    const bool ok = qr_json_is_object(value);
    qr_json_free(value);
    return ok;
}

/* Runs the call if it may. False: the turn ends. */
static bool run_call(struct run *r)
{
    struct session *s = r->session;
    struct tool *tool = tool_list_find(&s->tools.list, r->name);
    const bool shown = r->is_printed && s->out->terminal && !s->out->json;
    if (!tool || !is_object(r->arguments)) { /* of a loaded conversation */
        fail(r, tool ? "the arguments are no JSON object" : "there is no tool of this name");
        report_error(r, &(struct text){ 0 });
        return true;
    }
    if (!s->options->tool_yes && !tool->always) {
        const enum tool_consent consent =
            tool_question_ask(s->tools.terminal, shown, r->name, r->arguments);
        tool->always = consent == TOOL_ALWAYS;
        if (consent == TOOL_NO || consent == TOOL_STOP) {
            const bool declined = consent == TOOL_NO;
            fail(r, declined ? "the user declined the call" : "the user stopped the turn");
            return declined;
        }
    } else if (!shown && !s->out->json && !s->options->quiet) {
        print_message("call: %s %s", r->name, r->arguments);
    }
    return execute(r);
}

enum tool_run tool_run_calls(struct session *s, bool are_printed)
{
    const char *json = s->conversation->messages[s->conversation->n - 1].tool_calls;
    struct qr_json_error error;
    struct qr_json *calls = qr_json_parse(json, strlen(json), 0, NULL, &error);
    bool ok = calls != NULL, stopped = false;
    for (struct qr_json_iter i = qr_json_iterate(calls); ok && qr_json_next(&i);) {
        const struct qr_json *function = qr_json_get(i.value, "function");
        struct run r = { .session = s,
                         .is_printed = are_printed,
                         .id = qr_json_string(qr_json_get(i.value, "id")),
                         .name = qr_json_string(qr_json_get(function, "name")),
                         .arguments = qr_json_string(qr_json_get(function, "arguments")) };
        if (stopped)
            fail(&r, "the user stopped the turn before this call");
        else
            stopped = !run_call(&r);
        ok = keep_result(&r);
        text_free(&r.result);
    }
    qr_json_free(calls);
    return !ok ? TOOL_RUN_NO_MEMORY : stopped ? TOOL_RUN_STOPPED : TOOL_RUN_DONE;
}
