/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - interprets the description of a format. */
#include "chat_format/output/machine.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/harmony_message.h"
#include "chat_format/output/markers.h"
#include "chat_format/output/recipient_message.h"
#include "chat_format/output/sections.h"
#include <string.h>

static bool has_flag(const struct quire_chat_output *o, uint32_t flag)
{
    return o->format->flags & flag;
}

/* ---- Start */

bool qr_prompt_opens_thinking(const struct qr_output_format *f, const char *text, size_t size,
                              size_t *at)
{
    size_t open = 0, close = 0; /* offsets + 1 of the last markers; 0 = none */
    for (size_t i = 0; i < size; i++)
        for (unsigned m = 0; m < QR_FORMAT_MARKERS; m++) {
            const char *const opener = f->think_open[m], *const closer = f->think_close[m];
            if (opener && strlen(opener) <= size - i && !memcmp(text + i, opener, strlen(opener)))
                open = i + 1;
            if (closer && strlen(closer) <= size - i && !memcmp(text + i, closer, strlen(closer)))
                close = i + 1;
        }
    *at = open ? open - 1 : 0;
    return open > close;
}

static void build_sets(struct quire_chat_output *o)
{
    static const qr_marker_list harmony_ends = { "<|end|>", "<|call|>", "<|return|>" };
    static const qr_marker_list harmony_starts = { "<|start|>", "<|channel|>" };
    const struct qr_output_format *const f = o->format;
    if (has_flag(o, QR_FORMAT_HARMONY)) {
        qr_markers_add(&o->end_set, harmony_ends, QR_MARK_END);
        qr_markers_add(&o->end_set, harmony_starts, QR_MARK_START);
        return;
    }
    qr_markers_add(&o->reasoning_set, f->think_close, QR_MARK_THINK_CLOSE);
    qr_markers_add(&o->content_set, f->think_open, QR_MARK_THINK_OPEN);
    qr_markers_add(&o->content_set, f->think_close, QR_MARK_THINK_CLOSE);
    qr_markers_add(&o->content_set, f->skip, QR_MARK_SKIP);
    qr_markers_add(&o->section_set, f->section_close, QR_MARK_SECTION_CLOSE);
    qr_markers_add(&o->section_set, f->call_close, QR_MARK_CALL_CLOSE);
    qr_markers_add(&o->section_set, f->section_open, QR_MARK_SECTION_OPEN);
    qr_markers_add(&o->section_set, f->call_open, QR_MARK_CALL_OPEN);
    o->end_set = o->section_set;
    qr_markers_add(&o->end_set, f->skip, QR_MARK_END);
    if (has_flag(o, QR_FORMAT_RECIPIENTS)) {
        static const qr_marker_list starts = { "<|start|>" };
        qr_markers_add(&o->reasoning_set, f->skip, QR_MARK_END);
        qr_markers_add(&o->reasoning_set, starts, QR_MARK_START);
        qr_markers_add(&o->content_set, starts, QR_MARK_START);
    }
    if (!o->calls_allowed)
        return;
    qr_markers_add(&o->content_set, f->section_open, QR_MARK_SECTION_OPEN);
    qr_markers_add(&o->content_set, f->call_open, QR_MARK_CALL_OPEN);
    qr_markers_add(&o->content_set, f->section_close, QR_MARK_SECTION_CLOSE);
    qr_markers_add(&o->content_set, f->call_close, QR_MARK_CALL_CLOSE);
    if (o->tools_given) /* without tools, JSON is an answer */
        qr_markers_add(&o->content_set, f->body_open, QR_MARK_BODY);
    if (has_flag(o, QR_FORMAT_CALLS_END_THINKING)) {
        qr_markers_add(&o->reasoning_set, f->section_open, QR_MARK_SECTION_OPEN);
        qr_markers_add(&o->reasoning_set, f->call_open, QR_MARK_CALL_OPEN);
    }
}

void qr_machine_start(struct quire_chat_output *o, const char *prompt_end, size_t size,
                      enum quire_thinking thinking)
{
    size_t at = QR_NONE;
    if (!o->format)
        return;
    build_sets(o);
    const bool open = prompt_end && qr_prompt_opens_thinking(o->format, prompt_end, size, &at);
    o->prompt_opened =
        thinking == QUIRE_THINKING_OPEN || (thinking == QUIRE_THINKING_BY_PROMPT && open);
    o->state = has_flag(o, QR_FORMAT_HARMONY | QR_FORMAT_RECIPIENTS) ? QR_OUT_HEADER : QR_OUT_START;
    o->preamble_over = o->format->preamble_bytes == 0 || !o->tools_given || !o->calls_allowed;
    o->reasoning_trim = !has_flag(o, QR_FORMAT_KEEP_SPACE);
    if (o->prompt_opened && o->reasoning_none && open)
        qr_emit_content_raw(o, prompt_end + at, size - at);
}

