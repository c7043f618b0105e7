/* SPDX-License-Identifier: Apache-2.0 */
/* emit.c - what a parser sends: text and calls. */
#include "chat_format/output/emit.h"
#include "chat_format/output/markers.h"
#include "json/parse.h"
#include <string.h>

void qr_emit_nomem(struct quire_chat_output *o)
{
    if (o->status == QUIRE_OK)
        o->status = QUIRE_E_NOMEM;
}

/* Records that [at, at + size) of the text of `kind` is new; joins it with the last delta if that
 * was not taken. */
static void add_event(struct quire_chat_output *o, enum quire_chat_delta_kind kind, size_t at,
                      size_t size)
{
    const uint32_t call = kind >= QUIRE_CHAT_TOOL_CALL_BEGIN ? (uint32_t)(o->n_calls - 1) : 0;
    const bool text = kind == QUIRE_CHAT_CONTENT || kind == QUIRE_CHAT_REASONING ||
                      kind == QUIRE_CHAT_TOOL_CALL_ARGUMENTS;
    if (text && o->n_events > o->next_event) {
        struct qr_output_event *const last = &o->events[o->n_events - 1];
        if (last->kind == kind) { /* it ends at `at`: all texts only grow, and calls have a BEGIN */
            last->size += size;
            return;
        }
    }
    void *p = o->events;
    if (o->n_events == o->events_capacity &&
        !qr_grow(o->allocator, &p, &o->events_capacity, o->n_events + 8, sizeof *o->events)) {
        qr_emit_nomem(o);
        return;
    }
    o->events = p;
    o->events[o->n_events++] = (struct qr_output_event){ kind, call, at, size };
}

static void add_text(struct quire_chat_output *o, struct qr_bytes *to,
                     enum quire_chat_delta_kind kind, const char *text, size_t size)
{
    const size_t at = to->size;
    if (size == 0)
        return;
    if (qr_bytes_append(o->allocator, to, text, size))
        add_event(o, kind, at, size);
    else
        qr_emit_nomem(o);
}

/* ---- Text */

void qr_emit_space(struct quire_chat_output *o, bool reasoning, bool keep)
{
    if (keep)
        add_text(o, reasoning ? &o->reasoning : &o->content,
                 reasoning ? QUIRE_CHAT_REASONING : QUIRE_CHAT_CONTENT, o->space.data,
                 o->space.size);
    o->space.size = 0;
}

/* Sends text[size] but holds the white space at its end. */
static void emit_trimmed(struct quire_chat_output *o, bool reasoning, const char *text, size_t size)
{
    size_t n = size;
    while (n > 0 && qr_is_space(text[n - 1]))
        n--;
    if (n > 0) {
        qr_emit_space(o, reasoning, true);
        add_text(o, reasoning ? &o->reasoning : &o->content,
                 reasoning ? QUIRE_CHAT_REASONING : QUIRE_CHAT_CONTENT, text, n);
    }
    if (!qr_bytes_append(o->allocator, &o->space, text + n, size - n))
        qr_emit_nomem(o);
}

void qr_emit_content_raw(struct quire_chat_output *o, const char *text, size_t size)
{
    qr_emit_space(o, false, true);
    add_text(o, &o->content, QUIRE_CHAT_CONTENT, text, size);
}

void qr_emit_content(struct quire_chat_output *o, const char *text, size_t size)
{
    const uint32_t flags = o->format ? o->format->flags : QR_FORMAT_KEEP_SPACE;
    if (o->drop_text)
        return;
    if (o->after_close) {
        size_t n = 0;
        while (n < size && qr_is_space(text[n]))
            n++;
        /* between two texts it stays */
        if (o->content.size > 0 && !qr_bytes_append(o->allocator, &o->space, text, n))
            qr_emit_nomem(o);
        if (n == size)
            return;
        text += n;
        size -= n;
        o->after_close = false;
    }
    /* white space at the start, or before a call where the format trims it, may be dropped */
    if (!(flags & QR_FORMAT_KEEP_SPACE) &&
        (flags & QR_FORMAT_TRIM_CONTENT || o->content.size == 0)) {
        const bool started = o->content.size > 0;
        emit_trimmed(o, false, text, size);
        if (!started && o->content.size > 0 && !(flags & QR_FORMAT_TRIM_CONTENT))
            qr_emit_space(o, false, true);
    } else
        qr_emit_content_raw(o, text, size);
}

