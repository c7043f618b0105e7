/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_longest_match.c - vocabularies of RWKV "world" models: escaped texts, encoding
 * against a search over all tokens, unknown bytes, special tokens, GGUF files. */
#include "test_gguf_vocab.h"

enum { MAX_BYTES = 8, MAX_WORLD = 1200, BYTE = 1 /* id of byte 0 */, LONGER = 257 };

/* ---- A vocabulary: <s>, the 256 bytes, longer tokens */

static struct world {
    uint8_t bytes[MAX_WORLD][MAX_BYTES]; /* [id], of ids from BYTE on */
    size_t size[MAX_WORLD];
    char texts[MAX_WORLD][4 * MAX_BYTES + 1];
    size_t n;
} world;

/* The text of bytes in a file. */
static void escape(const uint8_t *bytes, size_t size, char *out)
{
    for (size_t i = 0; i < size; i++) {
        const char c = (char)bytes[i];
        if (c == '\\' || c == '\'')
            out += sprintf(out, "\\%c", c);
        else if (c == '\t' || c == '\n' || c == '\r')
            out += sprintf(out, "\\%c", c == '\t' ? 't' : c == '\n' ? 'n' : 'r');
        else if (bytes[i] < 0x20 || bytes[i] > 0x7E)
            out += sprintf(out, "\\x%02x", bytes[i]);
        else
            *out++ = c;
    }
    *out = 0;
}

static void world_add(const void *bytes, size_t size)
{
    memcpy(world.bytes[world.n], bytes, size);
    world.size[world.n] = size;
    escape(bytes, size, world.texts[world.n++]);
}

static bool world_has(const void *bytes, size_t size)
{
    for (size_t i = BYTE; i < world.n; i++)
        if (world.size[i] == size && memcmp(world.bytes[i], bytes, size) == 0)
            return true;
    return false;
}

static void world_begin(void)
{
    world.n = BYTE;
    for (int b = 0; b < 256; b++)
        world_add(&(uint8_t){ (uint8_t)b }, 1);
}

static struct vocab *world_vocab(void)
{
    struct vocab *v = vocab_new(QR_VOCAB_LONGEST_MATCH);
    add_token(v, "<s>", QUIRE_TOKEN_CONTROL);
    for (size_t i = BYTE; i < world.n; i++)
        add_token(v, world.texts[i], QUIRE_TOKEN_NORMAL);
    return v;
}

/* The token with the most bytes at the start of a text; every token is compared. */
static int32_t longest(const uint8_t *s, size_t n)
{
    size_t best = 0;
    for (size_t i = BYTE; i < world.n; i++)
        if (world.size[i] <= n && memcmp(world.bytes[i], s, world.size[i]) == 0 &&
            (!best || world.size[i] > world.size[best]))
            best = i;
    return (int32_t)best;
}

static void assert_decodes(const struct quire_tokenizer *t, const struct ids *ids,
                           const uint8_t *text, size_t n)
{
    static char got[1 << 16];
    size_t size;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK,
                  quire_tokenizer_decode(t, ids->id, ids->n, 0, got, sizeof got, &size, &err));
    assert_int_equal(size, n);
    assert_memory_equal(got, text, n);
}

/* ---- Encoding */

static const char *const letters[] = { "a", "b", " ", "\n", "'", "\\", "\u00E9", "\u4E2D", "\xFF" };

/* Tokens of random bytes of the letters, parts of characters among them. */
static void random_world(uint32_t *seed, size_t n)
{
    world_begin();
    while (world.n < n) {
        char bytes[64] = "";
        for (size_t k = 1 + next_random(seed) % 6; k; k--)
            strcat(bytes, letters[next_random(seed) % LEN(letters)]);
        const size_t all = strlen(bytes), skip = next_random(seed) % 2, left = all - skip;
        const size_t size = left < MAX_BYTES ? left : MAX_BYTES;
        if (size && !world_has(bytes + skip, size))
            world_add(bytes + skip, size);
    }
}

