/* SPDX-License-Identifier: Apache-2.0 */
/* xml_call.c - calls written as an element per parameter. The values are typed by the schema of the
 * tool; strings are sent while they arrive. */
#include "chat_format/output/xml_call.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/json_arguments.h"
#include "chat_format/output/markers.h"
#include <string.h>

enum state { PREFIX, INVOKE, NAME, BODY, KEY, BEFORE_VALUE, VALUE, STRING, OBJECT, CLOSE };
/* The attribute string="true|false" of DSML. */
enum { ATTRIBUTE_NONE, ATTRIBUTE_STRING, ATTRIBUTE_OTHER };
enum { MAX_NAME = 256, MAX_TAG = 512 };

static enum qr_step need(const struct quire_chat_output *o)
{
    return o->final ? QR_STEP_FAIL : QR_STEP_MORE;
}

/* The call ends at the end of the text, or inside broken markup. */
static enum qr_step cut(struct quire_chat_output *o)
{
    if (o->reader.parameters > 0)
        qr_call_arguments(o, "}", 1);
    qr_call_end(o);
    return QR_STEP_DONE;
}

static enum qr_step prefix(struct quire_chat_output *o)
{
    const struct qr_xml_call *const f = o->format->xml;
    struct qr_reader *const r = &o->reader;
    if (f->prefix) {
        const int found = qr_text_at(o, o->at, f->prefix);
        if (found < 0)
            return QR_STEP_MORE;
        const char *const from = o->in.data + o->at;
        const size_t left = o->in.size - o->at;
        const char *const end =
            found ? memmem(from, left, f->prefix_end, strlen(f->prefix_end)) : from;
        if (!end && left <= MAX_TAG)
            return need(o);
        if (!end || (size_t)(end - from) + strlen(f->prefix_end) > MAX_TAG)
            return QR_STEP_FAIL;
        o->at = (size_t)(end - o->in.data);
    }
    qr_call_begin(o);
    r->state = f->invoke ? INVOKE : NAME;
    return o->status == QUIRE_OK ? QR_STEP_GO : QR_STEP_FAIL;
}

static enum qr_step invoke(struct quire_chat_output *o)
{
    const int found = qr_text_at(o, o->at, o->format->xml->invoke);
    if (found <= 0)
        return found < 0 ? QR_STEP_MORE : QR_STEP_FAIL;
    o->at += strlen(o->format->xml->invoke);
    o->reader.state = NAME;
    return QR_STEP_GO;
}

/* The text up to `end`, without white space around it, to o->key; the cursor moves behind `end`,
 * and behind the attributes if `end` is a quote. */
static enum qr_step quoted(struct quire_chat_output *o, const char *end, uint8_t *attribute)
{
    const size_t left = o->in.size - o->at;
    const char *p = o->in.data + o->at;
    const char *const found = memmem(p, left, end, strlen(end));
    const char *after = NULL;
    if (found) {
        after = found + strlen(end);
        if (*end == '"')
            after = memchr(after, '>', (size_t)(p + left - after));
    }
    if (!after)
        return left > MAX_TAG || o->final ? QR_STEP_FAIL : QR_STEP_MORE;
    if ((size_t)(after + (*end == '"') - p) > MAX_TAG)
        return QR_STEP_FAIL;
    if (*end == '"') {
        static const char is_string[] = "string=\"true\"", other[] = "string=\"false\"";
        const size_t n = (size_t)(after - found);
        *attribute = memmem(found, n, is_string, sizeof is_string - 1) ? ATTRIBUTE_STRING
                     : memmem(found, n, other, sizeof other - 1)       ? ATTRIBUTE_OTHER
                                                                       : ATTRIBUTE_NONE;
        after++;
    }
    size_t n = (size_t)(found - p);
    while (n > 0 && qr_is_space(*p)) {
        p++;
        n--;
    }
    while (n > 0 && qr_is_space(p[n - 1]))
        n--;
    o->key.size = 0;
    if (!qr_bytes_append(o->allocator, &o->key, p, n))
        qr_emit_nomem(o);
    o->at = (size_t)(after - o->in.data);
    return n > 0 && n <= MAX_NAME ? QR_STEP_DONE : QR_STEP_FAIL;
}

