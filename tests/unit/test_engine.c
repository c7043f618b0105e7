/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine.c - generation through the engine API: determinism, prefix cache, limits, events. */
#include "engine_requests.h"

static void test_generate(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    struct quire_request_params p = greedy(story, 20);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    struct result r;
    generate(e, &p, &r);
    assert_int_equal(r.done.reason, QUIRE_FINISH_LENGTH);
    assert_false(r.done.context_full);
    assert_int_equal(r.n_tokens, 20);
    assert_int_equal(r.done.usage->completion_tokens, 20);
    assert_int_equal(r.done.usage->prompt_done, r.done.usage->prompt_tokens);
    assert_true(r.done.usage->prompt_tokens > 20 && r.done.usage->prompt_seconds > 0);
    assert_int_equal(quire_engine_active_count(e), 0);
    /* incremental detokenization agrees with decoding all tokens at once */
    char text[4096];
    size_t size;
    assert_status(QUIRE_OK, quire_tokenizer_decode(quire_engine_tokenizer(e), r.tokens, r.n_tokens,
                                                   QUIRE_DETOKENIZE_CONTINUES, text, sizeof text,
                                                   &size, NULL));
    assert_int_equal(size, r.size);
    assert_memory_equal(text, r.text, size);
    quire_engine_close(e);
}

/* Thread count, chunk size, block size and prefix-cache hits must not change a bit of
 * the logits. */
static void test_batch_invariance(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static const char *const models[] = { "llama-q8_0.gguf", "gemma2_q32-q8_0.gguf",
                                          "phi3-bf16.gguf", "../gguf_2026/gemma4_text-bf16.gguf" };
    static const struct {
        uint32_t threads, step, block;
    } cases[] = { { 1, 512, 64 }, { 2, 512, 64 }, { 3, 16, 64 },
                  { 1, 7, 16 },   { 2, 64, 32 },  { 1, 1, 128 } };
    for (size_t m = 0; m < 4; m++) {
        struct result first, again;
        float *logits = NULL;
        uint32_t n = 0;
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            struct quire_engine_params ep = params_for(models[m]);
            ep.n_threads = cases[c].threads;
            ep.max_step_tokens = cases[c].step;
            ep.block_size = cases[c].block;
            struct quire_engine *e = open_with(&ep);
            const struct quire_request_params p = greedy(story, 12);
            generate(e, &p, c ? &again : &first);
            if (c == 0) {
                n = e->vocab_size;
                logits = malloc(n * sizeof *logits);
                assert_non_null(logits);
                memcpy(logits, e->logits, n * sizeof *logits);
            } else {
                assert_same(&first, &again);
                assert_memory_equal(logits, e->logits, n * sizeof *logits);
            }
            /* again, as a prefix-cache hit */
            generate(e, &p, &again);
            assert_same(&first, &again);
            assert_int_equal(again.done.usage->cached_tokens, again.done.usage->prompt_tokens - 1);
            assert_memory_equal(logits, e->logits, n * sizeof *logits);
            quire_engine_close(e);
        }
        free(logits);
    }
}

/* Prompts with shared and diverging prefixes: every output and its logits equal those of a new
 * engine. */
static void test_prefix_cache(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static const char *const models[] = { "llama-f32.gguf", "gemma2_q32-bf16.gguf",
                                          "phi3-bf16.gguf" };
    static const char far_away[] = "Twice upon a time there was a dog, and it went far away over "
                                   "the hills, over the sea, and over the moon. "
                                   "Nobody knows where it is today, and nobody asks any more, for "
                                   "all of that was a very long time ago.";
    static const char *const prompts[] = {
        "Once upon a time there was a fox.",
        "Once upon a time there was a fox. It had a lantern.",
        "Once upon a time there was a dog.",
        "Once upon",
        far_away,
        "Twice upon a time there was a dog, and it went far away over the hills, over the sea, and "
        "over the moon.",
        "Twice",
    };
    for (size_t m = 0; m < 3; m++) {
        struct quire_engine *e = open_model(models[m]);
        bool any_hit = false;
        for (size_t i = 0; i < sizeof prompts / sizeof prompts[0]; i++) {
            struct result reused, cold;
            struct quire_request_params p = greedy(prompts[i], 30);
            p.flags = QUIRE_REQUEST_IGNORE_EOS;
            generate(e, &p, &reused);
            any_hit |= reused.done.usage->cached_tokens > 4;
            struct quire_engine *fresh = open_model(models[m]);
            generate(fresh, &p, &cold);
            assert_int_equal(cold.done.usage->cached_tokens, 0);
            assert_same(&reused, &cold);
            assert_memory_equal(e->logits, fresh->logits, e->vocab_size * sizeof(float));
            quire_engine_close(fresh);
        }
        assert_true(any_hit);
        struct quire_request_params p = greedy(prompts[0], 3);
        struct result r;
        generate(e, &p, &r);
        p.flags = QUIRE_REQUEST_NO_REUSE;
        generate(e, &p, &r);
        assert_int_equal(r.done.usage->cached_tokens, 0);
        quire_engine_close(e);
    }
}

