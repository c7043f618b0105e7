/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_parts.c - stop texts, available memory, and the sequence in the cache. */
#include "base/memory.h"
#include "engine/sequence.h"
#include "engine/stop.h"
#include "quire_cmocka.h"
#include <quire/kv_cache.h>
#include <unistd.h>

/* ---- Stop texts */

/* Feeds `text` cut into pieces of n bytes; returns what may be shown, and whether a stop came. */
static bool run_stops(const char *const *stop, uint32_t n_stop, const char *text, size_t n,
                      char *shown, size_t *most_held)
{
    struct qr_stops s;
    assert_status(QUIRE_OK, qr_stops_init(&s, stop, n_stop, NULL, NULL));
    const size_t size = strlen(text);
    size_t safe = 0, end;
    uint32_t length;
    bool stopped = false;
    *most_held = 0;
    for (size_t at = 0; at < size && !stopped; at += n) {
        const size_t piece = size - at < n ? size - at : n;
        stopped = qr_stops_feed(&s, text + at, piece, &end, &length);
        const size_t now = stopped ? at + end - length : at + piece - qr_stops_held(&s);
        assert_true(now >= safe); /* never takes back what was shown */
        safe = now;
        if (!stopped && at + piece - safe > *most_held)
            *most_held = at + piece - safe;
    }
    if (!stopped)
        safe = size;
    memcpy(shown, text, safe);
    shown[safe] = 0;
    qr_stops_free(&s);
    return stopped;
}

static void test_stop_texts(void **state)
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
        { { "b", "abc" }, "xabc", "xa", true }, /* complete first wins */
        { { "bc", "abc" }, "xabc", "x", true }, /* at the same byte the longest */
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
            assert_int_equal(run_stops(cases[i].stop, n_stop, cases[i].text, n, shown, &held),
                             cases[i].stopped);
            assert_string_equal(shown, cases[i].shown);
            assert_true(held == 0 || held < longest);
        }
}

