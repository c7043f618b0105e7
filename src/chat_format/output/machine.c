/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - interprets the description of a format. */
#include "chat_format/output/machine.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/harmony.h"
#include "chat_format/output/markers.h"
#include "chat_format/output/readers.h"
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
    o->state = has_flag(o, QR_FORMAT_HARMONY) ? QR_OUT_HEADER : QR_OUT_START;
    o->preamble_over = o->format->preamble_bytes == 0 || !o->tools_given || !o->calls_allowed;
    o->reasoning_trim = !has_flag(o, QR_FORMAT_KEEP_SPACE);
    if (o->prompt_opened && o->reasoning_none && open)
        qr_emit_content_raw(o, prompt_end + at, size - at);
}

/* ---- Calls and sections */

/* Begins markup that may still turn out to be text. */
static void begin_markup(struct quire_chat_output *o, size_t start, size_t pos, size_t size,
                         bool body)
{
    o->keep = start;
    o->keep_marker = pos + size;
    o->keep_body = body;
    o->keep_preamble = pos > start;
    o->opener_special = !body && qr_is_special(o, pos, size);
    o->at = body ? pos : pos + size;
    o->reader = (struct qr_reader){ 0 };
}

void qr_machine_after_section(struct quire_chat_output *o)
{
    o->after_close = !has_flag(o, QR_FORMAT_KEEP_SPACE);
    o->drop_text = o->drop_text || has_flag(o, QR_FORMAT_DROP_AFTER_CALLS);
    o->state = QR_OUT_CONTENT;
    o->section_marked = false;
}

/* Raw code after the opening marker: a call of the tool for code, if there is one. */
static bool begin_code(struct quire_chat_output *o)
{
    static const char *const names[] = { "python", "code_interpreter", "ipython" };
    if (!has_flag(o, QR_FORMAT_CODE) || o->keep_body)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (o->tools_given && !qr_tools_find(&o->tools, names[i], strlen(names[i])))
            continue;
        o->at = o->keep_marker;
        o->reader = (struct qr_reader){ .read = qr_read_code };
        qr_call_begin(o);
        if (o->status == QUIRE_OK)
            qr_call_name(o, names[i], strlen(names[i]));
        return true;
    }
    return false;
}

/* The markup holds no call. */
static void fail_markup(struct quire_chat_output *o)
{
    const bool code = o->reader.read == qr_read_code;
    qr_call_cancel(o);
    if (o->keep == QR_NONE) { /* calls before it were sent */
        o->open_section = true;
        if (o->format->on_failure == QR_FAILURE_IS_DROPPED)
            o->state = QR_OUT_DROP;
        else
            qr_machine_after_section(o);
        return;
    }
    if (!code && begin_code(o))
        return;
    const size_t keep = o->keep;
    o->keep = QR_NONE;
    o->preamble_over = true;
    o->at = o->keep_marker;
    o->state = QR_OUT_CONTENT;
    if (o->keep_body || o->format->on_failure == QR_FAILURE_IS_CONTENT)
        qr_emit_content(o, o->in.data + keep, o->at - keep);
    else if (o->format->on_failure == QR_FAILURE_LOSES_MARKER)
        o->after_close = true;
    else {
        o->state = QR_OUT_DROP;
        return;
    }
    o->section_marked = false;
}

static enum qr_step (*choose_reader(const struct quire_chat_output *o))(struct quire_chat_output *)
{
    static enum qr_step (*const readers[])(struct quire_chat_output *) = {
        [QR_CALLS_JSON] = qr_read_json_call,   [QR_CALLS_NAMED] = qr_read_named_call,
        [QR_CALLS_XML] = qr_read_xml_call,     [QR_CALLS_PYTHON] = qr_read_python_call,
        [QR_CALLS_GEMMA] = qr_read_gemma_call,
    };
    size_t i = o->at;
    const char c = o->in.data[i];
    const enum qr_call_notation n = o->format->notation;
    if (n == QR_CALLS_PYTHON && c == '[')
        do
            i++;
        while (i < o->in.size && qr_is_space(o->in.data[i]));
    if (i == o->in.size && !o->final)
        return NULL;
    const char inner = i < o->in.size ? o->in.data[i] : 0;
    if ((n == QR_CALLS_PYTHON && inner == '{') || (n == QR_CALLS_NAMED && c == '['))
        return qr_read_json_call;
    if (n == QR_CALLS_JSON && has_flag(o, QR_FORMAT_CODE) && c != '{' && c != '[')
        return qr_read_python_call;
    return readers[n];
}

static enum qr_step in_call(struct quire_chat_output *o)
{
    if (!o->reader.read) {
        if (!qr_skip_space(o)) {
            if (o->final)
                fail_markup(o);
            return o->final ? QR_STEP_GO : QR_STEP_MORE;
        }
        o->reader.read = choose_reader(o);
        if (!o->reader.read)
            return QR_STEP_MORE;
    }
    const enum qr_step step = o->reader.read(o);
    if (step == QR_STEP_DONE) {
        o->keep = QR_NONE;
        o->state = QR_OUT_AFTER;
    } else if (step == QR_STEP_FAIL)
        fail_markup(o);
    else
        return step;
    return QR_STEP_GO;
}

