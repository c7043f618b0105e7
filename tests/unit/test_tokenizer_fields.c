/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_fields.c - every field of tokenizer.json and tokenizer_config.json that is read,
 * with values of wrong types, unsupported values and missing. */
#include "test_tokenizer.h"

struct field_case {
    const char *json, *config; /* config may be NULL */
    quire_status status;
    const char *message; /* whole, without what follows the format of the JSON reader */
};

#define VOCAB     "\"a\":0,\"b\":1,\"ab\":2,\"<unk>\":3,\"\u2581\":4"
#define MERGES    ",\"merges\":[\"a b\"]"
#define BPE(more) "\"model\":{\"type\":\"BPE\",\"vocab\":{" VOCAB "}" MERGES more "}"
#define WORDS(x)                                                                                   \
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"<unk>\",\"vocab\":{" VOCAB "}" x "}"
#define SPACES  "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}"
#define SPM     ",\"normalizer\":" SPACES
#define BERT    ",\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"
#define NORM(x) "{" BPE("") ",\"normalizer\":" x "}"
#define PRE(x)  "{" BPE("") ",\"pre_tokenizer\":" x "}"
#define POST(x) "{" BPE("") SPM ",\"post_processor\":" x "}"
#define ADDED(x)                                                                                   \
    "{" BPE(",\"unk_token\":\"<unk>\"") SPM ",\"added_tokens\":[{\"id\":5,\"content\":\"<t>\"" x   \
                                            "}]}"
#define SPLIT(x) PRE("{\"type\":\"Split\"" x "}")
#define GPT2                                                                                       \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|" \
    "\\\\s+"
#define METASPACE(x)                                                                               \
    "{" BPE(",\"unk_token\":\"<unk>\"") ",\"pre_tokenizer\":{\"type\":\"Metaspace\","              \
                                        "\"replacement\":\"\u2581\"" x "}}"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define F(json, message)                                                                           \
    {                                                                                              \
        json, NULL, QUIRE_E_FORMAT, message                                                        \
    }
#define U(json, message)                                                                           \
    {                                                                                              \
        json, NULL, QUIRE_E_UNSUPPORTED, message                                                   \
    }
#define L(json, message)                                                                           \
    {                                                                                              \
        json, NULL, QUIRE_E_LIMIT, message                                                         \
    }
#define C(config, status, message)                                                                 \
    {                                                                                              \
        "{" BPE("") SPM "}", config, status, message                                               \
    }
#define EIGHT(x) x "," x "," x "," x "," x "," x "," x "," x

