/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_plamo_files.c - vocabularies of PLaMo as tokenizer.jsonl and in GGUF files. */
#include "test_plamo.h"
#include "test_tokenizer_folder.h"
#include <math.h>

/* tokenizer.jsonl with the special tokens, the bytes, and further lines. */
static void put_vocabulary(const char *more)
{
    static char text[1 << 14];
    size_t n = 0;
    for (int i = UNK; i <= OP; i++)
        n += (size_t)sprintf(text + n, "[\"%s\", 0.0, \"%s\"]\n", specials[i],
                             i == UNK   ? "UNKNOWN"
                             : i == BOS ? "CONTROL"
                                        : "NORMAL");
    for (int b = 0; b < 256; b++)
        n += (size_t)sprintf(text + n, "[\"<0x%02X>\", 0, \"BYTE\", 1, 2]\n", b);
    assert_true(n + strlen(more) < sizeof text);
    strcpy(text + n, more);
    put_file("tokenizer.jsonl", text);
}

#define ROLES "\"bos_token\":\"<|plamo:bos|>\",\"eos_token\":\"<|plamo:eos|>\""

static void lines(void **state)
{
    (void)state;
    /* scores are multiples of 1e-4, ties to even; lines may be blank */
    put_vocabulary(
        "\n[\"a\", -1.00005]\r\n \t\r\n[\"b\", -1]\n[\"ab\", -2.00004, \"NORMAL\"]\n"
        "[\"<|plamo:\", 0]\n[\"<|plamo:>\", 0]\n[\"<|plamo:|x\", 0]\n[\"<|plamo:|>\", 0]");
    put_config("{" ROLES ",\"add_bos_token\":true}");
    struct quire_tokenizer *t = open_path(folder);
    assert_ids(encode(t, "ab", QUIRE_ENCODE_ADD_BOS), BOS, PIECE + 2);
    assert_ids(encode(t, "<|plamo:pad|>", QUIRE_ENCODE_PARSE_SPECIAL), PAD);
    for (int32_t i = 0; i < 4; i++)
        assert_int_equal(quire_tokenizer_token_type(t, PIECE + 3 + i),
                         i < 3 ? QUIRE_TOKEN_NORMAL : QUIRE_TOKEN_CONTROL);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS) == EOS);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT) == OP);
    quire_tokenizer_close(t);
    put_vocabulary("[\"a\", -1]\n[\"aa\", -2.0001]\n[\" \", -1]\n[\"  a\", 0]\n");
    put_config("{" ROLES ",\"break_around_repeated_chars_threshold\":null,"
               "\"break_around_consecutive_spaces_threshold\":2}");
    t = open_path(folder);
    assert_ids(encode(t, "aa  a", 0), PIECE, PIECE, PIECE + 2, PIECE + 2, PIECE);
    quire_tokenizer_close(t);
}

static void bad_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } bad[] = {
        { "[\"a\", ]\n", "tokenizer.jsonl, line 262: " },
        { "[\"a\", -1]\n[\"b\", -1", "tokenizer.jsonl, line 263: " },
        { "[\"abcde\"]\n", "line 262 is not a list of a text, a score and a type" },
        { "[1, -1]\n", "line 262 is not a list" },
        { "[\"a\", \"-1\"]\n", "line 262 is not a list" },
        { "{\"a\": -1}\n", "line 262 is not a list" },
        { "[\"a\", -1, 7]\n", "line 262: the type is not a string" },
        { "[\"\", -1]\n", "token 261 is empty" },
        { "[\"a\", -1]\n[\"a\", -2]\n", "tokens 261 and 262 have the same text \"a\"" },
        { "[\"a\", -1000.1]\n", "beyond 1000" },
        { "[\"<0xZZ>\", 0, \"BYTE\"]\n", "byte token 261" },
    };
    put_config("{" ROLES "}");
    for (size_t i = 0; i < LEN(bad); i++) {
        put_vocabulary(bad[i].line);
        expect_error(QUIRE_E_FORMAT, bad[i].message);
    }
    put_file("tokenizer.jsonl", "\n[\"a\",0]x");
    expect_error(QUIRE_E_FORMAT, "line 2: ");
    put_file("tokenizer.jsonl", "[]");
    expect_error(QUIRE_E_FORMAT, "line 1 is not a list");
}

