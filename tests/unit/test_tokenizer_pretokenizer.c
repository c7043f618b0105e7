/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_pretokenizer.c - pieces of each preset; recognized names and patterns. */
#include "test_tokenizer.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/segment.h"

struct pieces {
    char text[4096]; /* pieces, each followed by '|' */
    size_t total;
    struct quire_error err;
};

static quire_status collect(void *user, const uint8_t *s, size_t n)
{
    struct pieces *p = user;
    const size_t at = strlen(p->text);
    assert_true(n > 0 && at + n + 2 < sizeof p->text);
    memcpy(p->text + at, s, n);
    p->text[at + n] = '|';
    p->total += n;
    return QUIRE_OK;
}

static void check(const char *preset_name, const char *text, const char *want)
{
    const struct qr_pretokenizer_preset *preset =
        qr_pretokenizer_preset_find(preset_name, strlen(preset_name));
    assert_non_null(preset);
    struct qr_pretokenizer *p;
    struct pieces got = { .err = QUIRE_ERROR_INIT };
    assert_status(QUIRE_OK,
                  qr_pretokenizer_create(preset->splits, preset->n_splits, NULL, &p, &got.err));
    void *scratch = qr_pretokenizer_scratch_create(p);
    assert_status(QUIRE_OK, qr_pretokenizer_split(p, scratch, (const uint8_t *)text, strlen(text),
                                                  collect, &got, &got.err));
    assert_int_equal(got.total, strlen(text));
    if (strcmp(got.text, want) != 0)
        print_error("%s: \"%s\"\n", preset_name, text);
    assert_string_equal(got.text, want);
    qr_pretokenizer_scratch_destroy(scratch);
    qr_pretokenizer_destroy(p);
}

static void pieces(void **state)
{
    (void)state;
    static const char text[] = "I'VE been's  1234 to CamelCase\xC3\xA9!!\n\n  x/";
    check("gpt-2", text, "I|'|VE| been|'s| | 1234| to| CamelCase\xC3\xA9|!!|\n\n | x|/|");
    check("llama-bpe", text, "I|'VE| been|'s| | |123|4| to| CamelCase\xC3\xA9|!!\n\n| | x|/|");
    check("qwen2", text, "I|'VE| been|'s| | |1|2|3|4| to| CamelCase\xC3\xA9|!!\n\n| | x|/|");
    check("smollm", text, "I|'|VE| been|'s|  |1|2|3|4| to| CamelCase\xC3\xA9|!!|\n\n | x|/|");
    check("tekken", text, "I|'VE| been|'s| | |1|2|3|4| to| Camel|Case\xC3\xA9|!!\n\n| | x|/|");
    check("gpt-4o", text, "I'VE| been's| | |123|4| to| Camel|Case\xC3\xA9|!!\n\n| | x|/|");
    check("deepseek-coder", text,
          "I|'|VE| been|'|s|  |1|2|3|4| to| CamelCase\xC3\xA9|!!|\n|\n| | x|/|");
    check("deepseek-llm", text,
          "I|'|VE| been|'|s|  |1234| to| CamelCase|\xC3\xA9|!!|\n|\n| | x|/|");
    check("deepseek-v3", text, "I|'VE| been|'s|  |123|4| to| CamelCase\xC3\xA9|!!\n\n| | x|/|");
}

static void scripts(void **state)
{
    (void)state;
    /* U+180E is not white space in the reference tokenizers, U+3000 and U+0085 are */
    check("gpt-2", "a\xE1\xA0\x8E \xE3\x80\x80\xC2\x85z",
          "a|\xE1\xA0\x8E| \xE3\x80\x80|\xC2\x85|z|");
    /* U+017F case-folds to s */
    check("llama-bpe", "it'\xC5\xBF", "it|'\xC5\xBF|");
    /* letter, mark, letter: one piece for some presets only */
    /* ka, vowel sign aa, ma */
    static const char hindi[] = "\xE0\xA4\x95\xE0\xA4\xBE\xE0\xA4\xAE";
    check("llama-bpe", hindi, "\xE0\xA4\x95|\xE0\xA4\xBE\xE0\xA4\xAE|");
    check("tekken", hindi, "\xE0\xA4\x95\xE0\xA4\xBE\xE0\xA4\xAE|");
    check("qwen35", hindi, "\xE0\xA4\x95\xE0\xA4\xBE\xE0\xA4\xAE|");
    check("deepseek-coder",
          "a\xE4\xB8\xAD\xE6\x96\x87"
          "1",
          "a|\xE4\xB8\xAD\xE6\x96\x87|1|");
    check("deepseek-llm",
          "a\xE4\xB8\xAD\xE6\x96\x87"
          "1 \xE3\x80\x82",
          "a|\xE4\xB8\xAD\xE6\x96\x87|1| |\xE3\x80\x82|");
    check("deepseek-llm", "a   ", "a|   |");
    check("deepseek-v3", "\xE4\xB8\xAD\xE3\x81\x82x \xCE\xB1",
          "\xE4\xB8\xAD\xE3\x81\x82|x| \xCE\xB1|");
    check("gpt-2", "", "");
}