/* Consumes a marker between calls. */
static void between(struct quire_chat_output *o, const struct qr_marker *m)
{
    o->opener_special = o->opener_special || qr_is_special(o, o->at, m->size);
    o->at += m->size;
    if (m->action == QR_MARK_CALL_OPEN) {
        o->reader = (struct qr_reader){ 0 };
        o->state = QR_OUT_CALL;
    } else if (m->action == QR_MARK_SECTION_OPEN) {
        o->section_marked = true;
        o->state = QR_OUT_SECTION;
    } else if (m->action == QR_MARK_CALL_CLOSE && o->section_marked)
        o->state = QR_OUT_SECTION;
    else {
        o->open_section = o->section_marked && m->action != QR_MARK_SECTION_CLOSE;
        qr_machine_after_section(o);
    }
}

static bool begins_body(const struct quire_chat_output *o)
{
    const char c = o->in.data[o->at];
    if (o->format->notation == QR_CALLS_JSON)
        return c == '{' || c == '[';
    return !o->format->call_open[0];
}

/* After a call: closing markers, separators, the next call, or text. */
static enum qr_step after_call(struct quire_chat_output *o)
{
    bool more = false;
    const bool keep_space = has_flag(o, QR_FORMAT_KEEP_SPACE) && !o->section_marked;
    const size_t start = o->at;
    if (!qr_skip_space(o)) {
        o->at = keep_space ? start : o->at;
        if (o->final)
            qr_machine_after_section(o);
        return o->final ? QR_STEP_GO : QR_STEP_MORE;
    }
    const struct qr_marker *const m = qr_markers_at(o, &o->section_set, o->at, &more);
    if (m)
        between(o, m);
    else if (more)
        o->at = keep_space ? start : o->at;
    else if (o->in.data[o->at] == ',' || o->in.data[o->at] == ';') {
        o->at++;
        o->reader.has_arguments = true;
    } else if (o->reader.has_arguments && begins_body(o) && o->format->notation == QR_CALLS_JSON) {
        o->reader = (struct qr_reader){ 0 };
        o->state = QR_OUT_CALL;
    } else {
        o->open_section = true;
        o->at = keep_space ? start : o->at;
        qr_machine_after_section(o);
    }
    return more ? QR_STEP_MORE : QR_STEP_GO;
}

static enum qr_step in_section(struct quire_chat_output *o)
{
    bool more = false;
    if (!qr_skip_space(o)) {
        if (o->final)
            fail_markup(o);
        return o->final ? QR_STEP_GO : QR_STEP_MORE;
    }
    const struct qr_marker *const m = qr_markers_at(o, &o->section_set, o->at, &more);
    if (more)
        return QR_STEP_MORE;
    if (m && m->action == QR_MARK_SECTION_CLOSE && o->keep != QR_NONE &&
        o->format->on_failure == QR_FAILURE_IS_CONTENT)
        fail_markup(o); /* a section without calls */
    else if (m)
        between(o, m);
    else if (!o->format->call_open[0] || has_flag(o, QR_FORMAT_CALL_OPEN_OPTIONAL)) {
        o->reader = (struct qr_reader){ 0 };
        o->state = QR_OUT_CALL;
    } else
        fail_markup(o);
    return QR_STEP_GO;
}

/* Broken markup, up to the next marker. */
static enum qr_step in_drop(struct quire_chat_output *o)
{
    size_t pos;
    const struct qr_marker *const m = qr_markers_find(o, &o->section_set, o->at, &pos);
    o->at = pos;
    if (m)
        between(o, m);
    return m ? QR_STEP_GO : QR_STEP_MORE;
}

/* ---- Text */

static void begin_thinking(struct quire_chat_output *o, const char *marker, size_t size)
{
    qr_emit_space(o, false, o->content.size > 0);
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
        if (has_flag(o, QR_FORMAT_TRIM_CONTENT))
            qr_emit_space(o, false, false);
        o->after_close = !has_flag(o, QR_FORMAT_KEEP_SPACE);
        return;
    case QR_MARK_SECTION_CLOSE:
    case QR_MARK_CALL_CLOSE:
        if (o->open_section) {
            o->open_section = m->action == QR_MARK_CALL_CLOSE && o->format->section_close[0];
            qr_machine_after_section(o);
            return;
        }
        break;
    default:
        begin_markup(o, from, pos, m->size, m->action == QR_MARK_BODY);
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
    return n >= o->format->preamble_bytes || memchr(o->in.data + o->at, '\n', n) ||
           (o->final && pos == o->in.size);
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
        if (!o->preamble_over && m->action != QR_MARK_THINK_OPEN) {
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
        begin_markup(o, o->at, o->at, 0, false);
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

void qr_machine_run(struct quire_chat_output *o)
{
    static enum qr_step (*const states[])(struct quire_chat_output *) = {
        [QR_OUT_START] = at_start,         [QR_OUT_CONTENT] = in_content,
        [QR_OUT_REASONING] = in_reasoning, [QR_OUT_SECTION] = in_section,
        [QR_OUT_CALL] = in_call,           [QR_OUT_AFTER] = after_call,
        [QR_OUT_DROP] = in_drop,           [QR_OUT_HEADER] = qr_harmony_header,
        [QR_OUT_BODY] = qr_harmony_body,
    };
    if (!o->format) {
        qr_emit_content(o, o->in.data + o->at, o->in.size - o->at);
        o->at = o->in.size;
        return;
    }
    while (o->status == QUIRE_OK) {
        if (states[o->state](o) == QR_STEP_GO)
            continue;
        if (!o->final || o->state != QR_OUT_CALL)
            break;
        fail_markup(o); /* the text ended inside a call */
    }
    if (o->final && o->status == QUIRE_OK)
        qr_emit_space(o, o->state == QR_OUT_REASONING || o->message_is_reasoning,
                      o->n_calls == 0 || o->content.size > 0);
}
