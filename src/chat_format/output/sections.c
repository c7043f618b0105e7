/* SPDX-License-Identifier: Apache-2.0 */
/* sections.c - markup of calls: sections, calls, and what fails to be one. */
#include "chat_format/output/sections.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/gemma_call.h"
#include "chat_format/output/json_call.h"
#include "chat_format/output/markers.h"
#include "chat_format/output/named_call.h"
#include "chat_format/output/python_call.h"
#include "chat_format/output/xml_call.h"
#include <string.h>

static bool has_flag(const struct quire_chat_output *o, uint32_t flag)
{
    return o->format->flags & flag;
}

/* Begins markup that may still turn out to be text. */
void qr_markup_begin(struct quire_chat_output *o, size_t start, size_t pos, size_t size, bool body)
{
    o->keep = start;
    o->keep_marker = pos + size;
    o->keep_body = body;
    o->keep_preamble = pos > start;
    o->opener_special = !body && qr_is_special(o, pos, size);
    o->at = body ? pos : pos + size;
    o->reader = (struct qr_reader){ 0 };
}

void qr_sections_end(struct quire_chat_output *o)
{
    o->after_close = !has_flag(o, QR_FORMAT_KEEP_SPACE);
    o->drop_text = o->drop_text || has_flag(o, QR_FORMAT_DROP_AFTER_CALLS);
    o->state = QR_OUT_CONTENT;
    o->section_marked = false;
    o->keep = QR_NONE; /* a section without calls has kept its markup */
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
void qr_markup_fail(struct quire_chat_output *o)
{
    qr_call_cancel(o);
    if (o->keep == QR_NONE) { /* calls before it were sent */
        o->open_section = true;
        if (o->format->on_failure == QR_FAILURE_IS_DROPPED)
            o->state = QR_OUT_DROP;
        else
            qr_sections_end(o);
        return;
    }
    if (begin_code(o)) /* at most once: raw code never fails */
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

enum qr_step qr_in_call(struct quire_chat_output *o)
{
    if (!o->reader.read) {
        if (!qr_skip_space(o)) {
            if (o->final)
                qr_markup_fail(o);
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
        qr_markup_fail(o);
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
        o->open_section = false;
        qr_sections_end(o);
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
enum qr_step qr_after_call(struct quire_chat_output *o)
{
    bool more = false;
    const bool keep_space = has_flag(o, QR_FORMAT_KEEP_SPACE);
    const size_t start = o->at;
    if (!qr_skip_space(o)) {
        o->at = keep_space ? start : o->at;
        if (o->final)
            qr_sections_end(o);
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
        qr_sections_end(o);
    }
    return more ? QR_STEP_MORE : QR_STEP_GO;
}

enum qr_step qr_in_section(struct quire_chat_output *o)
{
    bool more = false;
    if (!qr_skip_space(o)) {
        if (o->final)
            qr_markup_fail(o);
        return o->final ? QR_STEP_GO : QR_STEP_MORE;
    }
    const struct qr_marker *const m = qr_markers_at(o, &o->section_set, o->at, &more);
    if (more)
        return QR_STEP_MORE;
    const bool without_calls = m && m->action == QR_MARK_SECTION_CLOSE && o->keep != QR_NONE &&
                               o->format->on_failure == QR_FAILURE_IS_CONTENT;
    const bool is_call =
        !m && (!o->format->call_open[0] || has_flag(o, QR_FORMAT_CALL_OPEN_OPTIONAL));
    if (is_call) {
        o->reader = (struct qr_reader){ 0 };
        o->state = QR_OUT_CALL;
    } else if (m && !without_calls)
        between(o, m);
    else
        qr_markup_fail(o);
    return QR_STEP_GO;
}

/* Broken markup, up to the next marker. */
enum qr_step qr_in_drop(struct quire_chat_output *o)
{
    size_t pos;
    const struct qr_marker *const m = qr_markers_find(o, &o->section_set, o->at, &pos);
    o->at = pos;
    if (m)
        between(o, m);
    return m ? QR_STEP_GO : QR_STEP_MORE;
}
