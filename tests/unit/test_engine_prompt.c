/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_prompt.c - prompts of requests: continued answers, echo, token counts. */
#include "engine_requests.h"
#include <errno.h>

static struct quire_engine *open_chat_model(void)
{
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.chat_template = template;
    return open_with(&ep);
}

static struct quire_request_params chat(const struct quire_chat_message *messages, size_t n)
{
    struct quire_request_params p = greedy("", 8);
    p.text = NULL;
    p.messages = messages;
    p.n_messages = n;
    return p;
}

/* The prompt of a continued answer is the rendered text followed by the content, whose special
 * tokens are not parsed. */
static void test_continued_answer(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_chat_model();
    static const char *const contents[] = { "Once upon a time", "Once </s> upon", "" };
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        const struct quire_chat_message talk[] = { message("user", "Hi."),
                                                   message("assistant", contents[i]) };
        const struct quire_request_params p = chat(talk, 2);
        char text[200];
        snprintf(text, sizeof text, "user: Hi.\nassistant: %s", contents[i]);
        struct quire_request_params plain = greedy(text, 8);
        struct result continued, expected;
        generate(e, &p, &continued);
        generate(e, &plain, &expected);
        assert_same(&continued, &expected);
        assert_int_equal(continued.usage.prompt_tokens, expected.usage.prompt_tokens);
    }
    /* an answer that is not the last message is a message like any other */
    const struct quire_chat_message talk[] = { message("user", "Hi."), message("assistant", "Yes."),
                                               message("user", "No?") };
    const struct quire_request_params p = chat(talk, 3);
    const struct quire_request_params plain =
        greedy("user: Hi.\nassistant: Yes.\nuser: No?\nassistant: ", 8);
    size_t a = 0, b = 0;
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &a, NULL));
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &plain, &b, NULL));
    assert_int_equal(a, b);
    quire_engine_close(e);
}

/* A rendered prompt is the one that submit computes: the same text, and the same tokens. */
static void test_render_prompt(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_chat_model();
    const struct quire_chat_message talk[] = { message("user", "Hi </s>"),
                                               message("assistant", "Once </s>") };
    static const char *const texts[] = { "<s>user: Hi </s>\nassistant: ",
                                         "<s>user: Hi </s>\nassistant: Once </s>" };
    for (size_t n = 1; n <= 2; n++) {
        struct quire_request_params p = chat(talk, n);
        struct quire_chat_prompt *prompt = NULL;
        size_t size, n_spans, n_counted = 0, n_ids = 0;
        int32_t ids[128];
        assert_status(QUIRE_OK, quire_engine_render_prompt(e, &p, true, &prompt, NULL));
        const char *text = quire_chat_prompt_text(prompt, &size);
        assert_string_equal(text, texts[n - 1]);
        assert_int_equal(size, strlen(text));
        const struct quire_text_span *spans = quire_chat_prompt_spans(prompt, &n_spans);
        assert_int_equal(spans[n_spans - 1].offset + spans[n_spans - 1].size, size);
        assert_int_equal(spans[n_spans - 1].is_user_text, n == 2);
        assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &n_counted, NULL));
        assert_status(QUIRE_OK, quire_engine_encode_prompt(e, prompt, ids, 128, &n_ids, NULL));
        assert_int_equal(n_ids, n_counted);
        struct quire_request_params same = p;
        same.messages = NULL;
        same.n_messages = 0;
        same.tokens = ids;
        same.n_tokens = n_ids;
        struct result rendered, expected;
        generate(e, &p, &expected);
        generate(e, &same, &rendered);
        assert_same(&rendered, &expected);
        quire_chat_prompt_destroy(prompt);
    }
    quire_engine_close(e);
}

/* Without a generation prompt the last message of the assistant is one of the conversation. */
static void test_render_conversation(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_chat_model();
    struct quire_chat_message talk[] = { message("user", "Hi."), message("assistant", "Yes") };
    talk[1].extra_json = "{\"name\": \"x\"}"; /* submit could not continue it */
    const struct quire_request_params p = chat(talk, 2);
    struct quire_chat_prompt *prompt;
    assert_status(QUIRE_OK, quire_engine_render_prompt(e, &p, false, &prompt, NULL));
    assert_string_equal(quire_chat_prompt_text(prompt, NULL), "<s>user: Hi.\nassistant: Yes\n");
    quire_chat_prompt_destroy(prompt);
    quire_engine_close(e);
}