/* Writes a random text, and the same with U+FFFD for ill-formed UTF-8. */
static size_t random_text(uint32_t *seed, char *text, uint8_t *repaired, size_t *n_repaired)
{
    static const char *const others[] = { "\xFF", "\xC1", "\x80", "\U0001F600", "z", "\t" };
    size_t n = 0;
    *n_repaired = 0;
    for (size_t k = next_random(seed) % 400; k; k--) {
        const bool other = next_random(seed) % 16 == 0;
        const char *s = other ? others[next_random(seed) % LEN(others)]
                              : letters[next_random(seed) % (LEN(letters) - 1)];
        const char *same = other && s[0] != 'z' && s[0] != '\t' && !s[1] ? "\uFFFD" : s;
        memcpy(text + n, s, strlen(s));
        n += strlen(s);
        memcpy(repaired + *n_repaired, same, strlen(same));
        *n_repaired += strlen(same);
        if (next_random(seed) % 64 == 0)
            text[n++] = 0, repaired[(*n_repaired)++] = 0;
    }
    return n;
}

static void random_texts(void **state)
{
    (void)state;
    static char text[4096];
    static uint8_t repaired[4096];
    uint32_t seed = 1;
    size_t longer = 0;
    for (size_t round = 0; round < 20; round++) {
        random_world(&seed, LONGER + 1 + round * 40);
        struct quire_tokenizer *t = build(world_vocab());
        for (size_t k = 0; k < 20; k++) {
            size_t n_repaired, at = 0;
            const size_t n = random_text(&seed, text, repaired, &n_repaired);
            const struct ids got = encode_bytes(t, text, n, 0);
            for (size_t i = 0; i < got.n; i++) {
                const int32_t id = longest(repaired + at, n_repaired - at);
                assert_int_equal(got.id[i], id);
                at += world.size[id];
                longer += id >= LONGER;
            }
            assert_int_equal(at, n_repaired);
            assert_decodes(t, &got, repaired, n_repaired);
        }
        quire_tokenizer_close(t);
    }
    assert_true(longer > 1000);
}

/* The longest token is taken, not the best segmentation; the end of the text ends a match. */
static void greedy(void **state)
{
    (void)state;
    world_begin();
    world_add("ab", 2);
    world_add("abcde", 5);
    world_add("bcd", 3);
    world_add("\xE4\xB8", 2);
    world_add("\xAD\n", 2);
    struct quire_tokenizer *t = build(world_vocab());
    assert_ids(encode(t, "abcd", 0), LONGER, BYTE + 'c', BYTE + 'd');
    assert_ids(encode(t, "abcdeab", 0), LONGER + 1, LONGER);
    assert_ids(encode(t, "abbcd", 0), LONGER, LONGER + 2);
    assert_ids(encode(t, "a", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), BYTE + 'a');
    assert_int_equal(encode(t, "", 0).n, 0);
    assert_ids(encode_bytes(t, "\0", 1, 0), BYTE);
    assert_ids(encode(t, "\u4E2D\n", 0), LONGER + 3, LONGER + 4); /* not cut at the character */
    /* a character without its last byte is one U+FFFD */
    assert_ids(encode(t, "\xE4\xB8", 0), BYTE + 0xEF, BYTE + 0xBF, BYTE + 0xBD);
    quire_tokenizer_close(t);
}

static void unknown_bytes(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        struct vocab *v = vocab_new(QR_VOCAB_LONGEST_MATCH);
        add_token(v, "<unk>", QUIRE_TOKEN_UNKNOWN);
        add_token(v, "a", QUIRE_TOKEN_NORMAL);
        add_token(v, "bc", QUIRE_TOKEN_NORMAL);
        add_token(v, "\\xa9", QUIRE_TOKEN_NORMAL);
        add_token(v, "d", QUIRE_TOKEN_UNUSED); /* text never gives it */
        if (named)
            v->spec.special[QUIRE_SPECIAL_UNK] = 0;
        struct quire_tokenizer *t = build(v);
        if (named)
            assert_ids(encode(t, "abbc\u00E9d", 0), 1, 0, 2, 0, 3, 0);
        else
            assert_ids(encode(t, "abbc\u00E9d", 0), 1, 2, 3);
        quire_tokenizer_close(t);
    }
}

