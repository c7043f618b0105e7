/* SPDX-License-Identifier: Apache-2.0 */
/* gemma_call.c - calls of Gemma 4 and FunctionGemma: call:NAME{key:value,...}, with strings between
 * delimiter tokens. */
#include "chat_format/output/gemma_call.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/json_arguments.h"
#include "chat_format/output/markers.h"
#include <string.h>

enum state { PREFIX, NAME, KEY, COLON, VALUE, STRING, AFTER };
enum { MAX_NAME = 256, MAX_DEPTH = 64 };

static enum qr_step need(const struct quire_chat_output *o)
{
    return o->final ? QR_STEP_FAIL : QR_STEP_MORE;
}

static bool is_one_of(char c, const char *set) { return c && strchr(set, c); }

/* Whether a delimiter stands at `at`: 1, 0, -1 it may still come. */
static int quote_at(const struct quire_chat_output *o, size_t at)
{
    const char *const quote = o->format->gemma_quote;
    const int found = qr_text_at(o, at, quote);
    return found > 0 && o->opener_special && !qr_is_special(o, at, strlen(quote)) ? 0 : found;
}

/* The innermost container: '{' or '[', 0 = none. */
static char inside(const struct quire_chat_output *o)
{
    return o->key.size ? o->key.data[o->key.size - 1] : 0;
}

static void push(struct quire_chat_output *o, char c)
{
    if (!qr_bytes_append(o->allocator, &o->key, &c, 1))
        qr_emit_nomem(o);
    qr_call_arguments(o, &c, 1);
    o->reader.has_arguments = o->reader.lone = false; /* the container has no item yet */
    o->reader.state = c == '{' ? KEY : VALUE;
}

static void pop(struct quire_chat_output *o)
{
    qr_call_arguments(o, inside(o) == '{' ? "}" : "]", 1);
    o->key.size--;
    o->reader.has_arguments = true;
    o->reader.state = AFTER;
}

/* The end of the text or a broken place: what is open is closed. */
static enum qr_step cut(struct quire_chat_output *o)
{
    if (o->reader.in_string)
        qr_call_arguments(o, "\"", 1);
    while (o->key.size > 0)
        pop(o);
    qr_call_end(o);
    return QR_STEP_DONE;
}

static enum qr_step more(struct quire_chat_output *o) { return o->final ? cut(o) : QR_STEP_MORE; }

static enum qr_step prefix(struct quire_chat_output *o)
{
    const int found = qr_text_at(o, o->at, "call:");
    if (found <= 0)
        return found < 0 ? QR_STEP_MORE : QR_STEP_FAIL;
    o->at += 5;
    qr_call_begin(o);
    o->reader.state = NAME;
    return o->status == QUIRE_OK ? QR_STEP_GO : QR_STEP_FAIL;
}

static enum qr_step name(struct quire_chat_output *o)
{
    size_t n = 0;
    const char *const p = o->in.data + o->at;
    const size_t left = o->in.size - o->at;
    while (n < left && p[n] != '{' && (unsigned char)p[n] > ' ' && p[n] != '<')
        n++;
    if (n == left && n <= MAX_NAME)
        return need(o);
    if (n == 0 || n > MAX_NAME || p[n] != '{')
        return QR_STEP_FAIL;
    qr_call_name(o, p, n);
    qr_call_announce(o);
    o->at += n + 1;
    o->key.size = 0;
    push(o, '{');
    return QR_STEP_GO;
}

/* Sends the comma before an item, if it is not the first. */
static void separate(struct quire_chat_output *o)
{
    if (o->reader.has_arguments)
        qr_call_arguments(o, ", ", 2);
    o->reader.has_arguments = true;
}

/* Remembers the types of a member of the outermost object. */
static void note_key(struct quire_chat_output *o, const char *p, size_t n)
{
    o->reader.types = (struct qr_value_types){ 0 };
    if (o->key.size == 1)
        o->reader.types = qr_tool_property_types(qr_call_tool(o), p, n);
    qr_call_arguments(o, "\"", 1);
    qr_call_escaped(o, p, n);
    qr_call_arguments(o, "\": ", 3);
}

