/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_memory.c - every allocation fails once, with texts and files that allocate in
 * every place: arrays that grow, long pieces, frames of PCRE2's interpreter, large vocabularies. */
#include "test_tokenizer.h"
#include "tokenizer/charsmap.h"

#define W "\u2581"

/* Builds with each allocation failing once. Frees the description. */
static void build_without_memory(struct vocab *v)
{
    bool done = false;
    for (size_t at = 1; !done; at++) {
        struct fail_alloc f;
        struct quire_tokenizer *t;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, at, false);
        const quire_status s = qr_tokenizer_build(&v->spec, &f.hooks, &t, &err);
        done = f.calls < at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        assert_true(done || strstr(err.msg, "memory"));
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
    }
    vocab_free(v);
}

/* Builds, then encodes with each allocation failing once. Returns the ids of the text, of a long
 * one only their number, and counts the failures. Frees the description. */
static struct ids encode_without_memory(struct vocab *v, const char *text, size_t size,
                                        size_t *failures)
{
    struct fail_alloc f;
    struct quire_tokenizer *t;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct ids out;
    bool done = false;
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, qr_tokenizer_build(&v->spec, &f.hooks, &t, &err));
    vocab_free(v);
    const size_t live = f.live_count;
    for (*failures = 0; !done; *failures += !done) {
        f.calls = 0;
        f.fail_at = *failures + 1;
        out.n = 7777;
        const size_t max = size < 4096 ? 4096 : 0;
        const quire_status s =
            quire_tokenizer_encode(t, text, size, 0, max ? out.id : NULL, max, &out.n, &err);
        done = f.calls < f.fail_at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        assert_true(done || (out.n == 7777 && strstr(err.msg, "memory")));
        assert_int_equal(f.live_count, live);
    }
    quire_tokenizer_close(t);
    assert_int_equal(f.live_count, 0);
    return out;
}

static struct ids encode_short(struct vocab *v, const char *text)
{
    size_t failures;
    const struct ids out = encode_without_memory(v, text, strlen(text), &failures);
    assert_true(failures > 0);
    return out;
}

/* The list of added tokens grows at the second text of a token. */
static void added_tokens(void **state)
{
    (void)state;
    static const char *const texts[] = { "<0>", "<1>", "<2>", "<3>", "<4>", "<5>" };
    struct vocab *v = spm_vocab();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add_token(v, texts[i], QUIRE_TOKEN_CONTROL);
    add_token(v, W "u", QUIRE_TOKEN_USER_DEFINED);
    build_without_memory(v);
}

/* The heap is full when a merge gives two further candidates. */
static void merges(void **state)
{
    (void)state;
    struct vocab *v = byte_vocab("gpt-2");
    static const char *const texts[] = { "bc", "abc", "bcd", "xy" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add_token(v, texts[i], QUIRE_TOKEN_NORMAL);
    add_merge(v, "b", "c");
    add_merge(v, "bc", "d");
    add_merge(v, "a", "bc");
    add_merge(v, "x", "y");
    assert_ids(encode_short(v, "abcdxyxyxyxyxyxyxy"), 'a', 258, 259, 259, 259, 259, 259, 259, 259);
}

/* A piece that is cut, and text in front of the match of a split. */
static void pieces(void **state)
{
    (void)state;
    static const char unit[] = "1\u00e9";
    enum { SIZE = 3 * (QR_MAX_PIECE_BYTES / 3 + 64) };
    char *text = malloc(SIZE);
    size_t failures;
    for (size_t i = 0; i < SIZE; i++)
        text[i] = unit[i % 3];
    struct vocab *v = byte_vocab("gpt-2");
    v->spec.n_splits = 0;
    assert_int_equal(encode_without_memory(v, text, SIZE, &failures).n, SIZE);
    assert_true(failures > 1);
    free(text);
    assert_ids(encode_short(byte_vocab("smollm"), "ab1"), 'a', 'b', '1');
}

/* Runs of combining marks: two in order, and more than are sorted in place. */
static void marks(void **state)
{
    (void)state;
    char text[64] = "q";
    for (size_t i = 0; i < 20; i++)
        memcpy(text + 1 + 2 * i, i % 2 ? "\u0323" : "\u0301", 3);
    const struct ids got = encode_short(byte_vocab("qwen2"), text);
    assert_int_equal(got.n, 1 + 2 * 20);
    assert_int_equal(got.id[0], 'q');
    for (size_t i = 0; i < 20; i++) { /* the marks below come first */
        assert_int_equal(got.id[1 + 2 * i], 0xCC);
        assert_int_equal(got.id[2 + 2 * i], i < 10 ? 0xA3 : 0x81);
    }
    assert_ids(encode_short(byte_vocab("qwen2"), "q\u0323\u0301"), 'q', 0xCC, 0xA3, 0xCC, 0x81);
}

/* Every word and space of a text is one piece of this pattern, which is too deep for the stack of
 * PCRE2's JIT; the interpreter allocates, up to a limit. */
static void interpreter(void **state)
{
    (void)state;
    enum { SMALL = 60000, LARGE = 8 << 20 };
    char *text = malloc(LARGE);
    size_t failures, n = 7777;
    for (size_t i = 0; i < LARGE; i++)
        text[i] = i % 2 ? ' ' : 'a';
    assert_int_equal(encode_without_memory(byte_vocab("exaone-moe"), text, SMALL, &failures).n,
                     SMALL);
    assert_true(failures > 2);
    struct quire_tokenizer *t = build(byte_vocab("exaone-moe"));
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_LIMIT, quire_tokenizer_encode(t, text, LARGE, 0, NULL, 0, &n, &err));
    assert_string_equal(err.msg, "text exceeds a match limit of pre-tokenizer \"exaone-moe\"");
    assert_int_equal(n, 7777);
    quire_tokenizer_close(t);
    free(text);
}