/* Sliding-window layers free their blocks; chunked prefill of a long prompt is chunk-size
 * invariant. */
static void test_sliding_window(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 1200 };
    static int32_t ids[N];
    for (int i = 0; i < N; i++)
        ids[i] = 3 + i * 7 % 250;
    static const char *const models[] = { "gemma2_q32-q8_0.gguf", "phi3-bf16.gguf" };
    static const struct {
        uint32_t step, block;
    } cases[] = { { 256, 64 }, { 16, 16 }, { 50, 32 } };
    for (size_t m = 0; m < 2; m++) {
        struct result first, r;
        for (size_t c = 0; c < 3; c++) {
            struct quire_engine_params ep = params_for(models[m]);
            ep.context_length = 1600;
            ep.max_step_tokens = cases[c].step;
            ep.block_size = cases[c].block;
            ep.max_seqs = 1;
            struct quire_engine *e = open_with(&ep);
            struct quire_request_params p = greedy("", 20);
            p.text = NULL;
            p.tokens = ids;
            p.n_tokens = N;
            generate(e, &p, c ? &r : &first);
            if (c)
                assert_same(&first, &r);
            /* the prompt has more blocks than a windowed group: it gave some back */
            uint32_t fewest = UINT32_MAX;
            for (uint32_t g = 0; g < e->memory.n_groups; g++) {
                struct quire_kv_group_config config;
                assert_status(QUIRE_OK, quire_kv_get_group(e->kv, g, &config, NULL));
                fewest = config.n_blocks < fewest ? config.n_blocks : fewest;
            }
            assert_true(fewest * cases[c].block < N);
            /* a truncation within the rollback reserve reuses the prefix, a larger one
             * recomputes */
            p.n_tokens = N - 250;
            generate(e, &p, &r);
            assert_int_equal(r.done.usage->cached_tokens, N - 251);
            p.n_tokens = N;
            generate(e, &p, &r);
            assert_same(&first, &r);
            p.n_tokens = 30;
            generate(e, &p, &r);
            assert_int_equal(r.done.usage->cached_tokens, 0);
            quire_engine_close(e);
        }
    }
}

static void test_sampling(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    struct quire_request_params p = greedy(story, 16);
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    assert_status(QUIRE_OK, quire_engine_default_sampling(e, &sampling));
    sampling.temperature = 1;
    sampling.seed = 11;
    p.sampling = &sampling;
    struct result a, b;
    generate(e, &p, &a);
    generate(e, &p, &b);
    assert_same(&a, &b);
    p.stream = 1;
    generate(e, &p, &b);
    assert_true(a.n_tokens != b.n_tokens ||
                memcmp(a.tokens, b.tokens, a.n_tokens * sizeof(int32_t)) != 0);
    /* a logit bias of -infinity forbids a token */
    p = greedy(story, 1);
    generate(e, &p, &a);
    const struct quire_logit_bias bias = { a.tokens[0], -1.0f / 0.0f };
    sampling = greedy_sampling;
    sampling.logit_bias = &bias;
    sampling.n_logit_bias = 1;
    p.sampling = &sampling;
    generate(e, &p, &b);
    assert_int_not_equal(a.tokens[0], b.tokens[0]);
    quire_engine_close(e);
}

static void test_stop_strings(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    struct quire_request_params p = greedy(story, 40);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    struct result whole, cut;
    generate(e, &p, &whole);
    /* every substring of the output stops it at the first occurrence */
    for (size_t at = 0; at + 1 < whole.size; at += 3) {
        if (qr_utf8_is_continuation((uint8_t)whole.text[at]))
            continue;
        char stop[16];
        size_t n = 0;
        while (n < 9 && at + n < whole.size)
            n += qr_utf8_len((uint8_t)whole.text[at + n]);
        memcpy(stop, whole.text + at, n);
        stop[n] = 0;
        if (strlen(stop) != n || !n)
            continue;
        const char *stops[] = { "never in there", stop };
        p.stop = stops;
        p.n_stop = 2;
        generate(e, &p, &cut);
        assert_int_equal(cut.done.reason, QUIRE_FINISH_STOP);
        const char *found = strstr(whole.text, stop);
        assert_int_equal(cut.size, found - whole.text);
        assert_memory_equal(cut.text, whole.text, cut.size);
    }
    quire_engine_close(e);
}

