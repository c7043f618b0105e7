/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_edges.c - vocabularies and texts at the edges of what files can contain: equal
 * texts, texts outside the alphabet, ill-formed UTF-8 next to added tokens, missing tokens. */
#include "test_tokenizer.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/known_tokens.h"

enum { PARSE = QUIRE_ENCODE_PARSE_SPECIAL };
#define SPACE QR_METASPACE

/* The lowest id of added tokens with equal texts is encoded. */
static void equal_added_texts(void **state)
{
    (void)state;
    for (int n = 2; n < 12; n++) {
        struct vocab *v = byte_vocab("gpt-2");
        for (int i = 0; i < n; i++) {
            add_token(v, "<d>", QUIRE_TOKEN_CONTROL);
            add_token(v, i % 2 ? "<e>" : "<dd>", QUIRE_TOKEN_CONTROL);
        }
        struct quire_tokenizer *t = build(v);
        assert_ids(encode(t, "<d><dd><e>", PARSE), 256, 257, n > 1 ? 259 : 0);
        quire_tokenizer_close(t);
    }
}

/* A normal token takes precedence over another with its text; two normal ones are an error. */
static void equal_texts(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct vocab *v = byte_vocab("gpt-2");
        const int32_t a = add_token(v, "ab", first ? QUIRE_TOKEN_NORMAL : QUIRE_TOKEN_UNUSED),
                      b = add_token(v, "ab", first ? QUIRE_TOKEN_UNUSED : QUIRE_TOKEN_NORMAL);
        add_token(v, "cd", QUIRE_TOKEN_UNUSED);
        add_token(v, "cd", QUIRE_TOKEN_UNUSED);
        add_merge(v, "a", "b");
        struct quire_tokenizer *t = build(v);
        assert_int_equal(quire_tokenizer_find(t, "ab", 2), first ? a : b);
        assert_int_equal(quire_tokenizer_find(t, "cd", 2), b + 1);
        assert_ids(encode(t, "ab", 0), first ? a : b);
        quire_tokenizer_close(t);
    }
    struct vocab *v = byte_vocab("gpt-2");
    add_token(v, "ab", QUIRE_TOKEN_NORMAL);
    add_token(v, "ab", QUIRE_TOKEN_NORMAL);
    expect_build_error(v, QUIRE_E_FORMAT, "have the same text \"ab\"");
}

/* U+2581 of a user-defined token stands for a space, of a special or literal one for itself. */
static void spaces_of_added_tokens(void **state)
{
    (void)state;
    struct vocab *v = spm_vocab();
    v->spec.prepend_scheme = QR_PREPEND_NEVER;
    const int32_t user = add_token(v, SPACE "u", QUIRE_TOKEN_USER_DEFINED),
                  special = add_token(v, SPACE "s", QUIRE_TOKEN_CONTROL),
                  literal = add_token(v, SPACE "l", QUIRE_TOKEN_USER_DEFINED),
                  plain = add_token(v, "xyz", QUIRE_TOKEN_USER_DEFINED);
    v->tokens[literal].match = QR_TOKEN_NOT_NORMALIZED;
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "a u", PARSE), SPM_A, user);
    assert_ids(encode(t, "a" SPACE "u", PARSE), SPM_A, user);
    assert_ids(encode(t, "a s", PARSE), SPM_A, SPM_SPACE, SPM_A + 's' - 'a');
    assert_ids(encode(t, "a" SPACE "s", PARSE), SPM_A, special);
    assert_ids(encode(t, "a l", PARSE), SPM_A, SPM_SPACE, SPM_A + 'l' - 'a');
    assert_ids(encode(t, "a" SPACE "l", PARSE), SPM_A, literal);
    assert_ids(encode(t, "axyz", PARSE), SPM_A, plain);
    quire_tokenizer_close(t);
}