static struct vocab *words(void)
{
    static const char *const texts[] = { W "hello", "hello", W "i", "i", "\u0307", W "\u4e2d" };
    struct vocab *v = vocab_new(QR_VOCAB_WORDPIECE);
    v->spec.lowercase = v->spec.isolate_cjk = true;
    v->spec.special[QUIRE_SPECIAL_UNK] = add_token(v, "[UNK]", QUIRE_TOKEN_CONTROL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add_token(v, texts[i], QUIRE_TOKEN_NORMAL);
    return v;
}

static void wordpiece(void **state)
{
    (void)state;
    assert_ids(encode_short(words(), "hellohello \u4e2dhello"), 1, 2, 6, 1);
    /* two characters in lower case each, of which the first needs more memory the second time */
    assert_ids(encode_short(words(), "\u0130\u0130"), 3, 5, 4, 5);
}

/* ---- Files */

static void append_token(char *json, int id)
{
    snprintf(json + strlen(json), 40, ",\"t%d\":%d", id, id);
}

/* Opens with each allocation failing once, and asserts that encoding "ab" gives n ids. */
static void open_without_memory(const char *json, const char *config, size_t n)
{
    bool done = false;
    for (size_t at = 1; !done; at++) {
        struct fail_alloc f;
        struct quire_tokenizer *t;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, at, false);
        struct quire_tokenizer_params p = { .struct_size = sizeof p, .allocator = &f.hooks };
        const quire_status s = quire_tokenizer_open_memory(
            json, strlen(json), config, config ? strlen(config) : 0, &p, &t, &err);
        done = f.calls < at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        assert_true(done || strstr(err.msg, "memory"));
        f.fail_at = 0;
        if (done)
            assert_int_equal(encode(t, "ab", 0).n, n);
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
    }
}

/* Vocabularies that fill a chunk of the arena, so that what follows needs another. */
static void large_files(void **state)
{
    (void)state;
    enum { N = 400 };
    static char json[64 * N], config[20000];
    strcpy(json, "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":"
                 "\"" W "\"},\"model\":{\"type\":\"BPE\",\"unk_token\":\"t3\",\"vocab\":{\"a\":0,"
                 "\"b\":1,\"ab\":2");
    for (int i = 3; i < N; i++)
        append_token(json, i);
    strcat(json, "},\"merges\":[\"a b\"]}}");
    strcpy(config, "{\"chat_template\":\"");
    memset(config + strlen(config), 'x', sizeof config - 100);
    strcat(config, "\"}");
    open_without_memory(json, config, 1);
    strcpy(json, "{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":"
                 "\"WordPiece\",\"unk_token\":\"t3\",\"vocab\":{\"a\":0,\"##b\":1");
    for (int i = 2; i < N; i++)
        append_token(json, i);
    strcat(json, "}}}");
    open_without_memory(json, NULL, 2);
}

static void map(void **state)
{
    (void)state;
    struct fail_alloc f;
    struct qr_vocab_spec spec;
    struct quire_error err = QUIRE_ERROR_INIT;
    fail_alloc_init(&f, 1, false);
    qr_vocab_spec_init(&spec, &f.hooks);
    assert_status(QUIRE_E_NOMEM, qr_charsmap_read_base64(&spec, "AAAA", 4, "map", &err));
    assert_string_equal(err.msg, "no memory for the normalizer");
    assert_null(spec.charsmap);
    qr_vocab_spec_free(&spec);
    assert_int_equal(f.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_tokens), cmocka_unit_test(merges),      cmocka_unit_test(pieces),
        cmocka_unit_test(marks),        cmocka_unit_test(interpreter), cmocka_unit_test(wordpiece),
        cmocka_unit_test(large_files),  cmocka_unit_test(map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
