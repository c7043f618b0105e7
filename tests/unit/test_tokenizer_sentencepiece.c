/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_sentencepiece.c - fields of SentencePiece models: unsupported, of wrong types and
 * malformed. */
#include "test_tokenizer.h"
#include "tokenizer/sentencepiece_model.h"

#define UNK "\x0a\x09\x0a\x05<unk>\x18\x02"
#define PIECE                                                                                      \
    "\x0a\x03\x0a\x01"                                                                             \
    "a"
#define BPE      "\x12\x02\x18\x02"
#define S(bytes) bytes, sizeof bytes - 1

static quire_status read_model(const char *bytes, size_t size, struct vocab *v,
                               struct quire_error *err)
{
    return qr_sentencepiece_model_read(&v->spec, (const uint8_t *)bytes, size, err);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        quire_status status;
        const char *message;
    } cases[] = {
        /* a number of more than 64 bits, field 0, a field of more than 32 bits, a size too large */
        { S("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), QUIRE_E_FORMAT, "field at byte 0" },
        { S("\x00\x01"), QUIRE_E_FORMAT, "field at byte 0" },
        { S("\x80\x80\x80\x80\x80\x80\x01\x00"), QUIRE_E_FORMAT, "field at byte 0" },
        { S(UNK "\x0a\x05"
                "a"),
          QUIRE_E_FORMAT, "field at byte 11" },
        { S(UNK "\x0a\x80"), QUIRE_E_FORMAT, "field at byte 11" },
        { S(UNK "\x0d\x01\x01"), QUIRE_E_FORMAT, "field at byte 11" },
        { S(UNK "\x09\x01\x01"), QUIRE_E_FORMAT, "field at byte 11" },
        { S(UNK "\x0b"), QUIRE_E_FORMAT, "field at byte 11" },
        { S(UNK "\x08\x01"), QUIRE_E_FORMAT, "a part of the model has the wrong type" },
        { S("\x0a\x02\x08\x01"), QUIRE_E_FORMAT, "piece has the wrong type" },
        { S("\x0a\x02\x10\x01"), QUIRE_E_FORMAT, "score has the wrong type" },
        { S("\x0a\x05\x1d\x01\x00\x00\x00"), QUIRE_E_FORMAT, "type of a piece" },
        { S("\x0a\x02\x18\x00"), QUIRE_E_FORMAT, "type of a piece" },
        { S("\x0a\x02\x18\x07"), QUIRE_E_FORMAT, "type of a piece" },
        { S("\x0a\x01\x0a"), QUIRE_E_FORMAT, "field at byte 0" },
        { S(UNK "\x12\x01\x18"), QUIRE_E_FORMAT, "field at byte 0" },
        { S(UNK "\x1a\x01\x18"), QUIRE_E_FORMAT, "field at byte 0" },
        { S(UNK "\x12\x02\x18\x03"), QUIRE_E_UNSUPPORTED, "model type 3 is not supported" },
        { S(UNK "\x12\x03\xc0\x01\x01"), QUIRE_E_UNSUPPORTED, "treat_whitespace_as_suffix" },
        { S(UNK "\x1a\x02\x28\x00"), QUIRE_E_UNSUPPORTED, "plain spaces in tokens" },
        { S(UNK "\x1a\x05\x12\x03xyz"), QUIRE_E_FORMAT, "precompiled_charsmap" },
        { S(UNK BPE "\x1a\x0c\x12\x0a\x04\x00\x00\x00\x00\x00\x00\x00z\x00"), QUIRE_E_UNSUPPORTED,
          "precompiled_charsmap of a BPE model" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vocab *v = vocab_new(QR_VOCAB_UNIGRAM);
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = read_model(cases[i].bytes, cases[i].size, v, &err);
        if (s != cases[i].status || !strstr(err.msg, cases[i].message))
            fail_msg("%zu: %s \"%s\", not \"%s\"", i, quire_status_name(s), err.msg,
                     cases[i].message);
        vocab_free(v);
    }
}

/* Fields of other numbers and types are skipped; settings that say what is done anyway. */
static void accepted(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        { S(UNK PIECE BPE) },
        { S(UNK PIECE BPE "\x12\x03\xc0\x01\x00") },               /* no white space as suffix */
        { S(UNK PIECE BPE "\x1a\x02\x28\x01") },                   /* escaped white space */
        { S(UNK PIECE BPE "\x1a\x02\x12\x00") },                   /* an empty map */
        { S(UNK PIECE BPE "\x1a\x02\x10\x07") },                   /* a map of another type */
        { S(UNK PIECE BPE "\x1a\x03\x0a\x01x\x12\x03\x0a\x01x") }, /* names */
        { S(UNK PIECE BPE "\x22\x01x\x29\x00\x00\x00\x00\x00\x00\x00\x00\x2d\x00\x00\x00\x00") },
        { S(UNK PIECE BPE "\x12\x03\xf0\x02\x07\x12\x09\x21\x00\x00\x00\x00\x00\x00\x00\x00") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vocab *v = vocab_new(QR_VOCAB_UNIGRAM);
        struct quire_error err = QUIRE_ERROR_INIT;
        if (read_model(cases[i].bytes, cases[i].size, v, &err) != QUIRE_OK)
            fail_msg("%zu: %s", i, err.msg);
        assert_int_equal(v->spec.n_tokens, 2);
        assert_int_equal(v->spec.kind, QR_VOCAB_SENTENCEPIECE_BPE);
        assert_null(v->spec.charsmap);
        assert_int_equal(v->spec.n_prefix_ids, 1);
        vocab_free(v);
    }
    /* -1: the model has no such token */
    static const char none[] =
        UNK PIECE BPE "\x12\x0c\xc8\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    struct vocab *v = vocab_new(QR_VOCAB_UNIGRAM);
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, read_model(none, sizeof none - 1, v, &err));
    assert_int_equal(v->spec.special[QUIRE_SPECIAL_BOS], QUIRE_TOKEN_NONE);
    assert_int_equal(v->spec.n_prefix_ids, 0);
    vocab_free(v);
}

static void too_many_pieces(void **state)
{
    (void)state;
    const size_t n = QR_MAX_TOKENS + 1;
    struct vocab *v = vocab_new(QR_VOCAB_UNIGRAM);
    struct quire_error err = QUIRE_ERROR_INIT;
    char *bytes = calloc(n, 2);
    for (size_t i = 0; i < n; i++)
        bytes[2 * i] = 0x0a;
    assert_status(QUIRE_E_LIMIT, read_model(bytes, 2 * n, v, &err));
    assert_non_null(strstr(err.msg, "16777217 pieces, at most 16777216"));
    free(bytes);
    vocab_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refused), cmocka_unit_test(accepted),
                                        cmocka_unit_test(too_many_pieces) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
