/* SPDX-License-Identifier: Apache-2.0 */
/* test_keys.c - API keys: the file and its errors, finding a client, limits of a client. */
#include "keys.h"
#include "rate_limit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

/* SHA-256 of "alpha" and "beta" (FIPS 180-4; sha256sum) */
#define ALPHA "sha256:8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8"
#define BETA  "sha256:f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753"

static char path[] = "/tmp/quire-test-keys-XXXXXX";

static int setup(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    return fd < 0 || close(fd) != 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const void *data, size_t size)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static struct keys *open_text(const char *text)
{
    struct api_error e = { 0 };
    write_file(text, strlen(text));
    struct keys *k = keys_open(path, &e);
    if (k == NULL)
        fail_msg("%s", e.message);
    return k;
}

/* The file is refused, and the message has `expected`. */
static void assert_refused(const char *expected)
{
    struct api_error e = { 0 };
    assert_null(keys_open(path, &e));
    if (strstr(e.message, expected) == NULL || strstr(e.message, path) == NULL)
        fail_msg("'%s' instead of '%s'", e.message, expected);
}

static void reads_a_file(void **state)
{
    (void)state;
    struct keys *k = open_text("# clients\r\n\n  \t\n"
                               "a.b@c-d_E\t" ALPHA " rpm=60.5 tpm=100000  concurrent=4 "
                               "priority=-3\r\n second " BETA);
    const struct key *a = keys_find(k, "Bearer alpha", NULL);
    const struct key *b = keys_find(k, NULL, "beta");
    assert_non_null(a);
    assert_non_null(b);
    assert_string_equal(a->name, "a.b@c-d_E");
    assert_true(a->requests_per_minute == 60.5);
    assert_true(a->tokens_per_minute == 100000);
    assert_int_equal(a->max_concurrent, 4);
    assert_int_equal(a->priority, -3);
    assert_string_equal(b->name, "second");
    assert_true(b->requests_per_minute == 0);
    assert_true(a->client != b->client && a->client != 0 && b->client != 0);
    assert_true(a->cache_salt != b->cache_salt && a->cache_salt != 0 && b->cache_salt != 0);
    keys_close(k);
}

static void derives_salts(void **state)
{
    (void)state;
    struct keys *k = open_text("a " ALPHA "\nb " BETA "\n");
    const uint64_t client = keys_find(k, "Bearer alpha", NULL)->client;
    const uint64_t salt = keys_find(k, "Bearer alpha", NULL)->cache_salt;
    keys_close(k);
    k = open_text("b " BETA " salt=team\nrenamed " ALPHA " salt=team\n");
    assert_true(keys_find(k, "Bearer alpha", NULL)->client == client);
    assert_true(keys_find(k, "Bearer alpha", NULL)->cache_salt != salt);
    assert_true(keys_find(k, "Bearer alpha", NULL)->cache_salt ==
                keys_find(k, "Bearer beta", NULL)->cache_salt);
    keys_close(k);
    k = open_text("renamed " ALPHA);
    assert_true(keys_find(k, "Bearer alpha", NULL)->cache_salt == salt);
    keys_close(k);
}

static void finds_only_right_keys(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "alpha",
        "Basic alpha",
        "Bearer",
        "Bearer ",
        "Bearer   ",
        "Bearer alpha2",
        "Bearer ALPHA",
        "Bearer alph",
        "Bearer alpha beta",
        ("Bearer " ALPHA),
        "",
        "Bearer\talpha",
    };
    struct keys *k = open_text("a " ALPHA "\nb " BETA "\n");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_null(keys_find(k, wrong[i], NULL));
    assert_null(keys_find(k, NULL, NULL));
    assert_null(keys_find(k, NULL, ""));
    assert_null(keys_find(k, NULL, "Bearer alpha"));
    assert_null(keys_find(k, "Bearer gamma", "alpha")); /* the first one counts */
    assert_string_equal(keys_find(k, "bearer  alpha ", NULL)->name, "a");
    assert_string_equal(keys_find(k, "Basic x", "beta")->name, "b");
    assert_string_equal(keys_find(k, "Bearer beta", "alpha")->name, "b");
    keys_close(k);
}

