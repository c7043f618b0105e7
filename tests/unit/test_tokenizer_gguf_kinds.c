/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_gguf_kinds.c - vocabularies of GGUF files: WordPiece, merges over characters,
 * Phi-3, pairs of texts. */
#include "test_gguf_vocab.h"
#include "tokenizer/pair.h"

/* Tokens between the texts of a pair; none: there are no pairs. */
static void check_pair(const struct entry *base, const struct entry *extra, size_t n_extra,
                       size_t n, int32_t first, int32_t second)
{
    struct quire_tokenizer *t;
    struct quire_error err;
    struct qr_pair_template p;
    assert_status(QUIRE_OK, open_vocab(base, extra, n_extra, &t, &err));
    assert_int_equal(qr_tokenizer_pair(t, &p), n > 0);
    assert_int_equal(p.n_ids, n);
    assert_int_equal(p.second_type, 0);
    assert_true((n < 1 || p.ids[0] == first) && (n < 2 || p.ids[1] == second));
    quire_tokenizer_close(t);
}

/* Pairs of encoders whose vocabularies are those of RoBERTa, XLM-RoBERTa and ModernBERT. */
static void test_pairs(void **state)
{
    (void)state;
    enum { BOS, EOS, ADD_BOS, ADD_EOS, SEP, ONE, ARCH, N };
    const struct entry keys[N] = {
        { KEY("bos_token_id"), QR_GGUF_U32, NULL, 3 },
        { KEY("eos_token_id"), QR_GGUF_U32, NULL, 2 },
        { KEY("add_bos_token"), QR_GGUF_BOOL, NULL, 1 },
        { KEY("add_eos_token"), QR_GGUF_BOOL, NULL, 1 },
        { KEY("seperator_token_id"), QR_GGUF_U32, NULL, 1 },
        { KEY("add_sep_token"), QR_GGUF_BOOL, NULL, 0 },
        { "general.architecture", QR_GGUF_STRING, "modern-bert", 0 },
    };
    const struct entry modernbert[] = { keys[BOS], keys[EOS], keys[ADD_BOS], keys[ADD_EOS],
                                        keys[ARCH] };
    check_pair(gpt2, keys, ADD_BOS, 0, 0, 0); /* a decoder */
    check_pair(gpt2, keys, ADD_EOS, 0, 0, 0);
    check_pair(gpt2, keys, SEP, 2, 2, 2);
    check_pair(gpt2, keys, ONE, 2, 2, 1);
    check_pair(gpt2, keys, ARCH, 1, 2, 0);
    check_pair(gpt2, modernbert, LEN(modernbert), 1, 2, 0);
    check_pair(t5, NULL, 0, 0, 0, 0);
    check_pair(t5, keys, ADD_EOS, 2, 2, 2); /* a text ends by default */
    check_pair(t5, keys, ARCH, 1, 2, 0);
}

/* Merges over characters, without a space in front unless the file asks for one. */
static void test_gemma4(void **state)
{
    (void)state;
    struct quire_tokenizer *t;
    struct quire_error err;
    assert_status(QUIRE_OK, open_vocab(gemma4, NULL, 0, &t, &err));
    assert_ids(encode(t, "a a\n\nb\u00E9", QUIRE_ENCODE_ADD_BOS), 1, 3, 5, 7, 4, 8, 9);
    quire_tokenizer_close(t);
    const struct entry prefix = { KEY("add_space_prefix"), QR_GGUF_BOOL, NULL, 1 };
    assert_status(QUIRE_OK, open_vocab(gemma4, &prefix, 1, &t, &err));
    assert_ids(encode(t, "a b", 0), 5, 2, 4);
    quire_tokenizer_close(t);
}

/* The same merges under the name of the byte-level model. Texts begin with BOS only if the file
 * says so. */
static void test_gpt2_over_characters(void **state)
{
    (void)state;
    static const char *const names[] = { "granite-embed-multi-311m", "sarvam-moe" };
    for (size_t i = 0; i < LEN(names); i++) {
        struct quire_tokenizer *t;
        struct quire_error err;
        const struct entry keys[] = { { KEY("model"), QR_GGUF_STRING, "gpt2", 0 },
                                      { KEY("pre"), QR_GGUF_STRING, names[i], 0 },
                                      { KEY("add_bos_token"), QR_GGUF_BOOL, NULL, 1 } };
        assert_status(QUIRE_OK, open_vocab(gemma4, keys, 2, &t, &err));
        assert_ids(encode(t, "a a\n\nb\u00E9", QUIRE_ENCODE_ADD_BOS), 3, 5, 7, 4, 8, 9);
        quire_tokenizer_close(t);
        assert_status(QUIRE_OK, open_vocab(gemma4, keys, 3, &t, &err));
        assert_ids(encode(t, "a", QUIRE_ENCODE_ADD_BOS), 1, 3);
        quire_tokenizer_close(t);
    }
}

