/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_parts.c - parts of quire-chat that need no model: numbers, text, conversation files. */
#include "../../chat/conversation.c"
#include "../../chat/conversation_file.c"
#include "../../chat/json_text.c"
#include "../../chat/messages_json.c"
#include "../../chat/numbers.c"
#include "../../chat/option_table.c"
#include "../../chat/options.c"
#include "../../chat/path.c"
#include "../../chat/settings.c"
#include "../../chat/text.c"
#include "quire_cmocka.h"
#include "json/parse.h"
#include <glob.h>
#include <math.h>

static char last_message[1024];

void print_message(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(last_message, sizeof last_message, format, ap);
    va_end(ap);
}

static void test_integers(void **state)
{
    (void)state;
    int64_t v = 77;
    assert_true(parse_integer("0", -1, 9, &v) && v == 0);
    assert_true(parse_integer("-1", -1, 9, &v) && v == -1);
    assert_true(parse_integer("+9", -1, 9, &v) && v == 9);
    assert_true(parse_integer("9223372036854775807", 0, INT64_MAX, &v) && v == INT64_MAX);
    assert_true(parse_integer("-9223372036854775808", INT64_MIN, 0, &v) && v == INT64_MIN);
    v = 77;
    static const char *const bad[] = { "",
                                       "-",
                                       "+",
                                       "1.5",
                                       "1e3",
                                       "0x10",
                                       " 1",
                                       "1 ",
                                       "10k",
                                       "10",
                                       "-2",
                                       "nan",
                                       "9223372036854775808" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(parse_integer(bad[i], -1, 9, &v));
        assert_int_equal(v, 77);
    }
}

static void test_reals(void **state)
{
    (void)state;
    /* agrees with strtod() after rounding to float */
    static const char *const good[] = { "0",      "0.8",    "-1.25", "+.5",       "5.",
                                        "1e-3",   "1E+3",   "0.95",  "123456789", "0.00000001",
                                        "1e22",   "1e-22",  "0e9",   "0.0e99",    "1.17",
                                        "3.4e38", "1e-300", "007" };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double v = -99;
        assert_true(parse_real(good[i], &v));
        const double want = strtod(good[i], NULL);
        assert_true(fabs(v - want) <= 1e-14 * fabs(want));
        assert_true((float)v == (float)want);
    }
    static const char *const bad[] = {
        "",    ".",   "-",    "e5",   "1e",    "1e+",   "1,5",
        "nan", "inf", "1..2", "1 ",   "0x1p3", "1e999", "1e99999999999",
        "--1", "1f",  " 1",   "1e5.0"
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double v = -99;
        assert_false(parse_real(bad[i], &v));
        assert_true(v == -99);
    }
}

static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = { { "1", 1 },
                 { "65536", 65536 },
                 { "4G", 4ull << 30 },
                 { "512m", 512ull << 20 },
                 { "1.5GiB", 3ull << 29 },
                 { "2KB", 2048 },
                 { "1T", 1ull << 40 } };
    uint64_t v;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(parse_bytes(good[i].text, &v) && v == good[i].bytes);
    static const char *const bad[] = { "",    "0",   "-1",   "G",   "4Q",
                                       "4GG", "4 G", "1e30", "0.1", "9999999T" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(parse_bytes(bad[i], &v));
    char buf[24];
    assert_string_equal(format_bytes(1023, buf), "1023 B");
    assert_string_equal(format_bytes(3ull << 29, buf), "1.5 GiB");
}

static void expect_text(void (*add)(struct text *, const char *, size_t), const char *in, size_t n,
                        const char *want)
{
    struct text t = { 0 };
    add(&t, in, n);
    text_add(&t, "", 0);
    assert_string_equal(t.data, want);
    text_free(&t);
}