static void special_tokens(void **state)
{
    (void)state;
    world_begin();
    world_add("<s>a", 4);
    struct vocab *v = world_vocab();
    add_token(v, "<\\n>", QUIRE_TOKEN_USER_DEFINED); /* its text is not escaped */
    struct quire_tokenizer *t = build(v);
    const int32_t user = LONGER + 1;
    assert_ids(encode(t, "a<s>ab", QUIRE_ENCODE_PARSE_SPECIAL), BYTE + 'a', 0, BYTE + 'a',
               BYTE + 'b');
    assert_ids(encode(t, "a<s>ab", 0), BYTE + 'a', LONGER, BYTE + 'b');
    assert_ids(encode(t, "<\\n>", 0), user);
    assert_int_equal(encode(t, "<\n>", 0).n, 3);
    const int32_t ids[] = { BYTE + 'a', 0, user };
    char *text = decode(t, ids, 3, 0);
    assert_string_equal(text, "a<\\n>");
    free(text);
    text = decode(t, ids, 3, QUIRE_DETOKENIZE_SPECIAL);
    assert_string_equal(text, "a<s><\\n>");
    free(text);
    quire_tokenizer_close(t);
}

/* A character arrives with its last byte. */
static void stream(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0xE4, 0xB8, 0xAD, 0x80 };
    static const char *const parts[] = { "", "", "\u4E2D", "\uFFFD" };
    struct quire_detokenizer *d;
    struct quire_error err = QUIRE_ERROR_INIT;
    world_begin();
    struct quire_tokenizer *t = build(world_vocab());
    assert_status(QUIRE_OK, quire_detokenizer_create(t, 0, &d, &err));
    for (size_t i = 0; i < LEN(bytes); i++) {
        const char *part;
        size_t size;
        assert_status(QUIRE_OK, quire_detokenizer_push(d, BYTE + bytes[i], &part, &size, &err));
        assert_int_equal(size, strlen(parts[i]));
        assert_memory_equal(part, parts[i], size);
    }
    quire_detokenizer_destroy(d);
    quire_tokenizer_close(t);
}

/* Tokens that begin like the text at every position, and are not found there. */
static void long_text(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    int32_t *ids = malloc(SIZE / 2 * sizeof *ids);
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t n;
    memset(text, 'a', SIZE);
    world_begin();
    world_add("aa", 2);
    world_add("aaab", 4);
    world_add("aaaaaaab", 8);
    world_add("aaaaaaac", 8);
    struct quire_tokenizer *t = build(world_vocab());
    assert_status(QUIRE_OK, quire_tokenizer_encode(t, text, SIZE, 0, ids, SIZE / 2, &n, &err));
    assert_int_equal(n, SIZE / 2);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids[i], LONGER);
    quire_tokenizer_close(t);
    free(ids);
    free(text);
}

/* ---- Texts */

static void escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *bytes;
        size_t size;
    } cases[] = {
        { "a", "a", 1 },
        { "\\\\", "\\", 1 },
        { "\\'", "'", 1 },
        { "\\t\\n\\r", "\t\n\r", 3 },
        { "\\x00", "", 1 },
        { "a\\x7f\\xff\\xAF", "a\x7F\xFF\xAF", 4 },
        { "\\\\x41", "\\x41", 4 },
        { "\"", "\"", 1 },
        { "\u00E9", "\u00E9", 2 }, /* without an escape */
        { "\\xe2\\x96\\x81", "\u2581", 3 },
    };
    struct vocab *v = vocab_new(QR_VOCAB_LONGEST_MATCH);
    for (size_t i = 0; i < LEN(cases); i++)
        add_token(v, cases[i].text, i ? QUIRE_TOKEN_NORMAL : QUIRE_TOKEN_UNDEFINED);
    struct quire_tokenizer *t = build(v);
    for (size_t i = 0; i < LEN(cases); i++) {
        const int32_t id = (int32_t)i;
        size_t size;
        const char *s = quire_tokenizer_token_bytes(t, id, &size);
        assert_int_equal(size, cases[i].size);
        assert_memory_equal(s, cases[i].bytes, size);
        s = quire_tokenizer_token_text(t, id, &size);
        assert_int_equal(size, strlen(cases[i].text));
        assert_memory_equal(s, cases[i].text, size);
        assert_int_equal(quire_tokenizer_find(t, s, size), id);
        if (i != 5)
            assert_ids(encode_bytes(t, cases[i].bytes, cases[i].size, 0), id);
    }
    quire_tokenizer_close(t);
}