/* The control tokens of Phi-3 take the white space after them. */
static void test_phi3(void **state)
{
    (void)state;
    static const char *const texts[] = { "<unk>", "<s>",           "</s>",  SPACE,  "a",
                                         "<|u|>", "<|endoftext|>", "<|nox", "<!x|>" };
    struct image m;
    struct quire_tokenizer *t;
    struct quire_error err = QUIRE_ERROR_INIT;
    put_head(&m, 3, 0, 6);
    put_kv_str(&m, "general.architecture", "phi3");
    put_kv_str(&m, KEY("model"), "llama");
    put_kv_array(&m, KEY("tokens"), QR_GGUF_STRING, LEN(texts));
    for (size_t i = 0; i < LEN(texts); i++)
        put_str(&m, texts[i]);
    put_kv_array(&m, KEY("scores"), QR_GGUF_F32, LEN(texts));
    for (size_t i = 0; i < LEN(texts); i++)
        put_u32(&m, 0);
    put_kv_array(&m, KEY("token_type"), QR_GGUF_I32, LEN(texts));
    for (size_t i = 0; i < LEN(texts); i++)
        put_u32(&m, i == 3 || i == 4 ? QUIRE_TOKEN_NORMAL : QUIRE_TOKEN_CONTROL);
    put_key(&m, KEY("add_space_prefix"), QR_GGUF_BOOL);
    put_u8(&m, 0);
    assert_status(QUIRE_OK, qr_tokenizer_open_gguf_memory(m.data, m.size, NULL, &t, &err));
    drop(&m);
    for (size_t i = 1; i < LEN(texts); i++) {
        char text[32];
        const bool strips = i == 2 || i == 5;
        snprintf(text, sizeof text, "%s a", texts[i]);
        if (i != 3 && i != 4)
            assert_int_equal(encode(t, text, QUIRE_ENCODE_PARSE_SPECIAL).n, strips ? 2 : 3);
    }
    quire_tokenizer_close(t);
}

/* Capital letters in a normal token mean a cased vocabulary. */
static void test_wordpiece(void **state)
{
    (void)state;
    const struct entry cased[] = { { KEY("tokens"), STRINGS, "[UNK]|\u2581a|\u2581A|b~", 0 } };
    struct quire_tokenizer *t;
    struct quire_error err;
    assert_status(QUIRE_OK, open_vocab(bert, NULL, 0, &t, &err));
    assert_ids(encode(t, "A Ab", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), 1, 5, 5, 6, 2);
    quire_tokenizer_close(t);
    assert_status(QUIRE_OK, open_vocab(bert, cased, 1, &t, &err));
    assert_ids(encode(t, "A a", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), 2, 1);
    quire_tokenizer_close(t);
    /* newer files say whether it is uncased */
    const struct entry lower[] = { cased[0],
                                   { KEY("normalizer.lowercase"), QR_GGUF_BOOL, NULL, 1 } },
                       upper[] = { { KEY("normalizer.lowercase"), QR_GGUF_BOOL, NULL, 0 } },
                       plain[] = { { KEY("normalizer.strip_accents"), QR_GGUF_BOOL, NULL, 0 } };
    assert_status(QUIRE_OK, open_vocab(bert, lower, 2, &t, &err));
    assert_ids(encode(t, "A \u00E1", 0), 1, 1);
    quire_tokenizer_close(t);
    assert_status(QUIRE_OK, open_vocab(bert, upper, 1, &t, &err));
    assert_ids(encode(t, "A a", 0), 0, 5);
    quire_tokenizer_close(t);
    assert_status(QUIRE_OK, open_vocab(bert, plain, 1, &t, &err));
    assert_ids(encode(t, "A \u00E1", 0), 5, 0);
    quire_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wordpiece),
        cmocka_unit_test(test_gemma4),
        cmocka_unit_test(test_gpt2_over_characters),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_phi3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