/* Ill-formed bytes are neither white space nor letters. */
static void ill_formed_neighbors(void **state)
{
    (void)state;
    struct vocab *v = byte_vocab("gpt-2");
    const int32_t left = add_token(v, "<l>", QUIRE_TOKEN_CONTROL),
                  right = add_token(v, "<r>", QUIRE_TOKEN_CONTROL),
                  word = add_token(v, "<w>", QUIRE_TOKEN_CONTROL);
    v->tokens[left].match = QR_TOKEN_LSTRIP;
    v->tokens[right].match = QR_TOKEN_RSTRIP;
    v->tokens[word].match = QR_TOKEN_SINGLE_WORD;
    struct quire_tokenizer *t = build(v);
    /* U+FFFD replaces an ill-formed byte */
    assert_ids(encode(t, "\xFF<l>", PARSE), 0xEF, 0xBF, 0xBD, left);
    assert_ids(encode(t, "\xC2\xA0 <l>", PARSE), left);
    assert_ids(encode(t, "\xA0<l>", PARSE), 0xEF, 0xBF, 0xBD, left);
    assert_ids(encode(t, "<r> \xE3\x80\x80\xFF", PARSE), right, 0xEF, 0xBF, 0xBD);
    assert_ids(encode(t, "<r>\xE3\x80", PARSE), right, 0xEF, 0xBF, 0xBD);
    assert_ids(encode(t, "\xFF<w>\xFF", PARSE), 0xEF, 0xBF, 0xBD, word, 0xEF, 0xBF, 0xBD);
    assert_ids(encode(t, "\x80<w>", PARSE), 0xEF, 0xBF, 0xBD, word);
    assert_ids(encode(t, ".<w>!", PARSE), '.', word, '!');
    assert_ids(encode(t, "a<w>", PARSE), 'a', '<', 'w', '>');
    assert_ids(encode(t, "<w>\xC3\xA9", PARSE), '<', 'w', '>', 0xC3, 0xA9);
    assert_ids(encode(t, "<w>_", PARSE), '<', 'w', '>', '_');
    quire_tokenizer_close(t);
}

/* White space of every block of Unicode, and characters next to it. */
static void white_space(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool white;
    } cases[] = {
        { "\t", true },
        { "\r", true },
        { "\x0E", false },
        { "\x08", false },
        { "\xC2\x85", true },
        { "\xC2\x86", false },
        { "\xC2\xA0", true },
        { "\xC2\xA1", false },
        { "\xE1\x9A\x80", true },
        { "\xE1\x9A\x81", false },
        { "\xE2\x80\x80", true },
        { "\xE2\x80\x8A", true },
        { "\xE2\x80\x8B", false },
        { "\xE2\x80\xA8", true },
        { "\xE2\x80\xA9", true },
        { "\xE2\x80\xAF", true },
        { "\xE2\x81\x9F", true },
        { "\xE2\x81\xA0", false },
        { "\xE3\x80\x80", true },
        { "\xE3\x80\x81", false },
    };
    struct vocab *v = byte_vocab("gpt-2");
    const int32_t right = add_token(v, "<r>", QUIRE_TOKEN_CONTROL);
    v->tokens[right].match = QR_TOKEN_RSTRIP;
    struct quire_tokenizer *t = build(v);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[16];
        snprintf(text, sizeof text, "<r>%s", cases[i].text);
        const struct ids got = encode(t, text, PARSE);
        assert_int_equal(got.id[0], right);
        assert_int_equal(got.n, cases[i].white ? 1 : 1 + strlen(cases[i].text));
    }
    quire_tokenizer_close(t);
}

/* Texts outside the byte-level alphabet stand for themselves. */
static void outside_the_alphabet(void **state)
{
    (void)state;
    struct vocab *v = byte_vocab("gpt-2");
    static const char *const texts[] = { "a b", "\xFF", "x\xC2\xAD", "\xE4\xB8\xAD", "q\xC5\xBF" };
    int32_t first = -1;
    for (size_t i = 0; i < 5; i++) {
        const int32_t id = add_token(v, texts[i], QUIRE_TOKEN_NORMAL);
        first = first < 0 ? id : first;
    }
    struct quire_tokenizer *t = build(v);
    for (size_t i = 0; i < 5; i++) {
        const int32_t id = first + (int32_t)i;
        char *back = decode(t, &id, 1, 0);
        assert_int_equal(quire_tokenizer_find(t, texts[i], strlen(texts[i])), id);
        assert_int_equal(strlen(back) > 0, 1);
        free(back);
    }
    quire_tokenizer_close(t);
}