static const struct field_case model_cases[] = {
    F("{}", "model is not an object"),
    F("{\"model\":[]}", "model is not an object"),
    F("{\"model\":{\"type\":1}}", "type"),
    U("{\"model\":{\"type\":\"WordLevel\"}}", "model type \"WordLevel\" is not supported"),
    U("{\"model\":{\"vocab\":{}}}", "model type \"\" is not supported"),
    F("{\"model\":{\"type\":\"BPE\"}}", "model.vocab is not an object"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":[]}}", "model.vocab is not an object"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1}}}", "id of \"a\" is not a token id"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":\"0\"}}}", "id of \"a\" is not a token id"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":7}}}", "1 tokens, but ids up to 7"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0}}}", "both have the id 0"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}", "model.merges is not an array"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":{}}}",
      "model.merges is not an array"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"aaa\":0},\"merges\":[1]}}",
      "model.merges[0] is neither a string nor a pair of strings"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"aaa\":0},\"merges\":[[\"a\",1]]}}",
      "model.merges[0] is neither a string nor a pair of strings"),
    F("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"aaa\":0},\"merges\":[[\"a\"]]}}",
      "model.merges[0] is neither a string nor a pair of strings"),
    F("{" BPE(",\"unk_token\":1") SPM "}", "unk_token"),
    F("{" BPE(",\"unk_token\":\"zz\"") SPM "}", "model.unk_token \"zz\" is not in the vocabulary"),
    F("{" BPE(",\"byte_fallback\":1") SPM "}", "byte_fallback"),
    F("{" BPE(",\"ignore_merges\":\"x\"") SPM "}", "ignore_merges"),
    F("{" BPE(",\"fuse_unk\":[]") SPM "}", "fuse_unk"),
    U("{" BPE(",\"ignore_merges\":true") SPM "}", "model.ignore_merges without ByteLevel"),
    U("{" BPE(",\"dropout\":0.1") SPM "}", "model.dropout is not supported"),
    U("{" BPE(",\"dropout\":true") SPM "}", "model.dropout is not supported"),
    U("{" BPE(",\"continuing_subword_prefix\":\"##\"") SPM "}",
      "model.continuing_subword_prefix is not supported"),
    U("{" BPE(",\"end_of_word_suffix\":\"</w>\"") SPM "}",
      "model.end_of_word_suffix is not supported"),
    F("{" WORDS(",\"max_input_chars_per_word\":\"x\"") BERT "}", "max_input_chars_per_word"),
    F("{" WORDS(",\"max_input_chars_per_word\":-1") BERT "}", "max_input_chars_per_word"),
    F("{" WORDS(",\"continuing_subword_prefix\":1") BERT "}", "continuing_subword_prefix"),
    F("{" BPE("") SPM ",\"added_tokens\":{}}", "added_tokens is not an array"),
    F("{" BPE("") SPM ",\"added_tokens\":[1]}", "added_tokens[0] has no id or content"),
    F("{" BPE("") SPM ",\"added_tokens\":[{\"id\":5}]}", "added_tokens[0] has no id or content"),
    F("{" BPE("") SPM ",\"added_tokens\":[{\"id\":5,\"content\":5}]}",
      "added_tokens[0] has no id or content"),
    F("{" BPE("") SPM ",\"added_tokens\":[{\"id\":\"5\",\"content\":\"x\"}]}",
      "added_tokens[0] has no id or content"),
    F("{" BPE("") SPM ",\"added_tokens\":[{\"id\":9,\"content\":\"x\"}]}",
      "6 tokens, but ids up to 9"),
    F("{" BPE("") SPM ",\"added_tokens\":[{\"id\":0,\"content\":\"x\"}]}",
      "added token 0 is \"x\", but the vocabulary has \"a\""),
    F(ADDED(",\"special\":1"), "special"),
    F(ADDED(",\"lstrip\":1"), "lstrip"),
    F(ADDED(",\"rstrip\":\"x\""), "rstrip"),
    F(ADDED(",\"single_word\":[]"), "single_word"),
    F(ADDED(",\"normalized\":{}"), "normalized"),
};

