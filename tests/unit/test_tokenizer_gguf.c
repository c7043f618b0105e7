/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_gguf.c - every key of GGUF files that tokenizers read: wrong types, wrong values,
 * missing. */
#include "test_gguf_vocab.h"

/* The message contains the key. */
static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const struct entry *base;
        struct entry entry;
        quire_status status;
        const char *message;
    } cases[] = {
        { gpt2, { KEY("model"), NO_KEY, NULL, 0 }, QUIRE_E_FORMAT, "model is missing" },
        { gpt2, { KEY("model"), QR_GGUF_U32, NULL, 1 }, QUIRE_E_FORMAT, "model has type u32" },
        { gpt2, { KEY("model"), QR_GGUF_STRING, "t5", 0 }, QUIRE_E_FORMAT, "scores is missing" },
        { gpt2, { KEY("pre"), NO_KEY, NULL, 0 }, QUIRE_E_UNSUPPORTED, "pre is missing" },
        { gpt2, { KEY("pre"), QR_GGUF_U32, NULL, 1 }, QUIRE_E_FORMAT, "pre has type u32" },
        { gpt2,
          { KEY("pre"), QR_GGUF_STRING, "x", 0 },
          QUIRE_E_UNSUPPORTED,
          "unknown pre-tokenizer \"x\"" },
        { gpt2, { KEY("tokens"), NO_KEY, NULL, 0 }, QUIRE_E_FORMAT, "tokens is missing" },
        { gpt2, { KEY("tokens"), INTS, "1|1|1|1|1", 1 }, QUIRE_E_FORMAT, "array of strings" },
        { gpt2, { KEY("tokens"), STRINGS, "a|b||ab|c", 0 }, QUIRE_E_FORMAT, "token 2 is empty" },
        { gpt2,
          { KEY("token_type"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "token_type has type u32" },
        { gpt2, { KEY("token_type"), INTS, "1|1", 1 }, QUIRE_E_FORMAT, "2 entries for 5 tokens" },
        { gpt2, { KEY("token_type"), FLOATS, "1|1|1|1|1", 1 }, QUIRE_E_FORMAT, "integers" },
        { gpt2, { KEY("token_type"), INTS, "1|1|1|1|1", -1 }, QUIRE_E_FORMAT, "[0] = -1" },
        { gpt2, { KEY("token_type"), INTS, "1|1|1|1|1", 7 }, QUIRE_E_FORMAT, "[0] = 7" },
        { gpt2, { KEY("merges"), NO_KEY, NULL, 0 }, QUIRE_E_FORMAT, "merges is missing" },
        { gpt2, { KEY("merges"), INTS, "1", 1 }, QUIRE_E_FORMAT, "merges is not an array" },
        { gpt2,
          { KEY("bos_token_id"), QR_GGUF_STRING, "1", 0 },
          QUIRE_E_FORMAT,
          "bos_token_id has type string" },
        { gpt2,
          { KEY("eos_token_id"), QR_GGUF_I32, NULL, -1 },
          QUIRE_E_FORMAT,
          "eos_token_id = -1 is outside the vocabulary of 5" },
        { gpt2, { KEY("eot_token_id"), QR_GGUF_U32, NULL, 5 }, QUIRE_E_FORMAT, "eot_token_id = 5" },
        { gpt2,
          { KEY("add_bos_token"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "add_bos_token has type u32" },
        { gpt2,
          { KEY("add_eos_token"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "add_eos_token has type u32" },
        { gpt2,
          { KEY("add_sep_token"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "add_sep_token has type u32" },
        { gpt2,
          { KEY("normalizer.lowercase"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "normalizer.lowercase has type u32" },
        { llama,
          { KEY("normalizer.lowercase"), QR_GGUF_BOOL, NULL, 1 },
          QUIRE_E_UNSUPPORTED,
          "normalizer.lowercase is supported for WordPiece only" },
        { t5,
          { KEY("normalizer.strip_accents"), QR_GGUF_BOOL, NULL, 1 },
          QUIRE_E_UNSUPPORTED,
          "normalizer.strip_accents is supported" },
        { bert,
          { KEY("normalizer.lowercase"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "normalizer.lowercase has type u32" },
        { bert,
          { KEY("normalizer.strip_accents"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "normalizer.strip_accents has type u32" },
        { gpt2,
          { "tokenizer.chat_template", QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "tokenizer.chat_template has type u32" },
        { gpt2,
          { "tokenizer.chat_template.x", QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "tokenizer.chat_template.x has type u32" },
        { llama, { KEY("scores"), NO_KEY, NULL, 0 }, QUIRE_E_FORMAT, "scores is missing" },
        { llama,
          { KEY("scores"), INTS, "1|1|1|1|1|1|1|1|1", 1 },
          QUIRE_E_FORMAT,
          "scores is not an array of numbers" },
        { llama,
          { KEY("precompiled_charsmap"), STRINGS, "x", 0 },
          QUIRE_E_UNSUPPORTED,
          "precompiled_charsmap" },
        { llama,
          { KEY("unknown_token_id"), QR_GGUF_U32, NULL, 99 },
          QUIRE_E_FORMAT,
          "unknown_token_id = 99" },
        { llama,
          { KEY("add_space_prefix"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "add_space_prefix has type u32" },
        { llama,
          { KEY("remove_extra_whitespaces"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "remove_extra_whitespaces has type u32" },
        { llama,
          { "general.architecture", QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "general.architecture has type u32" },
        { gemma4, { KEY("tokens"), INTS, "1", 1 }, QUIRE_E_FORMAT, "array of strings" },
        { gemma4, { KEY("merges"), NO_KEY, NULL, 0 }, QUIRE_E_FORMAT, "merges is missing" },
        { gemma4, { KEY("merges"), STRINGS, "a c", 0 }, QUIRE_E_FORMAT, "merge 0 \"a c\"" },
        { gemma4,
          { KEY("bos_token_id"), QR_GGUF_U32, NULL, 99 },
          QUIRE_E_FORMAT,
          "bos_token_id = 99" },
        { gemma4,
          { KEY("add_space_prefix"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "add_space_prefix has type u32" },
        { t5,
          { KEY("precompiled_charsmap"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "precompiled_charsmap has type u32" },
        { t5,
          { KEY("precompiled_charsmap"), INTS, "1", 1 },
          QUIRE_E_FORMAT,
          "precompiled_charsmap is not an array of bytes" },
        { t5,
          { KEY("add_bos_token"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "add_bos_token has type u32" },
        { t5,
          { "general.architecture", QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "general.architecture has type u32" },
        { t5,
          { KEY("add_space_prefix"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "add_space_prefix has type u32" },
        { t5,
          { KEY("remove_extra_whitespaces"), QR_GGUF_U32, NULL, 1 },
          QUIRE_E_FORMAT,
          "remove_extra_whitespaces has type u32" },
        { bert, { KEY("tokens"), INTS, "1", 1 }, QUIRE_E_FORMAT, "array of strings" },
        { bert,
          { KEY("tokens"), STRINGS, "[CLS]|a", 0 },
          QUIRE_E_FORMAT,
          "unknown_token_id is missing" },
        { bert,
          { KEY("cls_token_id"), QR_GGUF_U32, NULL, 99 },
          QUIRE_E_FORMAT,
          "cls_token_id = 99" },
    };
    for (size_t i = 0; i < LEN(cases); i++) {
        struct quire_tokenizer *t;
        struct quire_error err;
        const quire_status s = open_vocab(cases[i].base, &cases[i].entry, 1, &t, &err);
        if (s != cases[i].status || !strstr(err.msg, cases[i].message))
            print_error("%s: got %s \"%s\", expected \"%s\"\n", cases[i].entry.key,
                        quire_status_name(s), err.msg, cases[i].message);
        assert_int_equal(s, cases[i].status);
        assert_non_null(strstr(err.msg, cases[i].message));
        assert_null(t);
    }
}

static void test_templates(void **state)
{
    (void)state;
    char names[17][64];
    struct entry extra[17];
    struct quire_tokenizer *t;
    struct quire_error err;
    for (int i = 0; i < 17; i++) {
        snprintf(names[i], sizeof names[i], "tokenizer.chat_template.t%d", i);
        extra[i] = (struct entry){ names[i], QR_GGUF_STRING, "{{ 1 }}", 0 };
    }
    assert_status(QUIRE_OK, open_vocab(gpt2, extra, 16, &t, &err));
    assert_string_equal(quire_tokenizer_chat_template(t, "t15"), "{{ 1 }}");
    assert_null(quire_tokenizer_chat_template(t, "t16"));
    quire_tokenizer_close(t);
    assert_status(QUIRE_E_LIMIT, open_vocab(gpt2, extra, 17, &t, &err));
    assert_string_equal(err.msg, "more than 16 chat templates");
    /* a key without a name, and one that is too long, are no templates */
    char longest[160] = "tokenizer.chat_template.";
    memset(longest + strlen(longest), 'x', 120);
    const struct entry none[] = { { "tokenizer.chat_template.", QR_GGUF_STRING, "x", 0 },
                                  { longest, QR_GGUF_STRING, "x", 0 } };
    assert_status(QUIRE_OK, open_vocab(gpt2, none, 2, &t, &err));
    assert_null(quire_tokenizer_chat_template(t, ""));
    quire_tokenizer_close(t);
    const struct entry empty[] = { { "tokenizer.chat_template", QR_GGUF_STRING, "", 0 } };
    assert_status(QUIRE_OK, open_vocab(gpt2, empty, 1, &t, &err));
    assert_string_equal(quire_tokenizer_chat_template(t, NULL), "");
    quire_tokenizer_close(t);
    struct image m; /* a string with a NUL character */
    put_head(&m, 3, 0, 6);
    for (size_t i = 0; gpt2[i].key; i++)
        put_entry(&m, &gpt2[i]);
    put_key(&m, "tokenizer.chat_template", QR_GGUF_STRING);
    put_u64(&m, 3);
    put(&m, "a\0b", 3);
    assert_status(QUIRE_E_FORMAT, qr_tokenizer_open_gguf_memory(m.data, m.size, NULL, &t, &err));
    assert_string_equal(err.msg, "tokenizer.chat_template contains a NUL character");
    drop(&m);
}

/* More tokens than any vocabulary has. */
static void test_too_many_tokens(void **state)
{
    (void)state;
    struct image m;
    struct quire_tokenizer *t;
    struct quire_error err = QUIRE_ERROR_INIT;
    put_head(&m, 3, 0, 2);
    put_kv_str(&m, KEY("model"), "bert");
    put_kv_array(&m, KEY("tokens"), QR_GGUF_U8, QR_MAX_TOKENS + 1);
    uint8_t *data = calloc(1, m.size + QR_MAX_TOKENS + 1);
    memcpy(data, m.data, m.size);
    assert_status(QUIRE_E_LIMIT,
                  qr_tokenizer_open_gguf_memory(data, m.size + QR_MAX_TOKENS + 1, NULL, &t, &err));
    assert_string_equal(err.msg, KEY("tokens") " has 16777217 entries, at most 16777216");
    free(data);
    drop(&m);
}

/* Every allocation fails. */
static void test_no_memory(void **state)
{
    (void)state;
    static char texts[4096] = "a|b|ab"; /* fill a chunk: the merges need another */
    for (int i = 0; i < 200; i++)
        snprintf(texts + strlen(texts), 16, "|t%d", i);
    const struct entry large[] = {
        gpt2[0], gpt2[1], { KEY("tokens"), STRINGS, texts, 0 }, gpt2[4], { 0 }
    };
    const struct entry *const bases[] = { gpt2, llama, t5, bert, large };
    for (size_t b = 0; b < LEN(bases); b++) {
        struct image m;
        size_t n = 0;
        while (bases[b][n].key)
            n++;
        put_head(&m, 3, 0, n + 9);
        for (size_t i = 0; i < n; i++)
            put_entry(&m, &bases[b][i]);
        put_kv_str(&m, "tokenizer.chat_template", "{{ x }}");
        for (int i = 0; i < 8; i++) { /* copies that fill more than one chunk */
            char key[64], *text = calloc(1, 4000);
            memset(text, 'a', 3999);
            snprintf(key, sizeof key, "tokenizer.chat_template.t%d", i);
            put_kv_str(&m, key, text);
            free(text);
        }
        bool done = false;
        for (size_t at = 1; !done; at++) {
            struct fail_alloc f;
            struct quire_tokenizer *t;
            struct quire_error err = QUIRE_ERROR_INIT;
            struct quire_tokenizer_params p = { .struct_size = sizeof p };
            fail_alloc_init(&f, at, false);
            p.allocator = &f.hooks;
            const quire_status s = qr_tokenizer_open_gguf_memory(m.data, m.size, &p, &t, &err);
            done = f.calls < at;
            assert_int_equal(s == QUIRE_OK, t != NULL);
            if (!done && s != QUIRE_OK) { /* PCRE2 does without memory for machine code */
                assert_int_equal(s, QUIRE_E_NOMEM);
                assert_non_null(strstr(err.msg, "memory"));
            }
            quire_tokenizer_close(t);
            assert_int_equal(f.live_count, 0);
        }
        drop(&m);
    }
}

/* Affixes exist if their tokens do. */
static void test_affixes(void **state)
{
    (void)state;
    const struct entry both[] = { { KEY("add_bos_token"), QR_GGUF_BOOL, NULL, 1 },
                                  { KEY("add_eos_token"), QR_GGUF_BOOL, NULL, 1 },
                                  { KEY("bos_token_id"), QR_GGUF_U32, NULL, 3 },
                                  { KEY("eos_token_id"), QR_GGUF_U32, NULL, 4 } };
    const uint32_t flags = QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS;
    struct quire_tokenizer *t;
    struct quire_error err;
    assert_status(QUIRE_OK, open_vocab(gpt2, both, 4, &t, &err));
    assert_ids(encode(t, "ab", flags), 3, 2, 4);
    quire_tokenizer_close(t);
    assert_status(QUIRE_OK, open_vocab(gpt2, both, 2, &t, &err));
    assert_ids(encode(t, "ab", flags), 2);
    quire_tokenizer_close(t);
}

/* Without types, byte tokens are known by their text. */
static void test_sentencepiece(void **state)
{
    (void)state;
    const struct entry plain[] = { { KEY("add_space_prefix"), QR_GGUF_BOOL, NULL, 0 } };
    struct quire_tokenizer *t;
    struct quire_error err;
    assert_status(QUIRE_OK, open_vocab(llama, plain, 1, &t, &err));
    assert_int_equal(quire_tokenizer_token_type(t, 5), QUIRE_TOKEN_BYTE);
    assert_ids(encode(t, "A", 0), 5);
    quire_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),          cmocka_unit_test(test_templates),
        cmocka_unit_test(test_affixes),         cmocka_unit_test(test_sentencepiece),
        cmocka_unit_test(test_too_many_tokens), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