static void test_full_context(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (uint32_t context = 30; context <= 70; context += 20) {
        struct quire_engine_params ep = params_for("llama-q8_0.gguf");
        ep.context_length = context;
        struct quire_engine *e = open_with(&ep);
        int32_t ids[72] = { 5 };
        struct quire_request_params p = greedy("", 0);
        p.text = NULL;
        p.tokens = ids;
        p.flags = QUIRE_REQUEST_IGNORE_EOS;
        for (uint32_t n = context - 12; n <= context; n += 6) {
            struct result r;
            p.n_tokens = n;
            generate(e, &p, &r);
            assert_int_equal(r.done.reason, QUIRE_FINISH_LENGTH);
            assert_true(r.done.context_full);
            assert_int_equal(r.n_tokens, context - n + 1);
        }
        p.n_tokens = context + 1;
        quire_request_id id = 7;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_E_LIMIT, quire_engine_submit(e, &p, &id, &err));
        assert_int_equal(id, 0);
        char number[16];
        snprintf(number, sizeof number, "%u", context + 1);
        assert_non_null(strstr(err.msg, number));
        quire_engine_close(e);
    }
}

static void test_cancel(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.max_step_tokens = 16;
    struct quire_engine *e = open_with(&ep);
    const struct quire_request_params p = greedy(story, 30);
    struct result whole, r;
    generate(e, &p, &whole);
    struct quire_request_params cold = p;
    cold.flags = QUIRE_REQUEST_NO_REUSE;

    /* while waiting: the outputs of the others are unchanged */
    const quire_request_id queue[] = { submit(e, &p), submit(e, &p), submit(e, &p) }, a = queue[0];
    static struct result results[3];
    assert_int_equal(quire_engine_active_count(e), 3);
    assert_status(QUIRE_OK, quire_request_cancel(e, queue[1]));
    assert_status(QUIRE_OK, quire_request_cancel(e, queue[1]));
    run_to_completion(e, queue, 3, results);
    assert_int_equal(results[1].done.reason, QUIRE_FINISH_CANCELLED);
    assert_int_equal(results[1].size, 0);
    assert_same(&whole, &results[0]);
    assert_same(&whole, &results[2]);
    assert_status(QUIRE_E_RANGE, quire_request_cancel(e, a));
    assert_status(QUIRE_E_RANGE, quire_request_cancel(e, 0));
    assert_status(QUIRE_E_RANGE, quire_request_cancel(e, UINT64_MAX));
    assert_status(QUIRE_E_INVALID_ARG, quire_request_cancel(NULL, a));

    /* during prefill, and during decode */
    for (int steps = 1; steps < 12; steps += 2) {
        const quire_request_id id = submit(e, &cold);
        assert_status(QUIRE_E_RANGE, quire_request_cancel(e, a)); /* a previous id of the slot */
        for (int i = 0; i < steps; i++)
            assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        assert_status(QUIRE_OK, quire_request_cancel(e, id));
        run_one(e, id, &r);
        assert_int_equal(r.done.reason, QUIRE_FINISH_CANCELLED);
        assert_true(r.n_tokens < whole.n_tokens);
        assert_memory_equal(r.tokens, whole.tokens, r.n_tokens * sizeof(int32_t));
        generate(e, &p, &r); /* the cached part is valid */
        assert_same(&whole, &r);
    }
    quire_engine_close(e);
}

static void test_events(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.max_step_tokens = 16;
    ep.max_requests = 2;
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = greedy(story, 30);
    struct result polled;
    generate(e, &p, &polled);
    assert_true(polled.prompt_events >= 2); /* the prompt has several chunks */

    /* late polling loses no event and keeps the order */
    const quire_request_id a = submit(e, &p), b = submit(e, &p);
    quire_request_id none = 1;
    assert_status(QUIRE_E_AGAIN, quire_engine_submit(e, &p, &none, NULL));
    assert_int_equal(none, 0);
    while (quire_engine_active_count(e))
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_status(QUIRE_E_AGAIN,
                  quire_engine_submit(e, &p, &none, NULL)); /* finished, not polled */
    static struct result late[2];
    run_to_completion(e, (quire_request_id[]){ a, b }, 2, late);
    assert_same(&polled, &late[0]);
    assert_same(&polled, &late[1]);
    assert_true(b > a);
    struct quire_event ev = { .struct_size = sizeof ev };
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    assert_status(QUIRE_OK, quire_engine_step(e, NULL)); /* an idle step succeeds */
    quire_engine_close(e);
}