static void bad_breaks(void **state)
{
    (void)state;
    put_vocabulary("");
    static const char *const keys[] = { "break_around_repeated_chars_threshold",
                                        "break_around_consecutive_spaces_threshold" },
                             *const values[] = { "0", "-1", "\"2\"", "1.5" };
    for (size_t k = 0; k < LEN(keys); k++)
        for (size_t i = 0; i < LEN(values); i++) {
            char config[128];
            snprintf(config, sizeof config, "{\"%s\": %s}", keys[k], values[i]);
            put_config(config);
            expect_error(QUIRE_E_FORMAT, keys[k]);
        }
}

static void no_memory(void **state)
{
    (void)state;
    put_vocabulary("[\"a\", -1]\n");
    put_config("{" ROLES "}");
    fail_every_allocation(QUIRE_OK);
}

/* A GGUF file with the special tokens, the bytes, "a" and "aa", all of one score; score: NAN for
 * none. add_bos: 2: a number. bos: an id */
static quire_status open_image(float score, uint32_t add_bos, uint32_t bos,
                               struct quire_tokenizer **t, struct quire_error *err)
{
    enum { N = PIECE + 2 };
    const bool scored = !isnan(score);
    struct image m;
    put_head(&m, 3, 0, 4u + scored);
    put_kv_u32(&m, KEY("bos_token_id"), bos);
    put_kv_str(&m, KEY("model"), "plamo2");
    put_kv_array(&m, KEY("tokens"), QR_GGUF_STRING, N);
    for (int i = 0; i < N; i++) {
        char byte[8];
        snprintf(byte, sizeof byte, "<0x%02X>", (unsigned)(i - BYTE) & 0xFF);
        const char *text = i < BYTE ? specials[i] : i < PIECE ? byte : i == PIECE ? "a" : "aa";
        put_u64(&m, strlen(text));
        put(&m, text, strlen(text));
    }
    put_key(&m, KEY("add_bos_token"), add_bos == 2 ? QR_GGUF_U8 : QR_GGUF_BOOL);
    put_u8(&m, (uint8_t)add_bos);
    if (scored)
        put_kv_array(&m, KEY("scores"), QR_GGUF_F32, N);
    for (int i = 0; scored && i < N; i++)
        put(&m, &score, sizeof score);
    *err = (struct quire_error)QUIRE_ERROR_INIT;
    const quire_status s = qr_tokenizer_open_gguf_memory(m.data, m.size, NULL, t, err);
    drop(&m);
    return s;
}

static void gguf(void **state)
{
    (void)state;
    struct quire_tokenizer *t;
    struct quire_error err;
    assert_status(QUIRE_OK, open_image(-2, 0, BOS, &t, &err));
    assert_ids(encode(t, "aaab", QUIRE_ENCODE_ADD_BOS), PIECE + 1, PIECE, BYTE + 'b');
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_BOS) == BOS);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS) == EOS);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_UNK) == UNK);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_PAD) == PAD);
    quire_tokenizer_close(t);
    assert_status(QUIRE_OK, open_image(-2, 1, BOS, &t, &err));
    assert_ids(encode(t, "a", QUIRE_ENCODE_ADD_BOS), BOS, PIECE);
    quire_tokenizer_close(t);
    assert_status(QUIRE_E_FORMAT, open_image(NAN, 0, BOS, &t, &err));
    assert_non_null(strstr(err.msg, KEY("scores") " is missing"));
    assert_status(QUIRE_E_FORMAT, open_image(-1001, 0, BOS, &t, &err));
    assert_non_null(strstr(err.msg, "beyond 1000"));
    assert_status(QUIRE_E_FORMAT, open_image(-2, 0, PIECE + 2, &t, &err));
    assert_non_null(strstr(err.msg, KEY("bos_token_id")));
    assert_status(QUIRE_E_FORMAT, open_image(-2, 2, BOS, &t, &err));
    assert_non_null(strstr(err.msg, KEY("add_bos_token")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),     cmocka_unit_test(bad_lines), cmocka_unit_test(bad_breaks),
        cmocka_unit_test(no_memory), cmocka_unit_test(gguf),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
