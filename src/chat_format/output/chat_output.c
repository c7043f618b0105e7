/* SPDX-License-Identifier: Apache-2.0 */
/* chat_output.c - the public functions of the parsers of model output. */
#include "base/error.h"
#include "base/struct_size.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/formats/formats.h"
#include "chat_format/output/machine.h"
#include <quire/chat_output.h>
#include <string.h>

enum { DEFAULT_BYTES = 64 << 20 };

QR_DEFINE_ZERO_INIT(quire_chat_output_params)

const char *quire_chat_output_format_name(size_t i)
{
    for (size_t k = 0; qr_output_formats[k]; k++)
        if (k == i)
            return qr_output_formats[k]->name;
    return NULL;
}

static bool has_text(const char *text, size_t size, const char *part)
{
    return memmem(text, size, part, strlen(part)) != NULL;
}

const char *quire_chat_output_detect(const char *text, size_t size)
{
    if (!text)
        return NULL;
    if (size == QUIRE_NUL_TERMINATED)
        size = strlen(text);
    for (size_t k = 0; qr_output_formats[k]; k++) {
        const struct qr_output_format *const f = qr_output_formats[k];
        bool all = f->marks[0], any = false;
        for (size_t m = 0; all && m < 3 && f->marks[m]; m++)
            all = has_text(text, size, f->marks[m]);
        for (size_t m = 0; !any && m < 3 && f->any_mark[m]; m++)
            any = has_text(text, size, f->any_mark[m]);
        if (all || any)
            return f->name;
    }
    return "generic_json";
}

static bool has_marker(const char *text, size_t size, const char *const *markers)
{
    for (size_t i = 0; markers[i]; i++)
        if (has_text(text, size, markers[i]))
            return true;
    return false;
}

bool quire_chat_output_has_thinking(const char *format, const char *text, size_t size)
{
    const struct qr_output_format *const f = format ? qr_output_format_find(format) : NULL;
    if (!f || !text)
        return false;
    if (size == QUIRE_NUL_TERMINATED)
        size = strlen(text);
    return has_marker(text, size, f->think_open) || has_marker(text, size, f->think_close) ||
           (f->syntax && f->syntax->think_open && has_text(text, size, f->syntax->think_open));
}

static quire_status check_params(const struct quire_chat_output_params *p, struct quire_error *err)
{
    if ((unsigned)p->reasoning > QUIRE_REASONING_NONE)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.reasoning = %d", (int)p->reasoning);
    if ((unsigned)p->thinking > QUIRE_THINKING_CLOSED)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.thinking = %d", (int)p->thinking);
    if ((unsigned)p->tool_choice > QUIRE_TOOL_CHOICE_NAMED)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.tool_choice = %d", (int)p->tool_choice);
    if (!p->prompt_end && p->prompt_end_size > 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.prompt_end is NULL, its size is %zu",
                       p->prompt_end_size);
    if (p->format && !qr_output_format_find(p->format))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.format: there is no format \"%s\"",
                       p->format);
    return QUIRE_OK;
}

quire_status quire_chat_output_create(const struct quire_chat_output_params *params,
                                      struct quire_chat_output **out, struct quire_error *err)
{
    struct quire_chat_output_params p;
    struct qr_tools tools;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_READ_STRUCT(&p, params, max_bytes, "params", err);
    QR_TRY(check_params(&p, err));
    QR_TRY(qr_tools_read(&tools, p.tools_json, p.allocator, err));
    struct quire_chat_output *const o = qr_calloc(p.allocator, 1, sizeof *o);
    if (!o) {
        qr_tools_free(&tools);
        return qr_fail(err, QUIRE_E_NOMEM, "quire_chat_output: out of memory");
    }
    o->handle.kind = QR_KIND_CHAT_OUTPUT;
    o->allocator = p.allocator;
    o->format = p.format ? qr_output_format_find(p.format) : NULL;
    o->tools = tools;
    o->tools_given = p.tools_json != NULL;
    o->calls_allowed =
        p.tool_choice != QUIRE_TOOL_CHOICE_NONE && !(p.response_is_json && tools.n == 0);
    o->single_call = p.single_call;
    o->reasoning_none = p.reasoning == QUIRE_REASONING_NONE;
    o->id_seed = p.id_seed;
    o->max_bytes = p.max_bytes ? p.max_bytes : DEFAULT_BYTES;
    o->keep = QR_NONE;
    qr_machine_start(o, p.prompt_end, p.prompt_end_size, p.thinking);
    /* allocates: readers form addresses in the input also while it is empty */
    if (o->status != QUIRE_OK || !qr_bytes_text(o->allocator, &o->in)) {
        quire_chat_output_destroy(o);
        return qr_fail(err, QUIRE_E_NOMEM, "quire_chat_output: out of memory");
    }
    *out = o;
    return QUIRE_OK;
}

