/* SPDX-License-Identifier: Apache-2.0 */
/* answer_output.c - standard output: answers as text or JSON events. */
#include "answer_output.h"
#include "terminal.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void output_open(struct output *o, bool json, bool wrap_lines, bool show_reasoning)
{
    *o = (struct output){ .json = json,
                          .terminal = isatty(1),
                          .wrap_lines = wrap_lines && !json && terminal_has_cursor(1),
                          .dims = terminal_has_color(1),
                          .show_reasoning = show_reasoning || isatty(1),
                          .show_calls = true };
}

void output_close(struct output *o)
{
    wrap_reset(&o->wrap);
    text_free(&o->answer);
    text_free(&o->buffer);
}

/* Writes without buffering, so that every token is visible at once. */
static void write_all(struct output *o, const char *data, size_t size)
{
    while (size && !o->error) {
        const ssize_t n = write(1, data, size);
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = 1, .events = POLLOUT }, 1, -1);
        else if (n < 0 && errno != EINTR)
            o->error = errno;
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
}

static void write_buffer(struct output *o)
{
    if (o->buffer.failed)
        o->error = ENOMEM;
    else
        write_all(o, o->buffer.data, o->buffer.size);
}

void output_begin(struct output *o)
{
    text_clear(&o->answer);
    wrap_reset(&o->wrap);
    o->part = PART_NONE;
}

/* Escapes and wraps a part of an answer; the terminal width may have changed since the last. */
static void add_for_terminal(struct output *o, const char *text, size_t size)
{
    enum { NARROW = 20 };
    const unsigned width = o->wrap_lines ? terminal_width(1) : 0;
    if (width < NARROW) {
        text_add_escaped(&o->buffer, text, size);
        return;
    }
    struct text safe = { 0 };
    text_add_escaped(&safe, text, size);
    if (safe.failed)
        o->buffer.failed = true;
    else
        wrap_add(&o->wrap, safe.data, safe.size, width, &o->buffer);
    text_free(&safe);
}

/* Adds text of an answer as it is shown without JSON. */
static void add_text(struct output *o, const char *text, size_t size)
{
    if (o->terminal)
        add_for_terminal(o, text, size);
    else
        text_add(&o->buffer, text, size);
}

/* Separates parts of an answer. Outside terminals, where it is not dimmed, reasoning stands between
 * two marks. */
static void begin_part(struct output *o, enum output_part part)
{
    const enum output_part before = o->part;
    o->part = part;
    if (before == part)
        return;
    if (before == PART_REASONING && !o->terminal)
        text_addf(&o->buffer, "\n</think>\n\n");
    else if (before == PART_REASONING || before == PART_CONTENT)
        text_addf(&o->buffer, part == PART_CALL && before == PART_CONTENT ? "\n" : "\n\n");
    if (part == PART_REASONING && !o->terminal)
        text_addf(&o->buffer, "<think>\n");
    wrap_reset(&o->wrap);
}

/* The event of a piece of text. */
static void add_text_event(struct output *o, const char *event, const char *text, size_t size)
{
    text_addf(&o->buffer, "{\"event\":\"%s\",\"text\":", event);
    text_add_json(&o->buffer, text, size);
    text_addf(&o->buffer, "}\n");
}

void output_piece(struct output *o, const char *text, size_t size)
{
    if (!size)
        return;
    text_add(&o->answer, text, size);
    text_clear(&o->buffer);
    if (o->json) {
        add_text_event(o, "token", text, size);
    } else {
        begin_part(o, PART_CONTENT);
        add_text(o, text, size);
    }
    write_buffer(o);
}

/* Dimmed piece by piece: a signal between two writes leaves no dimmed terminal. */
void output_reasoning(struct output *o, const char *text, size_t size)
{
    if (!size || (!o->json && !o->show_reasoning))
        return;
    text_clear(&o->buffer);
    if (o->json) {
        add_text_event(o, "reasoning", text, size);
    } else {
        begin_part(o, PART_REASONING);
        if (o->dims)
            text_addf(&o->buffer, "\033[2m");
        add_text(o, text, size);
        if (o->dims)
            text_addf(&o->buffer, "\033[22m");
    }
    write_buffer(o);
}