void qr_emit_reasoning(struct quire_chat_output *o, const char *text, size_t size)
{
    if (o->reasoning_none) {
        qr_emit_content_raw(o, text, size);
        return;
    }
    if (o->reasoning_trim) {
        for (; size > 0 && qr_is_space(*text); size--)
            text++;
        if (size == 0)
            return;
        o->reasoning_trim = false;
    }
    if (o->format->flags & QR_FORMAT_KEEP_SPACE)
        add_text(o, &o->reasoning, QUIRE_CHAT_REASONING, text, size);
    else
        emit_trimmed(o, true, text, size);
}

/* ---- Calls */

struct qr_output_call *qr_call_current(struct quire_chat_output *o)
{
    return &o->calls[o->n_calls - 1];
}

const struct qr_tool *qr_call_tool(struct quire_chat_output *o)
{
    const struct qr_output_call *const c = qr_call_current(o);
    return qr_tools_find(&o->tools, c->name.data, c->name.size);
}

void qr_call_begin(struct quire_chat_output *o)
{
    void *p = o->calls;
    if (o->n_calls == o->calls_capacity &&
        !qr_grow(o->allocator, &p, &o->calls_capacity, o->n_calls + 4, sizeof *o->calls)) {
        qr_emit_nomem(o);
        return;
    }
    o->calls = p;
    o->calls[o->n_calls++] = (struct qr_output_call){ 0 };
    o->call_active = true;
    o->call_announced = o->call_guess = false;
    o->call_dropped = o->single_call && o->n_calls > 1;
}

void qr_call_name(struct quire_chat_output *o, const char *name, size_t size)
{
    struct qr_output_call *const c = qr_call_current(o);
    c->name.size = 0;
    if (!qr_bytes_append(o->allocator, &c->name, name, size))
        qr_emit_nomem(o);
    if ((size && memchr(name, 0, size)) ||
        (o->tools_given && !qr_tools_find(&o->tools, name, size)))
        o->call_dropped = true;
}

void qr_call_id(struct quire_chat_output *o, const char *id, size_t size)
{
    struct qr_output_call *const c = qr_call_current(o);
    if (o->call_announced || c->id.size > 0 || size == 0 || memchr(id, 0, size))
        return;
    if (!qr_bytes_append(o->allocator, &c->id, id, size))
        qr_emit_nomem(o);
}

/* 9 letters and digits, as Mistral's templates demand: splitmix64 of seed and index. */
static void make_id(struct quire_chat_output *o, struct qr_output_call *c)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t z = o->id_seed + 0x9E3779B97F4A7C15u * (uint64_t)o->n_calls;
    char id[9];
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    for (unsigned i = 0; i < sizeof id; i++, z /= 62)
        id[i] = digits[z % 62];
    if (!qr_bytes_append(o->allocator, &c->id, id, sizeof id))
        qr_emit_nomem(o);
}

static void announce(struct quire_chat_output *o)
{
    struct qr_output_call *const c = qr_call_current(o);
    if (o->call_dropped || o->call_announced)
        return;
    o->keep = QR_NONE;
    o->preamble_over = true;
    o->drop_text = o->drop_text || o->keep_preamble;
    o->keep_preamble = false;
    if (c->id.size == 0)
        make_id(o, c);
    o->call_announced = true;
    qr_emit_space(o, false,
                  o->content.size > 0 && !o->after_close &&
                      !(o->format->flags & QR_FORMAT_TRIM_CONTENT));
    add_event(o, QUIRE_CHAT_TOOL_CALL_BEGIN, 0, 0);
    if (c->arguments.size > 0)
        add_event(o, QUIRE_CHAT_TOOL_CALL_ARGUMENTS, 0, c->arguments.size);
}

