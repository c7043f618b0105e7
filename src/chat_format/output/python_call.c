/* SPDX-License-Identifier: Apache-2.0 */
/* python_call.c - calls written as Python: [f(a=1, b='x'), g()]. A call is sent when it is
 * complete, because only then it is known that all its values are JSON. */
#include "chat_format/output/python_call.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/markers.h"
#include "chat_format/output/python_literal.h"
#include <string.h>

enum state { BEFORE, ARGUMENTS };
enum { MAX_NAME = 256, MAX_DEPTH = 64, TRIPLE = 0x80 };

static enum qr_step need(const struct quire_chat_output *o)
{
    return o->final ? QR_STEP_FAIL : QR_STEP_MORE;
}

/* The end of the calls: none of them may have been one. */
static enum qr_step end(struct quire_chat_output *o)
{
    return o->keep == QR_NONE ? QR_STEP_DONE : QR_STEP_FAIL;
}

static bool is_name(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '.' ||
           c == '-';
}

/* A name and the opening parenthesis. */
static enum qr_step begin_call(struct quire_chat_output *o)
{
    static const char suffix[] = ".call"; /* builtin tools of Llama 3: NAME.call(...) */
    struct qr_reader *const r = &o->reader;
    size_t n = 0, i;
    const char *const p = o->in.data + o->at;
    const size_t left = o->in.size - o->at;
    while (n < left && is_name(p[n]))
        n++;
    for (i = n; i < left && (p[i] == ' ' || p[i] == '\t'); i++)
        ;
    if (n == 0 || n > MAX_NAME || (p[0] >= '0' && p[0] <= '9'))
        return end(o);
    if (i == left)
        return o->final ? end(o) : QR_STEP_MORE;
    if (p[i] != '(')
        return end(o);
    o->at += i + 1;
    qr_call_begin(o);
    if (o->status != QUIRE_OK)
        return QR_STEP_FAIL;
    const size_t s = sizeof suffix - 1;
    qr_call_name(o, p, n > s && memcmp(p + n - s, suffix, s) == 0 ? n - s : n);
    if (o->keep != QR_NONE && o->keep_body && !qr_call_tool(o))
        return QR_STEP_FAIL;
    r->state = ARGUMENTS;
    r->scan = 0;
    r->quote = 0;
    o->key.size = 0;
    return QR_STEP_GO;
}

static enum qr_step before(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (!qr_skip_space(o))
        return o->final ? end(o) : QR_STEP_MORE;
    const char c = o->in.data[o->at];
    if (c == '[' && !r->wrapper && !r->has_arguments) {
        o->at++;
        r->wrapper = 1;
        return QR_STEP_GO;
    }
    if (c == ']' && r->wrapper) {
        o->at++;
        if (o->keep != QR_NONE && !o->keep_body && !r->has_arguments)
            o->keep = QR_NONE; /* an empty list between markers */
        return end(o);
    }
    if ((c == ',' || c == ';') && r->has_arguments) {
        o->at++;
        return QR_STEP_GO;
    }
    return begin_call(o);
}

/* Inside a string at o->in[i]. Returns the offset behind its end; QR_NONE: the text ends before,
 * and the scan goes on at r->scan. */
static size_t scan_string(struct quire_chat_output *o, size_t i)
{
    struct qr_reader *const r = &o->reader;
    const char quote = (char)(r->quote & 0x7F);
    const enum qr_python_context context = o->key.size ? QR_PYTHON_ITEM : QR_PYTHON_ARGUMENT;
    for (; i < o->in.size; i++) {
        const char c = o->in.data[i];
        const size_t left = o->in.size - i;
        if (c == '\\' || c == quote)
            r->scan = i - o->at;
        if (c == '\\') {
            if (left < 2)
                return QR_NONE;
            i++;
        } else if (c == quote && r->quote & TRIPLE) {
            if (left < 3)
                return QR_NONE;
            if (o->in.data[i + 1] == quote && o->in.data[i + 2] == quote)
                return i + 3;
        } else if (c == quote) {
            const int ends = qr_python_quote_ends(o->in.data, i, o->in.size, o->final, context);
            if (ends < 0)
                return QR_NONE;
            if (ends)
                return i + 1;
        }
    }
    r->scan = o->in.size - o->at;
    return QR_NONE;
}

/* Finds the closing parenthesis of the call. DONE: *close is its offset. */
static enum qr_step scan_call(struct quire_chat_output *o, size_t *close)
{
    struct qr_reader *const r = &o->reader;
    for (size_t i = o->at + r->scan; i < o->in.size;) {
        const char c = o->in.data[i];
        if (r->quote) {
            i = scan_string(o, i);
            if (i == QR_NONE)
                return need(o);
            r->quote = 0;
        } else if (c == '"' || c == '\'') {
            r->scan = i - o->at;
            if (o->in.size - i < 3 && !o->final)
                return QR_STEP_MORE;
            const bool triple =
                o->in.size - i >= 3 && o->in.data[i + 1] == c && o->in.data[i + 2] == c;
            r->quote = (char)(c | (triple ? TRIPLE : 0));
            i += triple ? 3 : 1;
        } else if (c == '(' || c == '[' || c == '{') {
            if (o->key.size == MAX_DEPTH)
                return QR_STEP_FAIL;
            if (!qr_bytes_append(o->allocator, &o->key, &c, 1))
                qr_emit_nomem(o);
            i++;
        } else if (c == ')' || c == ']' || c == '}') {
            *close = i++;
            if (c == ')' && o->key.size == 0)
                return QR_STEP_DONE;
            const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
            if (o->key.size == 0 || o->key.data[--o->key.size] != open)
                return QR_STEP_FAIL;
        } else
            i++;
        r->scan = i - o->at;
    }
    return need(o);
}

static enum qr_step arguments(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    size_t close = 0;
    bool memory = true;
    const enum qr_step step = scan_call(o, &close);
    if (step != QR_STEP_DONE)
        return step;
    o->value.size = 0;
    const bool ok =
        qr_python_arguments(o->allocator, &o->value, o->in.data + o->at, close - o->at, &memory);
    if (!memory)
        qr_emit_nomem(o);
    o->at = close + 1;
    r->state = BEFORE;
    r->has_arguments = true;
    if (ok) {
        qr_call_arguments(o, o->value.data, o->value.size);
        qr_call_end(o);
    } else
        qr_call_cancel(o); /* its siblings stay */
    return QR_STEP_GO;
}

enum qr_step qr_read_python_call(struct quire_chat_output *o)
{
    return o->reader.state == BEFORE ? before(o) : arguments(o);
}
