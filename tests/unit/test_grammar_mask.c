/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_mask.c - masks against the check of every token, on a vocabulary with words of many
 * groups of characters, long ones, cut characters, and states that allow whole subtrees of it. */
#include "test_tokenizer.h"
#include <quire/grammar.h>

enum { WORDS_ADDED = 2600, MAX_WORD = 120, STEPS = 12, RUNS = 6 };

static struct quire_tokenizer *tok;
static struct quire_grammar_vocab *vocab;
static size_t n_tokens, n_words;
static uint32_t *mask;
static int32_t eos;
static char (*words)[MAX_WORD];

/* Appends the text of bytes in the alphabet of byte-level vocabularies. */
static void put_bytes(char *word, const char *bytes)
{
    for (size_t n = strlen(word); *bytes; bytes++) {
        const uint32_t cp = qr_byte_to_unicode((uint8_t)*bytes);
        if (cp >= 0x80)
            word[n++] = (char)(0xC0 | cp >> 6);
        word[n++] = (char)(cp < 0x80 ? cp : 0x80 | (cp & 0x3F));
    }
}

/* A word of one or two of these alphabets, of few characters or of many. */
static void draw_word(char *word, uint32_t *random)
{
    static const char *const alphabets[][6] = {
        { "a", "b", "c", "x", "y", "z" },
        { " ", "a", "e", "s", "t", "-" },
        { "A", "F", "G", "Z", "_", "0" },
        { "0", "1", "2", "7", "9", "." },
        { "\"", ",", ":", "{", "\\", "]" },
        { "\xC3\xA9", "\xD0\xB6", "\xE4\xB8\xAD", "\xE2\x80\x89", "\xF0\x9F\x98\x80", "e" },
        { "\xC3", "\xE4\xB8", "\xB8", "\xF0\x9F\x98", "a", "\xEF\xBB\xBF" },
    };
    enum { N = sizeof alphabets / sizeof *alphabets };
    const uint32_t kind = next_random(random) % N, other = next_random(random) % N;
    const uint32_t n = 1 + next_random(random) % (next_random(random) % 8 == 0 ? 14 : 5);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = next_random(random) % 10 == 0 ? other : kind;
        put_bytes(word, alphabets[at][next_random(random) % 6]);
    }
}

static int set_up(void **state)
{
    (void)state;
    uint32_t random = 19, added = 0;
    struct vocab *v = byte_vocab("gpt-2");
    words = calloc(WORDS_ADDED, sizeof *words);
    for (uint32_t i = 0; i < WORDS_ADDED; i++) {
        draw_word(words[added], &random);
        bool known = strlen(words[added]) <= 2;
        for (uint32_t k = 0; k < added && !known; k++)
            known = strcmp(words[k], words[added]) == 0;
        if (known)
            memset(words[added], 0, MAX_WORD);
        else
            add_token(v, words[added++], QUIRE_TOKEN_NORMAL);
    }
    eos = add_token(v, "<end>", QUIRE_TOKEN_CONTROL);
    v->spec.special[QUIRE_SPECIAL_EOS] = eos;
    tok = build(v);
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_int_equal(quire_grammar_vocab_create(tok, NULL, &vocab, &err), QUIRE_OK);
    n_tokens = quire_tokenizer_vocab_size(tok);
    n_words = quire_grammar_mask_words(vocab);
    mask = calloc(n_words, sizeof *mask);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    quire_grammar_vocab_destroy(vocab);
    quire_tokenizer_close(tok);
    free(mask);
    free(words);
    return 0;
}

/* Compares a mask and picks one of its tokens; -1: only the end is left. */
static int32_t compare(struct quire_grammar_matcher *m, const char *name, uint32_t *random)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    int32_t pick = -1;
    unsigned n = 0;
    if (quire_grammar_matcher_mask(m, mask, n_words, &err) != QUIRE_OK)
        fail_msg("%s: %s", name, err.msg);
    for (int32_t t = 0; t < (int32_t)n_tokens; t++) {
        const bool allowed = mask[t / 32] >> (t % 32) & 1;
        const bool expected = t == eos ? quire_grammar_matcher_can_end(m)
                                       : quire_grammar_matcher_check(m, &t, 1) == 1;
        if (allowed != expected)
            fail_msg("%s: token %d is %s", name, (int)t, allowed ? "allowed" : "excluded");
        if (allowed && t != eos && next_random(random) % ++n == 0)
            pick = t;
    }
    return pick;
}

static void walk(enum quire_grammar_kind kind, const char *text)
{
    struct quire_grammar_params p;
    struct quire_grammar *g = NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    uint32_t random = 5;
    quire_grammar_params_init(&p, sizeof p);
    p.kind = kind;
    p.text = text;
    if (quire_grammar_compile(vocab, &p, &g, &err) != QUIRE_OK)
        fail_msg("%s: %s", text, err.msg);
    for (int run = 0; run < RUNS; run++) {
        struct quire_grammar_matcher *m = NULL;
        assert_int_equal(quire_grammar_matcher_create(g, &m, NULL), QUIRE_OK);
        for (int step = 0; step < STEPS; step++) {
            const int32_t t = compare(m, text, &random);
            if (t < 0)
                break;
            assert_int_equal(quire_grammar_matcher_commit(m, &t, 1, NULL), QUIRE_OK);
        }
        quire_grammar_matcher_destroy(m);
    }
    quire_grammar_destroy(g);
}

static void strings(void **state)
{
    static const char *const schemas[] = {
        "{\"type\":\"string\"}",
        "{\"type\":\"string\",\"maxLength\":3}",
        "{\"type\":\"string\",\"maxLength\":14}",
        "{\"type\":\"string\",\"minLength\":5,\"maxLength\":40}",
        "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}",
        "{\"type\":\"string\",\"pattern\":\"^[a-z]{1,9}[0-9A-F]*$\"}",
        "{\"type\":\"string\",\"pattern\":\"^\\\\S+( \\\\S+)*$\",\"maxLength\":20}",
        "{\"type\":\"string\",\"pattern\":\"^[^,]*$\"}",
        "{\"type\":\"string\",\"pattern\":\"a.b|\\u4e2d\"}",
        "{\"type\":\"string\",\"format\":\"email\"}",
        "{\"type\":\"object\",\"properties\":{\"abc\":{\"const\":1},\"xa\":{\"const\":2},"
        "\"\\u00e9\":{\"const\":3}},\"minProperties\":1}",
        "{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"type\":\"null\"}},"
        "\"minProperties\":1}",
        "{\"not\":{\"enum\":[\"a\",\"ab\",\"\\u00e9\"]},\"type\":\"string\",\"maxLength\":2}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        walk(QUIRE_GRAMMAR_JSON_SCHEMA, schemas[i]);
}

static void texts(void **state)
{
    static const char *const regexes[] = {
        "[a-z ]*", "(.|\\n)*", "[^\\s\"]{0,30}!?", "(abc|xyz|[0-9]+\\.)*", "\\p{L}+", "([a-f]|z)*1",
    };
    (void)state;
    for (size_t i = 0; i < sizeof regexes / sizeof *regexes; i++)
        walk(QUIRE_GRAMMAR_REGEX, regexes[i]);
    walk(QUIRE_GRAMMAR_LARK, "start: (WORD | \"{\" start \"}\")+\nWORD: /[a-z]+/");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(strings), cmocka_unit_test(texts) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