/* Without an unknown token all bytes need one. */
static void no_unknown_token(void **state)
{
    (void)state;
    struct vocab *v = spm_vocab();
    v->spec.special[QUIRE_SPECIAL_UNK] = QUIRE_TOKEN_NONE;
    v->tokens[0].type = QUIRE_TOKEN_CONTROL;
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "\xC3\xA9", 0), SPM_SPACE, SPM_BYTE + 0xC3, SPM_BYTE + 0xA9);
    quire_tokenizer_close(t);
    v = spm_vocab();
    v->spec.special[QUIRE_SPECIAL_UNK] = QUIRE_TOKEN_NONE;
    v->tokens[0].type = QUIRE_TOKEN_CONTROL;
    v->tokens[SPM_BYTE + 7].type = QUIRE_TOKEN_UNUSED;
    expect_build_error(v, QUIRE_E_FORMAT, "255 byte tokens and no unknown token");
    /* WordPiece: an unknown word without a token for it has no token */
    v = spm_vocab();
    v->spec.kind = QR_VOCAB_WORDPIECE;
    v->spec.merge_by_score = false;
    v->spec.special[QUIRE_SPECIAL_UNK] = QUIRE_TOKEN_NONE;
    v->tokens[0].type = QUIRE_TOKEN_CONTROL;
    const int32_t word = add_token(v, SPACE "ok", QUIRE_TOKEN_NORMAL);
    add_token(v, SPACE "no", QUIRE_TOKEN_UNUSED);
    t = build(v);
    assert_ids(encode(t, "ok 12 no ok", 0), word, word);
    quire_tokenizer_close(t);
}

/* Ids of roles and affixes outside the vocabulary. */
static void bad_ids(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct vocab *v = byte_vocab("gpt-2");
        int64_t *const lists[] = { v->spec.prefix_ids, v->spec.suffix_ids, v->spec.pair_ids };
        uint32_t *const counts[] = { &v->spec.n_prefix_ids, &v->spec.n_suffix_ids,
                                     &v->spec.n_pair_ids };
        lists[which][0] = 256;
        *counts[which] = 1;
        expect_build_error(v, QUIRE_E_FORMAT, "prefix or suffix");
    }
    struct vocab *v = byte_vocab("gpt-2");
    v->spec.n_merges = 4 * (size_t)QR_MAX_TOKENS + 1;
    expect_build_error(v, QUIRE_E_LIMIT, "67108865 merges");
    v = byte_vocab("gpt-2");
    v->spec.n_splits = QR_MAX_SPLITS + 1;
    expect_build_error(v, QUIRE_E_LIMIT, "pre-tokenizer of 9 splits");
}

/* A merge in one text is split at one of its first eight spaces. */
static void merges_with_spaces(void **state)
{
    (void)state;
    static const char left[] = "a a a a a a a", many[] = "a a a a a a a a a";
    for (int bad = 0; bad < 2; bad++) {
        struct vocab *v = spm_vocab();
        char line[64], whole[64];
        const char *text = bad ? many : left;
        v->spec.merge_by_score = false;
        add_piece(v, text, 0);
        snprintf(whole, sizeof whole, "%sb", text);
        add_piece(v, whole, 0);
        snprintf(line, sizeof line, "%s b", text);
        v->merges[v->spec.n_merges++] = (struct qr_spec_merge){ line, NULL, strlen(line), 0 };
        if (bad)
            expect_build_error(v, QUIRE_E_FORMAT, "merge 0");
        else
            quire_tokenizer_close(build(v));
    }
    struct vocab *v = spm_vocab(); /* one token with an inner space is enough to search on */
    v->spec.merge_by_score = false;
    add_piece(v, "a" SPACE, 0);
    add_piece(v, "a" SPACE "b", 0);
    add_merge(v, "a", SPACE);
    add_merge(v, "a" SPACE, "b");
    struct quire_tokenizer *t = build(v);
    assert_true(t->tokens_cross_spaces);
    assert_ids(encode(t, "a b", 0), SPM_SPACE, SPM_A + 27);
    quire_tokenizer_close(t);
}

