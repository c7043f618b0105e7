/* SPDX-License-Identifier: Apache-2.0 */
/* json_arguments.c - arguments that are written as JSON. */
#include "chat_format/output/json_arguments.h"
#include "base/utf8.h"
#include "chat_format/output/emit.h"
#include "chat_format/output/markers.h"
#include <string.h>

/* ---- Strings */

static int hex4(const char *p, size_t n)
{
    int v = 0;
    if (n < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int c = (unsigned char)p[i], low = c | 32;
        if (c >= '0' && c <= '9')
            v = v * 16 + c - '0';
        else if (low >= 'a' && low <= 'f')
            v = v * 16 + low - 'a' + 10;
        else
            return -1;
    }
    return v;
}

/* Decodes \uXXXX, also a pair of surrogates, at p[n]; returns the bytes read, 0 if malformed. */
static size_t unicode_escape(const char *p, size_t n, uint32_t *cp)
{
    const int high = n > 2 ? hex4(p + 2, n - 2) : -1;
    if (high < 0)
        return 0;
    *cp = (uint32_t)high;
    if (high < 0xD800 || high > 0xDFFF)
        return 6;
    const int low = n > 8 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8, n - 8) : -1;
    if (high < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF) {
        *cp = 0x10000u + (((uint32_t)high - 0xD800u) << 10) + ((uint32_t)low - 0xDC00u);
        return 12;
    }
    *cp = QR_UTF8_REPLACEMENT;
    return 6;
}

bool qr_append_unescaped(const struct quire_allocator *a, struct qr_bytes *out, const char *text,
                         size_t size)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    for (size_t i = 0; i < size;) {
        const char *const slash = memchr(text + i, '\\', size - i);
        const size_t plain = slash ? (size_t)(slash - text) - i : size - i;
        if (!qr_bytes_append(a, out, text + i, plain))
            return false;
        i += plain;
        if (i == size)
            break;
        uint32_t cp = 0;
        uint8_t utf8[QR_UTF8_MAX] = { (uint8_t)'\\' };
        size_t n = 1, used = 1;
        const char *const simple = i + 1 < size && text[i + 1] ? strchr(from, text[i + 1]) : NULL;
        if (simple) {
            utf8[0] = (uint8_t)to[simple - from];
            used = 2;
        } else if (i + 1 < size && text[i + 1] == 'u' &&
                   unicode_escape(text + i, size - i, &cp) > 0) {
            used = unicode_escape(text + i, size - i, &cp);
            n = qr_utf8_put(utf8, cp);
        }
        if (!qr_bytes_append(a, out, utf8, n))
            return false;
        i += used;
    }
    return true;
}

/* The offset of the quote that ends the string at o->at, or QR_NONE: the search goes on at
 * reader.string_scan. */
static size_t string_end(struct quire_chat_output *o)
{
    size_t i = o->at + 1 + o->reader.string_scan;
    while (i < o->in.size && o->in.data[i] != '"') {
        if (o->in.data[i] == '\\' && i + 1 == o->in.size)
            break; /* read again with what it escapes */
        i += o->in.data[i] == '\\' ? 2 : 1;
    }
    const bool found = i < o->in.size && o->in.data[i] == '"';
    o->reader.string_scan = found ? 0 : i - o->at - 1;
    return found ? i : QR_NONE;
}

enum qr_step qr_read_json_string(struct quire_chat_output *o)
{
    if (o->in.data[o->at] != '"')
        return QR_STEP_FAIL;
    const size_t end = string_end(o);
    if (end == QR_NONE)
        return o->final ? QR_STEP_FAIL : QR_STEP_MORE;
    o->value.size = 0;
    if (!qr_append_unescaped(o->allocator, &o->value, o->in.data + o->at + 1, end - o->at - 1))
        qr_emit_nomem(o);
    o->at = end + 1;
    return QR_STEP_DONE;
}

/* ---- Values */