#define U "\xEF\xBF\xBD"
static void test_text(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t n;
        const char *repaired;
    } cases[] = {
        { "plain", 5, "plain" },
        { "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\xA6\x8A", 14,
          "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\xA6\x8A" },
        { "a\0b", 3, "a" U "b" },
        { "\xC3", 1, U },
        { "\xC0\xAF", 2, U U },             /* overlong */
        { "\xED\xA0\x80", 3, U U U },       /* surrogate */
        { "\xF4\x90\x80\x80", 4, U U U U }, /* above U+10FFFF */
        { "\xE2\x82", 2, U U },             /* truncated */
        { "\x80z\xFF", 3, U "z" U },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_text(text_add_repaired, cases[i].in, cases[i].n, cases[i].repaired);
    /* control characters are escaped */
    expect_text(text_add_escaped, "a\x1b[2J\r\n\t\x7f\xC2\x9B\xC2\xA9\0", 14,
                "a\\x1b[2J\\x0d\n\t\\x7f\\x9b\xC2\xA9\\x00");
    expect_text(text_add_json, "a\"b\\c\n\x01\x7f\xFF\xC2\x9B", 11,
                "\"a\\\"b\\\\c\\n\\u0001\\u007f" U "\\u009b\"");
    /* and round-trips */
    struct text t = { 0 };
    for (int c = 1; c < 128; c++)
        text_add(&t, &(char){ (char)c }, 1);
    struct text json = { 0 };
    text_add_json(&json, t.data, t.size);
    struct qr_json_error error;
    struct qr_json *back = qr_json_parse(json.data, json.size, 0, NULL, &error);
    assert_string_equal(qr_json_string(back), t.data);
    qr_json_free(back);
    text_free(&json);
    text_free(&t);
}

static struct settings some_settings(void)
{
    struct settings s = { .max_tokens = 12 };
    quire_sampling_params_init(&s.sampling, sizeof s.sampling);
    s.sampling.temperature = 0.7f;
    s.sampling.seed = 1234567890123;
    s.sampling.top_n_sigma = 1.5f;
    s.sampling.dry_allowed_length = 7;
    s.sampling.samplers[0] = QUIRE_SAMPLER_TOP_N_SIGMA;
    s.sampling.samplers[1] = QUIRE_SAMPLER_TEMPERATURE;
    assert_true(settings_add_stop(&s, "END"));
    return s;
}

