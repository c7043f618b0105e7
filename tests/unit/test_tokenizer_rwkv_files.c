/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_rwkv_files.c - vocabularies of RWKV as rwkv_vocab_v20230424.txt: literals, token
 * 0, the roles of tokenizer_config.json, and lines that are refused. */
#include "test_tokenizer_folder.h"

#define LEN(array)  (sizeof(array) / sizeof *(array))
#define FILE_NAME   "rwkv_vocab_v20230424.txt"
#define END_OF_TEXT "<|rwkv_tokenizer_end_of_text|>"

enum { BYTE = 1, MORE = BYTE + 256 }; /* ids of byte 0 and of the tokens behind the bytes */

static char vocabulary[1 << 15];

/* The bytes, as str below 128, and further lines. */
static void put_vocabulary(const char *more)
{
    size_t n = 0;
    for (int b = 0; b < 256; b++)
        n += (size_t)sprintf(vocabulary + n, "%d %s'\\x%02x' 1\n", BYTE + b, b < 128 ? "" : "b", b);
    assert_true(n + strlen(more) < sizeof vocabulary);
    strcpy(vocabulary + n, more);
    put_file(FILE_NAME, vocabulary);
}

/* Stored text of a token; in GGUF files converters write the same. */
static void assert_text(const struct quire_tokenizer *t, int32_t id, const char *expected)
{
    size_t size;
    const char *text = quire_tokenizer_token_text(t, id, &size);
    assert_non_null(text);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(text, expected, size);
}

static void literals(void **state)
{
    (void)state;
    static const struct {
        const char *literal, *text; /* in the file, of the token */
        const char *input;
        size_t size;
    } tokens[] = {
        { "'ab'", "ab", "ab", 2 },
        { "\"it's\"", "it's", "it's", 4 },
        { "'say \"'", "say \"", "say \"", 5 },
        { "'\\'\"'", "\\'\"", "'\"", 2 },
        { "' \\t\\n\\r\\\\'", " \\t\\n\\r\\\\", " \t\n\r\\", 5 },
        { "'\\a\\b\\f\\v\\\"'", "\\x07\\x08\\x0c\\x0b\"", "\a\b\f\v\"", 5 },
        { "'\xC3\xA9 '", "\\xc3\\xa9 ", "\xC3\xA9 ", 3 },
        { "'\\xe9\\x7F'", "\\xc3\\xa9\\x7f", "\xC3\xA9\x7F", 3 },
        { "'\\u4e2D!'", "\\xe4\\xb8\\xad!", "\xE4\xB8\xAD!", 4 },
        { "'\\U0001F600.'", "\\xf0\\x9f\\x98\\x80.", "\xF0\x9F\x98\x80.", 5 },
        { "b'\\xe4\\xb8'", "\\xe4\\xb8", NULL, 2 }, /* a part of a character */
        { "b\"\\xC3'\"", "\\xc3'", NULL, 2 },
        { "'\\n\\n'", "\\n\\n", "\n\n", 2 },
    };
    char more[1024];
    size_t n = 0;
    for (size_t i = 0; i < LEN(tokens); i++)
        n += (size_t)sprintf(more + n, "%d %s %zu%s", MORE + (int)i, tokens[i].literal,
                             tokens[i].size, i % 2 ? "\r\n" : "\n");
    put_vocabulary(more);
    put_config("{}");
    struct quire_tokenizer *t = open_path(folder);
    assert_int_equal(quire_tokenizer_vocab_size(t), MORE + LEN(tokens));
    for (size_t i = 0; i < LEN(tokens); i++) {
        assert_text(t, MORE + (int32_t)i, tokens[i].text);
        if (tokens[i].input)
            assert_ids(encode(t, tokens[i].input, 0), MORE + (int32_t)i);
    }
    /* parts of characters: the longest token, then the byte that is left */
    assert_ids(encode(t, "\xE4\xB8\xAD", 0), MORE + 10, BYTE + 0xAD);
    assert_ids(encode(t, "abab it", 0), MORE, MORE, BYTE + ' ', BYTE + 'i', BYTE + 't');
    quire_tokenizer_close(t);
    /* the file by itself, and in memory */
    t = open_path(path_of(FILE_NAME));
    assert_ids(encode(t, "ab", 0), MORE);
    quire_tokenizer_close(t);
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, quire_tokenizer_open_memory(vocabulary, strlen(vocabulary), NULL, 0,
                                                        NULL, &t, &err));
    assert_ids(encode(t, "\n\n", 0), MORE + 12);
    quire_tokenizer_close(t);
}