static enum qr_step key(struct quire_chat_output *o)
{
    const size_t quote = strlen(o->format->gemma_quote);
    if (!qr_skip_space(o))
        return more(o);
    if (o->in.data[o->at] == '}') {
        o->at++;
        pop(o);
        return QR_STEP_GO;
    }
    const int quoted = quote_at(o, o->at);
    if (quoted < 0)
        return QR_STEP_MORE;
    size_t start = o->at + (quoted ? quote : 0), n = 0, i = start;
    if (quoted)
        while (i < o->in.size && quote_at(o, i) == 0)
            i++;
    else
        while (i < o->in.size && !is_one_of(o->in.data[i], ":,{}[]"))
            i++;
    if (i - start > MAX_NAME)
        return cut(o);
    if (i == o->in.size || (quoted && quote_at(o, i) < 0))
        return more(o);
    n = i - start;
    if (!quoted && o->in.data[i] != ':')
        return cut(o);
    o->at = i + (quoted ? quote : 0);
    if (!quoted)
        while (n > 0 && qr_is_space(o->in.data[start + n - 1]))
            n--;
    if (!quoted && n >= 2 && o->in.data[start] == '"' && o->in.data[start + n - 1] == '"') {
        start++;
        n -= 2;
    }
    separate(o);
    note_key(o, o->in.data + start, n);
    o->reader.state = COLON;
    return QR_STEP_GO;
}

static enum qr_step colon(struct quire_chat_output *o)
{
    if (!qr_skip_space(o) || o->in.data[o->at] != ':') {
        if (o->at == o->in.size && !o->final)
            return QR_STEP_MORE;
        qr_call_arguments(o, "null", 4);
        return cut(o);
    }
    o->at++;
    o->reader.state = VALUE;
    return QR_STEP_GO;
}

/* A value without delimiters, up to the next separator: JSON, or else a string. */
static enum qr_step bare(struct quire_chat_output *o)
{
    struct qr_value_types any = { 0 };
    size_t i = o->at + o->reader.scan;
    bool partial = false;
    for (; i < o->in.size && !is_one_of(o->in.data[i], ",}]"); i++)
        if (qr_markers_at(o, &o->end_set, i, &partial) || partial)
            break;
    if ((i == o->in.size || partial) && !o->final) {
        o->reader.scan = i - o->at;
        return QR_STEP_MORE;
    }
    o->reader.scan = 0;
    size_t n = i - o->at;
    while (n > 0 && qr_is_space(o->in.data[o->at + n - 1]))
        n--;
    o->value.size = 0;
    if (n == 0 ? !qr_bytes_append_text(o->allocator, &o->value, "\"\"")
               : !qr_tools_append_typed(o->allocator, &o->value, &any, o->in.data + o->at, n))
        qr_emit_nomem(o);
    qr_call_arguments(o, o->value.data, o->value.size);
    o->at = i;
    o->reader.state = AFTER;
    return QR_STEP_GO;
}