/* ---- Text */

static void begin_thinking(struct quire_chat_output *o, const char *marker, size_t size)
{
    qr_emit_space(o, false, o->content.size > 0 && !o->after_close);
    o->state = QR_OUT_REASONING;
    o->hold_scan = 0;
    o->think_prefix = o->format->literal_think_prefix && !o->reasoning_none;
    o->reasoning_trim = !has_flag(o, QR_FORMAT_KEEP_SPACE);
    if (o->reasoning_none)
        qr_emit_content_raw(o, marker, size);
}

/* A marker in content. from: where text starts that was not sent. */
static void content_marker(struct quire_chat_output *o, const struct qr_marker *m, size_t from,
                           size_t pos)
{
    const bool special = qr_is_special(o, pos, m->size);
    const bool blank = o->content.size == 0 && o->n_calls == 0;
    const char *const text = o->in.data + pos;
    o->at = pos + m->size;
    switch (m->action) {
    case QR_MARK_THINK_OPEN:
        if (blank || special || has_flag(o, QR_FORMAT_THINK_ANYWHERE)) {
            begin_thinking(o, text, m->size);
            return;
        }
        break;
    case QR_MARK_THINK_CLOSE:
        if (!o->reasoning_none && (special || has_flag(o, QR_FORMAT_DROP_STRAY_CLOSE)))
            return;
        break;
    case QR_MARK_SKIP:
        o->after_close = !has_flag(o, QR_FORMAT_KEEP_SPACE);
        if (has_flag(o, QR_FORMAT_RECIPIENTS))
            o->state = QR_OUT_HEADER;
        return;
    case QR_MARK_START:
        if (special) {
            o->at = pos;
            o->state = QR_OUT_HEADER;
            return;
        }
        break;
    case QR_MARK_SECTION_CLOSE:
    case QR_MARK_CALL_CLOSE:
        if (o->open_section) {
            o->open_section = m->action == QR_MARK_CALL_CLOSE && o->format->section_close[0];
            qr_sections_end(o);
            return;
        }
        break;
    default:
        qr_markup_begin(o, from, pos, m->size, m->action == QR_MARK_BODY);
        o->section_marked = m->action == QR_MARK_SECTION_OPEN;
        o->state = o->section_marked ? QR_OUT_SECTION : QR_OUT_CALL;
        return;
    }
    qr_emit_content(o, text, m->size);
}

/* The end of a preamble: its text is longer, has a line end, or the answer ends. */
static bool preamble_ends(const struct quire_chat_output *o, size_t pos)
{
    const size_t n = pos - o->at;
    return n >= o->format->preamble_bytes || memchr(o->in.data + o->at, '\n', n) || o->final;
}

static enum qr_step in_content(struct quire_chat_output *o)
{
    size_t pos;
    const struct qr_marker *const m = qr_markers_find(o, &o->content_set, o->at, &pos);
    const size_t from = o->at;
    if (!o->preamble_over && pos > from) {
        o->preamble_over = preamble_ends(o, pos);
        if (!o->preamble_over && !m)
            return QR_STEP_MORE;
        /* text before a marker that is skipped precedes no call */
        if (!o->preamble_over && m->action != QR_MARK_SKIP) {
            content_marker(o, m, from, pos);
            return QR_STEP_GO;
        }
    }
    qr_emit_content(o, o->in.data + from, pos - from);
    o->at = pos;
    if (!m)
        return QR_STEP_MORE;
    content_marker(o, m, pos, pos);
    return QR_STEP_GO;
}

/* Removes "thought\n" at the start of a block. False: it may still come. */
static bool skip_think_prefix(struct quire_chat_output *o)
{
    const char *const prefix = o->format->literal_think_prefix;
    const size_t n = strlen(prefix);
    bool more = false;
    const int found = qr_text_at(o, o->at, prefix);
    if (found < 0)
        return false;
    if (found && o->at + n == o->in.size && !o->final)
        return false;
    if (found && o->at + n < o->in.size) {
        const bool line = o->in.data[o->at + n] == '\n';
        const bool close = qr_markers_at(o, &o->reasoning_set, o->at + n, &more) != NULL;
        if (more)
            return false;
        o->at += line || close ? n : 0;
    } else if (found)
        o->at += n;
    o->think_prefix = false;
    return true;
}

/* The markup of a call inside reasoning at o->at: it is text if the block is closed later. */
static enum qr_step call_in_reasoning(struct quire_chat_output *o)
{
    size_t pos = o->at + o->hold_scan;
    const struct qr_marker *m;
    for (;; pos++) {
        m = qr_markers_find(o, &o->reasoning_set, pos, &pos);
        if (!m || m->action == QR_MARK_THINK_CLOSE)
            break;
    }
    if (m) {
        qr_emit_reasoning(o, o->in.data + o->at, pos - o->at);
        o->at = pos;
        o->hold_scan = 0;
        return QR_STEP_GO;
    }
    o->hold_scan = pos - o->at;
    if (!o->final)
        return QR_STEP_MORE;
    qr_emit_space(o, true, false);
    o->state = QR_OUT_CONTENT;
    return QR_STEP_GO;
}

