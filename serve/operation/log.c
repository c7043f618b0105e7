/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - lines on standard error. */
#include "log.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_LINE = 4096,  /* PIPE_BUF of Linux: a pipe that is writable takes a line whole */
    MAX_VALUE = 1024, /* bytes of a string that are logged */
    WAIT_MS = 20,     /* for a full pipe; further lines are dropped at once until it has room */
};

struct log {
    enum log_format format;
    enum quire_log_level level;
    pthread_mutex_t mutex; /* of what follows, and of the order of lines */
    uint64_t dropped;      /* lines since the last one that was written */
};

/* A line under construction, with room for its end. */
struct line {
    char text[MAX_LINE];
    size_t size;
    bool full; /* something did not fit */
};
static const char cut_text[] = " ...\n", cut_json[] = ",\"cut\":true}\n";

struct log *log_open(enum log_format format, enum quire_log_level level)
{
    struct log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return NULL;
    log->format = format;
    log->level = level;
    pthread_mutex_init(&log->mutex, NULL);
    return log;
}

void log_close(struct log *log)
{
    if (log != NULL)
        pthread_mutex_destroy(&log->mutex);
    free(log);
}

/* ---- Text */

static void add(struct line *l, const char *text, size_t n)
{
    if (n > sizeof l->text - sizeof cut_json - l->size)
        l->full = true;
    if (l->full)
        return;
    memcpy(l->text + l->size, text, n);
    l->size += n;
}

static void add_string(struct line *l, const char *s) { add(l, s, strlen(s)); }

/* Length of the well-formed UTF-8 character at s, which ends with NUL; 0 if it is malformed. */
static size_t character_length(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    const size_t n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    const bool overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    const bool surrogate = p[0] == 0xED && p[1] > 0x9F;
    const bool too_large = p[0] > 0xF4 || (p[0] == 0xF4 && p[1] > 0x8F);
    return overlong || surrogate || too_large ? 0 : n;
}

/* C0 and C1 controls and DEL, which terminals may execute. */
static bool is_control(const char *s)
{
    const unsigned char c = (unsigned char)s[0];
    return c < 0x20 || c == 0x7F || (c == 0xC2 && (unsigned char)s[1] < 0xA0);
}

/* Adds a quoted string with the escapes of JSON; malformed bytes become U+FFFD. */
static void add_quoted(struct line *l, const char *s)
{
    const char *begin = s;
    add(l, "\"", 1);
    while (*s != '\0' && s - begin < MAX_VALUE) {
        const size_t n = character_length(s);
        char escape[8];
        if (n == 0) {
            add(l, "\xEF\xBF\xBD", 3);
        } else if (is_control(s)) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)s[n - 1]);
            add(l, escape, 6);
        } else {
            if (*s == '"' || *s == '\\')
                add(l, "\\", 1);
            add(l, s, n);
        }
        s += n ? n : 1;
    }
    if (*s != '\0')
        add_string(l, "...");
    add(l, "\"", 1);
}

/* Whether a value needs no quotes in the text format. */
static bool is_plain(const char *s)
{
    const char *begin = s;
    while (*s != '\0') {
        const size_t n = character_length(s);
        if (n == 0 || is_control(s) || strchr(" \"\\=", *s) != NULL || s - begin >= MAX_VALUE)
            return false;
        s += n;
    }
    return s > begin;
}

static void add_number(struct line *l, double v)
{
    char buf[32];
    if (!isfinite(v)) /* JSON has no such number */
        snprintf(buf, sizeof buf, "null");
    else
        snprintf(buf, sizeof buf,
                 fabs(v) < 1e15 && trunc(v) >= v && trunc(v) <= v ? "%.0f" : "%.6g", v);
    add_string(l, buf);
}

/* ---- Lines */

static const char *level_name(enum quire_log_level level)
{
    static const char *const names[] = { "error", "warn", "info", "debug" };
    return (unsigned)level < 4 ? names[level] : "debug";
}

/* UTC in milliseconds: "2026-01-31T23:59:59.999Z". */
static void add_time(struct line *l)
{
    struct timespec now;
    struct tm tm;
    char seconds[32], buf[48];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(buf, sizeof buf, "%s.%03dZ", seconds, (int)(now.tv_nsec / 1000000));
    add_string(l, buf);
}

static void add_field(struct line *l, enum log_format format, const struct log_field *f)
{
    if (format == LOG_JSON) {
        add(l, ",", 1);
        add_quoted(l, f->name);
        add(l, ":", 1);
    } else {
        add(l, " ", 1);
        add_string(l, f->name);
        add(l, "=", 1);
    }
    if (f->text == NULL)
        add_number(l, f->number);
    else if (format == LOG_TEXT && is_plain(f->text))
        add_string(l, f->text);
    else
        add_quoted(l, f->text);
}

/* Fields that do not fit are left out as a whole, and the line says so. */
static void format_line(struct line *l, enum log_format format, enum quire_log_level level,
                        const char *message, const struct log_field *fields, unsigned n_fields)
{
    l->size = 0;
    l->full = false;
    add_string(l, format == LOG_JSON ? "{\"time\":\"" : "");
    add_time(l);
    add_string(l, format == LOG_JSON ? "\",\"level\":\"" : " ");
    add_string(l, level_name(level));
    add_string(l, format == LOG_JSON ? "\",\"message\":" : " ");
    if (format == LOG_JSON)
        add_quoted(l, message);
    else
        add_string(l, message);
    size_t whole = l->size;
    for (unsigned i = 0; i < n_fields && !l->full; i++) {
        add_field(l, format, &fields[i]);
        if (!l->full)
            whole = l->size;
    }
    l->size = whole;
    const char *end = format == LOG_JSON ? (l->full ? cut_json : "}\n") : l->full ? cut_text : "\n";
    memcpy(l->text + l->size, end, strlen(end));
    l->size += strlen(end);
}

/* Writes a line if standard error takes it soon. The descriptor is shared with the process that
 * started the server and stays blocking: poll() tells whether there is room. */
static bool write_line(const struct line *l, int wait_ms)
{
    struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
    if (poll(&p, 1, wait_ms) != 1 || !(p.revents & POLLOUT))
        return false;
    ssize_t n;
    do
        n = write(STDERR_FILENO, l->text, l->size);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)l->size;
}

void log_line(struct log *log, enum quire_log_level level, const char *message,
              const struct log_field *fields, unsigned n_fields)
{
    if (log == NULL || level > log->level)
        return;
    struct line line, report;
    format_line(&line, log->format, level, message, fields, n_fields);
    pthread_mutex_lock(&log->mutex);
    if (log->dropped > 0) {
        const struct log_field count = { "lines", NULL, (double)log->dropped };
        format_line(&report, log->format, QUIRE_LOG_WARN, "log lines were dropped", &count, 1);
        if (write_line(&report, 0))
            log->dropped = 0;
    }
    if (log->dropped > 0 || !write_line(&line, WAIT_MS))
        log->dropped++;
    pthread_mutex_unlock(&log->mutex);
}

void log_library(void *user, enum quire_log_level level, quire_status code, const char *message)
{
    const struct log_source *source = user;
    const struct log_field fields[] = {
        { "model", source->model, 0 },
        { "text", message, 0 },
        { "status", quire_status_text(code), 0 },
    };
    log_line(source->log, level, "engine", fields, code == QUIRE_OK ? 2 : 3);
}
