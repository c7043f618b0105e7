/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_file_edits.c - saved prefix caches whose checksums are right and whose contents are
 * not: every field of the header and of the table that a restore relies on. */
#include "base/checksum.h"
#include "engine/cache_file.h"
#include "engine/cache_identity.h"
#include "test_cache_file.h"

/* The table lies at any place of the file. */
typedef struct qr_cache_file_node unaligned_node __attribute__((aligned(1)));
typedef int32_t unaligned_token __attribute__((aligned(1)));

/* A cache file in memory and its parts. */
struct cache {
    uint8_t *data;
    size_t size;
    struct qr_cache_file_header *header;
    unaligned_node *nodes;
    uint8_t *table, *present;
    unaligned_token *tokens;
};

static uint8_t good[MAX_CACHE_FILE], bytes[MAX_CACHE_FILE];
static size_t good_size;

/* Saves a cache of two answers, which share no block. */
static void make_good(void)
{
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    answer(e, 1, 0, NULL);
    answer(e, 2, 0, NULL);
    save_cache(e, in_dir("cache"));
    quire_engine_close(e);
    good_size = read_all(in_dir("cache"), good);
}

static struct cache begin(void)
{
    struct cache c = { .data = bytes, .size = good_size };
    struct qr_cache_file_table t;
    memcpy(bytes, good, good_size);
    c.header = (struct qr_cache_file_header *)(void *)bytes;
    c.table = bytes + sizeof *c.header + c.header->identity_bytes;
    /* one KV group, which has a window */
    assert_true(qr_cache_file_lay_out(c.header->n_nodes, 1, c.header->n_tokens, 0, &t));
    c.nodes = (unaligned_node *)(void *)c.table;
    c.present = c.table + t.present;
    c.tokens = (unaligned_token *)(void *)(c.table + t.tokens);
    return c;
}

/* Restores the changed file, with right checksums of the header and, with `table`, of the table. */
static void expect_corrupt(const struct cache *c, bool table, const char *text)
{
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    char message[sizeof((struct quire_error *)0)->msg];
    if (table)
        c->header->table_checksum = qr_checksum(c->table, (size_t)c->header->table_bytes);
    qr_cache_file_seal(c->header);
    write_all(in_dir("bad"), c->data, c->size);
    assert_status(QUIRE_E_CORRUPT, try_restore(e, in_dir("bad"), message));
    if (!strstr(message, text))
        fail_msg("\"%s\", expected \"%s\"", message, text);
    assert_int_equal(used_blocks(e), 0);
    quire_engine_close(e);
}

static void nodes(void **state)
{
    (void)state;
    make_good();
    struct cache c = begin();
    const uint32_t n = (uint32_t)c.header->n_nodes;
    assert_true(n >= 2);
    uint32_t child = 0;
    while (child < n && c.nodes[child].parent == QR_CACHE_FILE_ROOT)
        child++;
    assert_true(child < n); /* answers are longer than a block */
    c.nodes[0].n_tokens = 0;
    expect_corrupt(&c, true, "a node has a wrong size");
    c = begin();
    c.nodes[0].n_tokens = QR_CACHE_FILE_MAX_RUN + 1;
    expect_corrupt(&c, true, "a node has a wrong size");
    c = begin();
    c.nodes[child].parent = child;
    expect_corrupt(&c, true, "a node has a wrong parent");
    c = begin();
    c.nodes[child].salt++;
    expect_corrupt(&c, true, "a node has a wrong parent");
    c = begin();
    c.nodes[child].variant++;
    expect_corrupt(&c, true, "a node has a wrong parent");
    c = begin();
    c.present[0] = 2;
    expect_corrupt(&c, true, "a flag of a node is not 0 or 1");
    c = begin();
    c.present[0] = 0;
    expect_corrupt(&c, true, "its parts do not add up to its size");
    c = begin();
    c.nodes[0].n_tokens++;
    expect_corrupt(&c, true, "its parts do not add up to its size");
    c = begin();
    c.tokens[3] = -1;
    expect_corrupt(&c, true, "a token is outside the vocabulary");
    c = begin();
    c.tokens[3] = 1 << 30;
    expect_corrupt(&c, true, "a token is outside the vocabulary");
}