static const struct field_case step_cases[] = {
    F(NORM("1"), "normalizer is not an object"),
    F(NORM("{}"), "normalizer has no type"),
    F(NORM("{\"type\":1}"), "type"),
    F(NORM("{\"type\":\"Sequence\"}"), "normalizer.normalizers is not an array"),
    F(NORM("{\"type\":\"Sequence\",\"normalizers\":[1]}"), "normalizer is not an object"),
    U(NORM("{\"type\":\"NFKC\"}"), "normalizer NFKC is not supported"),
    U(NORM("{\"type\":\"Prepend\"}"), "normalizer Prepend is not supported"),
    U(NORM("{\"type\":\"Prepend\",\"prepend\":\"x\"}"), "normalizer Prepend is not supported"),
    F(NORM("{\"type\":\"Prepend\",\"prepend\":1}"), "prepend"),
    U(NORM("{\"type\":\"Replace\"}"), "normalizer Replace is not supported"),
    F(NORM("{\"type\":\"Replace\",\"content\":1}"), "content"),
    U(NORM("{\"type\":\"Replace\",\"content\":\"\u2581\"}"), "normalizer Replace is not supported"),
    U(NORM("{\"type\":\"Replace\",\"pattern\":{\"String\":\"x\"},\"content\":\"\u2581\"}"),
      "normalizer Replace is not supported"),
    U(NORM("{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"x\"}"),
      "normalizer Replace is not supported"),
    F(NORM("{\"type\":\"BertNormalizer\",\"clean_text\":1}"), "clean_text"),
    F(NORM("{\"type\":\"BertNormalizer\",\"handle_chinese_chars\":1}"), "handle_chinese_chars"),
    F(NORM("{\"type\":\"BertNormalizer\",\"lowercase\":1}"), "lowercase"),
    F(NORM("{\"type\":\"BertNormalizer\",\"strip_accents\":1}"), "strip_accents"),
    U(NORM("{\"type\":\"BertNormalizer\"}"), "BertPreTokenizer or BertNormalizer with a BPE model"),
    F(PRE("\"x\""), "pre_tokenizer is not an object"),
    U(PRE("null"), "BPE model without ByteLevel or U+2581 for spaces"),
    U(PRE("{\"type\":\"UnicodeScripts\"}"), "pre_tokenizer UnicodeScripts is not supported"),
    U(PRE("{\"type\":\"BertPreTokenizer\"}"),
      "BertPreTokenizer or BertNormalizer with a BPE model"),
    F(PRE("{\"type\":\"ByteLevel\",\"add_prefix_space\":1}"), "add_prefix_space"),
    F(PRE("{\"type\":\"ByteLevel\",\"use_regex\":1}"), "use_regex"),
    U(PRE("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"},{\"type\":"
          "\"ByteLevel\"}]}"),
      "ByteLevel with add_prefix_space after another step"),
    U(PRE("{\"type\":\"Sequence\",\"pretokenizers\":[" BYTES "," BYTES "]}"),
      "with a step after ByteLevel"),
    U(PRE("{\"type\":\"Sequence\",\"pretokenizers\":[" BYTES
          ",{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}"),
      "with ByteLevel twice"),
    U(PRE("{\"type\":\"Digits\"}"), "pre_tokenizer without ByteLevel"),
    F(PRE("{\"type\":\"Digits\",\"individual_digits\":1}"), "individual_digits"),
    L(PRE("{\"type\":\"Sequence\",\"pretokenizers\":[" EIGHT("{\"type\":\"Digits\"}") "," EIGHT(
          "{\"type\":\"Digits\"}") "," EIGHT("{\"type\":\"Digits\"}") "]}"),
      "pre_tokenizer has more than"),
    U(SPLIT(""), "pre_tokenizer Split at nothing is not supported"),
    U(SPLIT(",\"pattern\":{\"String\":\"x\"}"), "pre_tokenizer Split at x is not supported"),
    U(SPLIT(",\"pattern\":{\"String\":\" \"}"), "pre_tokenizer Split at   is not supported"),
    U(SPLIT(",\"pattern\":{\"Regex\":1}"), "pre_tokenizer Split at nothing is not supported"),
    U(SPLIT(",\"pattern\":{\"Regex\":\"(a+)+\"}"), "pre_tokenizer pattern (a+)+ is not supported"),
    F(SPLIT(",\"behavior\":1"), "behavior"),
    F(SPLIT(",\"invert\":1"), "invert"),
    U(SPLIT(",\"pattern\":{\"Regex\":\"" GPT2 "\"},\"behavior\":\"Contiguous\""),
      "pre_tokenizer Split with behavior Contiguous is not supported"),
    U(SPLIT(",\"pattern\":{\"Regex\":\"" GPT2 "\"},\"behavior\":\"Isolated\",\"invert\":true"),
      "pre_tokenizer Split with behavior Isolated is not supported"),
    U(SPLIT(",\"pattern\":{\"Regex\":\"" GPT2 "\"},\"behavior\":\"Removed\""),
      "pre_tokenizer Split with behavior Removed is not supported"),
    U(SPLIT(",\"pattern\":{\"Regex\":\"" GPT2 "\"},\"behavior\":\"Removed\",\"invert\":true"),
      "pre_tokenizer without ByteLevel"),
    U(PRE("{\"type\":\"Metaspace\"}"), "pre_tokenizer Metaspace with replacement"),
    U(PRE("{\"type\":\"Metaspace\",\"replacement\":\"_\"}"),
      "pre_tokenizer Metaspace with replacement _ is not supported"),
    F(PRE("{\"type\":\"Metaspace\",\"replacement\":1}"), "replacement"),
    F(PRE("{\"type\":\"Metaspace\",\"prepend_scheme\":1}"), "prepend_scheme"),
    F(PRE("{\"type\":\"Metaspace\",\"add_prefix_space\":1}"), "add_prefix_space"),
    F(PRE("{\"type\":\"Metaspace\",\"split\":1}"), "split"),
    U(PRE("{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"last\"}"),
      "pre_tokenizer Metaspace with prepend_scheme last is not supported"),
    U("{" BPE("") SPM ",\"pre_tokenizer\":" BYTES "}",
      "pre_tokenizer ByteLevel with spaces written as U+2581"),
    U("{" BPE("") ",\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"\u2581\"},\"pre_"
                  "tokenizer\":" BYTES "}",
      "pre_tokenizer ByteLevel with spaces written as U+2581"),
    U("{" WORDS("") "}", "of this WordPiece model"),
    U("{" WORDS("") BERT SPM "}", "of this WordPiece model"),
    U("{" WORDS("") BERT ",\"normalizer\":{\"type\":\"NFC\"}}", "of this WordPiece model"),
    U("{" WORDS("") ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
                    "\"BertPreTokenizer\"},{\"type\":\"Digits\"}]}}",
      "of this WordPiece model"),
    U("{" WORDS("") ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
                    "\"BertPreTokenizer\"}," BYTES "]}}",
      "of this WordPiece model"),
    U("{" WORDS("") ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
                    "\"BertPreTokenizer\"},{\"type\":\"Metaspace\",\"replacement\":\"\u2581\"}]}}",
      "of this WordPiece model"),
};

