/* SPDX-License-Identifier: Apache-2.0 */
/* harmony_message.c - messages of the Harmony format: headers with channel and recipient. */
#include "chat_format/output/harmony_message.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/json_arguments.h"
#include "chat_format/output/markers.h"
#include <string.h>

static const qr_marker_list header_marks = { "<|message|>", "<|start|>", "<|end|>", "<|call|>",
                                             "<|return|>" };
static const char channel_mark[] = "<|channel|>", functions[] = "functions.";

struct header {
    const char *recipient, *channel;
    size_t recipient_size, channel_size;
};

static size_t word(const char *p, const char *end)
{
    size_t n = 0;
    while (p + n < end && !qr_is_space(p[n]) && p[n] != '<')
        n++;
    return n;
}

/* The last channel and the last recipient count. */
static struct header parse(const char *p, size_t size)
{
    struct header h = { 0 };
    const char *const end = p + size;
    for (const char *q = p; q < end; q++) {
        const size_t left = (size_t)(end - q);
        if (left >= 3 && memcmp(q, "to=", 3) == 0 && (q == p || qr_is_space(q[-1]))) {
            h.recipient = q + 3;
            h.recipient_size = word(q + 3, end);
        } else if (left >= sizeof channel_mark - 1 &&
                   memcmp(q, channel_mark, sizeof channel_mark - 1) == 0) {
            h.channel = q + sizeof channel_mark - 1;
            h.channel_size = word(h.channel, end);
        }
    }
    return h;
}

static bool is(const char *p, size_t n, const char *text)
{
    return n == strlen(text) && memcmp(p, text, n) == 0;
}

/* Decides what the message is. */
static void classify(struct quire_chat_output *o, const struct header *h)
{
    const char *name = h->recipient;
    size_t n = h->recipient_size;
    const size_t skip = sizeof functions - 1;
    const bool function = n > skip && memcmp(name, functions, skip) == 0;
    o->message_is_call = o->message_is_reasoning = o->message_dropped = false;
    if (function) {
        name += skip;
        n -= skip;
    }
    if (function || (n > 0 && qr_tools_find(&o->tools, name, n))) {
        o->message_is_call = o->calls_allowed;
        o->message_dropped = !o->calls_allowed;
    } else if (n > 0 && !is(name, n, "assistant") && !is(name, n, "user"))
        o->message_dropped = true; /* a builtin tool that was not offered */
    else
        o->message_is_reasoning = is(h->channel, h->channel_size, "analysis");
    if (!o->message_is_call)
        return;
    o->reader = (struct qr_reader){ 0 };
    qr_call_begin(o);
    if (o->status == QUIRE_OK) {
        qr_call_name(o, name, n);
        qr_call_announce(o);
    }
}

/* Whether the text at the cursor begins a header: 1, 0 it is content, -1 unknown. */
static int is_header(const struct quire_chat_output *o)
{
    static const char *const begins[] = {
        "<|channel|>", "<|start|>", "<|message|>", "<|constrain|>", " to=", "to=", "assistant"
    };
    int result = 0;
    for (size_t i = 0; i < sizeof begins / sizeof *begins && result <= 0; i++) {
        const int found = qr_text_at(o, o->at, begins[i]);
        result = found ? found : result;
    }
    return result;
}

enum qr_step qr_harmony_header(struct quire_chat_output *o)
{
    struct qr_marker_set set = { 0 };
    size_t pos;
    if (o->at == o->in.size)
        return QR_STEP_MORE;
    const int begins = is_header(o);
    if (begins < 0)
        return QR_STEP_MORE;
    if (!begins) {
        o->message_is_call = o->message_is_reasoning = o->message_dropped = false;
        o->state = QR_OUT_BODY;
        return QR_STEP_GO;
    }
    qr_markers_add(&set, header_marks, QR_MARK_END);
    const struct qr_marker *const m = qr_markers_find(o, &set, o->at + o->hold_scan, &pos);
    o->hold_scan = m ? 0 : pos - o->at;
    if (!m) {
        if (o->final)
            o->at = o->in.size;
        return QR_STEP_MORE;
    }
    if (m->text != header_marks[0]) { /* a header without a message */
        o->at = pos + m->size;
        return QR_STEP_GO;
    }
    const char *const p = o->in.data + o->at;
    const struct header h = parse(p, pos - o->at);
    classify(o, &h);
    if (o->message_is_reasoning && o->reasoning_none) {
        const char *const channel = h.channel - (sizeof channel_mark - 1);
        qr_emit_content_raw(o, channel, (size_t)(o->in.data + pos + m->size - channel));
    }
    o->at = pos + m->size;
    o->state = QR_OUT_BODY;
    return QR_STEP_GO;
}

static void end_message(struct quire_chat_output *o, const struct qr_marker *m)
{
    const bool next = m->action == QR_MARK_START;
    if (o->message_is_reasoning && o->reasoning_none && m->action == QR_MARK_END)
        qr_emit_content_raw(o, m->text, m->size);
    else
        qr_emit_space(o, o->message_is_reasoning, !o->message_is_reasoning);
    if (!next)
        o->at += m->size;
    o->state = QR_OUT_HEADER;
}

enum qr_step qr_harmony_body(struct quire_chat_output *o)
{
    size_t pos;
    bool more = false;
    if (o->message_is_call && o->call_active) {
        const enum qr_step step = qr_read_json_arguments(o);
        if (step == QR_STEP_DONE)
            qr_call_end(o);
        return step == QR_STEP_DONE ? QR_STEP_GO : step;
    }
    if (o->message_is_call) { /* behind the arguments */
        if (!qr_skip_space(o))
            return QR_STEP_MORE;
        const struct qr_marker *const m = qr_markers_at(o, &o->end_set, o->at, &more);
        if (m)
            end_message(o, m);
        else if (!more)
            o->message_is_call = false; /* text after a call is content */
        return more ? QR_STEP_MORE : QR_STEP_GO;
    }
    const struct qr_marker *const m = qr_markers_find(o, &o->end_set, o->at, &pos);
    const char *const p = o->in.data + o->at;
    if (o->message_is_reasoning)
        qr_emit_reasoning(o, p, pos - o->at);
    else if (!o->message_dropped)
        qr_emit_content(o, p, pos - o->at);
    o->at = pos;
    if (!m)
        return QR_STEP_MORE;
    end_message(o, m);
    return QR_STEP_GO;
}
