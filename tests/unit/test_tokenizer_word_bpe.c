/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_word_bpe.c - vocabularies whose merges stay inside words: split, lower case,
 * unknown characters, GGUF files, tokenizer.json. */
#include "test_gguf_vocab.h"

enum { UNK, A, B, AB, BANG, BANGS, HAN, I, DOT, E_ACUTE, UNDERSCORE, N_TOKENS };

static struct vocab *word_vocab(void)
{
    static const char *const texts[N_TOKENS] = { "<unk>",  "a", "b",      "ab",     "!", "!!",
                                                 "\u6771", "i", "\u0307", "\u00E9", "_" };
    struct vocab *v = vocab_new(QR_VOCAB_WORD_BPE);
    for (int i = 0; i < N_TOKENS; i++)
        add_token(v, texts[i], i == UNK ? QUIRE_TOKEN_UNKNOWN : QUIRE_TOKEN_NORMAL);
    v->spec.special[QUIRE_SPECIAL_UNK] = UNK;
    add_merge(v, "a", "b");
    add_merge(v, "!", "!");
    return v;
}

static void words(void **state)
{
    (void)state;
    struct quire_tokenizer *t = build(word_vocab());
    assert_ids(encode(t, "ab", 0), AB);
    assert_ids(encode(t, "  a b\tab\n", 0), A, B, AB); /* merges do not cross white space */
    assert_ids(encode(t, "a\u3000b\u00A0!\u2028!", 0), A, B, BANG, BANG);
    assert_ids(encode(t, "ab!!\u6771", 0), AB, BANGS, HAN);
    assert_ids(encode(t, "A\u2581", 0), UNK, UNK); /* U+2581 is no space, unknowns are not fused */
    assert_int_equal(encode(t, " \n", 0).n, 0);
    char *text = decode(t, (int32_t[]){ AB, BANGS, HAN }, 3, 0);
    assert_string_equal(text, "ab!!\u6771");
    free(text);
    quire_tokenizer_close(t);
}

/* Each character that begins a new word, with a merge that would cross. */
static void split_words(void **state)
{
    (void)state;
    struct vocab *v = word_vocab();
    const int32_t cross = add_token(v, "b!", QUIRE_TOKEN_NORMAL),
                  inside = add_token(v, "_a", QUIRE_TOKEN_NORMAL);
    add_merge(v, "b", "!");
    add_merge(v, "_", "a");
    v->spec.split_words = true;
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "b!!", 0), B, BANGS);
    assert_ids(encode(t, "_ab", 0), UNDERSCORE, AB); /* the first merge comes first */
    assert_ids(encode(t, "_a!", 0), inside, BANG);
    static const struct {
        const char *text;
        bool joins; /* the character belongs to words */
    } between[] = {
        { "\u00B2", false },     { "\u2160", true },      { "\u0301", true },
        { "\u0660", true },      { "\u203F", true },      { "-", false },
        { "\u200D", true },      { "\u200C", true },      { "\u200B", false },
        { "\u24B6", true },      { "\u24EA", false },     { "\u24B5", false },
        { "\U0001F130", true },  { "\U0001F14A", false }, { "\U0001F150", true },
        { "\U0001F16A", false }, { "\U0001F170", true },  { "\U0001F18A", false },
        { "\U0001F600", false }, { "\u0903", true },
    };
    quire_tokenizer_close(t);
    for (size_t i = 0; i < LEN(between); i++) {
        char joined[16], text[16];
        snprintf(joined, sizeof joined, "a%s", between[i].text);
        snprintf(text, sizeof text, "%s", between[i].text);
        v = word_vocab();
        v->spec.split_words = true;
        const int32_t one = add_token(v, text, QUIRE_TOKEN_NORMAL),
                      both = add_token(v, joined, QUIRE_TOKEN_NORMAL);
        add_merge(v, "a", text);
        t = build(v);
        const struct ids got = encode(t, joined, 0);
        assert_int_equal(got.n, between[i].joins ? 1 : 2);
        assert_int_equal(got.id[0], between[i].joins ? both : A);
        assert_true(between[i].joins || got.id[1] == one);
        quire_tokenizer_close(t);
    }
    assert_int_equal(cross, N_TOKENS);
}

static void normalization(void **state)
{
    (void)state;
    struct vocab *v = word_vocab();
    v->spec.lowercase = v->spec.nfc = true;
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "AB aB", 0), AB, AB);
    assert_ids(encode(t, "\u0130", 0), I, DOT);
    assert_ids(encode(t, "E\u0301", 0), E_ACUTE);
    quire_tokenizer_close(t);
}