/* Advances the scanner over the value from the cursor + reader.scan. DONE: *end is its end. */
static enum qr_step scan_value(struct quire_chat_output *o, size_t *end)
{
    struct qr_reader *const r = &o->reader;
    for (size_t i = o->at + r->scan; i < o->in.size; i++) {
        const enum qr_json_scan_result result =
            qr_json_scan_byte(&r->json, (unsigned char)o->in.data[i]);
        if (result == QR_JSON_SCAN_ERROR)
            return QR_STEP_FAIL;
        if (result == QR_JSON_SCAN_MORE)
            continue;
        *end = i + (result == QR_JSON_SCAN_END);
        r->scan = 0;
        return QR_STEP_DONE;
    }
    r->scan = o->in.size - o->at;
    if (!o->final)
        return QR_STEP_MORE;
    *end = o->in.size;
    return qr_json_scan_may_end(&r->json) ? QR_STEP_DONE : QR_STEP_FAIL;
}

enum qr_step qr_skip_json_value(struct quire_chat_output *o)
{
    size_t end = o->at;
    const enum qr_step step = scan_value(o, &end);
    if (step == QR_STEP_DONE)
        o->at = end;
    return step;
}

/* Sends a complete value that is no object. */
static void send_scalar(struct quire_chat_output *o, size_t end)
{
    const char *const p = o->in.data + o->at;
    const size_t n = end - o->at;
    o->value.size = 0;
    if (*p == '"' && !qr_append_unescaped(o->allocator, &o->value, p + 1, n - 2))
        qr_emit_nomem(o);
    size_t i = 0;
    while (i < o->value.size && qr_is_space(o->value.data[i]))
        i++;
    const bool object = i < o->value.size && o->value.data[i] == '{' &&
                        qr_json_scan_valid(o->value.data, o->value.size);
    if (object)
        qr_call_arguments(o, o->value.data + i, o->value.size - i);
    else if (!(n == 4 && memcmp(p, "null", 4) == 0))
        qr_call_arguments(o, p, n);
}

/* Text that is no JSON, up to a marker. */
static enum qr_step raw_arguments(struct quire_chat_output *o)
{
    size_t pos;
    const struct qr_marker *const m = qr_markers_find(o, &o->end_set, o->at, &pos);
    o->reader.raw = true;
    qr_call_arguments(o, o->in.data + o->at, pos - o->at);
    o->at = pos;
    return m || o->final ? QR_STEP_DONE : QR_STEP_MORE;
}

/* Sends the part of an object or array that is there. */
static enum qr_step stream_value(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    size_t done = o->at;
    for (size_t i = o->at; i < o->in.size; i++) {
        bool more = false;
        const unsigned char c = (unsigned char)o->in.data[i];
        const bool string = qr_json_scan_in_string(&r->json);
        if (o->special.data[i] == 1 && qr_markers_at(o, &o->end_set, i, &more)) {
            qr_call_arguments(o, o->in.data + done, i - done);
            o->at = i;
            return QR_STEP_DONE;
        }
        const enum qr_json_scan_result result = qr_json_scan_byte(&r->json, c);
        if (result == QR_JSON_SCAN_ERROR || (string && c < 0x20)) {
            qr_call_arguments(o, o->in.data + done, i - done);
            o->at = done = i;
            if (result == QR_JSON_SCAN_ERROR)
                return raw_arguments(o);
            qr_call_escaped(o, (const char *)&c, 1);
            done = i + 1;
        }
        if (result == QR_JSON_SCAN_END) {
            qr_call_arguments(o, o->in.data + done, i + 1 - done);
            o->at = i + 1;
            return QR_STEP_DONE;
        }
    }
    qr_call_arguments(o, o->in.data + done, o->in.size - done);
    o->at = o->in.size;
    return o->final ? QR_STEP_DONE : QR_STEP_MORE;
}

enum qr_step qr_read_json_arguments(struct quire_chat_output *o)
{
    struct qr_reader *const r = &o->reader;
    size_t end;
    if (r->raw)
        return raw_arguments(o);
    if (r->json.depth > 0)
        return stream_value(o);
    if (r->scan == 0 && !qr_skip_space(o))
        return o->final ? QR_STEP_DONE : QR_STEP_MORE;
    const char c = o->in.data[o->at];
    if (c == '{' || c == '[')
        return stream_value(o);
    const enum qr_step step = scan_value(o, &end);
    if (step == QR_STEP_FAIL)
        return raw_arguments(o);
    if (step == QR_STEP_DONE) {
        send_scalar(o, end);
        o->at = end;
    }
    return step;
}
