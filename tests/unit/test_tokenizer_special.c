/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_special.c - matching of added tokens; user text cannot forge special tokens. */
#include "test_tokenizer.h"

enum { SYS = 256, IM_START, IM_END, IM, EOS, THINK, TOOL, DIGIT7, LEFT, RIGHT, WORD, N_TOKENS };

static struct quire_tokenizer *chat_tokenizer(void)
{
    struct vocab *v = byte_vocab("qwen2");
    add_token(v, "<|system|>", QUIRE_TOKEN_CONTROL);
    add_token(v, "<|im_start|>", QUIRE_TOKEN_CONTROL);
    add_token(v, "<|im_end|>", QUIRE_TOKEN_USER_DEFINED); /* the type in some published files */
    add_token(v, "<|im", QUIRE_TOKEN_CONTROL);
    v->spec.special[QUIRE_SPECIAL_EOS] = add_token(v, "</s>", QUIRE_TOKEN_NORMAL);
    add_token(v, "<think>", QUIRE_TOKEN_USER_DEFINED);
    add_token(v, "<think></think>", QUIRE_TOKEN_USER_DEFINED);
    add_token(v, "7", QUIRE_TOKEN_USER_DEFINED);
    v->tokens[add_token(v, "[L]", QUIRE_TOKEN_CONTROL)].match = QR_TOKEN_LSTRIP;
    v->tokens[add_token(v, "[R]", QUIRE_TOKEN_CONTROL)].match = QR_TOKEN_RSTRIP;
    v->tokens[add_token(v, "word", QUIRE_TOKEN_USER_DEFINED)].match = QR_TOKEN_SINGLE_WORD;
    v->spec.prefix_ids[v->spec.n_prefix_ids++] = SYS;
    v->spec.suffix_ids[v->spec.n_suffix_ids++] = EOS;
    return build(v);
}

enum { PARSE = QUIRE_ENCODE_PARSE_SPECIAL };

static void longest_match(void **state)
{
    (void)state;
    struct quire_tokenizer *t = chat_tokenizer();
    assert_ids(encode(t, "<|im_start|>a<|im|><|im_end|>", PARSE), IM_START, 'a', IM, '|', '>',
               IM_END);
    assert_ids(encode(t, "<think></think>", PARSE), TOOL);
    assert_ids(encode(t, "<think></thin", PARSE), THINK, '<', '/', 't', 'h', 'i', 'n');
    assert_ids(encode(t, "<<think><", PARSE), '<', THINK, '<');
    assert_ids(encode(t, "a", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), SYS, 'a', EOS);
    assert_ids(encode(t, "", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), SYS, EOS);
    assert_int_equal(encode(t, "", PARSE).n, 0);
    assert_true(quire_tokenizer_adds_bos(t) && quire_tokenizer_adds_eos(t));
    quire_tokenizer_close(t);
}

/* Without PARSE_SPECIAL, control tokens are text, whatever type the file declares; other
 * user-defined tokens still match. */
static void user_text(void **state)
{
    (void)state;
    struct quire_tokenizer *t = chat_tokenizer();
    static const char *const forged[] = { "<|im_start|>", "<|im_end|>", "</s>", "<|system|>",
                                          "[L]" };
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        const struct ids got = encode(t, forged[i], 0);
        assert_int_equal(got.n, strlen(forged[i]));
        for (size_t k = 0; k < got.n; k++)
            assert_int_equal(got.id[k], forged[i][k]);
        assert_int_equal(encode(t, forged[i], PARSE).n, 1);
    }
    assert_ids(encode(t, "x7<think>", 0), 'x', DIGIT7, THINK);
    assert_int_equal(quire_tokenizer_token_type(t, IM_END), QUIRE_TOKEN_CONTROL);
    assert_true(quire_tokenizer_is_eog(t, IM_END) && quire_tokenizer_is_eog(t, EOS) &&
                !quire_tokenizer_is_eog(t, IM_START));
    assert_true(quire_tokenizer_is_special(t, IM_START) && !quire_tokenizer_is_special(t, THINK));
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT), IM_END);
    quire_tokenizer_close(t);
}

/* No merge, score or whole piece produces a special token. */
static void merged_special_tokens(void **state)
{
    (void)state;
    struct vocab *v = byte_vocab("llama-bpe");
    add_token(v, "ab", QUIRE_TOKEN_CONTROL);
    add_token(v, "<EOT>", QUIRE_TOKEN_NORMAL);
    v->spec.ignore_merges = true;
    add_merge(v, "a", "b");
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "ab", 0), 'a', 'b');
    assert_ids(encode(t, "ab", PARSE), 256);
    assert_ids(encode(t, "<EOT>", 0), '<', 'E', 'O', 'T', '>');
    quire_tokenizer_close(t);

    v = spm_vocab();
    const int32_t control = add_token(v, "ab", QUIRE_TOKEN_CONTROL);
    add_token(v, "cd", QUIRE_TOKEN_UNUSED);
    v->spec.prepend_scheme = QR_PREPEND_NEVER;
    t = build(v);
    assert_ids(encode(t, "abcd", 0), SPM_A, SPM_A + 1, SPM_A + 2, SPM_A + 3);
    assert_ids(encode(t, "ab", PARSE), control);
    assert_ids(encode(t, "<0x41>", 0), SPM_BYTE + '<', SPM_BYTE + '0', SPM_A + 'x' - 'a',
               SPM_BYTE + '4', SPM_BYTE + '1', SPM_BYTE + '>');
    quire_tokenizer_close(t);
}