static void test_stop_texts_bad(void **state)
{
    (void)state;
    struct qr_stops s;
    struct quire_error err = QUIRE_ERROR_INIT;
    const char *many[QR_MAX_STOPS + 1];
    for (int i = 0; i <= QR_MAX_STOPS; i++)
        many[i] = "x";
    assert_status(QUIRE_E_LIMIT, qr_stops_init(&s, many, QR_MAX_STOPS + 1, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_stops_init(&s, NULL, 1, NULL, &err));
    const char *empty[] = { "a", "" }, *null[] = { "a", NULL }, *half[] = { "\xC3" };
    assert_status(QUIRE_E_INVALID_ARG, qr_stops_init(&s, empty, 2, NULL, &err));
    assert_non_null(strstr(err.msg, "stop[1]"));
    assert_status(QUIRE_E_INVALID_ARG, qr_stops_init(&s, null, 2, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_stops_init(&s, half, 1, NULL, &err));
    char long_text[QR_MAX_STOP_BYTES + 2];
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    const char *lengthy[] = { long_text };
    assert_status(QUIRE_E_LIMIT, qr_stops_init(&s, lengthy, 1, NULL, &err));
    for (size_t at = 1; at <= 4; at++) {
        struct fail_alloc f;
        fail_alloc_init(&f, at, false);
        const char *two[] = { "one", "two" };
        assert_status(QUIRE_E_NOMEM, qr_stops_init(&s, two, 2, &f.hooks, &err));
        assert_int_equal(f.live_count, 0);
    }
}

/* A stop text that repeats itself must not cost more than one step per byte: 4 MiB would take
 * hours otherwise. */
static void test_stop_text_is_linear(void **state)
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
    struct qr_stops s;
    assert_status(QUIRE_OK, qr_stops_init(&s, stops, 1, NULL, NULL));
    size_t end;
    uint32_t length;
    assert_false(qr_stops_feed(&s, text, size, &end, &length));
    assert_int_equal(qr_stops_held(&s), sizeof stop - 2);
    qr_stops_free(&s);
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
    assert_int_equal(qr_memory_available_at(root), 0); /* nothing known */
    write_file(root, "proc/meminfo",
               "MemTotal: 9000 kB\nMemFree: 1 kB\nMemAvailable:    4000 kB\n");
    assert_int_equal(qr_memory_available_at(root), 4000 * 1024);

    /* v2: a limit two levels up counts, file pages do not */
    write_file(root, "proc/self/cgroup", "0::/user/box\n");
    write_file(root, "sys/fs/cgroup/user/box/memory.max", "max\n");
    write_file(root, "sys/fs/cgroup/user/box/memory.current", "1\n");
    assert_int_equal(qr_memory_available_at(root), 4000 * 1024);
    write_file(root, "sys/fs/cgroup/user/memory.max", "1000000\n");
    write_file(root, "sys/fs/cgroup/user/memory.current", "400000\n");
    write_file(root, "sys/fs/cgroup/user/memory.stat",
               "anon 5\ninactive_file 100000\nactive_file 7\n");
    assert_int_equal(qr_memory_available_at(root), 700000);
    write_file(root, "sys/fs/cgroup/user/memory.current", "2000000\n"); /* over the limit already */
    assert_int_equal(qr_memory_available_at(root), 0);
    write_file(root, "sys/fs/cgroup/user/memory.max", "99999999999999999999999\n"); /* saturates */
    assert_int_equal(qr_memory_available_at(root), 4000 * 1024);

    /* v1 beside an empty v2; inside a container the path names a folder that only the host has */
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

/* ---- The sequence */

static struct quire_kv_cache *make_pool(uint32_t blocks, uint32_t window, uint32_t windowed_blocks)
{
    const struct quire_kv_group_config groups[] = {
        { .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = blocks },
        { .n_layers = 1,
          .n_kv_heads = 1,
          .head_size = 8,
          .n_blocks = windowed_blocks,
          .sliding_window = window },
    };
    const struct quire_kv_params config = {
        .struct_size = sizeof config, .block_size = 16, .groups = groups, .n_groups = window ? 2 : 1
    };
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, quire_kv_create(&config, &kv, NULL));
    return kv;
}

static void grow(struct qr_sequence *s, const int32_t *tokens, uint32_t n, uint32_t step)
{
    for (uint32_t at = s->n_tokens; at < n;) {
        const uint32_t part = n - at < step ? n - at : step;
        assert_status(QUIRE_OK, qr_sequence_reserve(s, part, NULL));
        qr_sequence_append(s, tokens + at, part, 0);
        at += part;
    }
}

/* Every block of every group belongs to the sequence or is free. */
static void check_blocks(const struct qr_sequence *s, const uint32_t *total)
{
    for (uint32_t i = 0; i < s->n_groups; i++) {
        const struct qr_seq_group *g = &s->groups[i];
        assert_true(g->first <= g->end);
        assert_true((uint64_t)g->end * s->block_size >= s->n_tokens);
        assert_true(g->first <= quire_kv_first_block(s->block_size, g->window, s->n_tokens));
        assert_int_equal(quire_kv_free_block_count(s->kv, i) + (g->end - g->first), total[i]);
        for (uint32_t b = g->first; b < g->end; b++)
            assert_int_equal(quire_kv_ref_count(s->kv, i, g->table[b]), 1);
    }
}

static void test_sequence(void **state)
{
    (void)state;
    enum { N = 300, STEP = 24, WINDOW = 40 };
    int32_t tokens[N];
    for (int i = 0; i < N; i++)
        tokens[i] = i;
    const uint32_t windowed = qr_sequence_blocks(16, WINDOW, N, STEP, 32);
    assert_true(windowed < qr_sequence_blocks(16, 0, N, STEP, 32));
    const uint32_t total[] = { qr_sequence_blocks(16, 0, N, STEP, 32), windowed };
    struct quire_kv_cache *kv = make_pool(total[0], WINDOW, windowed);
    struct qr_sequence s;
    assert_status(QUIRE_OK, qr_sequence_init(&s, kv, N, NULL, NULL));
    /* the pool is just large enough for any way to grow */
    for (uint32_t step = 1; step <= STEP; step++) {
        grow(&s, tokens, N, step);
        check_blocks(&s, total);
        qr_sequence_clear(&s);
        assert_int_equal(quire_kv_free_block_count(kv, 1), windowed);
    }
    grow(&s, tokens, 200, STEP);
    assert_true(s.groups[1].first > 0);
    /* a short step back is free, one behind the window's blocks starts anew */
    assert_int_equal(qr_sequence_keep_prefix(&s, tokens, 190, 0), 190);
    check_blocks(&s, total);
    tokens[185] = 999;
    assert_int_equal(qr_sequence_keep_prefix(&s, tokens, 190, 0), 185);
    check_blocks(&s, total);
    grow(&s, tokens, 260, STEP);
    assert_int_equal(qr_sequence_keep_prefix(&s, tokens, 50, 0), 0);
    assert_int_equal(s.n_tokens, 0);
    assert_int_equal(quire_kv_free_block_count(kv, 0), total[0]);
    /* keys of another rotary length are no match */
    grow(&s, tokens, 40, STEP);
    assert_int_equal(qr_sequence_keep_prefix(&s, tokens, 40, 1), 0);
    assert_status(QUIRE_E_LIMIT, qr_sequence_reserve(&s, N + 1, NULL));
    qr_sequence_free(&s);
    qr_sequence_free(&s);
    quire_kv_destroy(kv);
}

static void test_sequence_short_pool(void **state)
{
    (void)state;
    struct quire_kv_cache *kv = make_pool(2, 0, 0);
    struct qr_sequence s;
    assert_status(QUIRE_OK, qr_sequence_init(&s, kv, 100, NULL, NULL));
    assert_status(QUIRE_OK, qr_sequence_reserve(&s, 32, NULL));
    assert_int_not_equal(qr_sequence_reserve(&s, 33, NULL), QUIRE_OK);
    qr_sequence_free(&s);
    assert_int_equal(quire_kv_free_block_count(kv, 0), 2);
    for (size_t at = 1; at <= 4; at++) {
        struct fail_alloc f;
        fail_alloc_init(&f, at, false);
        assert_status(QUIRE_E_NOMEM, qr_sequence_init(&s, kv, 100, &f.hooks, NULL));
        assert_int_equal(f.live_count, 0);
    }
    quire_kv_destroy(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_texts),
        cmocka_unit_test(test_stop_texts_bad),
        cmocka_unit_test(test_stop_text_is_linear),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_sequence_short_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
