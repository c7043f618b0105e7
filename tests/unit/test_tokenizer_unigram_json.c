/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_unigram_json.c - every field of the tokenizer.json of a Unigram model: of wrong
 * types, in other orders and combinations, and without memory. */
#include "test_tokenizer.h"
#include "tokenizer/open_huggingface.h"
#include "tokenizer/vocab.h"

#define MODEL(v, x) "{\"model\":{\"type\":\"Unigram\",\"vocab\":[" v "]" x "}"
#define PIECES      "[\"<unk>\",0],[\"\u2581\",-1],[\"a\",-2],[\"\u00e9\",-3],[\"<0x0A>\",-4]"
#define GOOD        MODEL(PIECES, ",\"unk_id\":0")
#define METASPACE   ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\"}"
#define NORM(steps) ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" steps "]}"
#define PRE(steps)  ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" steps "]}"
#define ADDED(list) ",\"added_tokens\":[" list "]"
#define META        "{\"type\":\"Metaspace\",\"replacement\":\"\u2581\"}"
#define WORDS       "{\"type\":\"WhitespaceSplit\"}"
#define COLLAPSE    "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}"
#define STRIP(x)    "{\"type\":\"Strip\"" x "}"
#define MAP(x)      "{\"type\":\"Precompiled\"" x "}"
/* a trie of one unit and an empty text */
#define SMALL_MAP   ",\"precompiled_charsmap\":\"BAAAAAAAAAAAAAAA\""