#define ONE_ID "{\"SpecialToken\":{\"id\":\"x\"}}"
#define TEMPLATE(single, ids)                                                                      \
    POST("{\"type\":\"TemplateProcessing\",\"single\":" single                                     \
         ",\"special_tokens\":{\"x\":{\"ids\":" ids "}}}")

static const struct field_case post_processor_cases[] = {
    U(POST("{\"type\":\"Other\"}"), "post_processor Other is not supported"),
    F(POST("{\"type\":\"Sequence\",\"processors\":1}"),
      "post_processor.processors is not an array"),
    F(TEMPLATE("1", "[0]"), "post_processor.single is not an array"),
    F(TEMPLATE("[1]", "[0]"), "post_processor.single[0] names no known token"),
    F(TEMPLATE("[{\"SpecialToken\":{\"id\":\"y\"}}]", "[0]"),
      "post_processor.single[0] names no known token"),
    F(TEMPLATE("[" ONE_ID "]", "0"), "post_processor.single[0] names no known token"),
    F(TEMPLATE("[" ONE_ID "]", "[\"a\"]"), "post_processor has a token without an id"),
    F(TEMPLATE("[{\"Sequence\":{}}," ONE_ID "]", "[-1]"),
      "post_processor has a token without an id"),
    F(TEMPLATE("[" ONE_ID "]", "[77]"), "outside the vocabulary"),
    L(TEMPLATE("[" EIGHT(ONE_ID) "," EIGHT(ONE_ID) "," EIGHT(ONE_ID) "]", "[0]"),
      "post_processor adds more than"),
    L(TEMPLATE("[" EIGHT(EIGHT(ONE_ID)) "," ONE_ID "]", "[0]"),
      "post_processor.single has more than 64 items"),
    F(POST("{\"type\":\"BertProcessing\"}"), "post_processor has a token without an id"),
    F(POST("{\"type\":\"BertProcessing\",\"cls\":[\"a\",0]}"),
      "post_processor has a token without an id"),
    F(POST("{\"type\":\"RobertaProcessing\",\"cls\":[\"a\",0],\"sep\":[\"b\"]}"),
      "post_processor has a token without an id"),
};