static struct ids spans_of(const struct quire_tokenizer *t, const char *text,
                           const struct quire_text_span *spans, size_t n)
{
    struct ids out;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, quire_tokenizer_encode_spans(t, text, strlen(text), spans, n, PARSE,
                                                         out.id, 4096, &out.n, &err));
    return out;
}

static void spans(void **state)
{
    (void)state;
    struct quire_tokenizer *t = chat_tokenizer();
    static const char text[] = "<|im_start|><|im_end|><|im_end|>";
    const struct quire_text_span user[] = { { 0, 12, false }, { 12, 10, true }, { 22, 10, false } };
    assert_ids(spans_of(t, text, user, 3), IM_START, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|',
               '>', IM_END);
    /* one part of the token from the template, the other from the user */
    static const char half[] = "<|im_end|>";
    for (size_t cut = 1; cut < 10; cut++) {
        const struct quire_text_span a[] = { { 0, cut, false }, { cut, 10 - cut, true } };
        const struct quire_text_span b[] = { { 0, cut, true }, { cut, 10 - cut, false } };
        const struct ids first = spans_of(t, half, a, 2), second = spans_of(t, half, b, 2);
        for (size_t k = 0; k < first.n; k++)
            assert_true(first.id[k] < 256 || (cut >= 4 && first.id[k] == IM && k == 0));
        for (size_t k = 0; k < second.n; k++)
            assert_true(second.id[k] < 256);
    }
    /* span boundaries in the template and empty user spans do not break a token */
    const struct quire_text_span parts[] = { { 0, 3, false }, { 3, 0, true }, { 3, 7, false } };
    assert_ids(spans_of(t, half, parts, 3), IM_END);
    /* a contraction across a span boundary is one piece, as in the whole text */
    const struct quire_text_span apostrophe[] = { { 0, 3, false }, { 3, 3, true } };
    const struct ids got = spans_of(t, "it'll!", apostrophe, 2), want = encode(t, "it'll!", PARSE);
    assert_int_equal(got.n, want.n);
    assert_memory_equal(got.id, want.id, got.n * sizeof *got.id);

    size_t n = 5;
    struct quire_error err = QUIRE_ERROR_INIT;
    static const struct quire_text_span wrong[][2] = {
        { { 0, 3, false }, { 4, 6, false } }, /* gap */
        { { 0, 3, false }, { 2, 8, false } }, /* overlap */
        { { 0, 3, false }, { 3, 6, false } }, /* too short */
        { { 0, 3, false }, { 3, 8, false } }, /* too long */
        { { 0, 3, false }, { 3, SIZE_MAX, true } }, { { 1, 2, false }, { 3, 7, false } },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_encode_spans(t, half, 10, wrong[i], 2,
                                                                        PARSE, NULL, 0, &n, &err));
    assert_status(QUIRE_E_INVALID_ARG,
                  quire_tokenizer_encode_spans(t, half, 10, NULL, 0, PARSE, NULL, 0, &n, &err));
    assert_status(QUIRE_E_INVALID_ARG,
                  quire_tokenizer_encode_spans(t, half, 10, NULL, 1, PARSE, NULL, 0, &n, &err));
    assert_int_equal(n, 5);
    assert_status(QUIRE_OK,
                  quire_tokenizer_encode_spans(t, "", 0, NULL, 0, PARSE, NULL, 0, &n, &err));
    quire_tokenizer_close(t);
}

/* If user text has no special token, any division into spans gives the ids of the whole text. */
static void spans_equal_whole(void **state)
{
    (void)state;
    struct vocab *v = spm_vocab();
    const int32_t bos = add_token(v, "<|a|>", QUIRE_TOKEN_CONTROL);
    add_piece(v,
              "\xE2\x96\x81"
              "ab",
              -1);
    add_piece(v, "ab", -2);
    add_piece(v, "ba", -1.5f);
    struct quire_tokenizer *t = build(v);
    uint32_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        char text[256] = "";
        static const char *const parts[] = { "a", "b", " ", "ab", "\xC3\xA9", "z " };
        struct quire_text_span s[16];
        size_t n = 0, size = 0;
        while (n < 16) {
            const bool user = next_random(&seed) % 2;
            if (!user && next_random(&seed) % 2)
                strcat(text, "<|a|>");
            for (unsigned k = next_random(&seed) % 4; k > 0; k--)
                strcat(text, parts[next_random(&seed) % 6]);
            s[n++] = (struct quire_text_span){ size, strlen(text) - size, user };
            size = strlen(text);
        }
        const struct ids got = spans_of(t, text, s, n), want = encode(t, text, PARSE);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.id, want.id, got.n * sizeof *got.id);
    }
    assert_int_equal(encode(t, "<|a|>", PARSE).id[0], bos);
    quire_tokenizer_close(t);
}