static void test_messages(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    const struct quire_chat_message talk[] = { message("user", "Hi </s> there"),
                                               message("assistant", "Hello."),
                                               message("user", "And now?") };
    struct quire_request_params p = greedy("", 8);
    p.text = NULL;
    p.messages = talk;
    p.n_messages = 1;
    quire_request_id id;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_UNSUPPORTED,
                  quire_engine_submit(e, &p, &id, &err)); /* no template in the file */
    assert_non_null(strstr(err.msg, "chat template"));
    quire_engine_close(e);

    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.chat_template = template;
    e = open_with(&ep);
    struct quire_engine_info info = { .struct_size = sizeof info };
    assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
    assert_true(info.has_chat_template);
    struct result r;
    p.flags = QUIRE_REQUEST_ECHO;
    generate(e, &p, &r);
    p.flags = 0;
    /* one BOS, from the template; special tokens in user text are not parsed */
    const struct quire_tokenizer *t = quire_engine_tokenizer(e);
    const int32_t bos = quire_tokenizer_special(t, QUIRE_SPECIAL_BOS);
    const uint32_t n = r.done.usage->prompt_tokens;
    assert_int_equal(r.tokens[0], bos);
    for (uint32_t i = 1; i < n; i++)
        assert_false(quire_tokenizer_is_special(t, r.tokens[i]));
    p.n_messages = 3;
    generate(e, &p, &r); /* the next turn hits the prefix cache */
    assert_true(r.done.usage->cached_tokens > 10);
    p.n_messages = 0;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    quire_engine_close(e);

    ep.chat_template = "{{ raise_exception('no such luck') }}";
    e = open_with(&ep);
    p.n_messages = 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    assert_non_null(strstr(err.msg, "no such luck"));
    quire_engine_close(e);
    ep.chat_template = "{% if %}";
    struct quire_engine *bad = (void *)1;
    assert_status(QUIRE_E_FORMAT, quire_engine_open(&ep, &bad, &err));
    assert_null(bad);
}

static void count_warnings(void *user, enum quire_log_level level, quire_status code,
                           const char *message)
{
    (void)code;
    *(unsigned *)user += level == QUIRE_LOG_WARN && strstr(message, "after the last tensor");
}

static void test_model_in_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    struct quire_engine *e = open_with(&ep);
    const struct quire_request_params p = greedy(story, 10);
    struct result file, memory;
    generate(e, &p, &file);
    quire_engine_close(e);
    FILE *f = fopen(ep.model_path, "rb");
    assert_non_null(f);
    static char image[1 << 20];
    ep.model_bytes = fread(image, 1, sizeof image, f);
    fclose(f);
    ep.model_path = NULL;
    ep.model_data = image;
    e = open_with(&ep);
    generate(e, &p, &memory);
    assert_same(&file, &memory);
    quire_engine_close(e);
    /* another file behind the last tensor: a warning, or an error */
    struct quire_error err = QUIRE_ERROR_INIT;
    unsigned warnings = 0;
    const struct quire_logger logger = { &warnings, count_warnings };
    memcpy(image + ep.model_bytes, "PK\3\4 hidden", 11);
    ep.model_bytes += 11;
    ep.logger = &logger;
    e = open_with(&ep);
    assert_int_equal(warnings, 1);
    generate(e, &p, &memory);
    assert_same(&file, &memory);
    quire_engine_close(e);
    ep.flags = QUIRE_ENGINE_STRICT;
    assert_status(QUIRE_E_FORMAT, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "11 bytes after the last tensor"));
    assert_null(e);
    ep.model_bytes -= 11;
    e = open_with(&ep);
    quire_engine_close(e);
    ep.model_bytes /= 2;
    assert_status(QUIRE_E_FORMAT, quire_engine_open(&ep, &e, NULL));
    assert_null(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generate),        cmocka_unit_test(test_batch_invariance),
        cmocka_unit_test(test_prefix_cache),    cmocka_unit_test(test_sliding_window),
        cmocka_unit_test(test_sampling),        cmocka_unit_test(test_stop_strings),
        cmocka_unit_test(test_full_context),    cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_events),          cmocka_unit_test(test_messages),
        cmocka_unit_test(test_model_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
