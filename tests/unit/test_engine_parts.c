/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_parts.c - stop strings and available memory. */
#include "base/memory.h"
#include "engine/stop_strings.h"
#include "quire_cmocka.h"
#include <unistd.h>

/* ---- Stop strings */

/* Streams `text` in pieces of n bytes; stores the text before the stop string and the longest
 * withheld tail, and returns whether one was found. */
static bool run_stop_strings(const char *const *stop, uint32_t n_stop, const char *text, size_t n,
                             char *shown, size_t *most_withheld)
{
    struct qr_stop_strings s;
    assert_status(QUIRE_OK, qr_stop_strings_init(&s, stop, n_stop, NULL, NULL));
    const size_t size = strlen(text);
    size_t released = 0, end;
    uint32_t length;
    bool stopped = false;
    *most_withheld = 0;
    for (size_t at = 0; at < size && !stopped; at += n) {
        const size_t piece = size - at < n ? size - at : n;
        stopped = qr_stop_strings_scan(&s, text + at, piece, &end, &length);
        const size_t now = stopped ? at + end - length : at + piece - qr_stop_strings_partial(&s);
        assert_true(now >= released); /* released text is never withdrawn */
        released = now;
        if (!stopped && at + piece - released > *most_withheld)
            *most_withheld = at + piece - released;
    }
    if (!stopped)
        released = size;
    memcpy(shown, text, released);
    shown[released] = 0;
    qr_stop_strings_free(&s);
    return stopped;
}