static void anonymous_without_a_file(void **state)
{
    (void)state;
    struct api_error e = { 0 };
    struct keys *k = keys_open(NULL, &e);
    assert_non_null(k);
    const struct key *key = keys_find(k, NULL, NULL);
    assert_non_null(key);
    assert_ptr_equal(key, keys_find(k, "Bearer whatever", "x"));
    assert_null(key->name);
    for (int i = 0; i < 1000; i++)
        assert_true(keys_begin(key, 0, &e));
    for (int i = 0; i < 1000; i++)
        keys_end(key, 0, 1000000);
    keys_close(k);
    keys_close(NULL);
}

static void refuses_malformed_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "has no keys" },
        { "# only a comment\n\n", "has no keys" },
        { "a", "line 1: expected NAME sha256:" },
        { "a\n", "line 1: expected NAME sha256:" },
        { "\n#\na secret-key", "line 3: expected NAME sha256:" },
        { "a sha256:", "line 1: expected NAME sha256:" },
        { "a sha1:8ed3f6ad685b959ead7022518e1af76cd816f8e8", "line 1: expected NAME sha256:" },
        { "a " ALPHA "0", "line 1: expected NAME sha256:" },
        { "a sha256:ged3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8",
          "line 1: expected NAME sha256:" },
        { "a SHA256:8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8",
          "line 1: expected NAME sha256:" },
        { ALPHA " a", "line 1: a name has" },
        { "a/b " ALPHA, "line 1: a name has" },
        { "\xef\xbb\xbf"
          "a " ALPHA,
          "line 1: a name has" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " ALPHA,
          "line 1: a name has" },
        { "a " ALPHA " rpm", "expected SETTING=VALUE" },
        { "a " ALPHA " 60", "expected SETTING=VALUE" },
        { "a " ALPHA " =60", "unknown setting" },
        { "a " ALPHA " RPM=60", "unknown setting" },
        { "a " ALPHA " burst=60", "unknown setting" },
        { "a " ALPHA " rpm=60 tpm=1 rpm=60", "a setting is given twice" },
        { "a " ALPHA " rpm=", "rpm must be" },
        { "a " ALPHA " rpm=-1", "rpm must be" },
        { "a " ALPHA " rpm=1e3", "rpm must be" },
        { "a " ALPHA " rpm=nan", "rpm must be" },
        { "a " ALPHA " rpm=.5", "rpm must be" },
        { "a " ALPHA " rpm=5.", "rpm must be" },
        { "a " ALPHA " rpm=1.2.3", "rpm must be" },
        { "a " ALPHA " rpm=1000000001", "rpm must be" },
        { "a " ALPHA " tpm=x", "tpm must be" },
        { "a " ALPHA " concurrent=-1", "concurrent must be" },
        { "a " ALPHA " concurrent=1.5", "concurrent must be" },
        { "a " ALPHA " concurrent=65537", "concurrent must be" },
        { "a " ALPHA " concurrent=", "concurrent must be" },
        { "a " ALPHA " concurrent=99999999999999999999", "concurrent must be" },
        { "a " ALPHA " priority=high", "priority must be" },
        { "a " ALPHA " priority=+1", "priority must be" },
        { "a " ALPHA " priority=-1000001", "priority must be" },
        { "a " ALPHA " salt=", "salt must have" },
        { "a " ALPHA " salt=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          "salt must have" },
        { "a " ALPHA "\na " BETA, "line 2: the name is used" },
        { "a " ALPHA "\nb " ALPHA, "line 2: the key is used" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(cases[i].text, strlen(cases[i].text));
        assert_refused(cases[i].message);
    }
    write_file("a \0 b", 5);
    assert_refused("line 1: has a NUL byte");
    char line[2000];
    memset(line, ' ', sizeof line);
    write_file(line, sizeof line);
    assert_refused("line 1: longer than 1023 bytes");
}

static void messages_do_not_repeat_keys(void **state)
{
    (void)state;
    struct api_error e = { 0 };
    write_file("a hunter2", 9);
    assert_null(keys_open(path, &e));
    assert_null(strstr(e.message, "hunter2"));
}

static void refuses_files_of_others(void **state)
{
    (void)state;
    struct api_error e = { 0 };
    static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0610, 0601, 0644 };
    write_file("a " ALPHA, strlen("a " ALPHA));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_refused("chmod 600");
    }
    assert_int_equal(chmod(path, 0400), 0);
    keys_close(keys_open(path, &e));
    assert_int_equal(e.status, 0);
    assert_null(keys_open("/nonexistent/keys", &e));
    assert_non_null(strstr(e.message, "cannot open /nonexistent/keys"));
    e.status = 0;
    assert_null(keys_open("/tmp", &e));
    assert_non_null(strstr(e.message, "/tmp is not a file"));
}