static void add_call_event(struct output *o, const char *id, const char *name,
                           const char *arguments)
{
    text_addf(&o->buffer, "{\"event\":\"tool_call\",\"id\":");
    text_add_json(&o->buffer, id, strlen(id));
    text_addf(&o->buffer, ",\"name\":");
    text_add_json(&o->buffer, name, strlen(name));
    text_addf(&o->buffer, ",\"arguments\":");
    text_add(&o->buffer, arguments, strlen(arguments));
    text_addf(&o->buffer, "}\n");
}

void output_call(struct output *o, const char *id, const char *name, const char *arguments)
{
    text_clear(&o->buffer);
    if (o->json) {
        add_call_event(o, id, name, arguments);
    } else {
        begin_part(o, PART_CALL);
    }
    if (!o->json && o->show_calls) {
        struct text line = { 0 };
        text_add_call(&line, name, arguments, o->terminal);
        o->buffer.failed |= line.failed;
        if (!line.failed)
            add_text(o, line.data, line.size);
        text_free(&line);
        wrap_reset(&o->wrap);
    }
    write_buffer(o);
}

void output_result(struct output *o, const char *id, const char *name, bool ok, const char *text)
{
    if (!o->json)
        return;
    text_clear(&o->buffer);
    text_addf(&o->buffer, "{\"event\":\"tool_result\",\"id\":");
    text_add_json(&o->buffer, id, strlen(id));
    text_addf(&o->buffer, ",\"name\":");
    text_add_json(&o->buffer, name, strlen(name));
    text_addf(&o->buffer, ",\"ok\":%s,\"text\":", ok ? "true" : "false");
    text_add_json(&o->buffer, text, strlen(text));
    text_addf(&o->buffer, "}\n");
    write_buffer(o);
}

double tokens_per_second(const struct quire_usage *u)
{
    /* the first token belongs to prefill */
    if (u->completion_tokens < 2 || u->generate_seconds <= 0)
        return 0;
    return (u->completion_tokens - 1) / u->generate_seconds;
}

void output_done(struct output *o, const struct quire_event *done, const char *reason,
                 uint64_t seed)
{
    const struct quire_usage *u = done->usage;
    text_clear(&o->buffer);
    if (!o->json) {
        if (o->part == PART_REASONING && !o->terminal)
            begin_part(o, PART_CALL); /* ends it */
        else if (o->part != PART_CALL)
            text_add(&o->buffer, "\n", 1);
        write_buffer(o);
        return;
    }
    text_addf(&o->buffer, "{\"event\":\"done\",\"reason\":\"%s\",\"text\":", reason);
    text_add_json(&o->buffer, o->answer.data ? o->answer.data : "", o->answer.size);
    text_addf(&o->buffer, ",\"prompt_tokens\":%u,\"cached_tokens\":%u,\"completion_tokens\":%u",
              u->prompt_tokens, u->cached_tokens, u->completion_tokens);
    text_addf(&o->buffer,
              ",\"prompt_seconds\":%.6f,\"generate_seconds\":%.6f,\"tokens_per_second\":%.3f",
              u->prompt_seconds, u->generate_seconds, tokens_per_second(u));
    text_addf(&o->buffer, ",\"context_full\":%s,\"seed\":%llu}\n",
              done->context_full ? "true" : "false", (unsigned long long)seed);
    write_buffer(o);
}

void output_error(struct output *o, quire_status status, const char *message)
{
    clear_progress();
    print_message("%s", message);
    if (!o->json)
        return;
    text_clear(&o->buffer);
    text_addf(&o->buffer,
              "{\"event\":\"error\",\"code\":\"%s\",\"message\":", quire_status_name(status));
    text_add_json(&o->buffer, message, strlen(message));
    text_addf(&o->buffer, "}\n");
    write_buffer(o);
}

void output_print(struct output *o, const char *text) { write_all(o, text, strlen(text)); }
