/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_files.c - folders of a tokenizer: files that cannot be read, contents that are no
 * text, roles and end-of-generation ids, vocabularies with a missing id, rare steps. */
#include "test_tokenizer_folder.h"
#include "tokenizer/open_huggingface.h"
#include <sys/stat.h>

#define MODEL(vocab, more)                                                                         \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"vocab\":{" vocab "}," more              \
    "\"merges\":[\"a b\"]}"
#define VOCAB "\"a\":0,\"b\":1,\"ab\":2,\"<unk>\":3,\"\u2581\":4"
#define SPACES                                                                                     \
    ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}"
#define GOOD "{" MODEL(VOCAB, "") SPACES "}"

/* A symbolic link to itself exists and cannot be examined. */
static void unreadable(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FOLDER_FILES; i++) {
        clear_folder(NULL);
        if (i >= N_VOCABULARIES)
            put_file("tokenizer.json", GOOD);
        assert_int_equal(symlink(folder_files[i], path_of(folder_files[i])), 0);
        expect_error(QUIRE_E_IO, folder_files[i]);
    }
}

/* Every allocation fails in a folder with neither file. */
static void no_memory(void **state)
{
    (void)state;
    fail_every_allocation(QUIRE_E_IO);
    expect_error(QUIRE_E_IO, "no tokenizer.json, tokenizer.model");
}

/* A file that is removed after its first bytes were read. */
static void removed_file(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t = (struct quire_tokenizer *)&err;
    assert_status(QUIRE_E_IO, qr_tokenizer_from_hf_file(path_of("tokenizer.json"), NULL, &t, &err));
    assert_string_equal(err.msg, "no tokenizer.json, tokenizer.model, tokenizer.jsonl or "
                                 "rwkv_vocab_v20230424.txt in the folder");
    assert_null(t);
}

/* NUL characters are neither white space nor text. */
static void no_text(void **state)
{
    (void)state;
    static const char json[] = "\0" GOOD, jinja[] = "{{ x }}\0y";
    put_bytes("tokenizer.json", json, sizeof json - 1);
    expect_error(QUIRE_E_FORMAT, "tokenizer.json is neither a GGUF file nor tokenizer.json");
    clear_folder(NULL);
    put_file("tokenizer.model", "x");
    expect_error(QUIRE_E_FORMAT, "tokenizer.model is neither");
    clear_folder(NULL);
    put_file("tokenizer.jsonl", "x");
    expect_error(QUIRE_E_FORMAT, "tokenizer.jsonl is neither");
    clear_folder(NULL);
    put_file("tokenizer.json", " \t\r\n" GOOD);
    put_bytes("chat_template.jinja", jinja, sizeof jinja - 1);
    expect_error(QUIRE_E_FORMAT, "chat_template.jinja contains a NUL character");
    put_bytes("chat_template.jinja", jinja, strlen(jinja));
    char path[64];
    snprintf(path, sizeof path, "%s/", folder);
    struct quire_tokenizer *t = open_path(path); /* the path of the folder ends with a slash */
    assert_string_equal(quire_tokenizer_chat_template(t, NULL), "{{ x }}");
    assert_ids(encode(t, "ab a", 0), 2, 4, 0);
    quire_tokenizer_close(t);
}

/* The first end-of-generation id takes the role of EOS if no file assigns it. */
static void eos_ids(void **state)
{
    (void)state;
    char json[512] = "{\"eos_token_id\":[1,0";
    put_file("tokenizer.json", GOOD);
    put_file("generation_config.json", "{\"eos_token_id\":[1,0]}");
    struct quire_tokenizer *t = open_path(folder);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 1);
    assert_true(quire_tokenizer_is_eog(t, 0) && quire_tokenizer_is_eog(t, 1));
    assert_false(quire_tokenizer_is_eog(t, 2));
    quire_tokenizer_close(t);
    for (int i = 2; i < QR_MAX_EOG; i++)
        strcat(json, ",1");
    strcat(json, "]}");
    put_file("generation_config.json", json);
    quire_tokenizer_close(open_path(folder));
    strcpy(strchr(json, ']'), ",1]}");
    put_file("generation_config.json", json);
    expect_error(QUIRE_E_LIMIT, "generation_config.json: more than 32 ids in eos_token_id");
}

