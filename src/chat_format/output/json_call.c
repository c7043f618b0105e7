/* SPDX-License-Identifier: Apache-2.0 */
/* json_call.c - calls written as JSON objects with a name and arguments. */
#include "chat_format/output/json_call.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/json_arguments.h"
#include "chat_format/output/markers.h"
#include <string.h>

enum state { BEFORE, KEY, COLON, VALUE, ARGUMENTS, SKIP, RESPONSE, AFTER_OBJECT };
enum key {
    KEY_NAME,
    KEY_ARGUMENTS,
    KEY_ID,
    KEY_FUNCTION,
    KEY_CALLS,
    KEY_RESPONSE,
    KEY_OTHER,
    KEY_UNKNOWN
};
enum { MAX_KEY = 1024 };
/* Levels on the reader's stack. */
enum { LEVEL_ARRAY = 'A', LEVEL_CALL = 'C', LEVEL_FUNCTION = 'F', LEVEL_WRAPPER = 'W' };

static enum key key_of(const struct quire_chat_output *o)
{
    static const struct {
        const char *text;
        enum key key;
    } common[] = {
        { "name", KEY_NAME },
        { "tool_name", KEY_NAME },
        { "arguments", KEY_ARGUMENTS },
        { "parameters", KEY_ARGUMENTS },
        { "id", KEY_ID },
        { "tool_call_id", KEY_ID },
        { "function", KEY_FUNCTION },
        { "type", KEY_OTHER },
        { "description", KEY_OTHER },
        { "index", KEY_OTHER },
    };
    static const struct {
        const char *text;
        enum key key;
    } wrapped[] = {
        { "tool_calls", KEY_CALLS },
        { "tool_call", KEY_CALLS },
        { "response", KEY_RESPONSE },
    };
    const struct qr_json_call *const j = o->format->json;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (strlen(common[i].text) == o->value.size &&
            memcmp(common[i].text, o->value.data, o->value.size) == 0)
            return common[i].key;
    for (size_t i = 0; j && j->wrapped && i < sizeof wrapped / sizeof *wrapped; i++)
        if (strlen(wrapped[i].text) == o->value.size &&
            memcmp(wrapped[i].text, o->value.data, o->value.size) == 0)
            return wrapped[i].key;
    return KEY_UNKNOWN;
}

static char top(const struct qr_reader *r) { return r->depth ? r->stack[r->depth - 1] : 0; }

static bool push(struct qr_reader *r, char level)
{
    if (r->depth == sizeof r->stack)
        return false;
    r->stack[r->depth++] = level;
    return true;
}

/* A malformed place: no call if nothing was sent, else the call ends as it is. */
static enum qr_step broken(struct quire_chat_output *o)
{
    if (!o->call_active && o->keep == QR_NONE)
        return QR_STEP_DONE;
    if (!o->call_announced || !o->call_active)
        return QR_STEP_FAIL;
    qr_call_end(o);
    return QR_STEP_DONE;
}

static enum qr_step need(struct quire_chat_output *o)
{
    return o->final ? broken(o) : QR_STEP_MORE;
}

/* Before an object or array. */
static enum qr_step before(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (!qr_skip_space(o))
        return need(o);
    const char c = o->in.data[o->at];
    if (c == '[' && (r->depth == 0 || top(r) == LEVEL_WRAPPER)) {
        o->at++;
        return push(r, LEVEL_ARRAY) ? QR_STEP_GO : broken(o);
    }
    if (c == ']' && top(r) == LEVEL_ARRAY) {
        o->at++;
        r->depth--;
        r->state = AFTER_OBJECT;
        return QR_STEP_GO;
    }
    if (c != '{')
        return broken(o);
    o->at++;
    qr_call_begin(o);
    r->state = KEY;
    return o->status == QUIRE_OK && push(r, LEVEL_CALL) ? QR_STEP_GO : broken(o);
}

/* Whether the calls of the format have ids. */
static bool has_ids(const struct quire_chat_output *o)
{
    return o->format->json && o->format->json->id[0];
}

/* Whether the call may be sent now that the name is known. */
static bool id_settled(const struct quire_chat_output *o)
{
    return !has_ids(o) || o->calls[o->n_calls - 1].id.size > 0;
}

static bool waits_for_id(const struct quire_chat_output *o)
{
    return has_ids(o) && o->format->json->id_last && !id_settled(o);
}

/* Whether the closing marker of the call follows: 1, 0, -1 it may still come. */
static int close_follows(const struct quire_chat_output *o)
{
    size_t at = o->at;
    bool more = false;
    while (at < o->in.size && qr_is_space(o->in.data[at]))
        at++;
    if (at == o->in.size)
        return o->final ? 0 : -1;
    const struct qr_marker *const m = qr_markers_at(o, &o->section_set, at, &more);
    return m      ? m->action == QR_MARK_CALL_CLOSE || m->action == QR_MARK_SECTION_CLOSE
           : more ? -1
                  : 0;
}

