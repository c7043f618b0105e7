/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_json.c - tokenizer.json and its configuration files, valid and malformed. */
#include "test_tokenizer.h"
#include "tokenizer/open_huggingface.h"
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/quire-hf-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static void in_folder(const char *name, char *path) { snprintf(path, 256, "%s/%s", folder, name); }

static void put_file(const char *name, const char *text)
{
    char path[256];
    in_folder(name, path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *const names[] = {
    "tokenizer.json",         "tokenizer_config.json", "special_tokens_map.json",
    "generation_config.json", "config.json",           "chat_template.jinja"
};

static int clear_folder(void **state)
{
    (void)state;
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        in_folder(names[i], path);
        unlink(path);
    }
    return 0;
}

static int remove_folder(void **state)
{
    clear_folder(state);
    return rmdir(folder);
}

static struct quire_tokenizer *open_good(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    const quire_status st = quire_tokenizer_open(folder, NULL, &t, &err);
    if (st != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(st, QUIRE_OK);
    return t;
}

static void expect_error(const char *json, quire_status status, const char *text)
{
    struct fail_alloc f;
    struct quire_tokenizer_params o = { .struct_size = sizeof o };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    fail_alloc_init(&f, 0, false);
    o.allocator = &f.hooks;
    put_file("tokenizer.json", json);
    const quire_status st = quire_tokenizer_open(folder, &o, &t, &err);
    if (st != status || !strstr(err.msg, text))
        print_error("%.200s\n  gave %s: %s\n", json, quire_status_name(st), err.msg);
    assert_int_equal(st, status);
    assert_non_null(strstr(err.msg, text));
    assert_null(t);
    assert_int_equal(f.live_count, 0);
}

#define VOCAB "\"a\":0,\"b\":1,\"ab\":2,\"<unk>\":3,\"\u2581\":4,\"<0x63>\":5"
#define MODEL(vocab, merges, more)                                                                 \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"vocab\":{" vocab                        \
    "},\"merges\":[" merges "]" more "}"
#define SEVEN "\"a b\",\"a b\",\"a b\",\"a b\",\"a b\",\"a b\",\"a b\""
#define SPACES                                                                                     \
    "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}"
#define BYTES "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define GOOD  "{" MODEL(VOCAB, "\"a b\"", "") "," SPACES "}"

static void merges_and_fallback(void **state)
{
    (void)state;
    static const char *const merges[] = { "\"a b\"", "[\"a\",\"b\"]" };
    char json[1024];
    for (size_t i = 0; i < 2; i++) {
        for (int bytes = 0; bytes < 2; bytes++) {
            snprintf(json, sizeof json,
                     "{" MODEL(VOCAB, "%s", ",\"byte_fallback\":%s,\"fuse_unk\":true") "," SPACES
                                                                                       "}",
                     merges[i], bytes ? "true" : "false");
            put_file("tokenizer.json", json);
            struct quire_tokenizer *t = open_good();
            if (bytes)
                assert_ids(encode(t, "ab a", 0), 2, 4, 0);
            assert_ids(encode(t, "abc", 0), 2, bytes ? 5 : 3);
            assert_ids(encode(t, "ddd", 0), 3); /* fused */
            quire_tokenizer_close(t);
        }
    }
    put_file("tokenizer.json", "{" MODEL(VOCAB, "", "") "," SPACES "}");
    struct quire_tokenizer *t = open_good();
    assert_ids(encode(t, "dd", 0), 3, 3);
    quire_tokenizer_close(t);
}

/* Normalizers and pre-tokenizers that replace spaces. */
static void space_rules(void **state)
{
    (void)state;
    static const struct {
        const char *rules;
        const char *text;
        size_t n;
    } cases[] = {
        { "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\","
          "\"prepend\":\"\u2581\"},{\"type\":\"Replace\","
          "\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}]},\"pre_tokenizer\":null",
          " a", 3 },
        { "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"add_prefix_"
          "space\":true}",
          " a", 2 },
        { "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":"
          "\"first\",\"split\":false}",
          "a", 2 },
        { "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":"
          "\"never\"}",
          "a", 1 },
        { SPACES ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\" "
                 "\"},\"behavior\":\"MergedWithPrevious\","
                 "\"invert\":false}",
          "a a", 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[1024];
        snprintf(json, sizeof json, "{" MODEL(VOCAB, "", "") ",%s}", cases[i].rules);
        put_file("tokenizer.json", json);
        struct quire_tokenizer *t = open_good();
        assert_int_equal(encode(t, cases[i].text, 0).n, cases[i].n);
        quire_tokenizer_close(t);
    }
    /* Metaspace with split: a piece begins at every space of a run */
    for (int split = 0; split < 2; split++) {
        char json[1024];
        snprintf(json, sizeof json,
                 "{" MODEL(VOCAB ",\"\u2581\u2581\":6", "\"\u2581 \u2581\"",
                           "") ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":"
                               "\"\u2581\",\"prepend_scheme\":\"never\",\"split\":%s}}",
                 split ? "true" : "false");
        put_file("tokenizer.json", json);
        struct quire_tokenizer *t = open_good();
        assert_int_equal(encode(t, "a  b", 0).n, split ? 4 : 3);
        quire_tokenizer_close(t);
    }
}

#define ADDED                                                                                      \
    "\"added_tokens\":[{\"id\":6,\"content\":\"<s>\",\"special\":true},{\"id\":7,\"content\":\"</" \
    "s>\",\"special\":true},"                                                                      \
    "{\"id\":8,\"content\":\"<|im_end|>\",\"special\":true,\"rstrip\":true},{\"id\":9,"            \
    "\"content\":\"<t>\",\"special\":false}]"
#define POST                                                                                       \
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":"   \
    "\"<s>\",\"type_id\":0}},"                                                                     \
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"special_tokens\":{\"<s>\":{\"id\":\"<s>\","    \
    "\"ids\":[6],\"tokens\":[\"<s>\"]}}}"

static void configuration_files(void **state)
{
    (void)state;
    enum { BOTH = QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS };
    put_file("tokenizer.json", "{" MODEL(VOCAB, "\"a b\"", "") "," SPACES "," ADDED "," POST "}");
    struct quire_tokenizer *t = open_good();
    assert_ids(encode(t, "a", BOTH), 6, 0);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_BOS), 6); /* by the post-processor */
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 7); /* by its text */
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_UNK), 3);
    assert_true(quire_tokenizer_is_eog(t, 8));
    assert_ids(encode(t, "a<|im_end|> \n<t>b", QUIRE_ENCODE_PARSE_SPECIAL), 0, 8, 9, 1);
    assert_null(quire_tokenizer_chat_template(t, NULL));
    quire_tokenizer_close(t);

    put_file("tokenizer_config.json", "{\"model_max_length\":1000000000000000019884624838656,\"bos_"
                                      "token\":{\"content\":\"<s>\"},\"eos_token\":\"<|im_"
                                      "end|>\",\"pad_token\":null,\"add_bos_token\":"
                                      "false,\"add_eos_token\":true,\"chat_template\":[{\"name\":"
                                      "\"default\",\"template\":\"D\"},{\"name\":"
                                      "\"tool_use\",\"template\":\"T\"}]}");
    put_file("special_tokens_map.json",
             "{\"eos_token\":\"</s>\",\"pad_token\":\"</s>\",\"mask_token\":\"nothing\"}");
    put_file("generation_config.json", "{\"eos_token_id\":[9,8,100000]}");
    t = open_good();
    assert_ids(encode(t, "a", BOTH), 0, 8);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 8);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_PAD), 7);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_MASK), QUIRE_TOKEN_NONE);
    assert_true(quire_tokenizer_is_eog(t, 9));
    assert_string_equal(quire_tokenizer_chat_template(t, NULL), "D");
    assert_string_equal(quire_tokenizer_chat_template(t, "tool_use"), "T");
    quire_tokenizer_close(t);

    put_file("chat_template.jinja", "J");
    t = open_good();
    assert_string_equal(quire_tokenizer_chat_template(t, NULL),
                        "J"); /* chat_template.jinja takes precedence */
    assert_string_equal(quire_tokenizer_chat_template(t, "tool_use"), "T");
    quire_tokenizer_close(t);

    char path[256];
    in_folder("tokenizer.json", path); /* opening the file is equivalent to opening the folder */
    assert_status(QUIRE_OK, quire_tokenizer_open(path, NULL, &t, NULL));
    assert_string_equal(quire_tokenizer_chat_template(t, NULL), "J");
    quire_tokenizer_close(t);
}