static void bytes(void **state)
{
    (void)state;
    struct vocab *v = word_vocab();
    const int32_t first = add_token(v, "<0xC3>", QUIRE_TOKEN_BYTE),
                  second = add_token(v, "<0xBC>", QUIRE_TOKEN_BYTE);
    struct quire_tokenizer *t = build(v);
    assert_ids(encode(t, "\u00FC\u00FD", 0), first, second, UNK); /* no token for 0xBD */
    quire_tokenizer_close(t);
    v = word_vocab();
    v->spec.special[QUIRE_SPECIAL_UNK] = QUIRE_TOKEN_NONE;
    expect_build_error(v, QUIRE_E_FORMAT, "0 byte tokens and no unknown token");
}

/* A word longer than QR_MAX_PIECE_BYTES is cut there. */
static void long_word(void **state)
{
    (void)state;
    enum { SIZE = 2 * QR_MAX_PIECE_BYTES + 1 };
    char *text = malloc(SIZE);
    int32_t *ids = malloc(SIZE * sizeof *ids);
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t n;
    assert_non_null(text);
    assert_non_null(ids);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 2 ? 'a' : 'b'; /* b | ab ab ... */
    struct quire_tokenizer *t = build(word_vocab());
    assert_status(QUIRE_OK, quire_tokenizer_encode(t, text, SIZE, 0, ids, SIZE, &n, &err));
    assert_true(ids[0] == B && ids[1] == AB && ids[n - 1] == B);
    assert_int_equal(n, 2 + (SIZE - 1) / 2 + 1);
    quire_tokenizer_close(t);
    free(ids);
    free(text);
}

static void no_memory(void **state)
{
    (void)state;
    static const char *const texts[] = { "E\u0301\u0130 ab!a", "\u0130" };
    for (size_t at = 1, which = 0; which < LEN(texts); at++) {
        struct fail_alloc f;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_tokenizer *t;
        struct vocab *v = word_vocab();
        v->spec.nfc = v->spec.lowercase = v->spec.split_words = true;
        fail_alloc_init(&f, 0, false);
        assert_status(QUIRE_OK, qr_tokenizer_build(&v->spec, &f.hooks, &t, &err));
        vocab_free(v);
        f.fail_at = f.calls + at;
        int32_t ids[8];
        size_t n;
        const quire_status s =
            quire_tokenizer_encode(t, texts[which], strlen(texts[which]), 0, ids, 8, &n, &err);
        const bool done = f.calls < f.fail_at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
        if (done) {
            which++;
            at = 0;
        }
    }
}

/* ---- Files */

static const struct entry file[] = {
    { KEY("model"), QR_GGUF_STRING, "whitespace", 0 },
    { KEY("pre"), QR_GGUF_STRING, "whitespace", 0 },
    { KEY("tokens"), STRINGS, "<s>|<pad>|</s>|<unk>|a|b|ab|!", 0 },
    { KEY("merges"), STRINGS, "a b", 0 },
    { KEY("bos_token_id"), QR_GGUF_U32, NULL, 0 },
    { KEY("eos_token_id"), QR_GGUF_U32, NULL, 2 },
    { 0 },
};

static void gguf(void **state)
{
    (void)state;
    enum { ADD = QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS };
    struct quire_tokenizer *t;
    struct quire_error err;
    assert_status(QUIRE_OK, open_vocab(file, NULL, 0, &t, &err));
    assert_ids(encode(t, "ab! aB", ADD), 6, 7, 4, 3);
    quire_tokenizer_close(t);
    const struct entry more[] = { { KEY("normalizer.lowercase"), QR_GGUF_BOOL, NULL, 1 },
                                  { KEY("add_bos_token"), QR_GGUF_BOOL, NULL, 1 },
                                  { KEY("add_eos_token"), QR_GGUF_BOOL, NULL, 1 } };
    assert_status(QUIRE_OK, open_vocab(file, more, 3, &t, &err));
    assert_ids(encode(t, "aB", ADD), 0, 6, 2);
    quire_tokenizer_close(t);
    const struct {
        struct entry entry;
        quire_status status;
        const char *message;
    } bad[] = {
        { { KEY("pre"), QR_GGUF_STRING, "gpt-2", 0 }, QUIRE_E_UNSUPPORTED, "\"gpt-2\" with words" },
        { { KEY("pre"), QR_GGUF_U32, NULL, 1 }, QUIRE_E_FORMAT, KEY("pre") },
        { { KEY("merges"), NO_KEY, NULL, 0 }, QUIRE_E_FORMAT, KEY("merges") },
        { { KEY("tokens"), NO_KEY, NULL, 0 }, QUIRE_E_FORMAT, KEY("tokens") },
        { { KEY("bos_token_id"), QR_GGUF_U32, NULL, 99 }, QUIRE_E_FORMAT, KEY("bos_token_id") },
        { { KEY("add_bos_token"), QR_GGUF_U32, NULL, 1 }, QUIRE_E_FORMAT, KEY("add_bos_token") },
        { { KEY("normalizer.lowercase"), QR_GGUF_U32, NULL, 1 }, QUIRE_E_FORMAT, "lowercase" },
        { { KEY("normalizer.strip_accents"), QR_GGUF_U32, NULL, 1 }, QUIRE_E_FORMAT, "accents" },
        { { KEY("normalizer.strip_accents"), QR_GGUF_BOOL, NULL, 1 },
          QUIRE_E_UNSUPPORTED,
          "strip_accents" },
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        const quire_status s = open_vocab(file, &bad[i].entry, 1, &t, &err);
        if (s != bad[i].status || !strstr(err.msg, bad[i].message))
            fail_msg("%zu: %s \"%s\"", i, quire_status_name(s), err.msg);
    }
}

