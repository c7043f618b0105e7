/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_plamo.c - vocabularies of PLaMo: segmentations of random texts against a plain
 * search, ties, runs by themselves, long texts. */
#include "test_plamo.h"

enum { MAX_PIECES = 400 };
static char byte_texts[256][8], piece_texts[MAX_PIECES][32];

static struct vocab *plamo_vocab(void)
{
    struct vocab *v = vocab_new(QR_VOCAB_PLAMO);
    v->spec.special[QUIRE_SPECIAL_UNK] = add_token(v, specials[UNK], QUIRE_TOKEN_UNKNOWN);
    for (int i = BOS; i <= OP; i++)
        add_token(v, specials[i], QUIRE_TOKEN_CONTROL);
    for (int b = 0; b < 256; b++) {
        snprintf(byte_texts[b], sizeof byte_texts[b], "<0x%02X>", b);
        add_token(v, byte_texts[b], QUIRE_TOKEN_BYTE);
    }
    return v;
}

/* ---- Segmentation */

static const char *const letters[] = { "a", "b", "c", " ", "\n", "\u00E9", "\u6771", "\U0001F600" };

static void add_random_pieces(struct vocab *v, uint32_t *seed, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *text = piece_texts[i];
        bool is_new = false;
        while (!is_new) {
            *text = 0;
            for (size_t k = 1 + next_random(seed) % 6; k; k--)
                strcat(text, letters[next_random(seed) % LEN(letters)]);
            is_new = true;
            for (size_t j = 0; j < i; j++)
                is_new = is_new && strcmp(piece_texts[j], text) != 0;
        }
        /* few different scores: many segmentations are equally good */
        add_piece(v, text, -10000.0f * (float)(1 + next_random(seed) % 3));
    }
}

static size_t character_bytes(const char *s)
{
    size_t n = 1;
    while ((s[n] & 0xC0) == 0x80)
        n++;
    return n;
}

/* The definition, character by character from the end, over all pieces. */
static struct ids plain_search(const struct vocab *v, const char *s)
{
    static int64_t best[4096];
    static int32_t first[4096];
    static size_t bytes[4096];
    const size_t n = strlen(s);
    struct ids out = { .n = 0 };
    best[n] = 0;
    for (size_t at = n; at-- > 0;) {
        if ((s[at] & 0xC0) == 0x80)
            continue;
        bytes[at] = character_bytes(s + at);
        best[at] = best[at + bytes[at]] - 10000000;
        first[at] = QUIRE_TOKEN_NONE;
        for (size_t i = PIECE; i < v->spec.n_tokens; i++) {
            const size_t size = v->tokens[i].size;
            if (strncmp(s + at, v->tokens[i].text, size) != 0)
                continue;
            const int64_t sum = best[at + size] + (int64_t)v->tokens[i].score;
            const bool longer = first[at] == QUIRE_TOKEN_NONE || size > bytes[at];
            if (sum > best[at] || (sum == best[at] && longer)) {
                best[at] = sum;
                first[at] = (int32_t)i;
                bytes[at] = size;
            }
        }
    }
    for (size_t at = 0; at < n; at += bytes[at])
        if (first[at] != QUIRE_TOKEN_NONE)
            out.id[out.n++] = first[at];
        else
            for (size_t i = 0; i < bytes[at]; i++)
                out.id[out.n++] = BYTE + (uint8_t)s[at + i];
    return out;
}

static void random_texts(void **state)
{
    (void)state;
    uint32_t seed = 1;
    size_t pieces = 0;
    for (size_t round = 0; round < 20; round++) {
        struct vocab *v = plamo_vocab(), *copy = malloc(sizeof *copy);
        add_random_pieces(v, &seed, 5 + 15 * round);
        *copy = *v;
        struct quire_tokenizer *t = build(v);
        for (size_t k = 0; k < 30; k++) {
            char text[1024] = "";
            for (size_t n = next_random(&seed) % 150; n; n--)
                strcat(text, letters[next_random(&seed) % LEN(letters)]);
            const struct ids want = plain_search(copy, text), got = encode(t, text, 0);
            assert_int_equal(got.n, want.n);
            assert_memory_equal(got.id, want.id, want.n * sizeof *want.id);
            for (size_t i = 0; i < got.n; i++)
                pieces += got.id[i] >= PIECE;
            char *back = decode(t, got.id, got.n, 0);
            assert_string_equal(back, text);
            free(back);
        }
        quire_tokenizer_close(t);
        free(copy);
    }
    assert_true(pieces > 5000);
}