/* The closing brace of a level, at the cursor. */
static enum qr_step close_object(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    const char level = top(r);
    if (level == LEVEL_CALL) {
        const bool complete = qr_call_current(o)->name.size > 0 &&
                              (r->has_arguments || !(o->format->flags & QR_FORMAT_NEEDS_ARGUMENTS));
        if (!complete)
            return QR_STEP_FAIL;
        o->at++;
        const int closed = o->format->flags & QR_FORMAT_NEEDS_CLOSE ? close_follows(o) : 1;
        if (closed < 0) {
            o->at--;
            return QR_STEP_MORE;
        }
        if (closed == 0)
            return QR_STEP_FAIL;
        qr_call_end(o);
        r->has_arguments = false;
    } else
        o->at++;
    r->depth--;
    r->state = level == LEVEL_FUNCTION ? KEY : AFTER_OBJECT;
    return r->depth == 0 ? QR_STEP_DONE : QR_STEP_GO;
}

static enum qr_step key(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (!qr_skip_space(o))
        return need(o);
    const char c = o->in.data[o->at];
    if (c == '}')
        return close_object(o);
    if (c == ',') {
        o->at++;
        return QR_STEP_GO;
    }
    if (c == '{' && top(r) == LEVEL_CALL && o->call_announced && r->has_arguments) {
        /* the brace of the call before is missing */
        qr_call_end(o);
        r->has_arguments = false;
        r->depth--;
        r->state = BEFORE;
        return QR_STEP_GO;
    }
    const size_t start = o->at;
    const enum qr_step step = qr_read_json_string(o);
    const size_t size = (step == QR_STEP_DONE ? o->at : o->in.size) - start;
    if (step == QR_STEP_MORE && size <= MAX_KEY)
        return step;
    if (step != QR_STEP_DONE || size > MAX_KEY) {
        o->at = start;
        return broken(o);
    }
    r->key = (uint8_t)key_of(o);
    if (o->format->json && o->format->json->key_is_name) {
        r->key = KEY_ARGUMENTS;
        if (qr_call_current(o)->name.size == 0)
            qr_call_name(o, o->value.data, o->value.size);
    }
    r->state = COLON;
    return QR_STEP_GO;
}

/* Where bare objects may be calls, an unknown key tells that this one is none. */
static bool key_refused(const struct quire_chat_output *o)
{
    return o->format->body_open[0] && o->keep != QR_NONE && o->reader.key == KEY_UNKNOWN;
}

static enum qr_step colon(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (!qr_skip_space(o))
        return need(o);
    if (o->in.data[o->at] != ':' || key_refused(o))
        return broken(o);
    o->at++;
    r->state = VALUE;
    return QR_STEP_GO;
}

static enum qr_step name_or_id(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (o->in.data[o->at] != '"' && r->key == KEY_ID) {
        r->json = (struct qr_json_scan){ 0 };
        const size_t start = o->at;
        const enum qr_step step = qr_skip_json_value(o);
        if (step != QR_STEP_DONE)
            return step == QR_STEP_FAIL ? broken(o) : (r->scan = 0, step);
        o->value.size = 0;
        if (!qr_bytes_append(o->allocator, &o->value, o->in.data + start, o->at - start))
            qr_emit_nomem(o);
    } else {
        const enum qr_step step = qr_read_json_string(o);
        if (step != QR_STEP_DONE)
            return step == QR_STEP_MORE ? step : broken(o);
    }
    if (r->key == KEY_ID) {
        if (has_ids(o))
            qr_call_id(o, o->value.data, o->value.size);
    } else if (!o->call_announced) {
        qr_call_name(o, o->value.data, o->value.size);
        if (o->keep != QR_NONE && o->keep_body && !qr_call_tool(o))
            return QR_STEP_FAIL; /* a bare object that is no call */
    }
    const bool arguments = r->has_arguments || !(o->format->flags & QR_FORMAT_NEEDS_ARGUMENTS);
    if (qr_call_current(o)->name.size > 0 && id_settled(o) && arguments)
        qr_call_announce(o);
    r->state = KEY;
    return QR_STEP_GO;
}

/* Whether an object begins at the cursor: 1, 0, -1 it may. A bare object that goes on otherwise is
 * no call, and nothing of it has been sent. */
static int object_begins(const struct quire_chat_output *o)
{
    size_t i = o->at;
    if (o->in.data[i] != '{')
        return o->in.data[i] == '"' || o->in.data[i] == 'n';
    do
        i++;
    while (i < o->in.size && qr_is_space(o->in.data[i]));
    if (i == o->in.size)
        return -1;
    return o->in.data[i] == '"' || o->in.data[i] == '}';
}

