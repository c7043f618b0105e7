/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_reply.c - HTTP/1.x replies, chunked transfer coding, server-sent events, JSON chunks.
 *
 * The server is not trusted: every buffer has a limit, and every violation ends the reply with a
 * message. */
#include "bench_serve_reply.h"
#include "json/parse.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool broken(struct serve_reply *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static bool broken(struct serve_reply *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->error, sizeof r->error, fmt, args);
    va_end(args);
    r->state = REPLY_BROKEN;
    return false;
}

/* Appends bytes and a terminator that does not count. */
static bool append(struct serve_reply *r, struct reply_bytes *b, const char *bytes, size_t n,
                   size_t limit, const char *what)
{
    if (n > limit - b->size)
        return broken(r, "%s of more than %zu bytes", what, limit);
    if (b->size + n + 1 > b->capacity) {
        const size_t capacity = 2 * (b->size + n + 1);
        char *data = realloc(b->data, capacity);
        if (!data)
            return broken(r, "no memory for %s", what);
        b->data = data;
        b->capacity = capacity;
    }
    if (n)
        memcpy(b->data + b->size, bytes, n);
    b->size += n;
    b->data[b->size] = 0;
    return true;
}

void reply_free(struct serve_reply *r)
{
    free(r->header.data);
    free(r->line.data);
    free(r->event.data);
    r->header = r->line = r->event = (struct reply_bytes){ 0 };
}

/* ---- Server-sent events */

static bool end_event_line(struct serve_reply *r)
{
    struct reply_bytes *line = &r->line;
    bool ok = true;
    if (line->size == 0) {
        if (r->event.size) /* the last byte is a newline */
            r->event.data[--r->event.size] = 0, r->on_event(r->user, r->event.data, r->event.size);
        r->event.size = 0;
    } else if (line->size >= 5 && !memcmp(line->data, "data:", 5)) {
        const size_t at = line->size > 5 && line->data[5] == ' ' ? 6 : 5;
        ok = append(r, &r->event, line->data + at, line->size - at, REPLY_MAX_EVENT, "an event") &&
             append(r, &r->event, "\n", 1, REPLY_MAX_EVENT + 1, "an event");
    }
    line->size = 0;
    return ok;
}

/* Lines end with LF, CR LF or CR. */
static bool feed_events(struct serve_reply *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (r->skip_newline && bytes[i] == '\n') {
            r->skip_newline = false;
            i++;
            continue;
        }
        r->skip_newline = false;
        size_t end = i;
        while (end < n && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        if (!append(r, &r->line, bytes + i, end - i, REPLY_MAX_EVENT, "a line of the event stream"))
            return false;
        if (end < n) {
            r->skip_newline = bytes[end] == '\r';
            if (!end_event_line(r))
                return false;
            end++;
        }
        i = end;
    }
    return true;
}

/* The body of an error is kept for its message. */
static bool feed_body(struct serve_reply *r, const char *bytes, size_t n)
{
    if (r->status == 200)
        return feed_events(r, bytes, n);
    const size_t room = REPLY_MAX_ERROR_BODY - r->event.size;
    return append(r, &r->event, bytes, n < room ? n : room, REPLY_MAX_ERROR_BODY, "a body");
}

/* ---- HTTP */

static bool end_status_line(struct serve_reply *r, const char *line)
{
    const bool http = !strncmp(line, "HTTP/1.", 7) && (line[7] == '0' || line[7] == '1');
    if (!http || line[8] != ' ' || strspn(line + 9, "0123456789") != 3 ||
        (line[12] != ' ' && line[12] != 0))
        return broken(r, "no HTTP/1 status line");
    r->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + line[11] - '0';
    r->state = REPLY_HEADER;
    r->chunked = r->has_length = false;
    return true;
}

static bool read_length(struct serve_reply *r, const char *value)
{
    uint64_t n = 0;
    const size_t digits = strspn(value, "0123456789");
    if (digits == 0 || digits > 15 || value[digits + strspn(value + digits, " \t")])
        return broken(r, "bad Content-Length");
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (uint64_t)(value[i] - '0');
    if (r->has_length && n != r->content_left)
        return broken(r, "two different Content-Length");
    r->has_length = true;
    r->content_left = n;
    return true;
}

static bool read_header(struct serve_reply *r, const char *line)
{
    const char *colon = strchr(line, ':');
    if (!colon || colon == line)
        return broken(r, "a header line without a name");
    const size_t n = (size_t)(colon - line);
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    if (n == 14 && !strncasecmp(line, "content-length", n))
        return read_length(r, value);
    if (n == 17 && !strncasecmp(line, "transfer-encoding", n)) {
        const size_t word = strcspn(value, " \t");
        if (word != 7 || strncasecmp(value, "chunked", 7) != 0 ||
            value[word + strspn(value + word, " \t")])
            return broken(r, "unknown Transfer-Encoding %.40s", value);
        r->chunked = true;
    }
    return true;
}

static void end_headers(struct serve_reply *r)
{
    if (r->status < 200)
        r->state = REPLY_STATUS_LINE; /* an interim reply; the real one follows */
    else if (r->chunked)
        r->state = REPLY_CHUNK_SIZE;
    else
        r->state = r->has_length && r->content_left == 0 ? REPLY_COMPLETE : REPLY_BODY;
}