void quire_chat_output_destroy(struct quire_chat_output *o)
{
    if (!qr_handle_end(o, QR_KIND_CHAT_OUTPUT))
        return;
    const struct quire_allocator *const a = o->allocator;
    struct qr_bytes *const buffers[] = { &o->in,  &o->special, &o->space,    &o->value,
                                         &o->key, &o->content, &o->reasoning };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        qr_bytes_free(a, buffers[i]);
    for (size_t i = 0; i < o->n_calls; i++) {
        qr_bytes_free(a, &o->calls[i].name);
        qr_bytes_free(a, &o->calls[i].id);
        qr_bytes_free(a, &o->calls[i].arguments);
    }
    qr_free(a, o->calls, o->calls_capacity, sizeof *o->calls);
    qr_free(a, o->events, o->events_capacity, sizeof *o->events);
    qr_free(a, o->message_calls, o->message_calls_capacity, sizeof *o->message_calls);
    qr_tools_free(&o->tools);
    qr_free(a, o, 1, sizeof *o);
}

/* Forgets text that is decided, except its last byte, which readers look back at, and deltas that
 * were taken. */
static void compact(struct quire_chat_output *o)
{
    size_t base = o->keep < o->at ? o->keep : o->at;
    base -= base > 0;
    if (base >= 4096 || base > o->in.size / 2) {
        qr_bytes_drop(&o->in, base);
        qr_bytes_drop(&o->special, base);
        o->at -= base;
        if (o->keep != QR_NONE) {
            o->keep -= base;
            o->keep_marker -= base;
        }
    }
    if (o->next_event == o->n_events)
        o->next_event = o->n_events = 0;
}

static bool append(struct quire_chat_output *o, const char *text, size_t size, bool is_special)
{
    const size_t at = o->special.size;
    if (!qr_bytes_append(o->allocator, &o->special, text, size))
        return false;
    memset(o->special.data + at, is_special ? 2 : 0, size);
    if (is_special)
        o->special.data[at] = 1;
    if (qr_bytes_append(o->allocator, &o->in, text, size))
        return true;
    o->special.size = at;
    return false;
}

quire_status quire_chat_output_push(struct quire_chat_output *o, const char *text, size_t size,
                                    bool is_special, struct quire_error *err)
{
    QR_TRY(qr_handle_check(o, QR_KIND_CHAT_OUTPUT, "output", err));
    if (!text && size > 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "text is NULL, its size is %zu", size);
    if (o->finished)
        return qr_fail(err, QUIRE_E_MISUSE, "text after quire_chat_output_finish");
    if (o->status != QUIRE_OK)
        return qr_fail(err, o->status, "the parser has run out of memory");
    if (size > o->max_bytes - o->total_bytes)
        return qr_fail(err, QUIRE_E_LIMIT, "the answer is longer than max_bytes = %zu",
                       o->max_bytes);
    compact(o);
    if (size == 0)
        return QUIRE_OK;
    if (append(o, text, size, is_special)) {
        o->total_bytes += size;
        qr_machine_run(o);
    } else
        qr_emit_nomem(o); /* the text after a gap would mean something else */
    return o->status == QUIRE_OK ? QUIRE_OK
                                 : qr_fail(err, o->status, "quire_chat_output: out of memory");
}