static void roles(void **state)
{
    (void)state;
    put_vocabulary("257 '\\n\\n' 2\n258 '<|user|>' 8");
    put_config("{}");
    struct quire_tokenizer *t = open_path(folder);
    assert_text(t, 0, END_OF_TEXT);
    assert_int_equal(quire_tokenizer_token_type(t, 0), QUIRE_TOKEN_CONTROL);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS) == 0);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_BOS) == QUIRE_TOKEN_NONE);
    assert_true(quire_tokenizer_is_eog(t, 0));
    assert_false(quire_tokenizer_is_eog(t, 257));
    assert_ids(encode(t, END_OF_TEXT "a", QUIRE_ENCODE_PARSE_SPECIAL), 0, BYTE + 'a');
    assert_int_equal(encode(t, END_OF_TEXT, 0).n, strlen(END_OF_TEXT));
    quire_tokenizer_close(t);
    /* the end of a turn; token 0 still ends an answer */
    put_config("{\"bos_token\": \"<end>\", \"eos_token\": \"\\n\\n\", \"add_bos_token\": true,"
               "\"added_tokens_decoder\": {\"0\": {\"content\": \"<end>\"},"
               "\"257\": {\"content\": \"\\n\\n\"}, \"258\": {\"content\": \"<|user|>\"}}}");
    t = open_path(folder);
    assert_text(t, 0, "<end>");
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS) == 257);
    assert_true(quire_tokenizer_is_eog(t, 0) && quire_tokenizer_is_eog(t, 257));
    assert_ids(encode(t, "a", QUIRE_ENCODE_ADD_BOS), 0, BYTE + 'a');
    assert_ids(encode(t, "<end>", QUIRE_ENCODE_PARSE_SPECIAL), 0);
    quire_tokenizer_close(t);
    /* texts of token 0 have no escapes, those of the vocabulary have */
    put_config("{\"bos_token\": \"<\u00E9>\", \"eos_token\": \"\\\\n\\\\n\","
               "\"added_tokens_decoder\": {\"0\": {\"content\": \"<\u00E9>\"}}}");
    t = open_path(folder);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_BOS) == 0);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS) == 0);
    quire_tokenizer_close(t);
    static const struct {
        const char *config, *message;
        quire_status status;
    } bad[] = {
        { "{\"added_tokens_decoder\": {\"0\": {\"content\": \"\"}}}",
          "added_tokens_decoder[\"0\"] has no content", QUIRE_E_FORMAT },
        { "{\"added_tokens_decoder\": {\"0\": 7}}", "added_tokens_decoder[\"0\"] has no content",
          QUIRE_E_FORMAT },
        { "{\"added_tokens_decoder\": {\"300\": {\"content\": \"<x>\"}}}",
          "token \"300\" of added_tokens_decoder is not in the vocabulary", QUIRE_E_UNSUPPORTED },
        { "{\"added_tokens_decoder\": {\"66\": {\"content\": \"B\"}}}",
          "token \"66\" of added_tokens_decoder is not in the vocabulary", QUIRE_E_UNSUPPORTED },
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        put_config(bad[i].config);
        expect_error(bad[i].status, bad[i].message);
    }
}