static void roles(void **state)
{
    (void)state;
    /* "</s>" is an ordinary text in this vocabulary */
    put_file("tokenizer.json", "{" MODEL(VOCAB ",\"</s>\":5", "") SPACES
             ",\"added_tokens\":[{\"id\":6,\"content\":\"<eos>\",\"special\":true}]}");
    struct quire_tokenizer *t = open_path(folder);
    assert_int_equal(quire_tokenizer_special(t, QUIRE_SPECIAL_EOS), 6);
    quire_tokenizer_close(t);
    /* there is no BOS to add */
    put_file("tokenizer.json", GOOD);
    put_file("tokenizer_config.json", "{\"add_bos_token\":true}");
    t = open_path(folder);
    assert_false(quire_tokenizer_adds_bos(t));
    assert_ids(encode(t, "ab", QUIRE_ENCODE_ADD_BOS), 2);
    quire_tokenizer_close(t);
}

/* The number of entries covers all ids, but one id has two entries and another none. */
static void missing_id(void **state)
{
    (void)state;
#define TWICE "\"added_tokens\":[{\"id\":0,\"content\":\"a\"}]"
    static const char words[] =
        "{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"vocab\":{\"a\":0,\"u\":2}},"
        "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}," TWICE "}";
    put_file("tokenizer.json", "{" MODEL("\"a\":0,\"<unk>\":2", "") SPACES "," TWICE "}");
    put_file("tokenizer_config.json", "{\"pad_token\":\"<unk>\"}");
    expect_error(QUIRE_E_FORMAT, "vocabulary has no token 1 of 3");
    put_file("tokenizer.json", words);
    expect_error(QUIRE_E_FORMAT, "vocabulary has no token 1 of 3");
}

/* ---- Steps */

#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define SPLIT(regex)                                                                               \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex "\"},\"behavior\":\"Isolated\"}"
#define LETTERS "\"a\":0,\"b\":1,\"ab\":2,\"<unk>\":3,\"\u0120\":4,\"\u010a\":5"
#define STEPS(steps)                                                                               \
    "{" MODEL(LETTERS, "") ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" steps   \
                           "," BYTES "]}}"

/* "$" means the end of a line: a pattern with it needs lines. */
static void trailing_space(void **state)
{
    (void)state;
    put_file("tokenizer.json", STEPS(SPLIT("\\\\s+$")));
    expect_error(QUIRE_E_UNSUPPORTED, "pre_tokenizer pattern \\s+$ without a split into lines");
    put_file("tokenizer.json", STEPS(SPLIT("\\\\p{N}") "," SPLIT("\\\\s+$")));
    expect_error(QUIRE_E_UNSUPPORTED, "pre_tokenizer pattern \\s+$ without a split into lines");
    put_file("tokenizer.json", STEPS(SPLIT("[\\r\\n]") "," SPLIT("\\\\s+$")));
    struct quire_tokenizer *t = open_path(folder);
    assert_ids(encode(t, "ab \nb  ", 0), 2, 4, 5, 1, 4, 4);
    quire_tokenizer_close(t);
}

/* The post-processor ByteLevel adds no tokens and has no template of pairs. */
static void post_processor(void **state)
{
    (void)state;
    put_file("tokenizer.json",
             "{" MODEL(LETTERS, "") ",\"pre_tokenizer\":" BYTES
                                    ",\"post_processor\":{\"type\":\"ByteLevel\"}}");
    struct quire_tokenizer *t = open_path(folder);
    assert_ids(encode(t, "ab a", QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS), 2, 4, 0);
    assert_false(t->has_pair);
    quire_tokenizer_close(t);
}

/* Without a prefix a token would both begin and continue words. */
static void empty_prefix(void **state)
{
    (void)state;
    put_file("tokenizer.json",
             "{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\","
             "\"unk_token\":\"u\",\"continuing_subword_prefix\":\"\","
             "\"vocab\":{\"u\":0,\"a\":1,\"b\":2}}}");
    expect_error(QUIRE_E_UNSUPPORTED, "model.continuing_subword_prefix is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(unreadable, clear_folder),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(removed_file),
        cmocka_unit_test_teardown(no_text, clear_folder),
        cmocka_unit_test_teardown(eos_ids, clear_folder),
        cmocka_unit_test_teardown(roles, clear_folder),
        cmocka_unit_test_teardown(missing_id, clear_folder),
        cmocka_unit_test_teardown(trailing_space, clear_folder),
        cmocka_unit_test_teardown(post_processor, clear_folder),
        cmocka_unit_test_teardown(empty_prefix, clear_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