static void test_bad_render(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_chat_model();
    const struct quire_chat_message talk[] = { message("user", "Hi.") };
    struct quire_request_params p = chat(talk, 1), text = greedy(story, 1);
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_prompt *prompt = (struct quire_chat_prompt *)(uintptr_t)1;
    size_t n;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_render_prompt(NULL, &p, true, &prompt, &err));
    assert_null(prompt);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_render_prompt(e, NULL, true, &prompt, &err));
    assert_string_equal(err.msg, "params is NULL");
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_render_prompt(e, &p, true, NULL, &err));
    assert_string_equal(err.msg, "prompt is NULL");
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_render_prompt(e, &text, true, &prompt, &err));
    assert_non_null(strstr(err.msg, "messages"));
    p.flags = 1u << 20;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_render_prompt(e, &p, true, &prompt, &err));
    p = chat(talk, 1);
    p.struct_size = 4;
    assert_status(QUIRE_E_MISUSE, quire_engine_render_prompt(e, &p, true, &prompt, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_encode_prompt(e, NULL, NULL, 0, &n, &err));
    assert_non_null(strstr(err.msg, "prompt"));
    p = chat(talk, 1);
    assert_status(QUIRE_OK, quire_engine_render_prompt(e, &p, true, &prompt, NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_encode_prompt(NULL, prompt, NULL, 0, &n, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_encode_prompt(e, prompt, NULL, 0, NULL, &err));
    int32_t one;
    assert_status(QUIRE_E_LIMIT, quire_engine_encode_prompt(e, prompt, &one, 1, &n, &err));
    assert_true(n > 1);
    quire_chat_prompt_destroy(prompt);
    quire_engine_close(e);
    e = open_model("llama-q8_0.gguf");
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_render_prompt(e, &p, true, &prompt, &err));
    assert_non_null(strstr(err.msg, "chat template"));
    quire_engine_close(e);
}

static void test_bad_continuation(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_chat_model();
    struct quire_chat_message talk[] = { message("user", "Hi."), message("assistant", "Yes") };
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_request_id id = 1;
    struct quire_request_params p = chat(talk + 1, 1);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    assert_non_null(strstr(err.msg, "begins the conversation"));
    talk[1].extra_json = "{\"tool_calls\": []}";
    p = chat(talk, 2);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    assert_non_null(strstr(err.msg, "messages[1].extra_json"));
    assert_int_equal(id, 0);
    quire_engine_close(e);
}

static void test_count_tokens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_chat_model();
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t n = 1;
    struct quire_request_params p = greedy(story, 1);
    struct result r;
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &n, &err));
    generate(e, &p, &r);
    assert_int_equal(n, r.usage.prompt_tokens);
    assert_int_equal(quire_engine_active_count(e), 0);
    /* more than the context, which submit rejects */
    static int32_t ids[5000];
    struct quire_request_params long_prompt = greedy("", 1);
    long_prompt.text = NULL;
    long_prompt.tokens = ids;
    long_prompt.n_tokens = 5000;
    quire_request_id id;
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &long_prompt, &n, &err));
    assert_int_equal(n, 5000);
    assert_status(QUIRE_E_LIMIT, quire_engine_submit(e, &long_prompt, &id, NULL));
    assert_int_equal(err.code, QUIRE_OK);

    assert_status(QUIRE_E_INVALID_ARG, quire_engine_count_tokens(NULL, &p, &n, &err));
    assert_non_null(strstr(err.msg, "engine"));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_count_tokens(e, NULL, &n, &err));
    assert_non_null(strstr(err.msg, "params"));
    assert_int_equal(n, 0);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_count_tokens(e, &p, NULL, &err));
    assert_non_null(strstr(err.msg, "n_tokens"));
    p.flags = 1u << 20;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_count_tokens(e, &p, &n, &err));
    p.struct_size = 4;
    assert_status(QUIRE_E_MISUSE, quire_engine_count_tokens(e, &p, &n, &err));
    quire_engine_close(e);

    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.flags = QUIRE_ENGINE_DRY_RUN;
    e = open_with(&ep);
    p = greedy(story, 1);
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &n, &err));
    assert_int_equal(n, r.usage.prompt_tokens);
    quire_engine_close(e);
}

/* A prompt of more tokens than the first estimate of half its bytes is no failure: the error record
 * stays as it was. */