quire_status quire_chat_output_finish(struct quire_chat_output *o, struct quire_error *err)
{
    QR_TRY(qr_handle_check(o, QR_KIND_CHAT_OUTPUT, "output", err));
    if (o->finished)
        return QUIRE_OK;
    if (o->status != QUIRE_OK)
        return qr_fail(err, o->status, "the parser has run out of memory");
    compact(o);
    o->final = o->finished = true;
    qr_machine_run(o);
    return o->status == QUIRE_OK ? QUIRE_OK
                                 : qr_fail(err, o->status, "quire_chat_output: out of memory");
}

bool quire_chat_output_next(struct quire_chat_output *o, struct quire_chat_delta *delta)
{
    if (!qr_handle_is(o, QR_KIND_CHAT_OUTPUT) || !delta || o->next_event == o->n_events)
        return false;
    const struct qr_output_event *const e = &o->events[o->next_event++];
    const struct qr_bytes *text = e->kind == QUIRE_CHAT_CONTENT ? &o->content : &o->reasoning;
    *delta = (struct quire_chat_delta){ .kind = e->kind, .tool_index = e->call, .text = "" };
    if (e->kind == QUIRE_CHAT_TOOL_CALL_BEGIN) {
        const struct qr_output_call *const c = &o->calls[e->call];
        delta->text = c->name.data;
        delta->size = c->name.size;
        delta->id = c->id.data;
        delta->id_size = c->id.size;
        return true;
    }
    if (e->kind == QUIRE_CHAT_TOOL_CALL_ARGUMENTS)
        text = &o->calls[e->call].arguments;
    if (e->kind != QUIRE_CHAT_TOOL_CALL_END) {
        delta->text = text->data + e->at;
        delta->size = e->size;
    }
    return true;
}

static bool fill_calls(struct quire_chat_output *o, size_t n)
{
    void *p = o->message_calls;
    if (n > o->message_calls_capacity &&
        !qr_grow(o->allocator, &p, &o->message_calls_capacity, n, sizeof *o->message_calls))
        return false;
    o->message_calls = p;
    for (size_t i = 0; i < n; i++) {
        struct qr_output_call *const c = &o->calls[i];
        o->message_calls[i] = (struct quire_chat_tool_call){
            .id = qr_bytes_text(o->allocator, &c->id),
            .name = qr_bytes_text(o->allocator, &c->name),
            .arguments = qr_bytes_text(o->allocator, &c->arguments),
            .arguments_size = c->arguments.size,
        };
        /* GCOVR_EXCL_BR_LINE: an id is appended once and leaves room for its NUL. */
        if (!o->message_calls[i].id || !o->message_calls[i].name || !o->message_calls[i].arguments)
            return false;
    }
    return true;
}

quire_status quire_chat_output_get_message(struct quire_chat_output *o,
                                           struct quire_chat_output_message *message,
                                           struct quire_error *err)
{
    struct quire_chat_output_message m = { 0 };
    QR_TRY(qr_handle_check(o, QR_KIND_CHAT_OUTPUT, "output", err));
    if (!message)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "message is NULL");
    QR_TRY(qr_struct_check_out(message, QR_SIZE_TO(struct quire_chat_output_message, tool_calls),
                               "message", err));
    const size_t n = o->n_calls - (o->call_active && !o->call_announced);
    m.content = qr_bytes_text(o->allocator, &o->content);
    m.reasoning = qr_bytes_text(o->allocator, &o->reasoning);
    if (!m.content || !m.reasoning || !fill_calls(o, n))
        return qr_fail(err, QUIRE_E_NOMEM, "quire_chat_output: out of memory");
    m.content_size = o->content.size;
    m.reasoning_size = o->reasoning.size;
    m.tool_calls = o->message_calls;
    m.n_tool_calls = (uint32_t)n;
    qr_struct_write(message, &m, sizeof m);
    return QUIRE_OK;
}