static void bad_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } bad[] = {
        { "258 'a' 1", "line 257: the id is not the number of the line" },
        { "x57 'a' 1", "line 257: the id is not the number of the line" },
        { "257'ab' 2", "line 257: the id is not the number of the line" },
        { "1000000257 'a' 1", "line 257: the id is not the number of the line" },
        { "257 'abc\n", "line 257: the literal does not end" },
        { "257 'ab\\'\n", "line 257: the literal does not end" },
        { "257 ab' 2", "line 257: no literal of a str or of bytes" },
        { "257 b  2", "line 257: no literal of a str or of bytes" },
        { "0000257 ", "line 257: no literal of a str or of bytes" },
        { "00257 b", "line 257: no literal of a str or of bytes" },
        { "257 r'ab' 2", "line 257: no literal of a str or of bytes" },
        { "257 'a\\q' 2", "line 257: unknown escape" },
        { "257 'a\\", "line 257: unknown escape" },
        { "257 'a\\x4", "line 257: unknown escape" },
        { "257 'a\\x4' 2", "line 257: unknown escape" },
        { "257 '\\u00e' 2", "line 257: unknown escape" },
        { "257 '\\ud800' 3", "line 257: unknown escape" },
        { "257 '\\U00110000' 4", "line 257: unknown escape" },
        { "257 b'\\u00e9' 2", "line 257: unknown escape" },
        { "257 '\xC3' 1", "line 257: invalid UTF-8" },
        { "257 b'\xC3\xA9' 2", "line 257: bytes that are not ASCII" },
        { "257 'ab'", "line 257: no number of bytes at the end" },
        { "257 'ab'  2", "line 257: no number of bytes at the end" },
        { "257 'ab'2", "line 257: no number of bytes at the end" },
        { "257 'ab' ", "line 257: no number of bytes at the end" },
        { "257 'ab' 2 3", "line 257: no number of bytes at the end" },
        { "257 'ab' -2", "line 257: no number of bytes at the end" },
        { "257 'ab' 3", "line 257: 2 bytes, but the line says 3" },
        { "257 '' 0", "line 257: 0 bytes, but the line says 0" },
        { "257 'ab' 2\n\n", "line 258 is not an id, a literal and a number" },
        { "257 ''", "line 257 is not an id, a literal and a number" },
        { "257 'ab' 2\n258 \"ab\" 2", "tokens 257 and 258 have the same text" },
    };
    put_config("{}");
    for (size_t i = 0; i < LEN(bad); i++) {
        put_vocabulary(bad[i].line);
        expect_error(QUIRE_E_FORMAT, bad[i].message);
    }
    put_vocabulary("257 'a\\?' 2"); /* a NUL character behind the backslash */
    const size_t size = strlen(vocabulary);
    *strchr(vocabulary, '?') = 0;
    put_bytes(FILE_NAME, vocabulary, size);
    expect_error(QUIRE_E_FORMAT, "line 257: unknown escape");
    static char wide[2100];
    snprintf(wide, sizeof wide, "257 '%02050d' 2050", 0);
    put_vocabulary(wide);
    expect_error(QUIRE_E_LIMIT, "line 257 has 2061 bytes, at most 2048");
}

/* Texts of roles with escapes are found up to 64 bytes, others at any length. */
static void long_roles(void **state)
{
    (void)state;
    char more[400], config[400];
    snprintf(more, sizeof more, "257 '%063d\\n' 64\n258 '%064d\\n' 65\n259 '%070d' 70\n", 0, 0, 0);
    put_vocabulary(more);
    static const struct {
        int zeros;
        const char *end;
        int64_t id;
    } cases[] = { { 63, "\\n", 257 }, { 64, "\\n", QUIRE_TOKEN_NONE }, { 70, "", 259 } };
    for (size_t i = 0; i < LEN(cases); i++) {
        snprintf(config, sizeof config, "{\"bos_token\": \"%0*d%s\"}", cases[i].zeros, 0,
                 cases[i].end);
        put_config(config);
        struct quire_tokenizer *t = open_path(folder);
        assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_BOS) == cases[i].id);
        quire_tokenizer_close(t);
    }
}

/* Token 0 ends texts beside as many ids as a file may list. */
static void most_eos_ids(void **state)
{
    (void)state;
    char generation[400] = "{\"eos_token_id\":[257";
    put_vocabulary("257 'ab' 2\n");
    put_config("{\"added_tokens_decoder\": {\"0\": {\"content\": \"<end>\"}}}");
    for (int i = 1; i < QR_MAX_EOG; i++)
        strcat(generation, ",66");
    strcat(generation, "]}");
    put_file("generation_config.json", generation);
    struct quire_tokenizer *t = open_path(folder);
    assert_true(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS) == 257);
    assert_true(quire_tokenizer_is_eog(t, 257) && quire_tokenizer_is_eog(t, 66));
    assert_true(quire_tokenizer_is_eog(t, 0));
    quire_tokenizer_close(t);
    strcpy(strchr(generation, ']'), ",66]}");
    put_file("generation_config.json", generation);
    expect_error(QUIRE_E_LIMIT, "more than 32 ids in eos_token_id");
    assert_int_equal(unlink(path_of("generation_config.json")), 0);
}

/* With some number of long tokens the text of token 0 needs another chunk of the arena. */
static void no_memory(void **state)
{
    enum { TEXT = 1000, N_LONG = 16 };
    (void)state;
    static char config[TEXT + 100], more[N_LONG * (TEXT + 20)];
    snprintf(config, sizeof config, "{\"added_tokens_decoder\": {\"0\": {\"content\": \"%0*d\"}}}",
             TEXT, 0);
    put_config(config);
    for (int i = 0; i < N_LONG; i++) {
        snprintf(more + strlen(more), TEXT + 20, "%d '%0*d' %d\n", MORE + i, TEXT - 50, i,
                 TEXT - 50);
        put_vocabulary(more);
        fail_every_allocation(QUIRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals),   cmocka_unit_test(roles),        cmocka_unit_test(bad_lines),
        cmocka_unit_test(long_roles), cmocka_unit_test(most_eos_ids), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
