/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c - values of metrics and their text. tests/serve/operation.py parses the text of a
 * server. */
#include "metric_set.h"
#include "process_info.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

/* The text of a set without its lines of comments, which the caller frees. */
static char *samples(const struct metric_set *m)
{
    struct text all = { 0 }, out = { 0 };
    char *rest = NULL;
    metric_set_print(m, &all);
    for (char *line = strtok_r(all.data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        if (line[0] != '#')
            text_format(&out, "%s\n", line);
    assert_false(all.failed || out.failed);
    text_free(&all);
    return out.data;
}

static void assert_samples(struct metric_set *m, const char *expected)
{
    char *text = samples(m);
    assert_string_equal(text, expected);
    free(text);
    metric_set_free(m);
}

static void prints_types(void **state)
{
    (void)state;
    struct metric_set m = { 0 };
    struct text out = { 0 };
    metric_set_print(&m, &out); /* an empty set has no text */
    assert_int_equal(out.size, 0);
    const struct metric_labels labels = metric_labels("model", "a", NULL, NULL);
    metric_put(&m, METRIC_KV_BLOCKS, &labels, 7);
    metric_set_print(&m, &out);
    assert_string_equal(out.data, "# HELP quire_kv_blocks Blocks of the KV cache (model)\n"
                                  "# TYPE quire_kv_blocks gauge\n"
                                  "quire_kv_blocks{model=\"a\"} 7\n");
    text_free(&out);
    metric_set_free(&m);
}

static void counts(void **state)
{
    (void)state;
    struct metric_set m = { 0 };
    const struct metric_labels one = metric_labels("route", "/a", "status", "200");
    const struct metric_labels two = metric_labels("route", "/a", "status", "404");
    metric_add(&m, METRIC_HTTP_REQUESTS, &one, 1);
    metric_add(&m, METRIC_HTTP_REQUESTS, &two, 1);
    metric_add(&m, METRIC_HTTP_REQUESTS, &one, 123456789012);
    metric_put(&m, METRIC_CPU_SECONDS, NULL, 0.25);
    metric_put(&m, METRIC_CPU_SECONDS, NULL, 0.5);
    assert_true(metric_has(&m, METRIC_HTTP_REQUESTS, &two));
    assert_false(metric_has(&m, METRIC_HTTP_REQUESTS, NULL));
    assert_int_equal(metric_count(&m, METRIC_HTTP_REQUESTS), 2);
    assert_samples(&m, "quire_http_requests_total{route=\"/a\",status=\"200\"} 123456789013\n"
                       "quire_http_requests_total{route=\"/a\",status=\"404\"} 1\n"
                       "process_cpu_seconds_total 0.5\n");
}

static void clears_one_metric(void **state)
{
    (void)state;
    struct metric_set m = { 0 };
    metric_put(&m, METRIC_OPEN_FDS, NULL, 3);
    metric_put(&m, METRIC_MAX_FDS, NULL, 1024);
    metric_clear(&m, METRIC_OPEN_FDS);
    metric_clear(&m, METRIC_RUNNING);
    assert_samples(&m, "process_max_fds 1024\n");
}

static void escapes_labels(void **state)
{
    (void)state;
    struct metric_set m = { 0 };
    const struct metric_labels labels = metric_labels("model", "a\"b\\c\nd{},\xc3\xa9", NULL, NULL);
    metric_put(&m, METRIC_RUNNING, &labels, 1);
    assert_samples(&m, "quire_requests_running{model=\"a\\\"b\\\\c\\nd{},\xc3\xa9\"} 1\n");
}

static void cuts_long_labels_between_characters(void **state)
{
    (void)state;
    char name[2 * MAX_LABEL_BYTES], expected[4 * MAX_LABEL_BYTES];
    memset(name, 'x', sizeof name);
    memcpy(name + MAX_LABEL_BYTES - 1, "\xe2\x82\xac", 3);
    name[sizeof name - 1] = '\0';
    const struct metric_labels cut = metric_labels("model", name, NULL, NULL);
    snprintf(expected, sizeof expected, "model=\"%.*s\"", MAX_LABEL_BYTES - 1, name);
    assert_string_equal(cut.text, expected);
    memset(name, '"', sizeof name - 1); /* two bytes each: the longest text */
    const struct metric_labels both = metric_labels("model", name, "finish_reason", name);
    assert_true(strlen(both.text) > 4 * MAX_LABEL_BYTES);
}

static void limits_series(void **state)
{
    (void)state;
    struct metric_set m = { 0 };
    struct metric_labels labels;
    char name[16];
    for (int i = 0; i < MAX_SERIES + 50; i++) {
        snprintf(name, sizeof name, "%d", i);
        labels = metric_labels("route", name, NULL, NULL);
        metric_observe(&m, METRIC_HTTP_SECONDS, &labels, 1);
    }
    assert_int_equal(metric_count(&m, METRIC_HTTP_SECONDS), MAX_SERIES);
    metric_set_free(&m);
}

/* Cumulative buckets with an inclusive upper bound; +Inf equals the count. */
static void fills_buckets(void **state)
{
    (void)state;
    static const double values[] = { 0, 0.001, 0.0011, 600, 600.5, 1e9 };
    struct metric_set m = { 0 };
    const struct metric_labels labels = metric_labels("model", "a", NULL, NULL);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        metric_observe(&m, METRIC_FIRST_TOKEN_SECONDS, &labels, values[i]);
    char *text = samples(&m);
    static const char *const lines[] = {
        "quire_time_to_first_token_seconds_bucket{model=\"a\",le=\"0.001\"} 2\n",
        "quire_time_to_first_token_seconds_bucket{model=\"a\",le=\"0.0025\"} 3\n",
        "quire_time_to_first_token_seconds_bucket{model=\"a\",le=\"300\"} 3\n",
        "quire_time_to_first_token_seconds_bucket{model=\"a\",le=\"600\"} 4\n",
        "quire_time_to_first_token_seconds_bucket{model=\"a\",le=\"+Inf\"} 6\n",
        "quire_time_to_first_token_seconds_sum{model=\"a\"} 1000001200.5021\n",
        "quire_time_to_first_token_seconds_count{model=\"a\"} 6\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (strstr(text, lines[i]) == NULL)
            fail_msg("no line %sin\n%s", lines[i], text);
    free(text);
    metric_set_free(&m);
}

static void reads_the_process(void **state)
{
    (void)state;
    struct process_info p;
    process_info_open(&p);
    const double before = process_open_fds(&p);
    const int fd = dup(0);
    assert_true(fd >= 0);
    assert_true(process_open_fds(&p) == before + 1);
    close(fd);
    assert_true(process_open_fds(&p) == before);
    assert_true(process_resident_bytes(&p) > 65536);
    assert_true(process_max_fds() != 0);
    assert_true(process_cpu_seconds() >= 0);
    process_info_close(&p);
    p.statm = p.fds = -1; /* without /proc */
    assert_true(process_open_fds(&p) < 0);
    assert_true(process_resident_bytes(&p) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_types),
        cmocka_unit_test(counts),
        cmocka_unit_test(clears_one_metric),
        cmocka_unit_test(escapes_labels),
        cmocka_unit_test(cuts_long_labels_between_characters),
        cmocka_unit_test(limits_series),
        cmocka_unit_test(fills_buckets),
        cmocka_unit_test(reads_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
