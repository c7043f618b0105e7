/* SPDX-License-Identifier: Apache-2.0 */
/* test_grammar_regex_syntax.c - the dialect of regular expressions: texts that match, texts that do
 * not, and what is refused. */
#include "grammar/regex/regex_syntax.h"
#include "grammar_texts.h"
#include "quire_cmocka.h"

struct regex_case {
    const char *pattern;
    uint32_t flags;
    const char *match[8], *differ[8];
};

static const struct regex_case cases[] = {
    { "a(b|c)*d?", 0, { "a", "abcb", "acd" }, { "", "abx", "add" } },
    { "[a-c\\d_-]{2,3}", 0, { "a1", "_-c" }, { "a", "abcd", "d1" } },
    { "[^a]", 0, { "b", "\xC3\xA9", "\n" }, { "a", "bb", "\xC3" } },
    { ".\\s\\S", 0, { "a b", "\xF0\x9F\x98\x80\xE2\x80\xA8x" }, { "\n b", "a  " } },
    { "\\x41\\u00e9\\u{1F600}\\uD83D\\uDE00\\cA\\t",
      0,
      { "A\xC3\xA9\xF0\x9F\x98\x80\xF0\x9F\x98\x80\x01\t" },
      { "A" } },
    { "\\p{Lu}\\p{Nd}\\P{L}",
      0,
      { "\xC3\x89"
        "1-",
        "A\xD9\xA1 " },
      { "a1-", "A1b" } },
    { "(?:x)(?<n>y)z+?", 0, { "xyz", "xyzz" }, { "xy" } },
    { "{a}]", 0, { "{a}]" }, { "a" } },
    { "b", QR_REGEX_SEARCH, { "b", "abc", "\nb" }, { "", "a" } },
    { "^a|c$|^$", QR_REGEX_SEARCH, { "ab", "bc", "" }, { "ba", "cb" } },
    { "(^a|b)c", QR_REGEX_SEARCH, { "ac", "bc", "xbc" }, { "xac", "c" } },
    { "^(?!ab)[a-c]+$", QR_REGEX_SEARCH, { "ba", "ac" }, { "ab", "abc", "" } },
    { "(?=.*1)(?=.*a).{3}", 0, { "1xa", "aa1" }, { "111", "a1", "aaaa" } },
    { "x(?!y)", QR_REGEX_SEARCH, { "x", "xyx", "xz" }, { "xy", "y" } },
    { "a\\b", QR_REGEX_SEARCH, { "a", "a-b", "ba" }, { "ab", "b" } },
    { "^\\bfoo\\B.", QR_REGEX_SEARCH, { "foox" }, { "foo-", "xfoox" } },
    { "[a-c]+\\b-?d", 0, { "a-d" }, { "ad" } },
    { "a$b", 0, { NULL }, { "ab", "a" } },
    { "\"\\\\\\n", QR_REGEX_JSON_STRING, { "\\\"\\\\\\n" }, { "\"\\\n" } },
    { "(a{0,100}){50}b", 0, { "b", "aaab" }, { "a" } },
};

static void matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct regex_case *c = &cases[i];
        struct text_grammar g;
        qr_regex r;
        (void)text_grammar_begin(&g, 0, 1);
        if (qr_regex_parse(g.set, c->pattern, strlen(c->pattern), c->flags, 1e30, &r, &g.err) !=
            QUIRE_OK)
            fail_msg("%s: %s", c->pattern, g.err.msg);
        for (int match = 0; match < 2; match++) {
            const char *const *texts = match ? c->match : c->differ;
            for (size_t k = 0; k < 8 && texts[k]; k++) {
                qr_regex rest = r;
                for (const char *p = texts[k]; *p; p++)
                    rest = qr_regex_derivative(g.set, rest, (uint8_t)*p);
                if (qr_regex_nullable(g.set, rest) != match)
                    fail_msg("%s: %s", c->pattern, texts[k]);
            }
        }
        text_grammar_free(&g);
    }
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *error;
        quire_status status;
    } bad[] = {
        { "a(b", "offset 3: group without )", QUIRE_E_INVALID_ARG },
        { "a)", "offset 1: )", QUIRE_E_INVALID_ARG },
        { "[a", "class without ]", QUIRE_E_INVALID_ARG },
        { "[b-a]", "out of order", QUIRE_E_INVALID_ARG },
        { "*a", "offset 0: nothing", QUIRE_E_INVALID_ARG },
        { "a{3,2}", "out of order", QUIRE_E_INVALID_ARG },
        { "a{,2}", "dialects", QUIRE_E_UNSUPPORTED },
        { "a**", "possessive", QUIRE_E_UNSUPPORTED },
        { "\\", "backslash", QUIRE_E_INVALID_ARG },
        { "\\y", "unknown escape", QUIRE_E_INVALID_ARG },
        { "\\u12", "four hexadecimal", QUIRE_E_INVALID_ARG },
        { "\\u{110000}", "code point", QUIRE_E_INVALID_ARG },
        { "(a)\\1", "back reference", QUIRE_E_UNSUPPORTED },
        { "(?<=a)b", "look-behind", QUIRE_E_UNSUPPORTED },
        { "(?i)a", "flags", QUIRE_E_UNSUPPORTED },
        { "\\p{Script=Greek}", "general category", QUIRE_E_UNSUPPORTED },
        { "(a(?!b))*", "repetition of an assertion", QUIRE_E_UNSUPPORTED },
        { "a?^b", "behind what may be empty", QUIRE_E_UNSUPPORTED },
        { "a*\\b", "behind what may be empty", QUIRE_E_UNSUPPORTED },
        { "a{999999999}", "too many", QUIRE_E_LIMIT },
        { "\xFF", "invalid UTF-8", QUIRE_E_INVALID_ARG },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct text_grammar g;
        qr_regex r;
        (void)text_grammar_begin(&g, 0, 1);
        const quire_status status =
            qr_regex_parse(g.set, bad[i].pattern, strlen(bad[i].pattern), 0, 1e30, &r, &g.err);
        if (status != bad[i].status || !strstr(g.err.msg, bad[i].error) || r != QR_REGEX_NONE)
            fail_msg("%s: %d %s", bad[i].pattern, status, g.err.msg);
        text_grammar_free(&g);
    }
    char deep[200];
    memset(deep, '(', sizeof deep);
    struct text_grammar g;
    qr_regex r;
    (void)text_grammar_begin(&g, 0, 1);
    assert_int_equal(qr_regex_parse(g.set, deep, sizeof deep, 0, 1e30, &r, &g.err), QUIRE_E_LIMIT);
    text_grammar_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(matches), cmocka_unit_test(refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