static void from_memory(void **state)
{
    (void)state;
    static const char json[] = "{" MODEL(VOCAB, "\"a b\"", "") "," SPACES "," ADDED "," POST "}";
    static const char config[] = "{\"bos_token\":\"<s>\",\"eos_token\":\"<|im_end|>\","
                                 "\"add_bos_token\":false,\"chat_template\":\"C\"}";
    struct fail_alloc f;
    struct quire_tokenizer_params o = { .struct_size = sizeof o };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    fail_alloc_init(&f, 0, false);
    o.allocator = &f.hooks;
    put_file("chat_template.jinja", "J"); /* not read */
    assert_status(QUIRE_OK,
                  quire_tokenizer_open_memory(json, sizeof json - 1, NULL, 0, NULL, &t, &err));
    assert_ids(encode(t, "ab", QUIRE_ENCODE_ADD_BOS), 6, 2);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 7);
    assert_null(quire_tokenizer_chat_template(t, NULL));
    quire_tokenizer_close(t);

    assert_status(QUIRE_OK, quire_tokenizer_open_memory(json, sizeof json - 1, config,
                                                        sizeof config - 1, &o, &t, &err));
    assert_ids(encode(t, "ab", QUIRE_ENCODE_ADD_BOS), 2);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 8);
    assert_string_equal(quire_tokenizer_chat_template(t, NULL), "C");
    quire_tokenizer_close(t);
    /* no token is named: false removes the token of the post-processor, unless it is [CLS] */
    static const char *const unnamed[] = { "{\"add_bos_token\":false}",
                                           "{\"add_bos_token\":false,\"cls_token\":\"<s>\"}",
                                           "{\"add_bos_token\":true}" };
    for (int i = 0; i < 3; i++) {
        assert_status(QUIRE_OK, quire_tokenizer_open_memory(json, sizeof json - 1, unnamed[i],
                                                            strlen(unnamed[i]), &o, &t, &err));
        const struct ids ids = encode(t, "ab", QUIRE_ENCODE_ADD_BOS);
        if (i == 0)
            assert_ids(ids, 2);
        else
            assert_ids(ids, 6, 2);
        quire_tokenizer_close(t);
    }
    assert_int_equal(f.live_count, 0);

    assert_status(QUIRE_E_FORMAT,
                  quire_tokenizer_open_memory(json, sizeof json - 1, config, 5, &o, &t, &err));
    assert_non_null(strstr(err.msg, "tokenizer_config.json"));
    assert_null(t);
    assert_status(QUIRE_E_FORMAT, quire_tokenizer_open_memory(json, 0, NULL, 0, &o, &t, &err));
    assert_non_null(strstr(err.msg, "tokenizer.json"));
    static const char gguf[] = "GGUF";
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_open_memory(NULL, 0, NULL, 0, &o, &t, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_tokenizer_open_memory(json, 1, NULL, 1, &o, &t, &err));
    assert_status(QUIRE_E_INVALID_ARG,
                  quire_tokenizer_open_memory(gguf, 4, config, 1, &o, &t, &err));
    assert_status(QUIRE_E_INVALID_ARG,
                  quire_tokenizer_open_memory(json, sizeof json - 1, NULL, 0, &o, NULL, &err));
    o.struct_size = 4;
    assert_status(QUIRE_E_MISUSE,
                  quire_tokenizer_open_memory(json, sizeof json - 1, NULL, 0, &o, &t, &err));
    assert_null(t);
    assert_int_equal(f.live_count, 0);
}