/* A name without an end of its own (GLM): up to white space, an element, or the end of the call. */
static enum qr_step bare_name(struct quire_chat_output *o)
{
    size_t n = 0;
    const char *const p = o->in.data + o->at;
    const size_t left = o->in.size - o->at;
    while (n < left && p[n] != '<' && !qr_is_space(p[n]))
        n++;
    if (n > MAX_NAME)
        return QR_STEP_FAIL;
    if (n == left)
        return need(o);
    o->key.size = 0;
    if (!qr_bytes_append(o->allocator, &o->key, p, n))
        qr_emit_nomem(o);
    o->at += n;
    return n > 0 ? QR_STEP_DONE : QR_STEP_FAIL;
}

/* "x.x" is the tool x, unless one has that whole name. */
static size_t name_size(const struct quire_chat_output *o)
{
    const char *const p = o->key.data;
    const size_t size = o->key.size, half = size / 2;
    const bool doubled = size % 2 == 1 && p[half] == '.' && memcmp(p, p + half + 1, half) == 0;
    return doubled && o->format->xml->doubled_name && !qr_tools_find(&o->tools, p, size) &&
                   qr_tools_find(&o->tools, p, half)
               ? half
               : size;
}

static enum qr_step name(struct quire_chat_output *o)
{
    const struct qr_xml_call *const f = o->format->xml;
    uint8_t attribute;
    const enum qr_step step = f->name_end ? quoted(o, f->name_end, &attribute) : bare_name(o);
    if (step != QR_STEP_DONE)
        return step;
    qr_call_name(o, o->key.data, name_size(o));
    qr_call_announce(o);
    o->reader.state = BODY;
    return QR_STEP_GO;
}

/* The end of the call at the cursor, if there is one: the element's close, or a marker. */
static int at_end(const struct quire_chat_output *o)
{
    const struct qr_xml_call *const f = o->format->xml;
    bool more = false;
    const int found = f->close ? qr_text_at(o, o->at, f->close) : 0;
    if (found > 0)
        return found;
    if (qr_markers_at(o, &o->end_set, o->at, &more))
        return 2;
    return more || found < 0 ? -1 : 0;
}

static enum qr_step end_call(struct quire_chat_output *o, int found)
{
    struct qr_reader *const r = &o->reader;
    if (found == 1)
        o->at += strlen(o->format->xml->close);
    if (r->lone) { /* one parameter that holds all arguments as an object */
        r->lone = false;
        /* GCOVR_EXCL_BR_LINE: a typed value has at least one byte. */
        if (o->value.size > 0 && o->value.data[0] == '{')
            qr_call_arguments(o, o->value.data, o->value.size);
        else {
            qr_call_arguments(o, "{\"arguments\": ", 14);
            qr_call_arguments(o, o->value.data, o->value.size);
            qr_call_arguments(o, "}", 1);
        }
    } else if (r->parameters > 0)
        qr_call_arguments(o, "}", 1);
    qr_call_end(o);
    return QR_STEP_DONE;
}

/* Between parameters. */
static enum qr_step body(struct quire_chat_output *o)
{
    const struct qr_xml_call *const f = o->format->xml;
    struct qr_reader *const r = &o->reader;
    if (!qr_skip_space(o))
        return o->final ? end_call(o, 0) : QR_STEP_MORE;
    const int found = qr_text_at(o, o->at, f->parameter), end = at_end(o);
    if (found > 0) {
        o->at += strlen(f->parameter);
        r->state = KEY;
        return QR_STEP_GO;
    }
    if (end > 0)
        return end_call(o, end);
    if (found < 0 || end < 0)
        return QR_STEP_MORE;
    if (o->in.data[o->at] == '{' && r->parameters == 0 && !r->has_arguments) {
        r->state = OBJECT;
        return QR_STEP_GO;
    }
    /* stray text: up to the next element */
    r->has_arguments = true;
    const char *const next = memchr(o->in.data + o->at + 1, '<', o->in.size - o->at - 1);
    o->at = next ? (size_t)(next - o->in.data) : o->in.size;
    return QR_STEP_GO;
}

