/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_pair.c - templates of pairs of texts in tokenizer.json; pieces that are too long
 * to be merged as a whole. */
#include "test_tokenizer.h"
#include "tokenizer/types.h"

#define VOCAB                                                                                      \
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"c\":1,\"s\":2,"    \
    "\"a\":3,\"b\":4}},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"
#define TOKEN(name, type) "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":" type "}}"
#define TEXT(name, type)  "{\"Sequence\":{\"id\":\"" name "\",\"type_id\":" type "}}"
#define SINGLE            TOKEN("c", "0") "," TEXT("A", "0") "," TOKEN("s", "0")
#define SPECIAL                                                                                    \
    "\"special_tokens\":{\"c\":{\"ids\":[1]},\"s\":{\"ids\":[2]},\"five\":{\"ids\":[1,1,1,1,1]},"  \
    "\"bad\":{\"ids\":[\"x\"]},\"none\":{}}"
#define STEP(pair)  "{\"type\":\"TemplateProcessing\",\"single\":[" SINGLE "]," SPECIAL pair "}"
#define PAIR(items) STEP(",\"pair\":[" items "]")
#define POST(step)  "{" VOCAB ",\"post_processor\":" step "}"
#define GOOD                                                                                       \
    TOKEN("c", "0") "," TEXT("A", "0") "," TOKEN("s", "0") "," TEXT("B", "1") "," TOKEN("s", "1")
#define BERT(type, sep) "{\"type\":\"" type "\",\"cls\":[\"c\",1],\"sep\":[\"s\"," sep "]}"

static struct quire_tokenizer *open_json(const char *json)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    const quire_status st =
        quire_tokenizer_open_memory(json, strlen(json), NULL, 0, NULL, &t, &err);
    if (st != QUIRE_OK)
        print_error("%s\n   %s\n", json, err.msg);
    assert_int_equal(st, QUIRE_OK);
    return t;
}

/* Templates of pairs that quire encodes, with the number of tokens between the texts. */
static void supported(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        uint32_t n_between, type;
    } cases[] = {
        { POST(PAIR(GOOD)), 1, 1 },
        { POST("{\"type\":\"Sequence\",\"processors\":[" PAIR(GOOD) "]}"), 1, 1 },
        { POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TEXT("B", "0") "," TOKEN("s", "0"))), 0,
          0 },
        { POST(BERT("BertProcessing", "2")), 1, 1 },
        { POST(BERT("RobertaProcessing", "2")), 2, 0 },
        /* only a Sequence has steps */
        { POST("{\"type\":\"BertProcessing\",\"cls\":[\"c\",1],\"sep\":[\"s\",2],"
               "\"processors\":[" BERT("RobertaProcessing", "2") "]}"),
          1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_tokenizer *t = open_json(cases[i].json);
        assert_true(t->has_pair);
        assert_int_equal(t->n_pair_ids, cases[i].n_between);
        assert_int_equal(t->pair_type, cases[i].type);
        assert_ids(encode(t, "a b", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), 1, 3, 4, 2);
        quire_tokenizer_close(t);
    }
}

/* Other templates leave single texts as they are; pairs are refused when they are encoded. */
static void unsupported(void **state)
{
    (void)state;
    static const char *const cases[] = {
        POST(STEP("")),
        POST(STEP(",\"pair\":1")),
        POST(PAIR("")),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TOKEN("s", "0"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("B", "0") "," TEXT("A", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "1") "," TEXT("B", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TEXT("B", "2"))),
        POST(PAIR(TOKEN("c", "0") ",{\"Sequence\":{\"type_id\":0}}")),
        POST(PAIR(GOOD "," TEXT("A", "0"))),
        POST(PAIR(TOKEN("c", "1") "," TEXT("A", "0") "," TEXT("B", "1") "," TOKEN("s", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TEXT("B", "1") "," TOKEN("s", "0"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TOKEN("zz", "0") "," TEXT("B", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TOKEN("none", "0") "," TEXT("B", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TOKEN("bad", "0") "," TEXT("B", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TOKEN("five", "0") "," TEXT("B", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") ",{}," TEXT("B", "1"))),
        POST(PAIR(TOKEN("s", "0") "," TEXT("A", "0") "," TEXT("B", "1") "," TOKEN("s", "1"))),
        POST(PAIR(TEXT("A", "0") "," TEXT("B", "1") "," TOKEN("s", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TEXT("B", "1") "," TOKEN("c", "1"))),
        POST(PAIR(TOKEN("c", "0") "," TEXT("A", "0") "," TEXT("B", "1"))),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_tokenizer *t = open_json(cases[i]);
        if (t->has_pair)
            print_error("%s\n", cases[i]);
        assert_false(t->has_pair);
        assert_ids(encode(t, "a b", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), 1, 3, 4, 2);
        quire_tokenizer_close(t);
    }
}

/* A piece of more than QR_MAX_PIECE_BYTES is cut between two characters, at a space if there is
 * one: the text comes back whole. Letters and digits alternate, as a run of one class would end a
 * segment. */
static void long_pieces(void **state)
{
    (void)state;
    static const char unit[] = "1\xc3\xa9";
    enum { SIZE = 3 * (QR_MAX_PIECE_BYTES / 3 + 64) };
    char *text = malloc(SIZE), *back = malloc(SIZE + 16);
    int32_t *ids = malloc((SIZE + 16) * sizeof *ids);
    for (int kind = 0; kind < 12; kind++) {
        struct vocab *v = kind < 3 ? byte_vocab("gpt-2") : spm_vocab();
        if (kind < 3)
            v->spec.n_splits = 0;
        if (kind >= 6) /* merges cross spaces */
            add_piece(v, "x\u2581y", -3);
        struct quire_tokenizer *t = build(v);
        struct quire_error err = QUIRE_ERROR_INIT;
        size_t n, back_n;
        for (size_t i = 0; i < SIZE; i++) /* the limit lies at each byte of the unit */
            text[i] = i < (size_t)kind % 3 ? 'a' : unit[(i - (size_t)kind % 3) % 3];
        memset(text + SIZE - 6 + kind % 3, 'b', 6 - (size_t)kind % 3); /* no part of a character */
        if (kind >= 9)
            memcpy(text + 30 + kind % 3, "a a", 3);
        assert_status(QUIRE_OK, quire_tokenizer_encode(t, text, SIZE, 0, ids, SIZE + 16, &n, &err));
        assert_status(QUIRE_OK,
                      quire_tokenizer_decode(t, ids, n, 0, back, SIZE + 16, &back_n, &err));
        assert_int_equal(back_n, SIZE);
        assert_memory_equal(back, text, SIZE);
        quire_tokenizer_close(t);
    }
    free(text);
    free(back);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(supported), cmocka_unit_test(unsupported),
                                        cmocka_unit_test(long_pieces) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