/* Of equal sums that with the longest first token; scores count, not lengths. */
static void ties(void **state)
{
    (void)state;
    struct vocab *v = plamo_vocab();
    const int32_t a = add_piece(v, "a", -10000), aa = add_piece(v, "aa", -10000),
                  b = add_piece(v, "b", -10000), ab = add_piece(v, "ab", -20000),
                  abc = add_piece(v, "abc", -20001), c = add_piece(v, "c", 0);
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "aaa", 0), aa, a);
    assert_ids(encode(t, "ab", 0), ab);     /* as good as a, b */
    assert_ids(encode(t, "abc", 0), ab, c); /* better than abc */
    assert_ids(encode(t, " ab", 0), BYTE + ' ', ab);
    assert_ids(encode(t, "\u00E9", 0), BYTE + 0xC3, BYTE + 0xA9);
    assert_ids(encode_bytes(t, "b\0\xFF", 3, 0), b, BYTE, BYTE + 0xEF, BYTE + 0xBF, BYTE + 0xBD);
    assert_int_equal(encode(t, "", 0).n, 0);
    assert_int_equal(abc, c - 1);
    quire_tokenizer_close(t);
}

/* A token that ends inside a character is not taken there. */
static void broken_character(void **state)
{
    (void)state;
    struct vocab *v = plamo_vocab();
    add_piece(v, "\xE6\x9D", 0);
    add_piece(v, "x\xE6", 0);
    const int32_t x = add_piece(v, "x", -10000);
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "x\u6771", 0), x, BYTE + 0xE6, BYTE + 0x9D, BYTE + 0xB1);
    quire_tokenizer_close(t);
}

static void special_tokens(void **state)
{
    (void)state;
    struct quire_tokenizer *t = build(plamo_vocab());
    assert_ids(encode(t, "<|plamo:op|>", QUIRE_ENCODE_PARSE_SPECIAL), OP);
    assert_int_equal(encode(t, "<|plamo:op|>", 0).n, strlen(specials[OP]));
    assert_ids(encode(t, "\u2581", 0), BYTE + 0xE2, BYTE + 0x96, BYTE + 0x81); /* not a space */
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT) == OP);
    quire_tokenizer_close(t);
}

static void runs(void **state)
{
    (void)state;
    struct vocab *v = plamo_vocab();
    const int32_t a = add_piece(v, "a", -10000), sp = add_piece(v, " ", -10000),
                  spa = add_piece(v, " a", -10000), aab = add_piece(v, "aab", -10000),
                  b = add_piece(v, "b", -10000), nl = add_piece(v, "\n", -10000),
                  nlb = add_piece(v, "\n\n\nb", -10000);
    v->spec.break_repeats = 3;
    v->spec.break_spaces = 2;
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "aab", 0), aab);
    assert_ids(encode(t, "aaab", 0), a, a, a, b);
    assert_ids(encode(t, " a", 0), spa);
    assert_ids(encode(t, "  a", 0), sp, sp, a);
    assert_ids(encode(t, "\n\n\nb", 0), nlb); /* lines are no run */
    assert_ids(encode(t, "b\n  ", 0), b, nl, sp, sp);
    quire_tokenizer_close(t);
    v = plamo_vocab();
    const int32_t two = add_piece(v, "  ", -10000), aaa = add_piece(v, "aaa", -10000);
    v->spec.break_repeats = 3; /* of spaces, too */
    t = build(v);
    assert_ids(encode(t, "  aaa   ", 0), two, aaa, two, BYTE + ' ');
    quire_tokenizer_close(t);
}

/* Every allocation of encoding fails, in the text before a run, in the run, and behind. */
static void encode_no_memory(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "ab", "abaaa", "aaa", "aaaaab",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"
    };
    for (size_t i = 0; i < LEN(texts); i++)
        for (size_t at = 1, done = 0; !done; at++) {
            struct fail_alloc f;
            struct quire_error err = QUIRE_ERROR_INIT;
            struct quire_tokenizer *t;
            struct vocab *v = plamo_vocab();
            v->spec.break_repeats = 3;
            fail_alloc_init(&f, 0, false);
            assert_status(QUIRE_OK, qr_tokenizer_build(&v->spec, &f.hooks, &t, &err));
            vocab_free(v);
            f.fail_at = f.calls + at;
            int32_t ids[80];
            size_t n;
            const quire_status s =
                quire_tokenizer_encode(t, texts[i], strlen(texts[i]), 0, ids, 80, &n, &err);
            done = f.calls < f.fail_at;
            assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
            quire_tokenizer_close(t);
            assert_int_equal(f.live_count, 0);
        }
}