static void header(void **state)
{
    (void)state;
    static const uint64_t huge[] = { INT32_MAX, UINT64_MAX, UINT64_MAX / 24, UINT64_MAX / 48 };
    make_good();
    struct cache c;
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        c = begin();
        c.header->n_nodes = huge[i];
        expect_corrupt(&c, false, "the table is too large");
        c = begin();
        c.header->n_tokens = huge[i];
        expect_corrupt(&c, false, "the table is too large");
    }
    c = begin();
    c.header->table_bytes = c.size;
    expect_corrupt(&c, false, "the table is too large");
    c = begin();
    c.header->n_tokens--;
    expect_corrupt(&c, false, "its parts do not add up to its size");
    c = begin();
    c.header->identity_bytes = QR_CACHE_IDENTITY_MAX + 1;
    expect_corrupt(&c, false, "the description of the engine is too long");
    c = begin();
    c.header->identity_bytes = (uint32_t)(c.size - sizeof *c.header + 1);
    expect_corrupt(&c, false, "the description of the engine is too long");
    c = begin();
    c.header->identity_bytes--;
    expect_corrupt(&c, false, "the checksum of the description of the engine differs");
    c = begin();
    c.header->table_checksum++;
    expect_corrupt(&c, false, "the checksum of the table differs");
    c = begin();
    c.header->file_bytes++;
    expect_corrupt(&c, false, "bytes instead of");
}

/* A chain of the longest nodes, whose positions no longer fit into 31 bits. */
static void long_sequence(void **state)
{
    (void)state;
    enum { N = INT32_MAX / QR_CACHE_FILE_MAX_RUN + 1 };
    make_good();
    struct cache c = begin();
    struct qr_cache_file_table t;
    assert_true(qr_cache_file_lay_out(N, 1, 0, 0, &t));
    c.size = (size_t)(c.table - c.data) + t.end;
    assert_true(c.size <= sizeof bytes);
    c.header->n_nodes = N;
    c.header->n_tokens = 0;
    c.header->table_bytes = t.end;
    c.header->file_bytes = c.size;
    for (uint32_t i = 0; i < N; i++)
        c.nodes[i] = (struct qr_cache_file_node){ .parent = i ? i - 1 : QR_CACHE_FILE_ROOT,
                                                  .n_tokens = QR_CACHE_FILE_MAX_RUN };
    memset(c.table + t.present, 1, N);
    memset(c.table + t.present + N, 0, t.end - t.present - N);
    expect_corrupt(&c, true, "a sequence is too long");
}

/* Sizes of a table that do not fit. */
static void layout(void **state)
{
    (void)state;
    struct qr_cache_file_table t;
    const uint64_t most = PTRDIFF_MAX;
    assert_true(qr_cache_file_lay_out(1, 1, 1, 1, &t));
    assert_true(t.present == 24 && t.tokens == 32 && t.checksums == 40 && t.end == 48);
    assert_false(qr_cache_file_lay_out(UINT64_MAX / 24 + 1, 1, 0, 0, &t));
    assert_false(qr_cache_file_lay_out(most / 24 + 1, 1, 0, 0, &t));
    assert_false(qr_cache_file_lay_out(3, UINT64_MAX / 2, 0, 0, &t));
    assert_false(qr_cache_file_lay_out(2, most / 2 + 1, 0, 0, &t));
    assert_false(qr_cache_file_lay_out(0, 0, UINT64_MAX / 4 + 1, 0, &t));
    assert_false(qr_cache_file_lay_out(0, 0, most / 4 + 1, 0, &t));
    assert_false(qr_cache_file_lay_out(0, 0, 0, UINT64_MAX / 8 + 1, &t));
    assert_false(qr_cache_file_lay_out(0, 0, 0, most / 8 + 1, &t));
    /* sums of parts that each fit */
    assert_false(qr_cache_file_lay_out(most / 24, 23, most / 4, 0, &t));
    assert_false(qr_cache_file_lay_out(most / 24, 23, 0, most / 8, &t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes),
        cmocka_unit_test(header),
        cmocka_unit_test(long_sequence),
        cmocka_unit_test(layout),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
