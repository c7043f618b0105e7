/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - lines of the server's log: formats, escapes, a full pipe, several threads. */
#include "log.h"
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

/* Standard error goes to a pipe while a test runs. */
static int saved_stderr, reading;

static int begin(void **state)
{
    (void)state;
    int fds[2];
    if (pipe(fds) != 0)
        return -1;
    saved_stderr = dup(2);
    reading = fds[0];
    fcntl(reading, F_SETFL, O_NONBLOCK);
    dup2(fds[1], 2);
    close(fds[1]);
    return 0;
}

static int end(void **state)
{
    (void)state;
    dup2(saved_stderr, 2);
    close(saved_stderr);
    close(reading);
    return 0;
}

static char text[1 << 17];

/* What was written since the last call. */
static size_t drain(void)
{
    size_t size = 0;
    ssize_t n;
    while ((n = read(reading, text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)n;
    text[size] = '\0';
    return size;
}

static void text_lines(void **state)
{
    (void)state;
    struct log *log = log_open(LOG_TEXT, QUIRE_LOG_INFO);
    const struct log_field fields[] = {
        { "url", "http://127.0.0.1:8080", 0 },
        { "who", "a b=\"c\"", 0 },
        { "empty", "", 0 },
        { "tokens", NULL, 123456789 },
        { "seconds", NULL, 0.25 },
        { "evil", "\x1b[2J\n\x7f\xc2\x9b\xff", 0 },
    };
    log_line(log, QUIRE_LOG_DEBUG, "not logged", NULL, 0);
    log_line(log, QUIRE_LOG_INFO, "listening", fields, 6);
    log_line(log, QUIRE_LOG_ERROR, "bare", NULL, 0);
    drain();
    assert_int_equal(text[10], 'T');
    assert_int_equal(text[23], 'Z');
    const char *expected =
        " info listening url=http://127.0.0.1:8080 who=\"a b=\\\"c\\\"\" empty=\"\" "
        "tokens=123456789 seconds=0.25 evil=\"\\u001b[2J\\u000a\\u007f\\u009b\xEF\xBF\xBD\"\n";
    assert_memory_equal(text + 24, expected, strlen(expected));
    assert_non_null(strstr(text, "Z error bare\n"));
    assert_null(strstr(text, "not logged"));
    log_close(log);
    log_line(NULL, QUIRE_LOG_ERROR, "no log", NULL, 0);
    assert_int_equal(drain(), 0);
}

static void json_lines(void **state)
{
    (void)state;
    struct log *log = log_open(LOG_JSON, QUIRE_LOG_DEBUG);
    const struct log_field fields[] = { { "t", "\"\\\n\x01 \xC3\xA9", 0 },
                                        { "n", NULL, -2.5 },
                                        { "big", NULL, 1e300 },
                                        { "nan", NULL, NAN } };
    log_line(log, QUIRE_LOG_DEBUG, "m", fields, 4);
    drain();
    json_t *line = json_loads(text, 0, NULL);
    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "level")), "debug");
    assert_string_equal(json_string_value(json_object_get(line, "message")), "m");
    assert_string_equal(json_string_value(json_object_get(line, "t")), "\"\\\n\x01 \xC3\xA9");
    assert_true(json_real_value(json_object_get(line, "n")) == -2.5);
    assert_true(json_real_value(json_object_get(line, "big")) == 1e300);
    assert_true(json_is_null(json_object_get(line, "nan")));
    json_decref(line);
    log_close(log);
}

/* Long strings are cut, and fields that do not fit are left out; the line stays well-formed. */
static void long_lines(void **state)
{
    (void)state;
    static char huge[100000];
    memset(huge, '\x01', sizeof huge - 1); /* six bytes each when escaped */
    const struct log_field fields[] = { { "first", "1", 0 }, { "huge", huge, 0 }, { "c", "2", 0 } };
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
        struct log *log = log_open((enum log_format)format, QUIRE_LOG_INFO);
        log_line(log, QUIRE_LOG_INFO, "long", fields, 3);
        const size_t size = drain();
        assert_true(size > 30 && size <= 4096);
        assert_int_equal(text[size - 1], '\n');
        if (format == LOG_JSON) {
            json_t *line = json_loads(text, 0, NULL);
            assert_non_null(line);
            assert_true(json_is_true(json_object_get(line, "cut")));
            assert_string_equal(json_string_value(json_object_get(line, "first")), "1");
            json_decref(line);
        } else {
            assert_non_null(strstr(text, "first=1 ...\n"));
        }
        log_close(log);
    }
}

/* A reader that stops reading does not stop the server; when it reads again it learns how many
 * lines it missed. */
static void full_pipe(void **state)
{
    (void)state;
    enum { LINES = 5000 };
    struct log *log = log_open(LOG_TEXT, QUIRE_LOG_INFO);
    for (int i = 0; i < LINES; i++) {
        const struct log_field field = { "i", NULL, i };
        log_line(log, QUIRE_LOG_INFO, "request finished", &field, 1);
    }
    drain();
    unsigned written = 0;
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        written++;
    assert_true(written > 100 && written < LINES);
    log_line(log, QUIRE_LOG_INFO, "after", NULL, 0);
    drain();
    char expected[64];
    snprintf(expected, sizeof expected, " warn log lines were dropped lines=%u\n", LINES - written);
    assert_non_null(strstr(text, expected));
    assert_non_null(strstr(text, " info after\n"));
    log_line(log, QUIRE_LOG_INFO, "later", NULL, 0);
    drain();
    assert_null(strstr(text, "dropped"));
    log_close(log);
}

enum { THREADS = 4, EACH = 100 }; /* their lines fit into the pipe */

static void *write_many(void *log)
{
    struct log_source source = { log, "small" };
    for (int i = 0; i < EACH; i++)
        log_library(&source, QUIRE_LOG_WARN, QUIRE_E_NOMEM, "a message\nin two lines");
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    struct log *log = log_open(LOG_JSON, QUIRE_LOG_INFO);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, write_many, log), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    drain();
    unsigned n = 0;
    char *save = NULL;
    for (char *l = strtok_r(text, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save), n++) {
        json_t *line = json_loads(l, 0, NULL);
        assert_non_null(line);
        assert_string_equal(json_string_value(json_object_get(line, "model")), "small");
        assert_string_equal(json_string_value(json_object_get(line, "text")),
                            "a message\nin two lines");
        assert_string_equal(json_string_value(json_object_get(line, "status")), "out of memory");
        json_decref(line);
    }
    assert_int_equal(n, THREADS * EACH);
    log_close(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_lines, begin, end),
        cmocka_unit_test_setup_teardown(json_lines, begin, end),
        cmocka_unit_test_setup_teardown(long_lines, begin, end),
        cmocka_unit_test_setup_teardown(full_pipe, begin, end),
        cmocka_unit_test_setup_teardown(threads, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