static quire_status open_text(const char *json, const struct quire_allocator *a,
                              struct quire_tokenizer **t, struct quire_error *err)
{
    struct quire_tokenizer_params p = { .struct_size = sizeof p, .allocator = a };
    return qr_tokenizer_open_json_memory(json, strlen(json), NULL, 0, &p, t, err);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        quire_status status;
        const char *message;
    } cases[] = {
        { MODEL("1", "") "}", QUIRE_E_FORMAT, "model.vocab[0] is not a text with a score" },
        { MODEL("{\"a\":1}", "") "}", QUIRE_E_FORMAT, "model.vocab[0]" },
        { MODEL("[]", "") "}", QUIRE_E_FORMAT, "model.vocab[0]" },
        { MODEL("[1,1]", "") "}", QUIRE_E_FORMAT, "model.vocab[0]" },
        { MODEL("[\"a\",0],[\"b\",null]", "") "}", QUIRE_E_FORMAT, "model.vocab[1]" },
        { MODEL("[\"a\",0]", ",\"byte_fallback\":1") "}", QUIRE_E_FORMAT, "byte_fallback" },
        { MODEL("[\"a\",0]", ",\"unk_id\":\"a\"") METASPACE "}", QUIRE_E_FORMAT, "model.unk_id" },
        { MODEL("[\"a\",0]", ",\"unk_id\":-1") METASPACE "}", QUIRE_E_FORMAT, "model.unk_id" },
        { MODEL("[\"a\",0]", ",\"unk_id\":null") METASPACE "}", QUIRE_E_FORMAT,
          "no unknown token" },
        { MODEL("[\"a\",0]", ",\"unk_id\":0") METASPACE ADDED("{\"id\":7,\"content\":\"x\"}") "}",
          QUIRE_E_FORMAT, "2 tokens, but ids up to 7" },
        { GOOD METASPACE ADDED("{\"id\":1,\"content\":\"x\"}") "}", QUIRE_E_FORMAT,
          "added token 1 is \"x\"" },
        { GOOD METASPACE ADDED("{\"id\":5,\"content\":\"x\",\"special\":1}") "}", QUIRE_E_FORMAT,
          "special" },
        { GOOD METASPACE NORM(STRIP(",\"strip_left\":1")) "}", QUIRE_E_FORMAT, "strip_left" },
        { GOOD METASPACE NORM(STRIP(",\"strip_right\":1")) "}", QUIRE_E_FORMAT, "strip_right" },
        { GOOD METASPACE NORM(MAP(SMALL_MAP) "," MAP(SMALL_MAP)) "}", QUIRE_E_UNSUPPORTED,
          "Precompiled after another step" },
        { GOOD METASPACE NORM("{\"type\":\"NFC\"}," MAP(SMALL_MAP)) "}", QUIRE_E_UNSUPPORTED,
          "Precompiled after another step" },
        { GOOD METASPACE NORM(STRIP(",\"strip_left\":false") "," MAP(SMALL_MAP)) "}",
          QUIRE_E_UNSUPPORTED, "Precompiled after another step" },
        { GOOD METASPACE NORM(COLLAPSE "," MAP(SMALL_MAP)) "}", QUIRE_E_UNSUPPORTED,
          "Precompiled after another step" },
        { GOOD METASPACE NORM(MAP(SMALL_MAP) ",{\"type\":\"NFC\"}") "}", QUIRE_E_UNSUPPORTED,
          "NFC with Precompiled" },
        { GOOD METASPACE NORM(STRIP(",\"strip_right\":false")) "}", QUIRE_E_UNSUPPORTED,
          "Strip without Replace" },
        { GOOD METASPACE NORM(STRIP(",\"strip_left\":false")) "}", QUIRE_E_UNSUPPORTED,
          "Strip without Replace" },
        { GOOD METASPACE NORM("{\"type\":\"Replace\"}") "}", QUIRE_E_UNSUPPORTED,
          "normalizer Replace is not supported" },
        { GOOD METASPACE NORM("{\"type\":\"Replace\",\"content\":\" \"}") "}", QUIRE_E_UNSUPPORTED,
          "normalizer Replace is not supported" },
        { GOOD METASPACE NORM("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"}}") "}",
          QUIRE_E_UNSUPPORTED, "normalizer Replace is not supported" },
        { GOOD METASPACE NORM(
              "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" +\"},\"content\":\" \"}") "}",
          QUIRE_E_UNSUPPORTED, "normalizer Replace is not supported" },
        { GOOD METASPACE NORM(
              "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"_\"}") "}",
          QUIRE_E_UNSUPPORTED, "normalizer Replace is not supported" },
        { GOOD PRE(META "," WORDS) "}", QUIRE_E_UNSUPPORTED, "WhitespaceSplit" },
        { GOOD PRE(WORDS) "}", QUIRE_E_UNSUPPORTED, "without U+2581 for spaces" },
        { GOOD PRE("{\"type\":\"BertPreTokenizer\"}") "}", QUIRE_E_UNSUPPORTED,
          "of this Unigram model" },
        { GOOD METASPACE NORM("{\"type\":\"BertNormalizer\"}") "}", QUIRE_E_UNSUPPORTED,
          "of this Unigram model" },
        { GOOD PRE("{\"type\":\"ByteLevel\",\"add_prefix_space\":false}") "}", QUIRE_E_UNSUPPORTED,
          "of this Unigram model" },
        { GOOD PRE("{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}") "}",
          QUIRE_E_UNSUPPORTED, "of this Unigram model" },
        { GOOD PRE("{\"type\":\"Digits\"}," META) "}", QUIRE_E_UNSUPPORTED,
          "of this Unigram model" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}" PRE(WORDS) "}",
          QUIRE_E_UNSUPPORTED, "WhitespaceSplit" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_tokenizer *t = NULL;
        struct fail_alloc f;
        fail_alloc_init(&f, 0, false);
        const quire_status s = open_text(cases[i].json, &f.hooks, &t, &err);
        if (s != cases[i].status || !strstr(err.msg, cases[i].message))
            fail_msg("%s\n  %s \"%s\", not \"%s\"", cases[i].json, quire_status_name(s), err.msg,
                     cases[i].message);
        assert_null(t);
        assert_int_equal(f.live_count, 0);
    }
}