static void names(void **state)
{
    (void)state;
    static const char *const known[] = { "gpt-2",    "llama-bpe",      "llama3",
                                         "llama-v3", "qwen2",          "smollm",
                                         "tekken",   "deepseek-coder", "deepseek-llm" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_non_null(qr_pretokenizer_preset_find(known[i], strlen(known[i])));
    static const char *const unknown[] = { "default", "",      "gpt",       "gpt-2 ",
                                           " ",       "llama", "LLAMA-BPE", "gpt-2 phi-2" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(qr_pretokenizer_preset_find(unknown[i], strlen(unknown[i])));
    assert_true(qr_pretokenizer_preset_find("llama-bpe", 9)->ignore_merges &&
                qr_pretokenizer_preset_find("tekken", 6)->ignore_merges);
    assert_true(qr_pretokenizer_preset_find("qwen2", 5)->nfc &&
                !qr_pretokenizer_preset_find("gpt-2", 5)->nfc);
}

static int find(const char *regex) { return qr_split_pattern_find(regex, strlen(regex)); }

static void patterns(void **state)
{
    (void)state;
    assert_int_equal(find("[\r\n]"), QR_SPLIT_NEWLINE);
    assert_int_equal(find("[\\r\\n]"), QR_SPLIT_NEWLINE);
    assert_int_equal(find("\\s?\\p{L}+"), QR_SPLIT_SPACE_LETTERS);
    assert_int_equal(find("\\s?\\p{P}+"), QR_SPLIT_SPACE_PUNCT);
    assert_int_equal(find("\\p{N}{1,3}"), QR_SPLIT_DIGITS3);
    assert_int_equal(find("\\s+$"), QR_SPLIT_TRAILING_SPACE);
    assert_int_equal(find("[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"), QR_SPLIT_CJK);
    assert_int_equal(find("[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+"), QR_SPLIT_CJK_KANA);
    assert_int_equal(find("\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+"),
                     QR_SPLIT_ASCII_PUNCT);
    static const char *const unknown[] = { "",       "[",           "[\r\n",   "[\r\n]]",
                                           "(a+)+b", "\\p{N}{1,4}", "\\p{L}+", "\\",
                                           "\xFF",   "\\s?[" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(find(unknown[i]), -1);
}

/* Only runs longer than QR_MAX_RUN_BYTES end a segment. */
static void segments(void **state)
{
    (void)state;
    const size_t n = 300000;
    uint8_t *text = malloc(n);
    memset(text, 'a', n);
    assert_int_equal(qr_segment_end(text, 0, n), QR_MAX_RUN_BYTES);
    assert_int_equal(qr_segment_end(text, 5, n), 5 + QR_MAX_RUN_BYTES);
    assert_int_equal(qr_segment_end(text, n - 10, n), n);
    for (size_t i = 1000; i < n; i += 60000)
        text[i] = ' ';
    assert_int_equal(qr_segment_end(text, 0, n), n);
    for (size_t i = 0; i + 3 <= n; i += 3) /* never inside a character */
        memcpy(text + i, "\xE4\xB8\xAD", 3);
    assert_int_equal(qr_segment_end(text, 0, n), QR_MAX_RUN_BYTES / 3 * 3);
    for (size_t i = 0; i + 3 <= n; i += 3) /* marks extend a run of letters */
        memcpy(text + i, "a\xCC\x81", 3);
    assert_int_equal(qr_segment_end(text, 0, n), QR_MAX_RUN_BYTES / 3 * 3 + 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(pieces), cmocka_unit_test(scripts),
                                        cmocka_unit_test(names), cmocka_unit_test(patterns),
                                        cmocka_unit_test(segments) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