/* Sends `"KEY": ` of a new member. */
static void send_key(struct quire_chat_output *o)
{
    qr_call_arguments(o, o->reader.parameters ? ", \"" : "{\"", o->reader.parameters ? 3 : 2);
    qr_call_escaped(o, o->key.data, o->key.size);
    qr_call_arguments(o, "\": ", 3);
    o->reader.parameters++;
}

/* The member that was held because it could have held all arguments is one among others. */
static void send_lone(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    if (!r->lone)
        return;
    r->lone = false;
    qr_call_arguments(o, "{\"arguments\": ", 14);
    qr_call_arguments(o, o->value.data, o->value.size);
    r->parameters = 1;
}

static bool key_is(const struct quire_chat_output *o, const char *text)
{
    return o->key.size == strlen(text) && memcmp(o->key.data, text, o->key.size) == 0;
}

static enum qr_step key(struct quire_chat_output *o)
{
    const struct qr_xml_call *const f = o->format->xml;
    struct qr_reader *const r = &o->reader;
    const enum qr_step step = quoted(o, f->key_end, &r->key);
    if (step == QR_STEP_MORE)
        return step;
    if (step == QR_STEP_FAIL)
        return cut(o);
    send_lone(o);
    r->types = qr_tool_property_types(qr_call_tool(o), o->key.data, o->key.size);
    const bool declared = qr_tool_declares(qr_call_tool(o), o->key.data, o->key.size);
    r->lone = r->parameters == 0 && !declared && o->tools_given && r->key == ATTRIBUTE_OTHER &&
              key_is(o, "arguments");
    if (r->types.n == 0 && (r->key == ATTRIBUTE_STRING || f->unknown_is_string))
        r->types = (struct qr_value_types){ 1, { QR_TYPE_STRING } };
    r->state = BEFORE_VALUE;
    return QR_STEP_GO;
}

static enum qr_step before_value(struct quire_chat_output *o)
{
    const struct qr_xml_call *const f = o->format->xml;
    struct qr_reader *const r = &o->reader;
    if (f->value) {
        if (!qr_skip_space(o))
            return o->final ? cut(o) : QR_STEP_MORE;
        const int found = qr_text_at(o, o->at, f->value);
        if (found < 0)
            return QR_STEP_MORE;
        if (!found) {
            r->state = BODY;
            return QR_STEP_GO;
        }
        o->at += strlen(f->value);
    }
    const bool string = r->types.n > 0 && r->types.types[0] == QR_TYPE_STRING;
    const bool nullable = f->null_is_null && qr_value_types_have(&r->types, QR_TYPE_NULL);
    r->state = string && !nullable && !r->lone ? STRING : VALUE;
    r->in_string = false;
    r->scan = 0;
    return QR_STEP_GO;
}

/* Finds the end of the value from `from`: its closing tag, or after a line end the next parameter
 * or the end of the element, where the closing tag is missing. *size is the size of the tag. NULL
 * with *pos: text before *pos belongs to the value. */
static bool value_end(struct quire_chat_output *o, size_t from, size_t *pos, size_t *size)
{
    const struct qr_xml_call *const f = o->format->xml;
    const qr_marker_list tags = { f->value_end, f->parameter, f->close };
    struct qr_marker_set set = { 0 };
    qr_markers_add(&set, tags, QR_MARK_END);
    for (;; from = *pos + 1) {
        const struct qr_marker *const m = qr_markers_find(o, &set, from, pos);
        *size = 0; /* also after a tag that belongs to the value */
        if (!m)
            return false;
        const bool closing = m->text == f->value_end;
        const bool special = qr_is_special(o, *pos, m->size);
        if (closing && (special || !o->opener_special || !f->value)) {
            *size = m->size;
            return true;
        }
        /* GCOVR_EXCL_BR_LINE: the tag before the value is in the text, its last byte at least. */
        if (!closing && *pos > 0 && o->in.data[*pos - 1] == '\n')
            return true;
    }
}