#define JSON(normalizer, pre, more)                                                                \
    "{\"normalizer\":" normalizer ",\"pre_tokenizer\":" pre                                        \
    ",\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\"" more                                    \
    ",\"vocab\":{\"<unk>\":0,\"a\":1,\"b\":2,\"ab\":3,\"!\":4,\"b!\":5},"                          \
    "\"merges\":[\"a b\",\"b !\"]}}"
#define METASPACE       "{\"type\":\"Metaspace\",\"replacement\":\"\u2581\"}"
#define TYPE(name)      "{\"type\":\"" name "\"}"
#define SEQUENCE(a, b)  "{\"type\":\"Sequence\",\"normalizers\":[" a "," b "]}"
#define SEQUENCES(a, b) "{\"type\":\"Sequence\",\"pretokenizers\":[" a "," b "]}"

static struct quire_tokenizer *open_json(const char *json)
{
    struct quire_tokenizer *t;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (quire_tokenizer_open_memory(json, strlen(json), NULL, 0, NULL, &t, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    return t;
}

static void json(void **state)
{
    (void)state;
    struct quire_tokenizer *t = open_json(JSON("null", TYPE("Whitespace"), ""));
    assert_ids(encode(t, "ab B b!", 0), 3, 0, 2, 4);
    quire_tokenizer_close(t);
    t = open_json(JSON(SEQUENCE(TYPE("NFC"), TYPE("Lowercase")), TYPE("Whitespace"), ""));
    assert_ids(encode(t, "AB", 0), 3);
    quire_tokenizer_close(t);
    static const struct {
        const char *text, *message;
    } bad[] = {
        { JSON(TYPE("Lowercase"), TYPE("ByteLevel"), ""), "Lowercase without Whitespace" },
        { JSON(SEQUENCE(TYPE("Lowercase"), TYPE("NFC")), TYPE("Whitespace"), ""),
          "normalizer NFC after Lowercase" },
        { JSON("null", SEQUENCES(TYPE("Whitespace"), TYPE("ByteLevel")), ""), "another step" },
        { JSON("null", SEQUENCES(TYPE("Whitespace"), METASPACE), ""), "another step" },
        { JSON("null", SEQUENCES(TYPE("Whitespace"), TYPE("Digits")), ""), "another step" },
        { JSON("{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}",
               TYPE("Whitespace"), ""),
          "another step" },
        { JSON("{\"type\":\"Prepend\",\"prepend\":\"\u2581\"}", TYPE("Whitespace"), ""),
          "another step" },
        { JSON("null", TYPE("Whitespace"), ",\"ignore_merges\":true"), "ignore_merges" },
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        const size_t n = strlen(bad[i].text);
        const quire_status s = quire_tokenizer_open_memory(bad[i].text, n, NULL, 0, NULL, &t, &err);
        if (s != QUIRE_E_UNSUPPORTED || !strstr(err.msg, bad[i].message))
            fail_msg("%zu: %s \"%s\"", i, quire_status_name(s), err.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words), cmocka_unit_test(split_words), cmocka_unit_test(normalization),
        cmocka_unit_test(bytes), cmocka_unit_test(long_word),   cmocka_unit_test(no_memory),
        cmocka_unit_test(gguf),  cmocka_unit_test(json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