static enum qr_step value(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (!qr_skip_space(o)) {
        if (o->final && inside(o) == '{')
            qr_call_arguments(o, "null", 4);
        return more(o);
    }
    const char c = o->in.data[o->at];
    const int quoted = quote_at(o, o->at);
    if (quoted < 0)
        return QR_STEP_MORE;
    if (inside(o) == '[' && c == ']') {
        o->at++;
        pop(o);
        return QR_STEP_GO;
    }
    const enum qr_step json = c == '"' ? qr_read_json_string(o) : QR_STEP_FAIL;
    if (json == QR_STEP_MORE)
        return json;
    if (inside(o) == '[' && !r->lone)
        separate(o);
    r->lone = true; /* the comma is out: bare() may have to wait */
    if (json == QR_STEP_DONE) {
        qr_call_arguments(o, "\"", 1);
        qr_call_escaped(o, o->value.data, o->value.size);
        qr_call_arguments(o, "\"", 1);
        r->state = AFTER;
        return QR_STEP_GO;
    }
    if ((c == '{' || c == '[') && o->key.size < MAX_DEPTH) {
        o->at++;
        push(o, c);
        return QR_STEP_GO;
    }
    if (!quoted)
        return bare(o);
    o->at += strlen(o->format->gemma_quote);
    /* the strings of FunctionGemma are typed by the schema or by their look */
    r->raw = o->format->gemma_typed && o->key.size == 1;
    r->in_string = !r->raw;
    r->scan = 0;
    if (!r->raw)
        qr_call_arguments(o, "\"", 1);
    r->state = STRING;
    return QR_STEP_GO;
}

/* Whether the delimiter at `at` ends the string: a separator, a bracket or the end follows; else it
 * stands for a quote. -1: unknown. */
static int ends_string(const struct quire_chat_output *o, size_t at)
{
    bool partial = false;
    at += strlen(o->format->gemma_quote);
    while (at < o->in.size && qr_is_space(o->in.data[at]))
        at++;
    if (at == o->in.size)
        return o->final ? 1 : -1;
    if (is_one_of(o->in.data[at], ",}]:") || qr_markers_at(o, &o->end_set, at, &partial))
        return 1;
    return partial ? -1 : 0;
}

static enum qr_step string(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    size_t i = o->at + r->scan;
    int quoted = 0, ends = 0;
    while (i < o->in.size && (quoted = quote_at(o, i)) == 0)
        i++;
    if (quoted > 0)
        ends = ends_string(o, i);
    if (r->raw) {
        r->scan = i - o->at;
        if (quoted > 0 && ends == 0)
            r->scan++;
        if (ends <= 0 && !o->final)
            return quoted > 0 && ends == 0 ? QR_STEP_GO : QR_STEP_MORE;
        o->value.size = 0;
        if (!qr_tools_append_typed(o->allocator, &o->value, &r->types, o->in.data + o->at,
                                   i - o->at))
            qr_emit_nomem(o);
        qr_call_arguments(o, o->value.data, o->value.size);
    } else {
        qr_call_escaped(o, o->in.data + o->at, i - o->at);
    }
    o->at = i;
    if (quoted > 0 && ends == 0 && !r->raw) {
        qr_call_escaped(o, "\"", 1);
        o->at += strlen(o->format->gemma_quote);
        return QR_STEP_GO;
    }
    if (quoted <= 0 || ends < 0)
        return r->raw ? (r->in_string = false, cut(o)) : more(o);
    if (!r->raw)
        qr_call_arguments(o, "\"", 1);
    r->in_string = false;
    r->scan = 0;
    o->at += strlen(o->format->gemma_quote);
    r->state = AFTER;
    return QR_STEP_GO;
}

static enum qr_step after(struct quire_chat_output *o)
{
    if (inside(o) == 0) {
        qr_call_end(o);
        return QR_STEP_DONE;
    }
    if (!qr_skip_space(o))
        return more(o);
    const char c = o->in.data[o->at];
    if (c == (inside(o) == '{' ? '}' : ']')) {
        o->at++;
        pop(o);
        return QR_STEP_GO;
    }
    if (c != ',')
        return cut(o);
    o->at++;
    o->reader.state = inside(o) == '{' ? KEY : VALUE;
    o->reader.lone = false;
    return QR_STEP_GO;
}

enum qr_step qr_read_gemma_call(struct quire_chat_output *o)
{
    static enum qr_step (*const states[])(struct quire_chat_output *) = {
        [PREFIX] = prefix, [NAME] = name,     [KEY] = key,     [COLON] = colon,
        [VALUE] = value,   [STRING] = string, [AFTER] = after,
    };
    return states[o->reader.state](o);
}
