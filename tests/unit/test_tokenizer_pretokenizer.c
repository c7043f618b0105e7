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

static quire_status count_piece(void *user, const uint8_t *s, size_t n)
{
    (void)s;
    assert_true(n > 0 && n <= 3);
    ++*(size_t *)user;
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

/* The same text with the pre-tokenizers of other published models. */
static void more_pieces(void **state)
{
    (void)state;
#define E "\xC3\xA9"
    static const char text[] = "I'VE been's  1234 to CamelCase" E "!!\n\n  x/";
    static const struct {
        const char *name, *want;
    } cases[] = {
        { "falcon", "I|'|VE| been|'|s| | |123|4| to| CamelCase" E "|!!|\n\n | x|/|" },
        { "bloom", "I'VE| been's| | 1234| to| CamelCase" E "|!!\n\n | x/|" },
        { "viking", "I'VE| been's| | |1|2|3|4| to| CamelCase" E "|!!\n\n | x/|" },
        { "chameleon", "I|'|VE| been|'|s|  |1|2|3|4| to| CamelCase" E "|!|!|\n|\n|  |x|/|" },
        { "superbpe", "I'VE been's  |1|234| to CamelCase" E "!!\n\n  x/|" },
        { "afmoe", "I|'VE| been|'s|  |1|234| to| CamelCase" E "|!!\n\n| | x|/|" },
        { "youtu", "I'VE| been's| | |1|2|3|4| to| Camel|Case" E "|!!\n\n| | x|/|" },
        { "laguna", "I|'VE| been|'s| | |1|2|3|4| to| CamelCase" E "|!!|\n\n| | x|/|" },
        { "minicpm5", "I|'VE| been|'s|  |123|4| to| CamelCase" E "|!!\n\n| | x|/|" },
        { "kimi-k2", "I'VE| been's| | |123|4| to| Camel|Case" E "|!!\n\n| | x|/|" },
        { "bailingmoe", "I|'VE| been|'s| | |1|2|3|4| to| CamelCase" E "|!!\n\n| | x|/|" },
        { "seed-coder", "I|'VE| been|'s| | |1|2|3|4| to| CamelCase" E "|!!|\n\n| | x|/|" },
        { "exaone-moe", "I|'VE| been|'s| | |1|2|3|4| to CamelCase" E "|!!\n|\n| | x|/|" },
        { "jais-2", "I|'VE| been|'s| | |123|4| to| CamelCase" E "|!!\n\n| | x|/|" },
        { "ufakzeka", "I|'VE| been|'s| | |1|2|3|4| to| CamelCase" E "|!!\n\n| | x|/|" },
        { "tiny_aya", "I'VE| been's|  |1|234| to| Camel|Case" E "|!!\n\n| | x|/|" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i].name, text, cases[i].want);
    check("falcon", "a+b<=$5 12 123456 ...", "a|+|b|<=$|5| 12| |123|456| |...|");
    check("bloom", "(a|b), c.d\xE3\x80\x82", "(|a|||b|),| c|.|d|\xE3\x80\x82|");
    check("ufakzeka", "it'llx'", "it|'llx|'|");
    check("qwen2", "it'llx'", "it|'ll|x|'|");
    check("bailingmoe", "a\n\nb I'Dx", "a|\n\n|b| I|'D|x|");
    check("jais-2", "a           b", "a|        |  | b|");
    check("chameleon", "<sentinel:12>IMGIMGABZ\t     x",
          "<|sentinel|:|1|2|>|IMGIMGABZ|\t|    | x|");
    /* groups of three digits from the right; tiny_aya only where a word ends behind them */
    check("tiny_aya", "1 12 123 1234 123456 1234567.",
          "1| |12| |123| |1|234| |123|456| |1|234|567|.|");
    check("tiny_aya", "12345ab 12345_", "123|45|ab| |123|45|_|");
    check("afmoe", "12345ab 123456", "12|345|ab| |123|456|");
    /* Han and kana, Hangul, bopomofo: U+4E2D, U+3042, U+AC00, U+3105 */
#define HAN "\xE4\xB8\xAD"
    check("kimi-k2", "a" HAN HAN "b1", "a|" HAN HAN "|b|1|");
    check("youtu", "a" HAN "\xE3\x81\x82\xEA\xB0\x80\xE3\x84\x85",
          "a|" HAN "\xE3\x81\x82|\xEA\xB0\x80|\xE3\x84\x85|");
    check("afmoe", "a" HAN "\xE0\xB9\x80x", "a|" HAN "\xE0\xB9\x80|x|");
}

/* The search for groups of digits is linear in the length of a run. */
static void long_runs_of_digits(void **state)
{
    (void)state;
    static const char *const names[] = { "tiny_aya", "afmoe", "superbpe", "falcon" };
    const size_t n = 60001;
    char *text = malloc(n);
    memset(text, '7', n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct qr_pretokenizer_preset *preset =
            qr_pretokenizer_preset_find(names[i], strlen(names[i]));
        struct qr_pretokenizer *p;
        struct quire_error err = QUIRE_ERROR_INIT;
        size_t count = 0;
        assert_status(QUIRE_OK,
                      qr_pretokenizer_create(preset->splits, preset->n_splits, NULL, &p, &err));
        void *scratch = qr_pretokenizer_scratch_create(p);
        assert_status(QUIRE_OK, qr_pretokenizer_split(p, scratch, (const uint8_t *)text, n,
                                                      count_piece, &count, &err));
        assert_int_equal(count, (n + 2) / 3);
        qr_pretokenizer_scratch_destroy(scratch);
        qr_pretokenizer_destroy(p);
    }
    free(text);
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
    static const char *const known[] = { "llama3",
                                         "llama-v3",
                                         "llama-bpe",
                                         "falcon3",
                                         "falcon-h1",
                                         "pixtral",
                                         "midm-2.0",
                                         "lfm2",
                                         "jina-v5-nano",
                                         "deepseek-llm",
                                         "deepseek-coder",
                                         "deepseek-v3",
                                         "hunyuan-dense",
                                         "joyai-llm",
                                         "hy_v4",
                                         "youtu",
                                         "falcon",
                                         "mpt",
                                         "starcoder",
                                         "gpt-2",
                                         "phi-2",
                                         "jina-es",
                                         "jina-de",
                                         "gigachat",
                                         "jina-v2-es",
                                         "jina-v2-de",
                                         "a.x-4.0",
                                         "mellum",
                                         "modern-bert",
                                         "jais-2",
                                         "jina-v1-en",
                                         "jina-v2-code",
                                         "roberta-bpe",
                                         "refact",
                                         "command-r",
                                         "qwen2",
                                         "deepseek-r1-qwen",
                                         "kormo",
                                         "f2llmv2",
                                         "qwen35",
                                         "stablelm2",
                                         "olmo",
                                         "dbrx",
                                         "smaug-bpe",
                                         "poro-chat",
                                         "glm4",
                                         "chatglm-bpe",
                                         "viking",
                                         "jais",
                                         "tekken",
                                         "smollm",
                                         "codeshell",
                                         "bloom",
                                         "gpt3-finnish",
                                         "exaone",
                                         "exaone4",
                                         "exaone-moe",
                                         "chameleon",
                                         "minerva-7b",
                                         "megrez",
                                         "gpt-4o",
                                         "llama4",
                                         "kanana2",
                                         "talkie",
                                         "granite-embed-multi-97m",
                                         "tiny_aya",
                                         "cohere2moe",
                                         "superbpe",
                                         "trillion",
                                         "granite-docling",
                                         "bailingmoe",
                                         "bailingmoe2",
                                         "llada-moe",
                                         "seed-coder",
                                         "hunyuan",
                                         "kimi-k2",
                                         "ufakzeka",
                                         "grok-2",
                                         "afmoe",
                                         "laguna",
                                         "minimax-m2",
                                         "solar-open",
                                         "mellum2",
                                         "minicpm5" };
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
    static const char digits[] = "\u0665\u2167\u00b2"; /* with ASCII digits one class */
    memset(text, '5', n);
    for (size_t i = 0; i + 7 <= n; i += 8)
        memcpy(text + i, digits, 7);
    assert_int_equal(qr_segment_end(text, 0, n), QR_MAX_RUN_BYTES);
    for (size_t i = 7; i < n; i += 8)
        text[i] = 'a';
    assert_int_equal(qr_segment_end(text, 0, n), n);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(pieces),
                                        cmocka_unit_test(more_pieces),
                                        cmocka_unit_test(long_runs_of_digits),
                                        cmocka_unit_test(scripts),
                                        cmocka_unit_test(names),
                                        cmocka_unit_test(patterns),
                                        cmocka_unit_test(segments) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