/* Texts that mean a control token or a byte, and texts that almost do. */
static void known_texts(void **state)
{
    (void)state;
#define WIDE "\xEF\xBD\x9C"
    static const char
        *const control[] = { "<|x|>",    "<" WIDE "x" WIDE ">", "<s>", "[SEP]", "<|end|>", "_<EOT>",
                             "<|flush|>" },
               *const other[] = { "<|",          "<||>", "<|x",        "<|x>",
                                  "x|>",         "|x|>", "<" WIDE "x", "<" WIDE WIDE ">",
                                  "<S>",         "s>",   "<|ab>",      "<|a|]",
                                  "<" WIDE "ab>" },
               *const no_byte[] = { "<0x1>",  "<0x123>", "<1x12>", "<0x12",  "<0x12)", "<0xG0>",
                                    "<0x0G>", "<0x:0>",  "<0x/0>", "<0x@0>", "<0x`0>", "<0xg0>" };
    for (size_t i = 0; i < sizeof control / sizeof *control; i++)
        if (!qr_is_control_text(control[i], strlen(control[i])))
            fail_msg("%s", control[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (qr_is_control_text(other[i], strlen(other[i])))
            fail_msg("%s", other[i]);
    for (size_t i = 0; i < sizeof no_byte / sizeof *no_byte; i++)
        if (qr_byte_token_value(no_byte[i], strlen(no_byte[i])) != -1)
            fail_msg("%s", no_byte[i]);
    assert_int_equal(qr_byte_token_value("<0xfA>", 6), 0xFA);
    assert_int_equal(qr_byte_token_value("<0x9a>", 6), 0x9A);
}

/* "<|end|>" ends the turn unless "<|return|>" and "<|call|>" do. */
static void channels(void **state)
{
    (void)state;
    for (unsigned present = 0; present < 32; present++) {
        struct vocab *v = byte_vocab("gpt-2");
        const enum quire_token_type control = QUIRE_TOKEN_CONTROL,
                                    user = QUIRE_TOKEN_UNUSED; /* no control token */
        const int32_t end = present & 1 ? add_token(v, "<|end|>", control) : QUIRE_TOKEN_NONE;
        const int32_t ret = present & 2 ? add_token(v, "<|return|>", present & 8 ? user : control)
                                        : QUIRE_TOKEN_NONE;
        if (present & 4)
            add_token(v, "<|call|>", present & 16 ? user : control);
        const int32_t eom = add_token(v, "<|eom_id|>", control);
        if (present & 8)
            v->spec.special[QUIRE_SPECIAL_EOM] = 'm';
        struct quire_tokenizer *t = build(v);
        const bool has_channels = (present & 30) == 6;
        assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT),
                         has_channels && end != QUIRE_TOKEN_NONE ? ret : end);
        assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOM), present & 8 ? 'm' : eom);
        quire_tokenizer_close(t);
    }
    struct vocab *v = byte_vocab("gpt-2"); /* another token ends the turn */
    add_token(v, "<|end|>", QUIRE_TOKEN_CONTROL);
    add_token(v, "<|return|>", QUIRE_TOKEN_CONTROL);
    add_token(v, "<|call|>", QUIRE_TOKEN_CONTROL);
    v->spec.special[QUIRE_SPECIAL_EOT] = 'x';
    v->spec.special[QUIRE_SPECIAL_BOS] = add_token(v, "begin", QUIRE_TOKEN_USER_DEFINED);
    struct quire_tokenizer *t = build(v);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOT), 'x');
    assert_int_equal(quire_tokenizer_token_type(t, 259), QUIRE_TOKEN_CONTROL);
    quire_tokenizer_close(t);
}