static void test_error_unchanged(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_chat_model();
    static const char dense[] = "\x01\x02\x03\x04\x05\x06\x07\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"
                                "\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x01\x02\x03\x04\x05\x06\x07"
                                "\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d";
    const struct quire_request_params p = greedy(dense, 1);
    struct quire_error err, before;
    memset(&err, 0x5a, sizeof err);
    err.struct_size = sizeof err;
    before = err;
    size_t n;
    quire_request_id id;
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &n, &err));
    assert_true(n > (sizeof dense - 1) / 2 + 16);
    assert_memory_equal(&err, &before, sizeof err);
    assert_status(QUIRE_OK, quire_engine_submit(e, &p, &id, &err));
    assert_memory_equal(&err, &before, sizeof err);
    struct result r;
    run_one(e, id, &r);
    quire_engine_close(e);
}

/* The error of a path is that of its model where it has one, not that of a missing tokenizer. */
static void test_open_error_names_the_model(void **state)
{
    (void)state;
    char folder[] = "/tmp/quire_engine_prompt_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    struct quire_engine_params ep;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    quire_engine_params_init(&ep, sizeof ep);
    ep.model_path = folder;
    assert_status(QUIRE_E_IO, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "not a model folder: config.json"));
    assert_int_equal(err.detail, ENOENT);
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"model_type\": \"wombat\", \"architectures\": [\"WombatForCausalLM\"]}", f);
    fclose(f);
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_open(&ep, &e, &err));
    assert_non_null(strcasestr(err.msg, "wombat"));
    ep.model_path = path;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "config.json is not a GGUF file"));
    remove(path);
    remove(folder);
}

/* Replaces the string value of a GGUF key by letters w: the length stays. */
static void spoil(char *file, size_t size, const char *key)
{
    char *at = memmem(file, size, key, strlen(key));
    assert_non_null(at);
    uint64_t n;
    at += strlen(key) + sizeof(uint32_t); /* the type */
    memcpy(&n, at, sizeof n);
    memset(at + sizeof n, 'w', n);
}

/* An unsupported architecture is reported before an unknown pre-tokenizer. */
static void test_architecture_before_tokenizer(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static char file[1 << 20];
    struct quire_engine_params ep = params_for("bert-bf16.gguf");
    FILE *f = fopen(ep.model_path, "rb");
    assert_non_null(f);
    const size_t size = fread(file, 1, sizeof file, f);
    fclose(f);
    assert_true(size < sizeof file);
    spoil(file, size, "tokenizer.ggml.pre");
    spoil(file, size, "general.architecture");
    ep.model_path = NULL;
    ep.model_data = file;
    ep.model_bytes = size;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine *e;
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "architecture wwww"));
}

/* An echoed prompt and its answer have the text of both: the space that begins the answer stays. */
static void test_echo_text(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    const int32_t token = quire_tokenizer_find(quire_engine_tokenizer(e), "\xe2\x96\x81the",
                                               strlen("\xe2\x96\x81the"));
    assert_true(token >= 0);
    const struct quire_logit_bias bias = { token, 1000 };
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 0;
    sampling.logit_bias = &bias;
    sampling.n_logit_bias = 1;
    struct quire_request_params p = greedy(story, 2);
    p.sampling = &sampling;
    struct result plain, echo;
    generate(e, &p, &plain);
    assert_int_equal(plain.size, strlen(" the the"));
    assert_memory_equal(plain.text, " the the", plain.size);
    p.flags = QUIRE_REQUEST_ECHO;
    generate(e, &p, &echo);
    assert_int_equal(echo.size, strlen(story) + plain.size);
    assert_memory_equal(echo.text, story, strlen(story));
    assert_memory_equal(echo.text + strlen(story), plain.text, plain.size);
    quire_engine_close(e);
}

/* A context of a decoder without a cache: the message has the kind of the model. */
static void test_decoder_without_cache(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_chat_model();
    struct quire_context_params cp;
    struct quire_context *context;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_context_params_init(&cp, sizeof cp);
    assert_status(QUIRE_E_INVALID_ARG, quire_context_create(e->model, &cp, &context, &err));
    assert_non_null(strstr(err.msg, "params.kv is NULL: 'llama' is a decoder"));
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_continued_answer),
        cmocka_unit_test(test_render_prompt),
        cmocka_unit_test(test_render_conversation),
        cmocka_unit_test(test_bad_render),
        cmocka_unit_test(test_bad_continuation),
        cmocka_unit_test(test_count_tokens),
        cmocka_unit_test(test_error_unchanged),
        cmocka_unit_test(test_open_error_names_the_model),
        cmocka_unit_test(test_architecture_before_tokenizer),
        cmocka_unit_test(test_echo_text),
        cmocka_unit_test(test_decoder_without_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