static void malformed_configuration_files(void **state)
{
    (void)state;
    struct quire_tokenizer *t;
    put_file("tokenizer.json", "{" MODEL(VOCAB, "\"a b\"", "") "," SPACES "," ADDED "," POST "}");
    struct quire_error err = QUIRE_ERROR_INIT;
    static const char *const bad[][2] = {
        { "tokenizer_config.json", "{\"chat_template\":5}" },
        { "tokenizer_config.json", "{\"chat_template\":[{\"name\":\"x\"}]}" },
        { "tokenizer_config.json", "{\"add_bos_token\":\"yes\"}" },
        { "generation_config.json", "{\"eos_token_id\":\"1\"}" },
        { "generation_config.json", "{\"eos_token_id\":[-1]}" },
        { "generation_config.json", "{" },
        { "special_tokens_map.json", "[]" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_file(bad[i][0], bad[i][1]);
        assert_status(QUIRE_E_FORMAT, quire_tokenizer_open(folder, NULL, &t, &err));
        assert_non_null(strstr(err.msg, bad[i][0]));
        put_file(bad[i][0], "{}");
    }
}

static void pre_tokenizers(void **state)
{
    (void)state;
    /* a, b, digits and the space in the byte-level alphabet */
#define LETTERS                                                                                    \
    "\"a\":0,\"b\":1,\"1\":2,\"\u0120\":3,\"11\":4,\"\u0120a\":5,\"\u0120\u0120\":6,\"<unk>\":7"
#define MERGES "\"1 1\",\"\u0120 \u0120\",\"\u0120 a\""
#define SPLIT(regex, behavior, invert)                                                             \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex "\"},\"behavior\":\"" behavior           \
    "\",\"invert\":" invert "}"
#define LAST "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define SEQ(steps)                                                                                 \
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" steps "," LAST "]}"
#define QWEN2                                                                                      \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| "              \
    "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
    static const struct {
        const char *rules;
        size_t n; /* tokens of "a11  a" */
    } cases[] = {
        { BYTES, 4 },                                                    /* a 11 _ _a */
        { SEQ("{\"type\":\"Digits\",\"individual_digits\":true}"), 5 },  /* a 1 1 __ a */
        { SEQ("{\"type\":\"Digits\",\"individual_digits\":false}"), 4 }, /* a 11 __ a */
        { SEQ(SPLIT(QWEN2, "Isolated", "false")), 5 },                   /* a 1 1 _ _a */
        { SEQ(SPLIT(QWEN2, "Removed", "true")), 5 },
        { "\"normalizer\":{\"type\":\"NFC\"}," SEQ(SPLIT("[\\r\\n]", "Isolated", "false") "," SPLIT(
              "\\\\s?\\\\p{L}+", "Isolated", "false")),
          4 },
    };
    char json[2048];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(json, sizeof json, "{" MODEL(LETTERS, MERGES, "") ",%s}", cases[i].rules);
        put_file("tokenizer.json", json);
        struct quire_tokenizer *t = open_good();
        assert_int_equal(encode(t, "a11  a", 0).n, cases[i].n);
        quire_tokenizer_close(t);
    }
    static const char *const unknown[][2] = {
        { SEQ(SPLIT("(a+)+b", "Isolated", "false")), "(a+)+b" },
        { SEQ(SPLIT("\\\\p{N}", "Removed", "true")), "Removed" },
        { SEQ(SPLIT("\\\\p{N}", "MergedWithNext", "false")), "MergedWithNext" },
        { SEQ("{\"type\":\"Whitespace\"}"), "Whitespace" },
        { "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" LAST
          ",{\"type\":\"Digits\"}]}",
          "after ByteLevel" },
        { "\"pre_tokenizer\":{\"type\":\"Digits\"}", "without ByteLevel" },
        { "\"pre_tokenizer\":null", "without ByteLevel" },
        { "\"normalizer\":{\"type\":\"NFKC\"}," BYTES, "NFKC" },
        { "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AA\"}," BYTES,
          "Precompiled" },
        { "\"post_processor\":{\"type\":\"Magic\"}," BYTES, "Magic" },
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        snprintf(json, sizeof json, "{" MODEL(LETTERS, MERGES, "") ",%s}", unknown[i][0]);
        expect_error(json, QUIRE_E_UNSUPPORTED, unknown[i][1]);
    }
}