static enum qr_step value(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (!qr_skip_space(o))
        return need(o);
    const char c = o->in.data[o->at];
    r->json = (struct qr_json_scan){ 0 };
    r->scan = 0;
    if (r->key == KEY_FUNCTION && c == '{') {
        o->at++;
        r->state = KEY;
        return push(r, LEVEL_FUNCTION) ? QR_STEP_GO : broken(o);
    }
    if (r->key == KEY_FUNCTION && c == '"')
        r->key = KEY_NAME;
    if (r->key == KEY_NAME || r->key == KEY_ID)
        return name_or_id(o);
    if (r->key == KEY_CALLS && (c == '[' || c == '{')) {
        qr_call_cancel(o);
        r->has_arguments = false;
        r->stack[r->depth - 1] = LEVEL_WRAPPER;
        r->state = BEFORE;
        return QR_STEP_GO;
    }
    if (r->key == KEY_RESPONSE && c == '"' && o->keep != QR_NONE) {
        qr_call_cancel(o);
        o->keep = QR_NONE;
        r->stack[r->depth - 1] = LEVEL_WRAPPER;
        o->at++;
        r->state = RESPONSE;
        return QR_STEP_GO;
    }
    if (r->key == KEY_ARGUMENTS && o->keep_body && o->keep != QR_NONE) {
        const int begins = object_begins(o);
        if (begins <= 0)
            return begins < 0 ? need(o) : QR_STEP_FAIL;
    }
    r->state = SKIP;
    if (r->key == KEY_ARGUMENTS && !r->has_arguments) {
        r->state = ARGUMENTS;
        r->has_arguments = true;
        if (qr_call_current(o)->name.size > 0 && !waits_for_id(o))
            qr_call_announce(o);
    }
    return QR_STEP_GO;
}

static enum qr_step arguments(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    const enum qr_step step = qr_read_json_arguments(o);
    if (step != QR_STEP_DONE)
        return step;
    if (r->raw || r->json.depth > 0)
        return broken(o);
    r->state = KEY;
    return QR_STEP_GO;
}

/* The number of hexadecimal digits that p[n] begins with, up to the 4 of an escape. */
static size_t hex_digits(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && i < 4 && p[i] && strchr("0123456789abcdefABCDEF", p[i]))
        i++;
    return i;
}

/* Size of the escape at p[n], as far as it is known: a pair of surrogates has 12 bytes. A malformed
 * one ends before the first byte that does not belong to it, which may be the closing quote. */
static size_t escape_size(const char *p, size_t n)
{
    if (n < 2 || p[1] != 'u')
        return 2;
    const size_t digits = hex_digits(p + 2, n - 2);
    if (digits < 4)
        return digits == n - 2 ? 6 : 2;
    const bool high = (p[2] | 32) == 'd' && strchr("89abAB", p[3]);
    const bool alone = (n > 6 && p[6] != '\\') || (n > 7 && p[7] != 'u');
    if (!high || alone)
        return 6;
    const size_t low_digits = n > 8 ? hex_digits(p + 8, n - 8) : 0;
    return low_digits == 4 || low_digits + 8 >= n ? 12 : 6;
}

/* The string of {"response": "..."}: content. */
static enum qr_step response(struct quire_chat_output *o)
{
    for (;;) {
        size_t n = 0;
        const size_t left = o->in.size - o->at;
        const char *const p = o->in.data + o->at;
        while (n < left && p[n] != '"' && p[n] != '\\')
            n++;
        qr_emit_content_raw(o, p, n);
        o->at += n;
        if (n == left)
            return o->final ? QR_STEP_DONE : QR_STEP_MORE;
        if (p[n] == '"') {
            o->at++;
            o->reader.state = AFTER_OBJECT;
            return QR_STEP_GO;
        }
        size_t size = escape_size(p + n, left - n);
        if (left - n < size) {
            if (!o->final)
                return QR_STEP_MORE;
            size = left - n;
        }
        o->value.size = 0;
        /* GCOVR_EXCL_BR_LINE: the value has held the key, which is longer. */
        if (!qr_append_unescaped(o->allocator, &o->value, p + n, size))
            qr_emit_nomem(o);
        qr_emit_content_raw(o, o->value.data, o->value.size);
        o->at += size;
    }
}

static enum qr_step after_object(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (r->depth == 0)
        return QR_STEP_DONE;
    if (!qr_skip_space(o))
        return need(o);
    const char c = o->in.data[o->at];
    if (c == ',' && top(r) == LEVEL_ARRAY) {
        o->at++;
        r->state = BEFORE;
        return QR_STEP_GO;
    }
    if (c == (top(r) == LEVEL_ARRAY ? ']' : '}')) {
        o->at++;
        r->depth--;
        return QR_STEP_GO;
    }
    if (c == '}' || c == ']') { /* one bracket too many */
        o->at++;
        return QR_STEP_GO;
    }
    return QR_STEP_DONE;
}

enum qr_step qr_read_json_call(struct quire_chat_output *o)
{
    switch (o->reader.state) {
    case BEFORE:
        return before(o);
    case KEY:
        return key(o);
    case COLON:
        return colon(o);
    case VALUE:
        return value(o);
    case ARGUMENTS:
        return arguments(o);
    case SKIP: {
        const enum qr_step step = qr_skip_json_value(o);
        if (step == QR_STEP_DONE)
            o->reader.state = KEY;
        return step == QR_STEP_DONE ? QR_STEP_GO : step == QR_STEP_FAIL ? broken(o) : step;
    }
    case RESPONSE:
        return response(o);
    default:
        return after_object(o);
    }
}