static void limits_requests(void **state)
{
    (void)state;
    struct keys *k = open_text("a " ALPHA " rpm=2\nb " BETA);
    const struct key *a = keys_find(k, "Bearer alpha", NULL);
    struct api_error e = { 0 };
    for (int i = 0; i < 2; i++) {
        assert_true(keys_begin(a, 100, &e));
        keys_end(a, 100, 5);
    }
    assert_false(keys_begin(a, 100, &e));
    assert_int_equal(e.status, 429);
    assert_string_equal(e.code, "rate_limit_exceeded");
    assert_true(e.retry_after == 30);
    assert_non_null(strstr(e.message, "2 requests per minute"));
    e = (struct api_error){ 0 };
    assert_false(keys_begin(a, 129, &e)); /* a refused request costs nothing */
    assert_true(e.retry_after > 0.9 && e.retry_after < 1.1);
    e = (struct api_error){ 0 };
    assert_true(keys_begin(a, 130.001, &e));
    assert_true(keys_begin(keys_find(k, "Bearer beta", NULL), 130, &e)); /* others are free */
    keys_close(k);
}

static void limits_tokens(void **state)
{
    (void)state;
    struct keys *k = open_text("a " ALPHA " tpm=600");
    const struct key *a = keys_find(k, "Bearer alpha", NULL);
    struct api_error e = { 0 };
    assert_true(keys_begin(a, 10, &e));
    keys_end(a, 10, 899); /* 299 more than there were, at 10 per second */
    assert_false(keys_begin(a, 10, &e));
    assert_int_equal(e.status, 429);
    assert_true(e.retry_after > 29.9 && e.retry_after < 30.1);
    e = (struct api_error){ 0 };
    assert_false(keys_begin(a, 39.9, &e));
    e = (struct api_error){ 0 };
    assert_true(keys_begin(a, 40.1, &e));
    keys_end(a, 40.1, 0);
    keys_close(k);
}

static void limits_concurrency(void **state)
{
    (void)state;
    struct keys *k = open_text("a " ALPHA " concurrent=2");
    const struct key *a = keys_find(k, "Bearer alpha", NULL);
    struct api_error e = { 0 };
    assert_true(keys_begin(a, 1, &e));
    assert_true(keys_begin(a, 1, &e));
    assert_false(keys_begin(a, 1, &e));
    assert_int_equal(e.status, 429);
    assert_true(e.retry_after > 0);
    assert_non_null(strstr(e.message, "2 requests at a time"));
    keys_end(a, 2, 0);
    e = (struct api_error){ 0 };
    assert_true(keys_begin(a, 2, &e));
    keys_close(k);
}

static void buckets(void **state)
{
    (void)state;
    struct rate_limit r;
    rate_limit_init(&r, 0.5, 0); /* one request in two minutes */
    assert_true(rate_limit_wait(&r, 0) == 0);
    rate_limit_take(&r, 0, 1);
    assert_true(rate_limit_wait(&r, 0) == 120);
    assert_true(rate_limit_wait(&r, -50) == 120); /* a clock never gives units twice */
    assert_true(rate_limit_wait(&r, 60) == 60);
    assert_true(rate_limit_wait(&r, 1e9) == 0);
    rate_limit_take(&r, 1e9, 1); /* an idle year fills it only once */
    assert_true(rate_limit_wait(&r, 1e9) > 0);
}

static void hashes(void **state)
{
    (void)state;
    char hash[KEYS_HASH_SIZE];
    assert_true(keys_hash("alpha", 5, hash));
    assert_string_equal(hash, ALPHA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file),
        cmocka_unit_test(derives_salts),
        cmocka_unit_test(finds_only_right_keys),
        cmocka_unit_test(anonymous_without_a_file),
        cmocka_unit_test(refuses_malformed_lines),
        cmocka_unit_test(messages_do_not_repeat_keys),
        cmocka_unit_test(refuses_files_of_others),
        cmocka_unit_test(limits_requests),
        cmocka_unit_test(limits_tokens),
        cmocka_unit_test(limits_concurrency),
        cmocka_unit_test(buckets),
        cmocka_unit_test(hashes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