static const struct field_case config_cases[] = {
    C("[]", QUIRE_E_FORMAT, "tokenizer_config.json"),
    C("{\"add_bos_token\":1}", QUIRE_E_FORMAT, "add_bos_token"),
    C("{\"add_eos_token\":\"x\"}", QUIRE_E_FORMAT, "add_eos_token"),
    C("{\"chat_template\":1}", QUIRE_E_FORMAT, "chat_template is neither a string nor a list"),
    C("{\"chat_template\":[1]}", QUIRE_E_FORMAT, "chat_template[0] has no name or template"),
    C("{\"chat_template\":[{\"name\":\"x\"}]}", QUIRE_E_FORMAT,
      "chat_template[0] has no name or template"),
    C("{\"chat_template\":[{\"template\":\"x\"}]}", QUIRE_E_FORMAT,
      "chat_template[0] has no name or template"),
    C("{\"chat_template\":[{\"name\":\"x\",\"template\":1}]}", QUIRE_E_FORMAT,
      "chat_template[0] has no name or template"),
};

/* Opens with an allocator that counts: a failure leaves nothing behind. */
static quire_status open_case(const char *json, const char *config, struct fail_alloc *f,
                              struct quire_tokenizer **t, struct quire_error *err)
{
    struct quire_tokenizer_params params = { .struct_size = sizeof params };
    params.allocator = &f->hooks;
    return quire_tokenizer_open_memory(json, strlen(json), config, config ? strlen(config) : 0,
                                       &params, t, err);
}

static void check_cases(const struct field_case *cases, size_t n)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        struct fail_alloc f;
        struct quire_tokenizer *t;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, 0, false);
        const quire_status st = open_case(cases[i].json, cases[i].config, &f, &t, &err);
        if (st != cases[i].status || !strstr(err.msg, cases[i].message) || t || f.live_count) {
            print_error("%.300s\n   got  %s: %s\n   want %s\n", cases[i].json,
                        quire_status_name(st), err.msg, cases[i].message);
            wrong++;
        }
        quire_tokenizer_close(t);
    }
    assert_int_equal(wrong, 0);
}
#define CHECK_CASES(cases) check_cases(cases, sizeof cases / sizeof *cases)

static void model_fields(void **state)
{
    (void)state;
    CHECK_CASES(model_cases);
}

static void pipeline_fields(void **state)
{
    (void)state;
    CHECK_CASES(step_cases);
    CHECK_CASES(post_processor_cases);
}

static void config_fields(void **state)
{
    (void)state;
    CHECK_CASES(config_cases);
}

/* More named templates than a tokenizer holds. */
static void many_templates(void **state)
{
    (void)state;
    char config[8192] = "{\"chat_template\":[";
    for (int i = 0; i <= QR_MAX_TEMPLATES; i++) {
        char item[64];
        snprintf(item, sizeof item, "%s{\"name\":\"n%d\",\"template\":\"x\"}", i ? "," : "", i);
        strcat(config, item);
    }
    strcat(config, "]}");
    const struct field_case c = C(config, QUIRE_E_LIMIT, "chat templates");
    check_cases(&c, 1);
}

/* Fields that are null or empty are as if absent; wrong roles are ignored. */
static void harmless_values(void **state)
{
    (void)state;
    struct fail_alloc f;
    struct quire_tokenizer *t;
    struct quire_error err = QUIRE_ERROR_INIT;
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK,
                  open_case("{" BPE(",\"unk_token\":\"<unk>\",\"dropout\":null,\"continuing_"
                                    "subword_prefix\":\"\",\"end_of_"
                                    "word_suffix\":null,\"byte_fallback\":null") SPM
                            ",\"added_tokens\":null,\"post_processor\":null}",
                            "{\"bos_token\":5,\"eos_token\":\"zz\",\"unk_token\":{\"content\":1},"
                            "\"chat_template\":null,\"add_bos_token\":null}",
                            &f, &t, &err));
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_BOS), QUIRE_TOKEN_NONE);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), QUIRE_TOKEN_NONE);
    assert_null(quire_tokenizer_chat_template(t, NULL));
    assert_ids(encode(t, "ab a", 0), 2, 4, 0);
    quire_tokenizer_close(t);
    assert_int_equal(f.live_count, 0);
    assert_status(QUIRE_OK, open_case("{" BPE(",\"unk_token\":\"<unk>\",\"dropout\":0") SPM "}",
                                      NULL, &f, &t, &err));
    quire_tokenizer_close(t);
}