static enum qr_step in_reasoning(struct quire_chat_output *o)
{
    size_t pos;
    if (o->think_prefix && !skip_think_prefix(o))
        return QR_STEP_MORE;
    const struct qr_marker *const m = qr_markers_find(o, &o->reasoning_set, o->at, &pos);
    qr_emit_reasoning(o, o->in.data + o->at, pos - o->at);
    o->at = pos;
    if (!m)
        return QR_STEP_MORE;
    if (m->action != QR_MARK_THINK_CLOSE)
        return call_in_reasoning(o);
    o->at += m->size;
    o->state = QR_OUT_CONTENT;
    if (o->reasoning_none)
        qr_emit_content_raw(o, m->text, m->size);
    else {
        qr_emit_space(o, true, has_flag(o, QR_FORMAT_KEEP_SPACE));
        o->after_close = !has_flag(o, QR_FORMAT_KEEP_SPACE);
    }
    return QR_STEP_GO;
}

/* ---- The start of an answer */

/* The first line is the name of a tool, or `all`: the prompt holds the marker before it. */
static enum qr_step first_name(struct quire_chat_output *o)
{
    static const char all[] = "all";
    const size_t left = o->in.size - o->at;
    const char *const p = o->in.data + o->at;
    size_t n = 0;
    while (n < left && (unsigned char)p[n] > ' ' && n < 128)
        n++;
    if (n == left && !o->final)
        return QR_STEP_MORE;
    o->state = QR_OUT_CONTENT;
    if (n == left || p[n] != '\n')
        return QR_STEP_GO;
    if (n == sizeof all - 1 && memcmp(p, all, n) == 0)
        o->at += n + 1;
    else if (o->calls_allowed && n > 0 && (!o->tools_given || qr_tools_find(&o->tools, p, n))) {
        qr_markup_begin(o, o->at, o->at, 0, false);
        o->state = QR_OUT_CALL;
    }
    return QR_STEP_GO;
}

static enum qr_step at_start(struct quire_chat_output *o)
{
    struct qr_marker_set set = { 0 };
    size_t i = o->at;
    bool more = false;
    if (!o->prompt_opened) {
        if (has_flag(o, QR_FORMAT_STARTS_WITH_NAME))
            return first_name(o);
        o->state = QR_OUT_CONTENT;
        return QR_STEP_GO;
    }
    if (!has_flag(o, QR_FORMAT_KEEP_REPEATED_OPENER) && !o->reasoning_none) {
        qr_markers_add(&set, o->format->think_open, QR_MARK_THINK_OPEN);
        while (i < o->in.size && qr_is_space(o->in.data[i]))
            i++;
        if (i == o->in.size && !o->final)
            return QR_STEP_MORE;
        const struct qr_marker *const m = i < o->in.size ? qr_markers_at(o, &set, i, &more) : NULL;
        if (more)
            return QR_STEP_MORE;
        o->at = m ? i + m->size : o->at;
    }
    o->state = QR_OUT_REASONING;
    o->think_prefix = o->format->literal_think_prefix && !o->reasoning_none;
    return QR_STEP_GO;
}

/* ---- Formats of messages */

static enum qr_step in_header(struct quire_chat_output *o)
{
    return has_flag(o, QR_FORMAT_RECIPIENTS) ? qr_recipient_header(o) : qr_harmony_header(o);
}

static enum qr_step in_body(struct quire_chat_output *o)
{
    return has_flag(o, QR_FORMAT_RECIPIENTS) ? qr_recipient_body(o) : qr_harmony_body(o);
}

void qr_machine_run(struct quire_chat_output *o)
{
    static enum qr_step (*const states[])(struct quire_chat_output *) = {
        [QR_OUT_START] = at_start,         [QR_OUT_CONTENT] = in_content,
        [QR_OUT_REASONING] = in_reasoning, [QR_OUT_SECTION] = qr_in_section,
        [QR_OUT_CALL] = qr_in_call,        [QR_OUT_AFTER] = qr_after_call,
        [QR_OUT_DROP] = qr_in_drop,        [QR_OUT_HEADER] = in_header,
        [QR_OUT_BODY] = in_body,
    };
    if (!o->format) {
        qr_emit_content(o, o->in.data + o->at, o->in.size - o->at);
        o->at = o->in.size;
        return;
    }
    while (o->status == QUIRE_OK && states[o->state](o) == QR_STEP_GO)
        ;
    if (o->final && o->status == QUIRE_OK)
        qr_emit_space(o, o->state == QR_OUT_REASONING || o->message_is_reasoning,
                      !o->after_close && (o->n_calls == 0 || o->content.size > 0));
}
