/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_output_edits.c - the answers of all formats with one change: a byte is missing or
 * another, the text ends early, a value is an unusual one. The deltas do not depend on the pieces,
 * and every call that begins ends. */
#include "chat_format/output/json_scan.h"
#include "quire_cmocka.h"
#include "test_chat_output.h"
#include "test_chat_output_answers.h"

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"get\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\"}}}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"now\"}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"put\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"v\":{\"type\":[\"number\",\"null\"]},\"s\":{\"enum\":[\"a\",1]}}}}}]";

static void check(const struct answer *a, const char *text, size_t size)
{
    for (int with_tools = 0; with_tools < 2; with_tools++) {
        struct quire_chat_output_params p;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct joined whole, bytes;
        quire_chat_output_params_init(&p, sizeof p);
        p.format = a->format;
        p.tools_json = with_tools ? tools : NULL;
        p.thinking = a->thinking ? QUIRE_THINKING_OPEN : QUIRE_THINKING_CLOSED;
        assert_status(QUIRE_OK, joined_run(&whole, &p, text, size, (struct pieces){ 0 }, &err));
        assert_status(QUIRE_OK, joined_run(&bytes, &p, text, size,
                                           (struct pieces){ .longest = 1, .seed = 1 }, &err));
        bool ended = true;
        for (uint32_t i = 0; i < whole.n_calls; i++)
            ended = ended && whole.calls[i].ended;
        if (!joined_same(&whole, &bytes) || !ended)
            fail_msg("%s: %.*s", a->format, (int)size, text);
        joined_free(&whole);
        joined_free(&bytes);
    }
}

/* Every byte is missing, or one of some that matter to parsers; or it is the first that is
 * missing. */
static void bytes(void **state)
{
    (void)state;
    static const char others[] = "\"{}[],:\\<>|'()=-0.en/ \n\x01\xc3x";
    enum { N_OTHERS = sizeof others - 1, TRIED = 4 };
    unsigned next = 0;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const struct answer *a = &answers[i];
        const size_t n = strlen(a->text);
        char *text = malloc(n + 1);
        for (size_t at = 0; at < n; at++) {
            check(a, a->text, at);
            memcpy(text, a->text, at);
            memcpy(text + at, a->text + at + 1, n - at);
            check(a, text, n - 1);
            memcpy(text, a->text, n + 1);
            for (int k = 0; k < TRIED; k++) {
                text[at] = others[next++ % N_OTHERS];
                check(a, text, n);
            }
        }
        free(text);
    }
}

/* Unusual values in place of a text and of a number. */
static void values(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } edits[] = {
        { "Rome", "\\u00e9" },
        { "Rome", "\\uD83D\\uDE00" },
        { "Rome", "\\ud83dx" },
        { "Rome", "\\ud83d\\u0041" },
        { "Rome", "\\udc00" },
        { "Rome", "\\u12g4" },
        { "Rome", "\\u0000" },
        { "Rome", "\\\\\\\"\\/\\b\\f\\n\\r\\t" },
        { "Rome", "\\\\u00e9\\\\ud83d\\\\ude00\\\\n" },
        { "Rome", "\\q" },
        { "Rome", "\\x41\\101\\N{DASH}\\U0001F600\\'" },
        { "Rome", "a\nb\tc\x01" },
        { "Rome", "\xf0\x9f\x98\x80\xff" },
        { "Rome", "'" },
        { "Rome", "\"" },
        { "Rome", "</parameter>" },
        { "Rome", "" },
        { "2", "-0.5e+10" },
        { "2", "1E-5" },
        { "2", "0" },
        { "2", "01" },
        { "2", "-" },
        { "2", "1." },
        { "2", "1e" },
        { "2", "1e+" },
        { "2", "+1" },
        { "2", ".5" },
        { "2", "1_000" },
        { "2", "0x1F" },
        { "2", "0b101" },
        { "2", "0o17" },
        { "2", "1j" },
        { "2", "[1,{\"a\":[],\"b\":{}},[[]]]" },
        { "2", "[1, 2, ]" },
        { "2", "(1, 2)" },
        { "2", "{'a': 'b', \"c\": None}" },
        { "2", "{1: 2}" },
        { "2", "{\"a\":}" },
        { "2", "{\"a\" 1}" },
        { "2", "{,}" },
        { "2", "[1}" },
        { "2", "true" },
        { "2", "True" },
        { "2", "None" },
        { "2", "nul" },
        { "2", "\"two\"" },
        { "2", "'t\\'wo'" },
        { "2", "\"a\" \"b\"" },
        { "2", "f\"x\"" },
        { "2", "get()" },
        { "2", " 2 " },
        { "city", "ci\\u0074y" },
        { "city", "" },
        { "city", "\\\"" },
        { "city", "arguments" },
        { "get", "g\\u0065t" },
        { "get", "other" },
        { "get", "" },
        { "get", "functions.get" },
        { "name", "nam" },
        { "arguments", "parameters" },
        { "arguments", "id" },
        { "parameter", "parametre" },
    };
    char text[8192];
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
            const char *at = strstr(answers[i].text, edits[k].from);
            if (!at)
                continue;
            const int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - answers[i].text),
                                   answers[i].text, edits[k].to, at + strlen(edits[k].from));
            check(&answers[i], text, (size_t)n);
        }
}