/* A map whose only key is the first byte of a character, and maps of wrong sizes and texts. */
static void half_characters(void **state)
{
    (void)state;
    enum { UNITS = 512, TEXTS = 300 };
    static uint8_t map[4 + 4 * UNITS + TEXTS];
    static uint32_t units[UNITS];
    struct quire_error err = QUIRE_ERROR_INIT;
    const uint32_t trie = 4 * UNITS;
    units[0] = 1u << 10;
    units[1 ^ 0xC5] = 0xC5 | 1u << 8 | 0x100u << 10;
    units[1 ^ 0xC5 ^ 0x100] = 1u << 31;
    memcpy(map, &trie, 4);
    memcpy(map + 4, units, trie);
    memcpy(map + 4 + trie, "z", 2);
    struct vocab *v = spm_vocab();
    v->spec.kind = QR_VOCAB_UNIGRAM;
    v->spec.merge_by_score = false;
    assert_status(QUIRE_OK, qr_charsmap_read(&v->spec, map, 4 + trie + 2, "map", &err));
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "a\xC5\xBF", 0), SPM_SPACE, SPM_A, SPM_A + 25);
    assert_ids(encode(t,
                      "\xC5\xBF"
                      "b\xC3\xA9",
                      0),
               SPM_SPACE, SPM_A + 25, SPM_A + 1, SPM_BYTE + 0xC3, SPM_BYTE + 0xA9);
    quire_tokenizer_close(t);
    v = spm_vocab();
    memset(map + 4 + trie, 'z', TEXTS - 1); /* a text of 299 bytes */
    assert_status(QUIRE_E_FORMAT, qr_charsmap_read(&v->spec, map, sizeof map, "map", &err));
    memset(map + 4 + trie, 0xFF, 1);
    map[4 + trie + 1] = 0;
    assert_status(QUIRE_E_FORMAT, qr_charsmap_read(&v->spec, map, 4 + trie + 2, "map", &err));
    assert_status(QUIRE_E_LIMIT, qr_charsmap_read(&v->spec, map, (16 << 20) + 1, "map", &err));
    assert_string_equal(err.msg, "map has 16777217 bytes, at most 16777216");
    vocab_free(v);
}

static void base64(void **state)
{
    (void)state;
    static const char *const bad[] = { "A",    "AAA",  "AA=A", "A===", "====", "AA-A", "AA:A",
                                       "AA@A", "AA[A", "AA`A", "AA{A", "AA,A", "AA.A", "=AAA" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct vocab *v = spm_vocab();
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_E_FORMAT,
                      qr_charsmap_read_base64(&v->spec, bad[i], strlen(bad[i]), "map", &err));
        if (!strstr(err.msg, "base64"))
            fail_msg("%s: %s", bad[i], err.msg);
        vocab_free(v);
    }
    static const char *const no_map[] = { "+/+/", "zZ9+", "AA==", "AAA=" };
    for (size_t i = 0; i < sizeof no_map / sizeof *no_map; i++) {
        struct vocab *v = spm_vocab();
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_E_FORMAT, qr_charsmap_read_base64(&v->spec, no_map[i], 4, "map", &err));
        if (!strstr(err.msg, "no map"))
            fail_msg("%s: %s", no_map[i], err.msg);
        vocab_free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_added_texts),
        cmocka_unit_test(equal_texts),
        cmocka_unit_test(spaces_of_added_tokens),
        cmocka_unit_test(ill_formed_neighbors),
        cmocka_unit_test(white_space),
        cmocka_unit_test(outside_the_alphabet),
        cmocka_unit_test(no_unknown_token),
        cmocka_unit_test(bad_ids),
        cmocka_unit_test(merges_with_spaces),
        cmocka_unit_test(known_texts),
        cmocka_unit_test(channels),
        cmocka_unit_test(half_characters),
        cmocka_unit_test(base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