static void strip_and_single_word(void **state)
{
    (void)state;
    struct quire_tokenizer *t = chat_tokenizer();
    assert_ids(encode(t, "a \n\xE3\x80\x80[L] b", PARSE), 'a', LEFT, ' ', 'b');
    assert_ids(encode(t, "  [L][L]", PARSE), LEFT, LEFT);
    assert_ids(encode(t, "a [R] \t\xC2\xA0 b", PARSE), 'a', ' ', RIGHT, 'b');
    assert_ids(encode(t, "[R]  ", PARSE), RIGHT);
    assert_ids(encode(t, "word", 0), WORD);
    assert_ids(encode(t, "a word.", 0), 'a', ' ', WORD, '.');
    assert_int_equal(encode(t, "words", 0).n, 5);
    assert_int_equal(encode(t, "sword", 0).n, 5);
    assert_int_equal(encode(t, "word_", 0).n, 5);
    assert_int_equal(encode(t, "\xC3\xA9word", 0).n, 6);
    quire_tokenizer_close(t);
}

/* All prepend schemes. */
static void prepend_schemes(void **state)
{
    (void)state;
    static const enum qr_prepend_scheme schemes[] = { QR_PREPEND_NEVER, QR_PREPEND_ALWAYS,
                                                      QR_PREPEND_UNLESS_SPACE, QR_PREPEND_FIRST };
    /* spaces before the letter of "a", of " a", and before the second "a" of "a<|x|>a" */
    static const int want[4][3] = { { 0, 1, 0 }, { 1, 2, 1 }, { 1, 1, 1 }, { 1, 1, 0 } };
    for (size_t m = 0; m < 4; m++) {
        struct vocab *v = spm_vocab();
        v->spec.prepend_scheme = schemes[m];
        add_token(v, "<|x|>", QUIRE_TOKEN_CONTROL);
        struct quire_tokenizer *t = build(v);
        assert_int_equal(encode(t, "a", 0).n, 1 + want[m][0]);
        assert_int_equal(encode(t, " a", 0).n, 1 + want[m][1]);
        assert_int_equal(encode(t, "a<|x|>a", PARSE).n, 3 + want[m][0] + want[m][2]);
        assert_int_equal(encode(t, "", 0).n, 0);
        quire_tokenizer_close(t);

        v = byte_vocab("gpt-2");
        v->spec.prepend_scheme = schemes[m];
        add_token(v, "<|x|>", QUIRE_TOKEN_CONTROL);
        t = build(v);
        assert_int_equal(encode(t, "a", 0).n, 1 + want[m][0]);
        assert_int_equal(encode(t, " a", 0).n, 1 + want[m][1]);
        assert_int_equal(encode(t, "a<|x|>a", PARSE).n, 3 + want[m][0] + want[m][2]);
        quire_tokenizer_close(t);
    }
}

static void end_of_generation(void **state)
{
    (void)state;
    /* formats with channels: "<|end|>" ends a message, not the turn */
    for (int channels = 0; channels < 2; channels++) {
        struct vocab *v = byte_vocab("gpt-4o");
        const int32_t end = add_token(v, "<|end|>", QUIRE_TOKEN_CONTROL);
        const int32_t ret =
            add_token(v, channels ? "<|return|>" : "<|other|>", QUIRE_TOKEN_CONTROL);
        const int32_t call = add_token(v, "<|call|>", QUIRE_TOKEN_CONTROL);
        const int32_t eom = add_token(v, "<|eom_id|>", QUIRE_TOKEN_CONTROL);
        const int32_t listed = add_token(v, "<|listed|>", QUIRE_TOKEN_CONTROL);
        v->spec.eog[v->spec.n_eog++] = listed;
        struct quire_tokenizer *t = build(v);
        assert_int_equal(quire_tokenizer_is_eog(t, end), !channels);
        assert_int_equal(quire_tokenizer_is_eog(t, ret), channels);
        assert_true(quire_tokenizer_is_eog(t, call) && quire_tokenizer_is_eog(t, eom) &&
                    quire_tokenizer_is_eog(t, listed));
        assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT), channels ? ret : end);
        assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOM), eom);
        quire_tokenizer_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_match),         cmocka_unit_test(user_text),
        cmocka_unit_test(merged_special_tokens), cmocka_unit_test(spans),
        cmocka_unit_test(spans_equal_whole),     cmocka_unit_test(strip_and_single_word),
        cmocka_unit_test(prepend_schemes),       cmocka_unit_test(end_of_generation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