static void test_stop_strings(void **state)
{
    (void)state;
    static const struct {
        const char *stop[3], *text, *shown;
        bool stopped;
    } cases[] = {
        { { "END" }, "to the END of it", "to the ", true },
        { { "END" }, "to the EN", "to the EN", false },
        { { "aab" }, "aaaab!", "aa", true },
        { { "abab" }, "abacababx", "abac", true },
        { { "\n\n", "User:" }, "Hi\nUser: you", "Hi\n", true },
        { { "b", "abc" }, "xabc", "xa", true }, /* the first to complete wins */
        { { "bc", "abc" }, "xabc", "x", true }, /* at one byte the longest wins */
        { { "\xC3\xA9" }, "caf\xC3\xA8 caf\xC3\xA9", "caf\xC3\xA8 caf", true },
        { { "a" }, "a", "", true },
        { { NULL }, "anything", "anything", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t n = 1; n <= 20; n++) {
            uint32_t n_stop = 0;
            size_t held, longest = 0;
            for (; n_stop < 3 && cases[i].stop[n_stop]; n_stop++)
                longest = strlen(cases[i].stop[n_stop]) > longest ? strlen(cases[i].stop[n_stop])
                                                                  : longest;
            char shown[64];
            assert_int_equal(
                run_stop_strings(cases[i].stop, n_stop, cases[i].text, n, shown, &held),
                cases[i].stopped);
            assert_string_equal(shown, cases[i].shown);
            assert_true(held == 0 || held < longest);
        }
}

static void test_stop_strings_bad(void **state)
{
    (void)state;
    struct qr_stop_strings s;
    struct quire_error err = QUIRE_ERROR_INIT;
    const char *many[QR_MAX_STOP_STRINGS + 1];
    for (int i = 0; i <= QR_MAX_STOP_STRINGS; i++)
        many[i] = "x";
    assert_status(QUIRE_E_LIMIT,
                  qr_stop_strings_init(&s, many, QR_MAX_STOP_STRINGS + 1, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_stop_strings_init(&s, NULL, 1, NULL, &err));
    const char *empty[] = { "a", "" }, *null[] = { "a", NULL }, *half[] = { "\xC3" };
    assert_status(QUIRE_E_INVALID_ARG, qr_stop_strings_init(&s, empty, 2, NULL, &err));
    assert_non_null(strstr(err.msg, "stop[1]"));
    assert_status(QUIRE_E_INVALID_ARG, qr_stop_strings_init(&s, null, 2, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_stop_strings_init(&s, half, 1, NULL, &err));
    char long_text[QR_MAX_STOP_BYTES + 2];
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    const char *lengthy[] = { long_text };
    assert_status(QUIRE_E_LIMIT, qr_stop_strings_init(&s, lengthy, 1, NULL, &err));
    for (size_t at = 1; at <= 4; at++) {
        struct fail_alloc f;
        fail_alloc_init(&f, at, false);
        const char *two[] = { "one", "two" };
        assert_status(QUIRE_E_NOMEM, qr_stop_strings_init(&s, two, 2, &f.hooks, &err));
        assert_int_equal(f.live_count, 0);
    }
}

/* Self-repeating stop string: a matcher of quadratic time would need hours for 4 MiB. */
static void test_stop_strings_linear_time(void **state)
{
    (void)state;
    char stop[QR_MAX_STOP_BYTES + 1];
    memset(stop, 'a', sizeof stop - 1);
    stop[sizeof stop - 2] = 'b';
    stop[sizeof stop - 1] = 0;
    const char *stops[] = { stop };
    const size_t size = 4 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'a', size);
    struct qr_stop_strings s;
    assert_status(QUIRE_OK, qr_stop_strings_init(&s, stops, 1, NULL, NULL));
    size_t end;
    uint32_t length;
    assert_false(qr_stop_strings_scan(&s, text, size, &end, &length));
    assert_int_equal(qr_stop_strings_partial(&s), sizeof stop - 2);
    qr_stop_strings_free(&s);
    free(text);
}

/* ---- Available memory */

static void write_file(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *p = strchr(full + strlen(root) + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        (void)mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void remove_root(const char *root)
{
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

static void test_memory(void **state)
{
    (void)state;
    char root[] = "/tmp/quire_memory_XXXXXX";
    assert_non_null(mkdtemp(root));
    assert_int_equal(qr_memory_available_at(root), 0); /* unknown */
    write_file(root, "proc/meminfo",
               "MemTotal: 9000 kB\nMemFree: 1 kB\nMemAvailable:    4000 kB\n");
    assert_int_equal(qr_memory_available_at(root), 4000 * 1024);

    /* cgroup v2: limits of all ancestors apply, inactive file pages count as free */
    write_file(root, "proc/self/cgroup", "0::/user/box\n");
    write_file(root, "sys/fs/cgroup/user/box/memory.max", "max\n");
    write_file(root, "sys/fs/cgroup/user/box/memory.current", "1\n");
    assert_int_equal(qr_memory_available_at(root), 4000 * 1024);
    write_file(root, "sys/fs/cgroup/user/memory.max", "1000000\n");
    write_file(root, "sys/fs/cgroup/user/memory.current", "400000\n");
    write_file(root, "sys/fs/cgroup/user/memory.stat",
               "anon 5\ninactive_file 100000\nactive_file 7\n");
    assert_int_equal(qr_memory_available_at(root), 700000);
    write_file(root, "sys/fs/cgroup/user/memory.current", "2000000\n"); /* above the limit */
    assert_int_equal(qr_memory_available_at(root), 0);
    write_file(root, "sys/fs/cgroup/user/memory.max", "99999999999999999999999\n"); /* saturates */
    assert_int_equal(qr_memory_available_at(root), 4000 * 1024);

    /* cgroup v1 and an empty v2 hierarchy; in a container the path exists on the host only */
    write_file(root, "proc/self/cgroup", "4:memory:/docker/abc\n1:cpu:/\n0::/\n");
    write_file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
    write_file(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
    write_file(root, "sys/fs/cgroup/memory/memory.stat", "cache 9\ntotal_inactive_file 250000\n");
    assert_int_equal(qr_memory_available_at(root), 2250000);
    write_file(root, "proc/self/cgroup", "garbage\n:::\n4:memory\n");
    assert_int_equal(qr_memory_available_at(root), 4000 * 1024);
    remove_root(root);
    assert_true(qr_memory_available() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_strings),
        cmocka_unit_test(test_stop_strings_bad),
        cmocka_unit_test(test_stop_strings_linear_time),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
