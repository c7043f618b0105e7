/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_wordpiece.c - WordPiece: normalization, splitting and matching of words. */
#include "test_tokenizer.h"

#define W "\xE2\x96\x81" /* begins a word */

enum {
    UNK,
    CLS,
    SEP,
    HELLO,
    WORLD,
    LO,
    HE,
    COMMA,
    ZHONG,
    A,
    GA1,
    GA2,
    EACUTE,
    UPPER,
    I,
    DOT,
    N_TOKENS
};

static struct quire_tokenizer *make_with(bool lowercase, bool strip_accents)
{
    struct vocab *v = vocab_new(QR_VOCAB_WORDPIECE);
    v->spec.clean_text = v->spec.isolate_cjk = true;
    v->spec.lowercase = lowercase;
    v->spec.strip_accents = strip_accents;
    v->spec.strip_prepended_space = true;
    v->spec.special[QUIRE_SPECIAL_UNK] = add_token(v, "[UNK]", QUIRE_TOKEN_CONTROL);
    v->spec.prefix_ids[v->spec.n_prefix_ids++] = add_token(v, "[CLS]", QUIRE_TOKEN_CONTROL);
    v->spec.suffix_ids[v->spec.n_suffix_ids++] = add_token(v, "[SEP]", QUIRE_TOKEN_CONTROL);
    static const char *const texts[] = { W "hello",      W "world",        "lo",  W "he",
                                         W ",",          W "\xE4\xB8\xAD", "a",   W "\xE1\x84\x80",
                                         "\xE1\x85\xA1", W "\xC3\xA9",     W "H", "i",
                                         "\xCC\x87" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add_token(v, texts[i], QUIRE_TOKEN_NORMAL);
    return build(v);
}

static struct quire_tokenizer *make(bool uncased) { return make_with(uncased, uncased); }

static void uncased(void **state)
{
    (void)state;
    struct quire_tokenizer *t = make(true);
    assert_ids(encode(t, "Hello WORLD", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), CLS, HELLO,
               WORLD, SEP);
    assert_ids(encode(t, "h\xC3\xA9llo", 0), HELLO);
    assert_ids(encode(t, "he\xCC\x81llo\xCC\xA3", 0), HELLO);
    assert_ids(encode(t, "helo", 0), HE, LO);
    assert_ids(encode(t, "helox", 0), UNK);
    assert_ids(encode(t, "hello,world", 0), HELLO, COMMA, WORLD);
    assert_ids(encode(t, "hello\xE4\xB8\xADworld", 0), HELLO, ZHONG, WORLD);
    assert_ids(encode(t, "\xEA\xB0\x80", 0), GA1, GA2); /* decomposes into its letters */
    assert_ids(encode(t, "he\xE2\x80\x8Bllo", 0),
               HELLO); /* format and control characters are dropped */
    assert_ids(encode(t, "he\x01llo\tworld", 0), HELLO, WORLD);
    assert_ids(encode(t, "hello\xE2\x80\x83\xC2\xA0world", 0), HELLO, WORLD);
    assert_ids(encode_bytes(t, "hello\0\xFFworld", 12, 0), UNK);
    assert_int_equal(encode(t, " \n\t ", 0).n, 0);
    /* U+2581 in the input is an ordinary character */
    assert_ids(encode(t, "hello" W "world", 0), UNK);
    assert_ids(encode(t, W "hello", 0), UNK);
    char *text = decode(t, (const int32_t[]){ CLS, HE, LO, COMMA, WORLD, SEP }, 6, 0);
    assert_string_equal(text, "helo , world");
    free(text);
    quire_tokenizer_close(t);
}

static void cased(void **state)
{
    (void)state;
    struct quire_tokenizer *t = make(false);
    assert_ids(encode(t, "H hello Hello", 0), UPPER, HELLO, UNK);
    assert_ids(encode(t, "\xC3\xA9", 0), EACUTE);
    assert_ids(encode(t, "e\xCC\x81", 0), UNK); /* not normalized */
    quire_tokenizer_close(t);
}

/* Control characters are parts of words unless the text is cleaned, and no punctuation. */
static void control_characters(void **state)
{
    (void)state;
    for (int clean = 0; clean < 2; clean++) {
        struct vocab *v = vocab_new(QR_VOCAB_WORDPIECE);
        v->spec.clean_text = clean != 0;
        v->spec.special[QUIRE_SPECIAL_UNK] = add_token(v, "[UNK]", QUIRE_TOKEN_UNKNOWN);
        const int32_t hello = add_token(v, W "hello", QUIRE_TOKEN_NORMAL),
                      first = add_token(v, "\x01", QUIRE_TOKEN_NORMAL),
                      last = add_token(v, "\x7F", QUIRE_TOKEN_NORMAL),
                      mark = add_token(v, W "~", QUIRE_TOKEN_NORMAL);
        struct quire_tokenizer *t = build(v);
        if (clean)
            assert_ids(encode(t, "hello\x7F\x01 hello~", 0), hello, hello, mark);
        else
            assert_ids(encode(t, "hello\x7F\x01 hello~", 0), hello, last, first, hello, mark);
        quire_tokenizer_close(t);
    }
}

/* Capital I with a dot is the only letter that has two characters in lower case. */
static void dotted_capital(void **state)
{
    (void)state;
    struct quire_tokenizer *t = make_with(true, false);
    assert_ids(encode(t, "HE\xC4\xB0", 0), HE, I, DOT);
    quire_tokenizer_close(t);
    t = make_with(true, true);
    assert_ids(encode(t, "HE\xC4\xB0", 0), HE, I);
    quire_tokenizer_close(t);
}

/* Ideographs of all blocks, here their first and last characters, are words of their own;
 * characters around the blocks are not. */
static void ideographs(void **state)
{
    (void)state;
    static const char *const alone[] = { "\u3400",     "\u4db5",     "\u4e00",     "\u9fef",
                                         "\uf900",     "\ufad9",     "\U00020000", "\U0002a6d6",
                                         "\U0002a700", "\U0002cea1", "\U0002f800", "\U0002fa1d" };
    static const char *const joined[] = { "\u33ff", "\ua000", "\ufb00", "\U0002ceb0",
                                          "\U0001f600" };
    struct quire_tokenizer *t = make(false);
    char text[64];
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        snprintf(text, sizeof text, "hello%sworld", alone[i]);
        assert_ids(encode(t, text, 0), HELLO, UNK, WORLD);
    }
    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++) {
        snprintf(text, sizeof text, "hello%sworld", joined[i]);
        assert_ids(encode(t, text, 0), UNK);
    }
    quire_tokenizer_close(t);
}

static void long_words(void **state)
{
    (void)state;
    struct quire_tokenizer *t = make(true);
    char word[300] = "he";
    for (size_t n = 2; n < 299; n++) {
        word[n] = 'a';
        const struct ids got = encode(t, word, 0);
        if (n + 1 <= 100) {
            assert_int_equal(got.n, n);
            assert_int_equal(got.id[n - 1], A);
        } else {
            assert_ids(got, UNK);
        }
    }
    quire_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uncased),        cmocka_unit_test(cased),
        cmocka_unit_test(long_words),     cmocka_unit_test(control_characters),
        cmocka_unit_test(dotted_capital), cmocka_unit_test(ideographs)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