static const struct {
    const char *json, *text;
    int32_t ids[8];
    size_t n;
} good[] = {
    { GOOD METASPACE "}", "a a", { 1, 2, 1, 2 }, 4 },
    { GOOD METASPACE NORM(MAP("")) "}", "a", { 1, 2 }, 2 },
    { GOOD METASPACE NORM(MAP(",\"precompiled_charsmap\":null")) "}", "a", { 1, 2 }, 2 },
    { GOOD METASPACE NORM(MAP(",\"precompiled_charsmap\":\"\"")) "}", "a", { 1, 2 }, 2 },
    /* composed before it is encoded */
    { GOOD METASPACE NORM("{\"type\":\"NFC\"}") "}", "ae\xCC\x81", { 1, 2, 3 }, 3 },
    /* Replace of single spaces instead of Metaspace */
    { GOOD NORM("{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
                "\"content\":\"\u2581\"}") "}",
      "a a",
      { 2, 1, 2 },
      3 },
    { GOOD METASPACE NORM(COLLAPSE) "}", "a   a", { 1, 2, 1, 2 }, 4 },
    /* Strip before the map: of both ends, and of a text that is white space */
    { GOOD METASPACE NORM(STRIP("") "," MAP(SMALL_MAP) "," COLLAPSE) "}",
      "\t a\t  \u3000\n",
      { 1, 2 },
      2 },
    { GOOD METASPACE NORM(STRIP("") "," MAP(SMALL_MAP) "," COLLAPSE) "}",
      "a\t  a",
      { 1, 2, 0, 1, 2 },
      5 },
    { GOOD METASPACE NORM(STRIP("") "," MAP(SMALL_MAP)) "}", "\t \n", { 0 }, 0 },
    /* tabs at the beginning and end go with Strip, others stay */
    { GOOD METASPACE NORM(STRIP("") "," COLLAPSE) "}", "\ta\t a\t", { 1, 2, 0, 1, 2 }, 5 },
    { GOOD METASPACE NORM(STRIP(",\"strip_left\":false") "," COLLAPSE) "}",
      "\ta a\t",
      { 1, 0, 2, 1, 2 },
      5 },
    { GOOD METASPACE NORM(STRIP(",\"strip_right\":false") "," COLLAPSE) "}",
      "\t a a\t",
      { 1, 2, 1, 2, 0 },
      5 },
    { GOOD NORM(STRIP("")) PRE(WORDS "," META) "}", " \ta\t a ", { 1, 2, 1, 2 }, 4 },
    /* U+2581 of the text begins a word, too */
    { GOOD PRE(WORDS "," META) "}",
      "a\u2581"
      "a \t a",
      { 1, 2, 1, 2, 1, 2 },
      6 },
    /* "<0x0A>" is a byte with byte_fallback only */
    { MODEL(PIECES, ",\"unk_id\":0,\"byte_fallback\":true") METASPACE "}", "a\n", { 1, 2, 4 }, 3 },
    { MODEL(PIECES, ",\"unk_id\":0,\"byte_fallback\":false") METASPACE "}", "a\n", { 1, 2, 0 }, 3 },
    /* the unknown token is an added one, too; a token that ends texts is a control token */
    { GOOD METASPACE ADDED("{\"id\":0,\"content\":\"<unk>\"},{\"id\":5,\"content\":\"<|end|>\"},"
                           "{\"id\":6,\"content\":\"xx\",\"normalized\":false}") "}",
      "xxa",
      { 6, 1, 2 },
      3 },
    { MODEL("[\"<|im_end|>\",0],[\"\u2581\",-1],[\"a\",-2]", ",\"unk_id\":0")
          METASPACE ADDED("{\"id\":0,\"content\":\"<|im_end|>\",\"special\":true}") "}",
      "a",
      { 1, 2 },
      2 },
};

static void accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_tokenizer *t = NULL;
        if (open_text(good[i].json, NULL, &t, &err) != QUIRE_OK)
            fail_msg("%s\n  %s", good[i].json, err.msg);
        const struct ids got = encode(t, good[i].text, QUIRE_ENCODE_PARSE_SPECIAL);
        if (got.n != good[i].n || memcmp(got.id, good[i].ids, got.n * sizeof *got.id) != 0)
            fail_msg("%zu: %zu ids, the first %d %d %d", i, got.n, got.id[0], got.id[1], got.id[2]);
        quire_tokenizer_close(t);
    }
}

/* Every allocation of opening and encoding fails. */
static void no_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        bool done = false;
        for (size_t at = 1; !done; at++) {
            struct quire_error err = QUIRE_ERROR_INIT;
            struct quire_tokenizer *t = NULL;
            struct fail_alloc f;
            int32_t ids[8];
            size_t n;
            fail_alloc_init(&f, at, false);
            quire_status s = open_text(good[i].json, &f.hooks, &t, &err);
            if (s == QUIRE_OK)
                s = quire_tokenizer_encode(t, good[i].text, strlen(good[i].text),
                                           QUIRE_ENCODE_PARSE_SPECIAL, ids, 8, &n, &err);
            done = f.calls < at;
            assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
            assert_true(done || strstr(err.msg, "memory"));
            quire_tokenizer_close(t);
            assert_int_equal(f.live_count, 0);
        }
    }
}

/* The reported size is that of the allocations. */
static void bytes(void **state)
{
    (void)state;
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, open_text(GOOD METASPACE NORM(MAP(SMALL_MAP)) "}", &f.hooks, &t, &err));
    assert_int_equal(t->charsmap_size, 12);
    assert_int_equal(qr_vocab_bytes(t), f.live_bytes - sizeof *t);
    quire_tokenizer_close(t);
    assert_int_equal(f.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refused), cmocka_unit_test(accepted),
                                        cmocka_unit_test(no_memory), cmocka_unit_test(bytes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