/* Settings of steps that a file leaves out. */
static void default_settings(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        enum qr_prepend_scheme scheme;
    } cases[] = {
        { PRE("{\"type\":\"ByteLevel\"}"), QR_PREPEND_UNLESS_SPACE },
        { PRE(BYTES), QR_PREPEND_NEVER },
        { METASPACE(""), QR_PREPEND_UNLESS_SPACE },
        { METASPACE(",\"add_prefix_space\":false"), QR_PREPEND_NEVER },
        { METASPACE(",\"prepend_scheme\":\"first\""), QR_PREPEND_FIRST },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fail_alloc f;
        struct quire_tokenizer *t;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, 0, false);
        assert_status(QUIRE_OK, open_case(cases[i].json, NULL, &f, &t, &err));
        assert_int_equal(t->prepend_scheme, cases[i].scheme);
        quire_tokenizer_close(t);
    }
}

/* Sizes beyond the limits are refused before anything is read. */
static void large_files(void **state)
{
    (void)state;
    static const char text[4] = "{}  "; /* whether it begins with "GGUF" is read */
    struct quire_tokenizer *t;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_LIMIT,
                  quire_tokenizer_open_memory(text, (256u << 20) + 1, NULL, 0, NULL, &t, &err));
    assert_status(QUIRE_E_LIMIT,
                  quire_tokenizer_open_memory(text, 2, text, (16u << 20) + 1, NULL, &t, &err));
}

/* Flags of an added token, with the positions they match at. */
static void added_token_flags(void **state)
{
    static const struct {
        const char *flags, *text;
        size_t n; /* ids of the text; a letter and U+2581 are one each */
    } cases[] = {
        { "", "a<t>b", 3 },
        { ",\"special\":true", "a<t>b", 3 },
        { "", "a <t> b", 5 },
        { ",\"lstrip\":true", "a <t> b", 4 },
        { ",\"rstrip\":true", "a <t> b", 4 },
        { ",\"lstrip\":true,\"rstrip\":true", "a \n <t>\t b", 3 },
        { ",\"single_word\":true", "a <t> b", 5 },
        { ",\"single_word\":true", "a<t>b", 5 }, /* no match: three unknown characters */
        { ",\"normalized\":false", "a<t>b", 3 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fail_alloc f;
        struct quire_tokenizer *t;
        struct quire_error err = QUIRE_ERROR_INIT;
        char json[1024];
        fail_alloc_init(&f, 0, false);
        snprintf(json, sizeof json, ADDED("%s"), cases[i].flags);
        assert_status(QUIRE_OK, open_case(json, NULL, &f, &t, &err));
        const struct ids got = encode(t, cases[i].text, QUIRE_ENCODE_PARSE_SPECIAL);
        assert_int_equal(got.n, cases[i].n);
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
    }
}

/* Every allocation of opening fails once. */
static void allocation_failures(void **state)
{
    static const char *const files[] = {
        "{" BPE(",\"unk_token\":\"<unk>\"") SPM
        ",\"added_tokens\":[{\"id\":5,\"content\":\"<t>\",\"special\":true}]}",
        "{" WORDS("") BERT "}",
        PRE("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"}," BYTES "]}"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        quire_status st = QUIRE_E_NOMEM;
        for (size_t fail_at = 1; st != QUIRE_OK; fail_at++) {
            struct fail_alloc f;
            struct quire_tokenizer *t;
            struct quire_error err = QUIRE_ERROR_INIT;
            fail_alloc_init(&f, fail_at, false);
            st = open_case(files[i], "{\"chat_template\":\"x\"}", &f, &t, &err);
            assert_true(st == QUIRE_OK || (st == QUIRE_E_NOMEM && err.msg[0] && !t));
            assert_true(fail_at < 10000);
            quire_tokenizer_close(t);
            assert_int_equal(f.live_count, 0);
        }
    }
}