static void bad_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "\\", "token 1 ends with a single backslash" },
        { "ab\\\\\\", "token 1 ends with a single backslash" },
        { "\\x", "token 1: \\x without two hexadecimal digits" },
        { "\\xa", "token 1: \\x without two hexadecimal digits" },
        { "\\xg0", "token 1: \\x without two hexadecimal digits" },
        { "\\x0g", "token 1: \\x without two hexadecimal digits" },
        { "\\x/0", "token 1: \\x without two hexadecimal digits" },
        { "\\x0:", "token 1: \\x without two hexadecimal digits" },
        { "\\x@0", "token 1: \\x without two hexadecimal digits" },
        { "\\xG0", "token 1: \\x without two hexadecimal digits" },
        { "\\x`0", "token 1: \\x without two hexadecimal digits" },
        { "\\u0041", "token 1: unknown escape, a backslash and byte 0x75" },
        { "\\\"", "token 1: unknown escape, a backslash and byte 0x22" },
        { "\\0", "token 1: unknown escape, a backslash and byte 0x30" },
        { "\\X41", "token 1: unknown escape, a backslash and byte 0x58" },
        { "a\\\u00E9", "token 1: unknown escape, a backslash and byte 0xc3" },
    };
    static const enum quire_token_type plain[] = { QUIRE_TOKEN_UNDEFINED, QUIRE_TOKEN_NORMAL,
                                                   QUIRE_TOKEN_UNUSED };
    for (size_t i = 0; i < LEN(cases); i++)
        for (size_t k = 0; k < LEN(plain); k++) {
            struct vocab *v = vocab_new(QR_VOCAB_LONGEST_MATCH);
            add_token(v, "a", QUIRE_TOKEN_NORMAL);
            add_token(v, cases[i].text, plain[k]);
            expect_build_error(v, QUIRE_E_FORMAT, cases[i].message);
        }
    struct vocab *v = vocab_new(QR_VOCAB_LONGEST_MATCH);
    add_token(v, "\\", QUIRE_TOKEN_CONTROL);
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "\\", QUIRE_ENCODE_PARSE_SPECIAL), 0);
    quire_tokenizer_close(t);
}

static void duplicates(void **state)
{
    (void)state;
    static const char *const texts[] = { "b", "\\x41", "c", "A", "Aa" };
    struct vocab *v = vocab_new(QR_VOCAB_LONGEST_MATCH);
    for (size_t i = 0; i < LEN(texts); i++)
        add_token(v, texts[i], QUIRE_TOKEN_NORMAL);
    expect_build_error(v, QUIRE_E_FORMAT, "tokens 1 and 3 have the same bytes");
    v = vocab_new(QR_VOCAB_LONGEST_MATCH);
    add_token(v, "A", QUIRE_TOKEN_NORMAL);
    add_token(v, "A", QUIRE_TOKEN_NORMAL);
    expect_build_error(v, QUIRE_E_FORMAT, "tokens 0 and 1 have the same text");
    v = vocab_new(QR_VOCAB_LONGEST_MATCH);
    add_token(v, "A", QUIRE_TOKEN_UNUSED);
    add_token(v, "\\x41", QUIRE_TOKEN_NORMAL);
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "A", 0), 1);
    quire_tokenizer_close(t);
}

/* ---- GGUF files */

static const struct entry rwkv[] = {
    { KEY("model"), QR_GGUF_STRING, "rwkv", 0 },
    { KEY("tokens"), STRINGS, "<s>|a|b|ab|\\n|\\n\\n|\\x7c", 0 },
    { KEY("bos_token_id"), QR_GGUF_U32, NULL, 0 },
    { KEY("eos_token_id"), QR_GGUF_U32, NULL, 0 },
    { KEY("eot_token_id"), QR_GGUF_U32, NULL, 5 },
    { "tokenizer.chat_template", QR_GGUF_STRING, "rwkv-world", 0 },
    { 0 },
};