/* Every allocation fails. Text before the answer moves the growth of the buffers over the places
 * that append to them. */
static void allocations(void **state)
{
    (void)state;
    enum { STEP = 7, BEFORE = 64, LONGEST = 4096 };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t before = i % STEP; before < BEFORE; before += STEP)
            for (size_t n = 1;; n++) {
                char text[LONGEST];
                struct quire_chat_output_params p;
                struct quire_error err = QUIRE_ERROR_INIT;
                struct joined j;
                struct fail_alloc f;
                const int size =
                    snprintf(text, sizeof text, "%*s%s", (int)before, "", answers[i].text);
                fail_alloc_init(&f, n, false);
                quire_chat_output_params_init(&p, sizeof p);
                p.allocator = &f.hooks;
                p.format = answers[i].format;
                p.tools_json = n % 2 ? tools : NULL;
                p.thinking = answers[i].thinking ? QUIRE_THINKING_OPEN : QUIRE_THINKING_CLOSED;
                const quire_status s =
                    joined_run(&j, &p, text, (size_t)size,
                               (struct pieces){ .longest = before % 2 ? 3 : 0, .seed = 1 }, &err);
                joined_free(&j);
                assert_int_equal(f.live_count, 0);
                if (f.calls < n)
                    break;
                assert_int_equal(s, QUIRE_E_NOMEM);
                assert_non_null(strstr(err.msg, "memory"));
            }
}

static void scan(void **state)
{
    (void)state;
    static const char *const good[] = { "0",
                                        "-0",
                                        "10",
                                        "-1.5e+3",
                                        "1E-0",
                                        "\"\\u00Ef\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                        "[]",
                                        "{}",
                                        " [ 1 , { \"a\" : [ ] } ] ",
                                        "{\"a\":true,\"b\":false,\"c\":null}",
                                        "[0]",
                                        "[1.0,1e1]" },
                             *const bad[] = {
                                 "",      " ",         "-",       "01",       "1.",
                                 "1.x",   "1e",        "1e+",     "1e+x",     "+1",
                                 "1x",    "\"",        "\"\\",    "\"\\q\"",  "\"\\u12g4\"",
                                 "[",     "[1",        "[1,]",    "[,]",      "[1}",
                                 "{",     "{,}",       "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
                                 "{1:2}", "{\"a\" 1}", "{]",      "tru",      "trux",
                                 "nul",   "]",         "1 2",     "[] []",    "}"
                             };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!qr_json_scan_valid(good[i], strlen(good[i])))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (qr_json_scan_valid(bad[i], strlen(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    for (size_t n = QR_JSON_SCAN_DEPTH; n <= QR_JSON_SCAN_DEPTH + 1; n++) {
        char text[2 * (QR_JSON_SCAN_DEPTH + 1)];
        memset(text, '[', n);
        memset(text + n, ']', n);
        assert_int_equal(qr_json_scan_valid(text, 2 * n), n == QR_JSON_SCAN_DEPTH);
    }
    struct qr_json_scan complete = { 0 };
    assert_int_equal(qr_json_scan_byte(&complete, '['), QR_JSON_SCAN_MORE);
    assert_int_equal(qr_json_scan_byte(&complete, ']'), QR_JSON_SCAN_END);
    assert_int_equal(qr_json_scan_byte(&complete, ' '), QR_JSON_SCAN_MORE);
    assert_int_equal(qr_json_scan_byte(&complete, ']'), QR_JSON_SCAN_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan),
        cmocka_unit_test(allocations),
        cmocka_unit_test(values),
        cmocka_unit_test(bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