/* Calls without a tokenizer, and decoding without what it needs. */
static void missing_arguments(void **state)
{
    (void)state;
    struct fail_alloc f;
    struct quire_tokenizer *t;
    struct quire_detokenizer *d;
    struct quire_error err = QUIRE_ERROR_INIT;
    const char *text;
    const int32_t id = 0, beyond = 5;
    size_t size = 1;
    char c;
    assert_int_equal(quire_tokenizer_vocab_size(NULL), 0);
    assert_int_equal(quire_tokenizer_special(NULL, QUIRE_SPECIAL_BOS), QUIRE_TOKEN_NONE);
    assert_int_equal(quire_tokenizer_find(NULL, "a", 1), QUIRE_TOKEN_NONE);
    assert_false(quire_tokenizer_adds_bos(NULL) || quire_tokenizer_adds_eos(NULL));
    assert_null(quire_tokenizer_chat_template(NULL, NULL));
    assert_null(quire_tokenizer_token_text(NULL, 0, &size));
    assert_int_equal(size, 0);
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, open_case(ADDED(""), NULL, &f, &t, &err));
    assert_int_equal(quire_tokenizer_find(t, NULL, 0), QUIRE_TOKEN_NONE);
    assert_int_equal(quire_tokenizer_special(t, (enum quire_special_token)QUIRE_N_SPECIAL),
                     QUIRE_TOKEN_NONE);
    assert_null(quire_tokenizer_token_bytes(t, 6, NULL));
    assert_null(quire_tokenizer_token_text(t, -1, NULL));
    assert_non_null(quire_tokenizer_token_text(t, beyond, NULL));
    assert_non_null(quire_tokenizer_token_bytes(t, beyond, NULL));

    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_decode(t, &id, 1, 0, &c, 1, NULL, &err));
    assert_string_equal(err.msg, "size is NULL");
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_decode(t, NULL, 1, 0, &c, 1, &size, &err));
    assert_string_equal(err.msg, "ids is NULL");
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_decode(t, &id, 1, 0, NULL, 1, &size, &err));
    assert_string_equal(err.msg, "buf is NULL");
    assert_status(QUIRE_E_LIMIT, quire_tokenizer_decode(t, &beyond, 1, 0, &c, 1, &size, &err));
    assert_string_equal(err.msg, "text has 3 bytes, buf_max is 1");
    assert_int_equal(size, 3);

    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_create(t, 0, NULL, &err));
    assert_string_equal(err.msg, "out is NULL");
    assert_status(QUIRE_OK, quire_detokenizer_create(t, 0, &d, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_push(d, 0, NULL, &size, &err));
    assert_string_equal(err.msg, "text is NULL");
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_push(d, 0, &text, NULL, &err));
    assert_string_equal(err.msg, "size is NULL");
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_finish(d, NULL, &size, &err));
    assert_string_equal(err.msg, "text is NULL");
    assert_status(QUIRE_E_INVALID_ARG, quire_detokenizer_finish(d, &text, NULL, &err));
    assert_string_equal(err.msg, "size is NULL");
    quire_detokenizer_destroy(d);
    quire_tokenizer_close(t);
    assert_int_equal(f.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_fields),        cmocka_unit_test(pipeline_fields),
        cmocka_unit_test(config_fields),       cmocka_unit_test(many_templates),
        cmocka_unit_test(harmless_values),     cmocka_unit_test(default_settings),
        cmocka_unit_test(large_files),         cmocka_unit_test(added_token_flags),
        cmocka_unit_test(allocation_failures), cmocka_unit_test(missing_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