void qr_call_announce(struct quire_chat_output *o)
{
    if (!(o->format->flags & (QR_FORMAT_HOLD_CALL | QR_FORMAT_NEEDS_CLOSE)) && !o->call_guess)
        announce(o);
}

void qr_call_arguments(struct quire_chat_output *o, const char *text, size_t size)
{
    struct qr_output_call *const c = qr_call_current(o);
    if (o->call_announced)
        add_text(o, &c->arguments, QUIRE_CHAT_TOOL_CALL_ARGUMENTS, text, size);
    else if (!o->call_dropped && !qr_bytes_append(o->allocator, &c->arguments, text, size))
        qr_emit_nomem(o);
}

void qr_call_escaped(struct quire_chat_output *o, const char *text, size_t size)
{
    struct qr_output_call *const c = qr_call_current(o);
    const size_t at = c->arguments.size;
    if (o->call_dropped)
        return;
    if (!qr_bytes_append_escaped(o->allocator, &c->arguments, text, size))
        qr_emit_nomem(o);
    else if (o->call_announced && c->arguments.size > at)
        add_event(o, QUIRE_CHAT_TOOL_CALL_ARGUMENTS, at, c->arguments.size - at);
}

/* The only tool, or the first that declares all keys of the arguments. */
static void guess_tool(struct quire_chat_output *o)
{
    struct qr_json_error e;
    const struct qr_output_call *const c = qr_call_current(o);
    const struct qr_tool *found = o->tools.n == 1 ? o->tools.tools : NULL;
    struct qr_json *const v =
        qr_json_parse(c->arguments.data, c->arguments.size,
                      QR_JSON_ALLOW_DUPLICATES | QR_JSON_ALLOW_BIG_INTEGERS, o->allocator, &e);
    if (!v && e.code == QUIRE_E_NOMEM)
        qr_emit_nomem(o);
    for (size_t t = 0; v && t < o->tools.n && !found; t++) {
        bool all = qr_json_is_object(v) && qr_json_size(v) > 0;
        for (struct qr_json_iter i = qr_json_iterate(v); all && qr_json_next(&i);)
            all = qr_tool_declares(&o->tools.tools[t], i.key, strlen(i.key));
        found = all ? &o->tools.tools[t] : NULL;
    }
    qr_json_free(v);
    o->call_guess = false;
    if (found)
        qr_call_name(o, found->name, found->name_size);
    else
        o->call_dropped = true;
}

static void free_call(struct quire_chat_output *o, struct qr_output_call *c)
{
    qr_bytes_free(o->allocator, &c->name);
    qr_bytes_free(o->allocator, &c->id);
    qr_bytes_free(o->allocator, &c->arguments);
}

/* Ends the call: sent, or forgotten. */
static void finish_call(struct quire_chat_output *o)
{
    o->call_active = false;
    o->keep = QR_NONE;
    if (o->call_announced) {
        add_event(o, QUIRE_CHAT_TOOL_CALL_END, 0, 0);
        o->n_finished++;
    } else
        free_call(o, &o->calls[--o->n_calls]);
}

void qr_call_end(struct quire_chat_output *o)
{
    if (o->call_guess)
        guess_tool(o);
    if (!o->call_dropped && qr_call_current(o)->arguments.size == 0)
        qr_call_arguments(o, "{}", 2);
    announce(o);
    finish_call(o);
}

void qr_call_cancel(struct quire_chat_output *o)
{
    const size_t keep = o->keep;
    if (!o->call_active)
        return;
    if (o->call_announced) { /* what was sent stays */
        qr_call_end(o);
        return;
    }
    finish_call(o);
    o->keep = keep;
}
