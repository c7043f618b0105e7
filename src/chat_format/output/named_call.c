/* SPDX-License-Identifier: Apache-2.0 */
/* named_call.c - calls written as a name and the arguments as a JSON object. */
#include "chat_format/output/named_call.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/json_arguments.h"
#include "chat_format/output/markers.h"
#include <string.h>

enum state { PREFIX, NAME, ID, OPEN, ARGUMENTS, CLOSE };
enum { MAX_NAME = 256 };

/* Skips the optional text before the name. */
static enum qr_step prefix(struct quire_chat_output *o)
{
    const struct qr_named_call *const f = o->format->named;
    if (f->name_prefix) {
        const int found = qr_text_at(o, o->at, f->name_prefix);
        if (found < 0)
            return QR_STEP_MORE;
        o->at += found ? strlen(f->name_prefix) : 0;
    }
    qr_call_begin(o);
    o->reader.state = NAME;
    return o->status == QUIRE_OK ? QR_STEP_GO : QR_STEP_FAIL;
}

static bool is_digits(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] < '0' || p[i] > '9')
            return false;
    return n > 0;
}

/* functions.NAME:N, of which the whole is the id; N alone: the tool is guessed. */
static bool name_from_id(struct quire_chat_output *o, const char *p, size_t n)
{
    static const char functions[] = "functions.";
    const size_t skip = sizeof functions - 1;
    const char *colon = NULL;
    qr_call_id(o, p, n);
    if (is_digits(p, n)) {
        o->call_guess = true;
        return true;
    }
    for (size_t i = 0; i < n; i++)
        colon = p[i] == ':' ? p + i : colon;
    if (!colon || !is_digits(colon + 1, (size_t)(p + n - colon - 1)))
        return false;
    n = (size_t)(colon - p);
    if (n > skip && memcmp(p, functions, skip) == 0) {
        p += skip;
        n -= skip;
    }
    qr_call_name(o, p, n);
    return n > 0;
}

/* Whether p[n] may be a name: no white space or control characters inside. */
static bool is_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)p[i] <= ' ' || p[i] == '"' || p[i] == '{')
            return false;
    return n > 0 && n <= MAX_NAME;
}

/* The text up to one of name_end: the name, or the id after id_marker. */
static enum qr_step name(struct quire_chat_output *o)
{
    const struct qr_named_call *const f = o->format->named;
    struct qr_reader *const r = &o->reader;
    struct qr_marker_set set = { 0 };
    size_t pos, start = o->at;
    qr_markers_add(&set, f->name_end, QR_MARK_END);
    const struct qr_marker *const end = qr_markers_find(o, &set, o->at, &pos);
    size_t n = pos - o->at;
    while (n > 0 && qr_is_space(o->in.data[start])) {
        start++;
        n--;
    }
    while (n > 0 && qr_is_space(o->in.data[start + n - 1]))
        n--;
    if (n > 0 && !is_name(o->in.data + start, n))
        return QR_STEP_FAIL;
    if (!end)
        return o->final ? QR_STEP_FAIL : QR_STEP_MORE;
    const char *const text = o->in.data + start;
    if (n == 0 || (r->state == NAME && f->name_is_id && !name_from_id(o, text, n)))
        return QR_STEP_FAIL;
    if (r->state == ID)
        qr_call_id(o, text, n);
    else if (!f->name_is_id)
        qr_call_name(o, text, n);
    o->at = pos + (end->text[0] == '{' ? 0 : end->size);
    r->state = f->id_marker && strcmp(end->text, f->id_marker) == 0 ? ID : OPEN;
    r->key = 0;
    return QR_STEP_GO;
}

/* Whether the arguments of the call are raw code. */
static bool takes_code(struct quire_chat_output *o)
{
    const struct qr_bytes *const n = &qr_call_current(o)->name;
    return o->format->flags & QR_FORMAT_CODE &&
           ((n->size == 6 && memcmp(n->data, "python", 6) == 0) ||
            (n->size == 7 && memcmp(n->data, "ipython", 7) == 0)) &&
           o->in.data[o->at] != '{';
}

/* The optional text before the arguments. The call is sent when they begin, or its end does. */
static enum qr_step open_arguments(struct quire_chat_output *o)
{
    const struct qr_named_call *const f = o->format->named;
    struct qr_reader *const r = &o->reader;
    if (qr_skip_space(o)) {
        if (r->key == 0 && f->arguments_open) {
            const int found = qr_text_at(o, o->at, f->arguments_open);
            if (found < 0)
                return QR_STEP_MORE;
            r->key = 1;
            o->at += found ? strlen(f->arguments_open) : 0;
            return QR_STEP_GO;
        }
        if (takes_code(o)) {
            r->read = qr_read_code;
            return QR_STEP_GO;
        }
    } else if (!o->final)
        return QR_STEP_MORE;
    qr_call_announce(o);
    r->scan = 0;
    r->state = ARGUMENTS;
    return QR_STEP_GO;
}

static enum qr_step close_arguments(struct quire_chat_output *o)
{
    const struct qr_named_call *const f = o->format->named;
    if (f->arguments_close) {
        const size_t at = o->at;
        const bool left = qr_skip_space(o);
        const int found = left ? qr_text_at(o, o->at, f->arguments_close) : o->final ? 0 : -1;
        if (found <= 0)
            o->at = at;
        if (found < 0)
            return QR_STEP_MORE;
        o->at += found ? strlen(f->arguments_close) : 0;
    }
    qr_call_end(o);
    return QR_STEP_DONE;
}

enum qr_step qr_read_named_call(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (r->state == PREFIX)
        return prefix(o);
    if (r->state == NAME || r->state == ID)
        return name(o);
    if (r->state == OPEN)
        return open_arguments(o);
    if (r->state == CLOSE)
        return close_arguments(o);
    const enum qr_step step = qr_read_json_arguments(o);
    if (step != QR_STEP_DONE)
        return step;
    r->state = CLOSE;
    return QR_STEP_GO;
}

enum qr_step qr_read_code(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    size_t pos;
    if (!r->has_arguments) {
        r->has_arguments = true;
        qr_call_announce(o);
        qr_call_arguments(o, "{\"code\": \"", 10);
    }
    const struct qr_marker *const m = qr_markers_find(o, &o->end_set, o->at, &pos);
    qr_call_escaped(o, o->in.data + o->at, pos - o->at);
    o->at = pos;
    if (!m && !o->final)
        return QR_STEP_MORE;
    qr_call_arguments(o, "\"}", 2);
    qr_call_end(o);
    return QR_STEP_DONE;
}