static void test_save_and_load(void **state)
{
    (void)state;
    char path[] = "/tmp/quire_talk_XXXXXX", link[64], *text;
    close(mkstemp(path));
    struct conversation c = { 0 }, back = { 0 };
    struct settings s = some_settings(), loaded = { .max_tokens = -1 };
    quire_sampling_params_init(&loaded.sampling, sizeof loaded.sampling);
    assert_true(conversation_add(&c, "system", "Be brief.", 9));
    assert_true(conversation_add(&c, "user", "caf\xC3\xA9 \"quoted\"\n\x01 \xFF", 19));
    assert_true(conversation_add(&c, "assistant", "", 0));
    assert_int_equal(conversation_system_count(&c), 1);
    assert_true(conversation_save(path, &c, &s, "a \"model\""));
    assert_int_equal(conversation_load(path, &back, &loaded), 0);
    assert_int_equal(back.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(back.messages[i].role, c.messages[i].role);
        assert_string_equal(back.messages[i].content, c.messages[i].content);
    }
    assert_true(loaded.sampling.temperature == 0.7f && loaded.sampling.top_p == 0.95f);
    assert_int_equal(loaded.sampling.seed, 1234567890123);
    assert_true(loaded.sampling.top_n_sigma == 1.5f && loaded.sampling.dry_allowed_length == 7);
    assert_memory_equal(loaded.sampling.samplers, s.sampling.samplers, QUIRE_MAX_SAMPLERS);
    assert_int_equal(loaded.max_tokens, 12);
    assert_int_equal(loaded.n_stop, 1);
    assert_string_equal(loaded.stop[0], "END");

    /* floats are saved in their shortest form, and the temporary file is removed */
    size_t size;
    int code;
    text = read_file(path, &size, &code);
    assert_non_null(strstr(text, "\"temperature\": 0.7,"));
    free(text);
    glob_t found;
    snprintf(link, sizeof link, "%s.*", path);
    assert_int_equal(glob(link, 0, NULL, &found), GLOB_NOMATCH);
    /* private, also where it replaces another file */
    struct stat st;
    assert_int_equal(chmod(path, 0644), 0);
    assert_true(conversation_save(path, &c, &s, "m"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    assert_false(conversation_save("/nonexistent/folder/x", &c, &s, "m"));
    assert_non_null(strstr(last_message, "/nonexistent/folder/x"));
    assert_false(conversation_save("/tmp", &c, &s, "m"));
    conversation_free(&c);
    conversation_free(&back);
    settings_free(&s);
    settings_free(&loaded);
    unlink(path);
}

#define HEAD "{\"format\":\"quire-chat conversation\",\"version\":1,"
static void test_load_damaged(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[",
        "{",
        "{}",
        "{\"format\":\"quire-chat conversation\",\"version\":2,\"options\":{},\"messages\":[]}",
        "{\"format\":\"else\",\"version\":1,\"options\":{},\"messages\":[]}",
        HEAD "\"options\":{}}",
        HEAD "\"options\":{},\"messages\":{}}",
        HEAD "\"options\":{},\"messages\":[1]}",
        HEAD "\"options\":{},\"messages\":[{\"role\":\"user\"}]}",
        HEAD "\"options\":{},\"messages\":[{\"role\":\"\",\"content\":\"x\"}]}",
        HEAD "\"options\":{},\"messages\":[{\"role\":1,\"content\":\"x\"}]}",
        HEAD "\"options\":[],\"messages\":[]}",
        HEAD "\"options\":{\"temperature\":\"hot\"},\"messages\":[]}",
        HEAD "\"options\":{\"temperature\":-1},\"messages\":[]}",
        HEAD "\"options\":{\"temperature\":1e300},\"messages\":[]}",
        HEAD "\"options\":{\"top_k\":1.5},\"messages\":[]}",
        HEAD "\"options\":{\"top_k\":99999999999},\"messages\":[]}",
        HEAD "\"options\":{\"seed\":-5},\"messages\":[]}",
        HEAD "\"options\":{\"samplers\":\"warmth\"},\"messages\":[]}",
        HEAD "\"options\":{\"samplers\":1},\"messages\":[]}",
        HEAD "\"options\":{\"mirostat\":1},\"messages\":[]}",
        HEAD "\"options\":{\"stop\":[\"\"]},\"messages\":[]}",
        HEAD "\"options\":{\"stop\":[1]},\"messages\":[]}",
        HEAD "\"options\":{},\"options\":{},\"messages\":[]}",
        HEAD "\"options\":{},\"messages\":[{\"role\":\"user\",\"content\":\"\\u0000\"}]}",
    };
    char path[] = "/tmp/quire_talk_XXXXXX";
    close(mkstemp(path));
    struct conversation c = { 0 };
    struct settings s = some_settings();
    assert_true(conversation_add(&c, "user", "still here", 10));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(bad[i], f);
        fclose(f);
        last_message[0] = 0;
        if (conversation_load(path, &c, &s) != EX_DATAERR)
            fail_msg("loaded: %s", bad[i]);
        assert_non_null(strstr(last_message, path));
        assert_int_equal(c.n, 1);
        assert_string_equal(c.messages[0].content, "still here");
        assert_true(s.sampling.temperature == 0.7f && s.n_stop == 1);
    }
    assert_int_equal(conversation_load("/nonexistent", &c, &s), EX_NOINPUT);
    assert_int_equal(conversation_load("/tmp", &c, &s), EX_NOINPUT);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(conversation_load(path, &c, &s), EX_NOINPUT); /* without blocking */
    unlink(path);
    conversation_free(&c);
    settings_free(&s);
}

/* Only a regular file is replaced. */
static void test_path_obstacle(void **state)
{
    (void)state;
    char folder[] = "/tmp/quire_path_XXXXXX", path[64], link[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_null(path_obstacle(path));
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_null(path_obstacle(path));
    assert_string_equal(path_obstacle(folder), "it is not a regular file");
    assert_int_equal(symlink(path, link), 0);
    assert_string_equal(path_obstacle(link), "it is a symbolic link");
    unlink(path);
    assert_string_equal(path_obstacle(link), "it is a symbolic link");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_string_equal(path_obstacle(path), "it is not a regular file");
    unlink(link);
    unlink(path);
    rmdir(folder);
}

static void test_path_expansion(void **state)
{
    (void)state;
    static const char *const cases[][2] = { { "~", "/home/me" },    { "~/x", "/home/me/x" },
                                            { "~you/x", "~you/x" }, { "x~", "x~" },
                                            { "/a/~/b", "/a/~/b" }, { "", "" } };
    assert_int_equal(setenv("HOME", "/home/me", 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = { 0 };
        path_add_expanded(&t, cases[i][0]);
        assert_string_equal(t.data, cases[i][1]);
        text_free(&t);
    }
}

static void test_system_message(void **state)
{
    (void)state;
    struct conversation c = { 0 };
    assert_true(conversation_set_system(&c, NULL));
    assert_true(conversation_add(&c, "user", "Hi", 2));
    assert_true(conversation_set_system(&c, "one"));
    assert_true(conversation_set_system(&c, "two"));
    assert_int_equal(c.n, 2);
    assert_string_equal(c.messages[0].content, "two");
    assert_string_equal(c.messages[1].content, "Hi");
    assert_int_equal(conversation_next_turn(&c, 0), 1);
    assert_int_equal(conversation_last_turn(&c, c.n), 1);
    assert_int_equal(conversation_last_turn(&c, 1), 1); /* none */
    assert_true(conversation_set_system(&c, NULL));
    assert_int_equal(c.n, 1);
    assert_string_equal(c.messages[0].role, "user");
    conversation_free(&c);
}

/* The prompt of a conversation whose first turns were dropped. */
static void test_prompt(void **state)
{
    (void)state;
    struct conversation c = { 0 };
    static const char *const roles[] = { "system",    "assistant", "user",
                                         "assistant", "user",      "assistant" };
    for (size_t i = 0; i < 6; i++)
        assert_true(conversation_add(&c, roles[i], &"012345"[i], 1));
    struct quire_chat_message m[6];
    assert_int_equal(conversation_prompt(&c, 0, 6, m), 6);
    assert_int_equal(conversation_prompt(&c, 4, 6, m), 4);
    assert_string_equal(m[1].content, "1");
    assert_string_equal(m[2].content, "4");
    assert_int_equal(conversation_prompt(&c, 4, 5, m), 3);
    assert_true(conversation_ends_with_answer(&c));
    conversation_truncate(&c, 5);
    assert_false(conversation_ends_with_answer(&c));
    conversation_free(&c);
}

static void test_messages_of_the_library(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "kv_bytes: one block", "--kv-mem: one block" },
        { "top_p 1.5 must be in 0..1", "--top-p 1.5 must be in 0..1" },
        { "stop[2] is empty", "--stop[2] is empty" },
        { "top_pp is unknown", "top_pp is unknown" },
        { "the prompt is empty", "the prompt is empty" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text t = { 0 };
        options_add_message(&t, cases[i][0]);
        assert_string_equal(t.data, cases[i][1]);
        text_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_load_damaged),
        cmocka_unit_test(test_path_obstacle),
        cmocka_unit_test(test_path_expansion),
        cmocka_unit_test(test_system_message),
        cmocka_unit_test(test_prompt),
        cmocka_unit_test(test_messages_of_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
