/* SPDX-License-Identifier: Apache-2.0 */
/* recipient_message.c - messages whose header names a recipient: Muse Glimmer. */
#include "chat_format/output/recipient_message.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/markers.h"
#include <string.h>

static const char start_mark[] = "<|start|>", message_mark[] = "<|message|>", to[] = "to=";
enum { MAX_WORD = 256 };

struct header {
    size_t to, recipient, recipient_size, end; /* offsets in o->in; to: of "to=" */
    size_t role;                               /* behind <|start|>; 0: the text has none */
};

/* Bytes of the word at `at`, which ends before white space or '<'. False: more may come. */
static bool word(const struct quire_chat_output *o, size_t at, size_t *size)
{
    size_t n = 0;
    while (at + n < o->in.size && n < MAX_WORD && !qr_is_space(o->in.data[at + n]) &&
           o->in.data[at + n] != '<')
        n++;
    *size = n;
    return at + n < o->in.size || n == MAX_WORD || o->final;
}

/* [ to=RECIPIENT]<|message|> at `at`: 1, 0 no header, -1 it may still come. */
static int read_recipient(const struct quire_chat_output *o, size_t at, struct header *h)
{
    const int space = qr_text_at(o, at, " ");
    if (space < 0)
        return -1;
    const int found = qr_text_at(o, at + (size_t)space, to);
    if (found < 0)
        return -1;
    h->to = h->recipient = at;
    if (found) {
        h->to = at + (size_t)space;
        h->recipient = h->to + sizeof to - 1;
        if (!word(o, h->recipient, &h->recipient_size))
            return -1;
        at = h->recipient + h->recipient_size;
    }
    const int message = qr_text_at(o, at, message_mark);
    h->end = at + sizeof message_mark - 1; /* if there is one */
    return message;
}

/* The header at the cursor, behind white space between two messages: 1, 0 the text is none, -1 it
 * may still become one, or is white space to the end. */
static int read_header(const struct quire_chat_output *o, struct header *h)
{
    size_t at = o->at, role;
    *h = (struct header){ 0 };
    while (at < o->in.size && at - o->at < MAX_WORD && qr_is_space(o->in.data[at]))
        at++;
    if (at == o->in.size)
        return -1;
    const int started = qr_text_at(o, at, start_mark);
    if (started < 0)
        return -1;
    if (!started)
        return read_recipient(o, at, h);
    h->role = at + sizeof start_mark - 1;
    if (!word(o, h->role, &role))
        return -1;
    return read_recipient(o, h->role + role, h);
}

static bool is(const struct quire_chat_output *o, const struct header *h, const char *text)
{
    return h->recipient_size == strlen(text) &&
           memcmp(o->in.data + h->recipient, text, h->recipient_size) == 0;
}

/* A line end between the texts of two messages. */
static void join(struct quire_chat_output *o, bool reasoning)
{
    if (reasoning && o->reasoning.size > 0)
        qr_emit_reasoning(o, "\n", 1);
    else if (!reasoning && o->content.size > 0) {
        o->after_close = false;
        qr_emit_content(o, "\n", 1);
    }
}

enum qr_step qr_recipient_header(struct quire_chat_output *o)
{
    struct header h;
    if (o->at == o->in.size)
        return QR_STEP_MORE;
    const int found = read_header(o, &h);
    if (found < 0) {
        o->at = o->final ? o->in.size : o->at;
        return QR_STEP_MORE;
    }
    o->message_is_reasoning = found && is(o, &h, "self");
    o->message_dropped = false;
    o->state = QR_OUT_BODY;
    if (!found && h.role) { /* a control token without a header, or a header that was cut */
        o->at = o->final ? o->in.size : h.role;
        return o->final ? QR_STEP_MORE : QR_STEP_GO;
    }
    if (!found)
        return QR_STEP_GO;
    o->at = h.end;
    if (h.recipient_size > 0 && !o->message_is_reasoning && !is(o, &h, "user")) {
        o->message_dropped = !o->calls_allowed;
        o->state = o->calls_allowed ? QR_OUT_CONTENT : QR_OUT_BODY;
    } else if (o->message_is_reasoning && o->reasoning_none)
        qr_emit_content_raw(o, o->in.data + h.to, h.end - h.to);
    else
        join(o, o->message_is_reasoning);
    return QR_STEP_GO;
}

enum qr_step qr_recipient_body(struct quire_chat_output *o)
{
    size_t pos;
    const struct qr_marker *const m = qr_markers_find(o, &o->reasoning_set, o->at, &pos);
    const bool ends = m && (m->action == QR_MARK_END || qr_is_special(o, pos, m->size));
    const size_t end = m && !ends ? pos + m->size : pos;
    const bool raw = o->message_is_reasoning && o->reasoning_none;
    if (o->message_is_reasoning)
        qr_emit_reasoning(o, o->in.data + o->at, end - o->at);
    else if (!o->message_dropped)
        qr_emit_content(o, o->in.data + o->at, end - o->at);
    o->at = end;
    if (!ends)
        return m ? QR_STEP_GO : QR_STEP_MORE;
    if (raw && m->action == QR_MARK_END)
        qr_emit_content_raw(o, m->text, m->size);
    else
        qr_emit_space(o, o->message_is_reasoning, !o->message_is_reasoning);
    o->at += m->action == QR_MARK_END ? m->size : 0;
    o->message_is_reasoning = false;
    o->state = QR_OUT_HEADER;
    return QR_STEP_GO;
}