static const struct {
    const char *json;
    quire_status status;
    const char *text;
} MALFORMED_FILES[] = {
    { "{}", QUIRE_E_FORMAT, "model" },
    { "{\"model\":[]}", QUIRE_E_FORMAT, "model" },
    { "{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}", QUIRE_E_FORMAT, "vocab" },
    { "{\"model\":{\"type\":5}}", QUIRE_E_FORMAT, "type" },
    { "{\"model\":{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}}", QUIRE_E_FORMAT, "vocab" },
    { "{" MODEL("", "", "") "," SPACES "}", QUIRE_E_FORMAT, "unk_token" },
    { "{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}," SPACES "}", QUIRE_E_FORMAT,
      "empty" },
    { "{" MODEL("\"a\":\"0\",\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "\"a\"" },
    { "{" MODEL("\"a\":0.0,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "\"a\"" },
    { "{" MODEL("\"a\":-1,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "\"a\"" },
    { "{" MODEL("\"a\":4294967296,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "\"a\"" },
    { "{" MODEL("\"a\":18446744073709551616,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "" },
    { "{" MODEL("\"a\":1e9999,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "" },
    { "{" MODEL("\"a\":2147483647,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT,
      "ids up to 2147483647" },
    { "{" MODEL("\"a\":0,\"<unk>\":2", "", "") "}", QUIRE_E_FORMAT, "ids up to 2" },
    { "{" MODEL("\"a\":1,\"b\":1,\"<unk>\":2", "", "") "," SPACES "}", QUIRE_E_FORMAT, "id 1" },
    { "{" MODEL("\"a\":0,\"b\":1,\"a\":2,\"<unk>\":3", "", "") "," SPACES "}", QUIRE_E_FORMAT,
      "duplicate key a" },
    { "{" MODEL(VOCAB, SEVEN "," SEVEN "," SEVEN, "") "," SPACES "}", QUIRE_E_FORMAT,
      "21 merges for a vocabulary of 18 bytes" },
    { "{" MODEL(
          "\"a\":0,\"<unk>\":1", "",
          "") "," SPACES
              ",\"added_tokens\":[{\"id\":2,\"content\":\"b\"},{\"id\":2,\"content\":\"c\"}]}",
      QUIRE_E_FORMAT, "added token 2" },
    { "{" MODEL("\"\":0,\"<unk>\":1", "", "") "," SPACES "}", QUIRE_E_FORMAT, "token 0 is empty" },
    { "{" MODEL(VOCAB, "\"a x\"", "") "," SPACES "}", QUIRE_E_FORMAT, "merge 0" },
    { "{" MODEL(VOCAB, "\"ab\"", "") "," SPACES "}", QUIRE_E_FORMAT, "merge 0" },
    { "{" MODEL(VOCAB, "[\"a\"]", "") "," SPACES "}", QUIRE_E_FORMAT, "merges[0]" },
    { "{" MODEL(VOCAB, "[\"a\",\"b\",\"c\"]", "") "," SPACES "}", QUIRE_E_FORMAT, "merges[0]" },
    { "{" MODEL(VOCAB, "[\"a\",5]", "") "," SPACES "}", QUIRE_E_FORMAT, "merges[0]" },
    { "{" MODEL(VOCAB, "7", "") "," SPACES "}", QUIRE_E_FORMAT, "merges[0]" },
    { "{" MODEL(VOCAB, "\"a b\",\"a b\"", "") "," SPACES "}", QUIRE_E_FORMAT, "the same" },
    { "{" MODEL(VOCAB, "", ",\"byte_fallback\":1") "," SPACES "}", QUIRE_E_FORMAT,
      "byte_fallback" },
    { "{" MODEL(VOCAB, "", ",\"dropout\":0.1") "," SPACES "}", QUIRE_E_UNSUPPORTED, "dropout" },
    { "{" MODEL(VOCAB, "", ",\"end_of_word_suffix\":\"</w>\"") "," SPACES "}", QUIRE_E_UNSUPPORTED,
      "end_of_word_suffix" },
    { "{" MODEL(VOCAB, "", "") "," SPACES ",\"added_tokens\":{}}", QUIRE_E_FORMAT, "added_tokens" },
    { "{" MODEL(VOCAB, "", "") "," SPACES ",\"added_tokens\":[5]}", QUIRE_E_FORMAT,
      "added_tokens[0]" },
    { "{" MODEL(VOCAB, "", "") "," SPACES ",\"added_tokens\":[{\"id\":0,\"content\":\"z\"}]}",
      QUIRE_E_FORMAT, "added token 0" },
    { "{" MODEL(VOCAB, "", "") "," SPACES
                               ",\"added_tokens\":[{\"id\":6,\"content\":\"z\",\"special\":1}]}",
      QUIRE_E_FORMAT, "special" },
    { "{" MODEL(VOCAB, "",
                "") "," SPACES
                    ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{}]}}",
      QUIRE_E_FORMAT, "single[0]" },
    { "{" MODEL(VOCAB, "", "") ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":5}}",
      QUIRE_E_FORMAT, "normalizers" },
    { "{" MODEL(VOCAB, "", "") ",\"normalizer\":{}}", QUIRE_E_FORMAT, "no type" },
    { "{" MODEL("\"a\\ud800\":0,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "" },
    { "{" MODEL("\"a\\u0000b\":0,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "" },
    { "{" MODEL("\"a\xff\":0,\"<unk>\":1", "", "") "}", QUIRE_E_FORMAT, "" },
    { "{\"model\":", QUIRE_E_FORMAT, "" },
    { GOOD "x", QUIRE_E_FORMAT, "" },
};

static void malformed_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof MALFORMED_FILES / sizeof *MALFORMED_FILES; i++)
        expect_error(MALFORMED_FILES[i].json, MALFORMED_FILES[i].status, MALFORMED_FILES[i].text);

    char *deep = malloc(200100);
    memset(deep, '[', 200000);
    memcpy(deep, "{\"a\":", 5);
    deep[200000] = 0;
    expect_error(deep, QUIRE_E_FORMAT, "nested");
    free(deep);

    clear_folder(NULL);
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    assert_status(QUIRE_E_IO, quire_tokenizer_open(folder, NULL, &t, &err));
    assert_non_null(strstr(err.msg, "tokenizer.json"));
}

static void wordpiece(void **state)
{
    (void)state;
    put_file("tokenizer.json",
             "{\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":true,\"strip_accents\":"
             "null},\"pre_tokenizer\":{\"type\":"
             "\"BertPreTokenizer\"},\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"["
             "SEP]\",1],\"cls\":[\"[CLS]\",0]},"
             "\"added_tokens\":[{\"id\":0,\"content\":\"[CLS]\",\"special\":true},{\"id\":1,"
             "\"content\":\"[SEP]\",\"special\":true}],"
             "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_"
             "prefix\":\"##\",\"vocab\":{\"[CLS]\":0,"
             "\"[SEP]\":1,\"[UNK]\":2,\"play\":3,\"##ing\":4,\",\":5,\"ing\":6}}}");
    struct quire_tokenizer *t = open_good();
    assert_ids(encode(t, "Pl\u00e1ying, ing", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), 0, 3, 4,
               5, 6, 1);
    assert_ids(encode(t, "playx", 0), 2);
    quire_tokenizer_close(t);
    expect_error("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}", QUIRE_E_FORMAT,
                 "unk_token");
    expect_error("{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":"
                 "\"WordPiece\",\"unk_token\":\"a\","
                 "\"max_input_chars_per_word\":4000000000,\"vocab\":{\"a\":0}}}",
                 QUIRE_E_FORMAT, "max_input_chars");
    expect_error("{\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"model\":{\"type\":\"WordPiece\","
                 "\"unk_token\":\"a\",\"vocab\":{\"a\":0}}}",
                 QUIRE_E_UNSUPPORTED, "Whitespace");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(merges_and_fallback, clear_folder),
        cmocka_unit_test_teardown(space_rules, clear_folder),
        cmocka_unit_test_teardown(configuration_files, clear_folder),
        cmocka_unit_test_teardown(from_memory, clear_folder),
        cmocka_unit_test_teardown(malformed_configuration_files, clear_folder),
        cmocka_unit_test_teardown(pre_tokenizers, clear_folder),
        cmocka_unit_test_teardown(malformed_files, clear_folder),
        cmocka_unit_test_teardown(wordpiece, clear_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