/* The same for a text that is cut. */
static void encode_long_no_memory(void **state)
{
    (void)state;
    enum { SIZE = QR_MAX_PIECE_BYTES + 1 };
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    struct vocab *v = plamo_vocab();
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, 'a', SIZE);
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, qr_tokenizer_build(&v->spec, &f.hooks, &t, &err));
    vocab_free(v);
    const size_t live = f.live_count;
    size_t n, failures = 0;
    for (bool done = false; !done; failures += !done) {
        f.calls = 0;
        f.fail_at = failures + 1;
        n = 7777;
        const quire_status s = quire_tokenizer_encode(t, text, SIZE, 0, NULL, 0, &n, &err);
        done = f.calls < f.fail_at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        assert_true(done || (n == 7777 && strstr(err.msg, "memory")));
        assert_int_equal(f.live_count, live);
    }
    assert_int_equal(n, SIZE);
    assert_true(failures > 0);
    quire_tokenizer_close(t);
    assert_int_equal(f.live_count, 0);
    free(text);
}

/* Texts of more than QR_MAX_PIECE_BYTES: cut after a line break, or where they are long enough but
 * inside no character. */
static void long_texts(void **state)
{
    (void)state;
    enum { MOST = QR_MAX_PIECE_BYTES, SIZE = MOST + MOST / 2 };
    static const size_t lines[] = { 0, MOST - 6, MOST / 2 + 1, MOST / 2 - 8 };
    char *text = malloc(SIZE);
    int32_t *ids = malloc(SIZE * sizeof *ids);
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_non_null(text);
    assert_non_null(ids);
    struct vocab *v = plamo_vocab();
    const int32_t pair = add_piece(v, "\u6771\u6771", 0), one = add_piece(v, "\u6771", -1),
                  line = add_piece(v, "\n\u6771", 10000);
    struct quire_tokenizer *t = build(v);
    for (size_t i = 0; i < LEN(lines); i++) {
        size_t n = 0, n_ids, n_lines = 0, n_ones = 0;
        while (n + 3 <= SIZE) {
            if (lines[i] && n >= lines[i] && !n_lines++)
                text[n++] = '\n';
            memcpy(text + n, "\u6771", 3);
            n += 3;
        }
        assert_status(QUIRE_OK, quire_tokenizer_encode(t, text, n, 0, ids, SIZE, &n_ids, &err));
        for (size_t k = n_lines = 0; k < n_ids; k++) {
            assert_true(ids[k] == pair || ids[k] == one || ids[k] == line || ids[k] == BYTE + '\n');
            n_lines += ids[k] == line;
            n_ones += ids[k] == one;
        }
        /* the cut is behind the line break, which then joins no character */
        assert_int_equal(n_lines, i == 3);
        assert_true(n_ones <= 2);
    }
    quire_tokenizer_close(t);
    free(ids);
    free(text);
}

static void bad_vocabularies(void **state)
{
    (void)state;
    struct vocab *v = plamo_vocab();
    add_piece(v, "a", -10000001);
    expect_build_error(v, QUIRE_E_FORMAT, "the score of token 261 is -1000, beyond 1000");
    v = plamo_vocab();
    add_piece(v, "a", 1e8f);
    expect_build_error(v, QUIRE_E_FORMAT, "beyond 1000");
    v = plamo_vocab();
    v->tokens[BYTE + 0x41].type = QUIRE_TOKEN_UNUSED;
    expect_build_error(v, QUIRE_E_FORMAT, "no token for byte 0x41");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_texts),
        cmocka_unit_test(ties),
        cmocka_unit_test(broken_character),
        cmocka_unit_test(special_tokens),
        cmocka_unit_test(runs),
        cmocka_unit_test(encode_no_memory),
        cmocka_unit_test(encode_long_no_memory),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(bad_vocabularies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