static void gguf_file(void **state)
{
    (void)state;
    const uint32_t both = QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS;
    struct quire_tokenizer *t;
    struct quire_error err;
    assert_status(QUIRE_OK, open_vocab(rwkv, NULL, 0, &t, &err));
    assert_ids(encode(t, "aab|\n\n\n", both), 1, 3, 6, 5, 4);
    assert_false(quire_tokenizer_adds_bos(t) || quire_tokenizer_adds_eos(t));
    assert_true(quire_tokenizer_is_special(t, 0) && quire_tokenizer_is_eog(t, 0));
    assert_false(quire_tokenizer_is_special(t, 5));
    assert_true(quire_tokenizer_is_eog(t, 5));
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT), 5);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_UNK), QUIRE_TOKEN_NONE);
    assert_string_equal(quire_tokenizer_chat_template(t, NULL), "rwkv-world");
    quire_tokenizer_close(t);
    const struct entry affixes[] = { { KEY("add_bos_token"), QR_GGUF_BOOL, NULL, 1 },
                                     { KEY("add_eos_token"), QR_GGUF_BOOL, NULL, 1 } };
    assert_status(QUIRE_OK, open_vocab(rwkv, affixes, 2, &t, &err));
    assert_ids(encode(t, "b", both), 0, 2, 0);
    quire_tokenizer_close(t);
}

static void bad_gguf(void **state)
{
    (void)state;
    static const struct {
        struct entry entry;
        quire_status status;
        const char *message;
    } cases[] = {
        { { KEY("tokens"), NO_KEY, NULL, 0 }, QUIRE_E_FORMAT, "tokens is missing" },
        { { KEY("tokens"), STRINGS, "a|b", 0 }, QUIRE_E_FORMAT, "eot_token_id = 5" },
        { { KEY("tokens"), STRINGS, "a|b|c|d|e|b\\", 0 }, QUIRE_E_FORMAT, "token 5 ends" },
        { { KEY("bos_token_id"), QR_GGUF_U32, NULL, 7 }, QUIRE_E_FORMAT, "bos_token_id = 7" },
        { { KEY("add_bos_token"), QR_GGUF_U32, NULL, 7 }, QUIRE_E_FORMAT, "add_bos_token" },
        { { KEY("normalizer.lowercase"), QR_GGUF_BOOL, NULL, 1 }, QUIRE_E_UNSUPPORTED, "lower" },
    };
    for (size_t i = 0; i < LEN(cases); i++) {
        struct quire_tokenizer *t;
        struct quire_error err;
        assert_status(cases[i].status, open_vocab(rwkv, &cases[i].entry, 1, &t, &err));
        assert_non_null(strstr(err.msg, cases[i].message));
        assert_null(t);
    }
}

/* Every allocation of the build and of encoding fails. */
static void allocations(void **state)
{
    (void)state;
    world_begin();
    world_add("ab", 2);
    for (size_t at = 1, done = 0; !done; at++) {
        struct vocab *v = world_vocab();
        struct fail_alloc f;
        struct quire_tokenizer *t = NULL;
        struct quire_error err = QUIRE_ERROR_INIT;
        int32_t ids[16];
        size_t n;
        fail_alloc_init(&f, at, false);
        quire_status s = qr_tokenizer_build(&v->spec, &f.hooks, &t, &err);
        if (s == QUIRE_OK) /* ill-formed UTF-8 is repaired in memory */
            s = quire_tokenizer_encode(t, "ab\xFF", 3, 0, ids, 16, &n, &err);
        done = f.calls < at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        assert_true(done || strstr(err.msg, "memory"));
        assert_true(!done || (n == 4 && ids[0] == LONGER));
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
        vocab_free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_texts),  cmocka_unit_test(greedy),
        cmocka_unit_test(unknown_bytes), cmocka_unit_test(special_tokens),
        cmocka_unit_test(stream),        cmocka_unit_test(long_text),
        cmocka_unit_test(escapes),       cmocka_unit_test(bad_escapes),
        cmocka_unit_test(duplicates),    cmocka_unit_test(gguf_file),
        cmocka_unit_test(bad_gguf),      cmocka_unit_test(allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