static bool read_chunk_size(struct serve_reply *r, const char *line)
{
    const size_t digits = strspn(line, "0123456789abcdefABCDEF");
    const char after = line[digits + strspn(line + digits, " \t")];
    if (digits == 0 || digits > 12 || (after != 0 && after != ';'))
        return broken(r, "bad chunk size");
    r->content_left = strtoull(line, NULL, 16);
    r->state = r->content_left ? REPLY_CHUNK : REPLY_TRAILER;
    return true;
}

static bool end_http_line(struct serve_reply *r)
{
    char *line = r->header.data;
    size_t n = r->header.size;
    if (n && line[n - 1] == '\r')
        line[--n] = 0;
    r->header.size = 0;
    if (strlen(line) != n)
        return broken(r, "a NUL byte in the header");
    switch (r->state) {
    case REPLY_STATUS_LINE:
        return end_status_line(r, line);
    case REPLY_CHUNK_SIZE:
        return read_chunk_size(r, line);
    case REPLY_CHUNK_END:
        r->state = REPLY_CHUNK_SIZE;
        return n == 0 || broken(r, "a chunk is longer than its size");
    case REPLY_HEADER:
    case REPLY_TRAILER:
        if (n && ++r->n_headers > REPLY_MAX_HEADERS)
            return broken(r, "more than %d header lines", REPLY_MAX_HEADERS);
        if (r->state == REPLY_HEADER && n)
            return read_header(r, line);
        if (r->state == REPLY_HEADER)
            end_headers(r);
        else if (n == 0)
            r->state = REPLY_COMPLETE;
        return true;
    default:
        return broken(r, "unexpected line");
    }
}

/* Takes a part of the body or of a chunk; returns its size. */
static size_t take_content(struct serve_reply *r, const char *bytes, size_t n)
{
    const bool bounded = r->state == REPLY_CHUNK || r->has_length;
    if (bounded && n > r->content_left)
        n = (size_t)r->content_left;
    if (!feed_body(r, bytes, n) || !bounded)
        return n;
    r->content_left -= n;
    if (r->content_left == 0)
        r->state = r->state == REPLY_CHUNK ? REPLY_CHUNK_END : REPLY_COMPLETE;
    return n;
}

bool reply_feed(struct serve_reply *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && r->state != REPLY_COMPLETE && r->state != REPLY_BROKEN;) {
        if (r->state == REPLY_BODY || r->state == REPLY_CHUNK) {
            i += take_content(r, bytes + i, n - i);
            continue;
        }
        const char *end = memchr(bytes + i, '\n', n - i);
        const size_t part = end ? (size_t)(end - bytes) - i : n - i;
        if (!append(r, &r->header, bytes + i, part, REPLY_MAX_HEADER, "a header line"))
            break;
        i += part + 1;
        if (end && !end_http_line(r))
            break;
    }
    return r->state != REPLY_BROKEN;
}

bool reply_end(struct serve_reply *r)
{
    if (r->state == REPLY_BROKEN)
        return false;
    if (r->state < REPLY_BODY)
        return broken(r, "the connection ended before the reply");
    if (r->status != 200) {
        for (size_t i = 0; i < r->event.size; i++) /* no control characters on a terminal */
            if ((unsigned char)r->event.data[i] < 32 || r->event.data[i] == 127)
                r->event.data[i] = ' ';
        return broken(r, "HTTP status %d%s%s", r->status, r->event.size ? ": " : "",
                      r->event.size ? r->event.data : "");
    }
    const bool open_ended = r->state == REPLY_BODY && !r->has_length;
    return r->state == REPLY_COMPLETE || open_ended ||
           broken(r, "the connection ended within the reply");
}

/* ---- Chunks of a completion */

static uint32_t count(const struct qr_json *object, const char *key)
{
    const int64_t n = qr_json_integer(qr_json_get(object, key));
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (uint32_t)n;
}

static void copy_error(struct completion_chunk *out, const struct qr_json *error)
{
    const char *text = qr_json_string(qr_json_get(error, "message"));
    if (!text)
        text = qr_json_string(error);
    snprintf(out->error, sizeof out->error, "the server reports: %s", text ? text : "an error");
    for (char *c = out->error; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = ' ';
}

void completion_parse(const char *data, size_t size, struct completion_chunk *out)
{
    *out = (struct completion_chunk){ .done = size == 6 && !memcmp(data, "[DONE]", 6) };
    if (out->done)
        return;
    struct qr_json_error error;
    struct qr_json *root = qr_json_parse(
        data, size, QR_JSON_ALLOW_DUPLICATES | QR_JSON_ALLOW_BIG_INTEGERS, NULL, &error);
    if (!root || !qr_json_is_object(root)) {
        snprintf(out->error, sizeof out->error, "an event is not a JSON object: %s",
                 root ? "another value" : error.text);
        qr_json_free(root);
        return;
    }
    const struct qr_json *failure = qr_json_get(root, "error");
    if (failure && !qr_json_is_null(failure))
        copy_error(out, failure);
    const struct qr_json *choice = qr_json_at(qr_json_get(root, "choices"), 0);
    const char *text = qr_json_string(qr_json_get(choice, "text"));
    out->has_text = text && *text;
    const struct qr_json *usage = qr_json_get(root, "usage");
    out->has_usage = qr_json_is_object(usage);
    out->prompt_tokens = count(usage, "prompt_tokens");
    out->completion_tokens = count(usage, "completion_tokens");
    out->cached_tokens = count(qr_json_get(usage, "prompt_tokens_details"), "cached_tokens");
    qr_json_free(root);
}