/* A value that is typed when it is complete. */
static enum qr_step value(struct quire_chat_output *o)
{
    const struct qr_xml_call *const f = o->format->xml;
    struct qr_reader *const r = &o->reader;
    size_t pos, size = 0;
    const bool found = value_end(o, o->at + r->scan, &pos, &size);
    if (!found) {
        r->scan = pos - o->at;
        if (!o->final)
            return QR_STEP_MORE;
        return cut(o);
    }
    const char *p = o->in.data + o->at;
    size_t n = pos - o->at;
    if (f->strip_newline && n > 0 && *p == '\n') {
        p++;
        n--;
    }
    if (f->strip_newline && n > 0 && p[n - 1] == '\n')
        n--;
    const bool null = f->null_is_null && n == 4 && memcmp(p, "null", 4) == 0 &&
                      qr_value_types_have(&r->types, QR_TYPE_NULL);
    o->value.size = 0;
    if (null ? !qr_bytes_append_text(o->allocator, &o->value, "null")
             : !qr_tools_append_typed(o->allocator, &o->value, &r->types, p, n))
        qr_emit_nomem(o);
    if (!r->lone) {
        send_key(o);
        qr_call_arguments(o, o->value.data, o->value.size);
    }
    o->at = pos + size;
    r->state = BODY;
    return QR_STEP_GO;
}

/* A string, sent while it arrives. A line end before its closing tag is markup where the values
 * stand on lines of their own. */
static enum qr_step string(struct quire_chat_output *o)
{
    const struct qr_xml_call *const f = o->format->xml;
    struct qr_reader *const r = &o->reader;
    size_t pos, size = 0;
    if (!r->in_string) {
        if (f->strip_newline && o->at == o->in.size && !o->final)
            return QR_STEP_MORE;
        send_key(o);
        qr_call_arguments(o, "\"", 1);
        if (f->strip_newline && o->at < o->in.size && o->in.data[o->at] == '\n')
            o->at++; /* push keeps it in o->in: a tag may follow at once */
        r->in_string = true;
    }
    const bool found = value_end(o, o->at, &pos, &size);
    size_t n = pos - o->at;
    if (!found && !o->final) {
        /* a line end is held: it may precede a tag */
        if (n > 0 && o->in.data[o->at + n - 1] == '\n')
            n--;
        qr_call_escaped(o, o->in.data + o->at, n);
        o->at += n;
        return QR_STEP_MORE;
    }
    if (f->strip_newline && found && n > 0 && o->in.data[o->at + n - 1] == '\n')
        n--;
    qr_call_escaped(o, o->in.data + o->at, n);
    o->at = pos + size;
    qr_call_arguments(o, "\"", 1);
    r->state = BODY;
    return found ? QR_STEP_GO : cut(o);
}

/* A JSON object in place of parameters. */
static enum qr_step object(struct quire_chat_output *o)
{
    const enum qr_step step = qr_read_json_arguments(o);
    if (step == QR_STEP_DONE)
        o->reader.state = CLOSE;
    return step == QR_STEP_DONE ? QR_STEP_GO : step;
}

static enum qr_step close_call(struct quire_chat_output *o)
{
    if (!qr_skip_space(o) && !o->final)
        return QR_STEP_MORE;
    const int end = o->at < o->in.size ? at_end(o) : 0;
    return end < 0 ? QR_STEP_MORE : end_call(o, end);
}

enum qr_step qr_read_xml_call(struct quire_chat_output *o)
{
    static enum qr_step (*const states[])(struct quire_chat_output *) = {
        [PREFIX] = prefix,    [INVOKE] = invoke, [NAME] = name,
        [BODY] = body,        [KEY] = key,       [BEFORE_VALUE] = before_value,
        [VALUE] = value,      [STRING] = string, [OBJECT] = object,
        [CLOSE] = close_call,
    };
    return states[o->reader.state](o);
}
