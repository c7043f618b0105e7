/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_vector_bad.c - requests for embeddings: bad arguments, engines over encoders,
 * cancellation, deadlines, priorities, steps. */
#include "engine_vectors.h"

/* ---- Bad arguments */

static quire_status never(void *user, const struct quire_logits_args *args)
{
    (void)user, (void)args;
    return QUIRE_OK;
}

static void refuse_generation_fields(struct quire_engine *e, const int32_t *ids)
{
    const int32_t stop_token = 5;
    const char *const stop = "x";
    struct quire_request_params p;
#define REFUSE(name, set)                                                                          \
    p = vector_of(QUIRE_TASK_EMBED, ids, 4);                                                       \
    set;                                                                                           \
    refuse_request(e, &p, QUIRE_E_INVALID_ARG, name)
    REFUSE("max_tokens", p.max_tokens = 1);
    REFUSE("min_tokens", p.min_tokens = 1);
    REFUSE("stop", (p.stop = &stop, p.n_stop = 1));
    REFUSE("stop_tokens", (p.stop_tokens = &stop_token, p.n_stop_tokens = 1));
    REFUSE("sampling", p.sampling = &greedy_sampling);
    REFUSE("stream", p.stream = 1);
    REFUSE("n is", p.n = 2);
    REFUSE("best_of", p.best_of = 2);
    REFUSE("draft_tokens", p.draft_tokens = 1);
    REFUSE("n_logprobs", p.n_logprobs = 1);
    REFUSE("logits_hook", p.logits_hook = never);
    REFUSE("IGNORE_EOS", p.flags = QUIRE_REQUEST_IGNORE_EOS);
    REFUSE("SHOW_SPECIAL", p.flags = QUIRE_REQUEST_SHOW_SPECIAL);
    REFUSE("ECHO", p.flags = QUIRE_REQUEST_ECHO);
    REFUSE("REQUEST_LOGPROBS", p.flags = QUIRE_REQUEST_LOGPROBS);
    REFUSE("unknown bits", p.flags = 1u << 30);
    REFUSE("text_pair", (p.text_pair = "x", p.text_pair_size = 1));
    REFUSE("text_pair", p.text_pair_size = 1);
    REFUSE("raw_scores", p.raw_scores = true);
    REFUSE("reserved2", p.reserved2 = 1);
    REFUSE("pooling 9", p.pooling = (enum quire_pooling)9);
    REFUSE("pooling -1", p.pooling = (enum quire_pooling) - 1);
    REFUSE("dimensions 65 is above the hidden size 64", p.dimensions = 65);
    REFUSE("n_tokens is 0", p.n_tokens = 0);
    REFUSE("exactly one", p.tokens = NULL);
    REFUSE("task 7", p.task = (enum quire_task)7);
    const struct quire_chat_message m = message("user", "x");
    REFUSE("messages", (p.tokens = NULL, p.messages = &m, p.n_messages = 1));
#undef REFUSE
}

static void test_bad_arguments(void **state)
{
    static int32_t ids[600], types[600];
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < 600; i++)
        ids[i] = 4;
    struct quire_engine_params ep = bench_params(1);
    open_bench(&b, "bert", NULL, &ep);
    refuse_generation_fields(b.engine, ids);
    struct quire_request_params p = vector_of(QUIRE_TASK_GENERATE, ids, 4);
    refuse_request(b.engine, &p, QUIRE_E_UNSUPPORTED, "'bert' is an encoder");
    p = vector_of(QUIRE_TASK_EMBED, ids, 129);
    refuse_request(b.engine, &p, QUIRE_E_LIMIT, "129 tokens, the context is 128");
    types[2] = 2;
    p = vector_of(QUIRE_TASK_EMBED, ids, 4);
    p.token_type_ids = types;
    refuse_request(b.engine, &p, QUIRE_E_RANGE, "token_type_ids[2] is 2");
    types[2] = -1;
    refuse_request(b.engine, &p, QUIRE_E_RANGE, "token_type_ids[2] is -1");
    p.tokens = NULL;
    p.text = "x";
    p.text_size = 1;
    refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, "token_type_ids is given without tokens");
    p = vector_of(QUIRE_TASK_SCORE, ids, 4);
    refuse_request(b.engine, &p, QUIRE_E_UNSUPPORTED, "no classification head");
    struct quire_cache_file_params cache = { .struct_size = sizeof cache, .path = "/tmp/x" };
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_save_cache(b.engine, &cache, NULL, &err));
    assert_non_null(strstr(err.msg, "encoder"));
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_restore_cache(b.engine, &cache, NULL, &err));
    close_bench(&b);

    open_bench(&b, "llama", NULL, &ep);
    refuse_generation_fields(b.engine, ids);
    p = vector_of(QUIRE_TASK_EMBED, ids, 4);
    p.pooling = QUIRE_POOLING_POOLER;
    refuse_request(b.engine, &p, QUIRE_E_UNSUPPORTED, "pooling: the model has no pooler");
    p.pooling = QUIRE_POOLING_DEFAULT;
    p.token_type_ids = types;
    refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, "token_type_ids: the model is no encoder");
    p = vector_of(QUIRE_TASK_SCORE, ids, 4);
    refuse_request(b.engine, &p, QUIRE_E_UNSUPPORTED, "no classification head");
    static const char *const fields[] = { "dimensions", "raw_scores", "text_pair",
                                          "token_type_ids" };
    for (int i = 0; i < 4; i++) {
        p = vector_of(QUIRE_TASK_GENERATE, ids, 4);
        p.dimensions = i == 0;
        p.raw_scores = i == 1;
        p.text_pair_size = i == 2;
        p.token_type_ids = i == 3 ? types : NULL;
        refuse_request(b.engine, &p, QUIRE_E_INVALID_ARG, fields[i]);
    }
    close_bench(&b);
}

static void test_bad_engines(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e;
    for (int i = 0; i < 7; i++) {
        static const char *const texts[] = { "cache_tokens",
                                             "kv_scales",
                                             "max_draft_tokens",
                                             "LOCK_CACHE",
                                             "context_length 129",
                                             "max_step_tokens 100 is below context_length 128",
                                             NULL };
        struct quire_engine_params ep = params_for("bert-bf16.gguf");
        struct quire_error err = QUIRE_ERROR_INIT;
        ep.cache_tokens = i == 0 ? 1000 : 0;
        ep.kv_scales = i == 1 ? "/x" : NULL;
        ep.k_dtype = i == 1 ? QUIRE_KV_FP8_E4M3 : QUIRE_KV_F16;
        ep.max_draft_tokens = i == 2;
        ep.flags = i == 3 ? QUIRE_ENGINE_LOCK_CACHE : 0;
        ep.context_length = i == 4 ? 129 : i == 5 ? 128 : 0;
        ep.max_step_tokens = i == 5 ? 100 : 0;
        const quire_status s = quire_engine_open(&ep, &e, &err);
        if (!texts[i]) {
            assert_status(QUIRE_OK, s);
            quire_engine_close(e);
            continue;
        }
        assert_status(QUIRE_E_INVALID_ARG, s);
        if (!strstr(err.msg, texts[i]))
            fail_msg("%s", err.msg);
        assert_null(e);
    }
}

/* Sizes of an encoder's engine: of a dry run, and the step that holds the whole context. */
static void test_encoder_info(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int dry = 0; dry < 2; dry++) {
        struct quire_engine_params ep = params_for("bert-bf16.gguf");
        struct quire_engine_info info = { .struct_size = sizeof info };
        ep.flags = dry ? QUIRE_ENGINE_DRY_RUN : 0;
        struct quire_engine *e = open_with(&ep);
        assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
        assert_int_equal(info.context_length, 128);
        assert_int_equal(info.max_step_tokens, 256);
        assert_true(info.kv_bytes == 0 && info.cache_tokens == 0 && info.context_bytes > 0);
        quire_engine_close(e);
    }
    struct quire_engine_params ep = params_for("bert-bf16.gguf");
    struct quire_engine_info info = { .struct_size = sizeof info };
    ep.max_step_tokens = 48; /* shortens the automatic context */
    struct quire_engine *e = open_with(&ep);
    assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
    assert_int_equal(info.context_length, 48);
    quire_engine_close(e);
}

/* Every allocation of open and submit fails once; steps allocate nothing. */
static void test_no_memory(void **state)
{
    static const int32_t ids[40] = { 4, 5, 6 }, types[40] = { 0, 1 };
    (void)state;
    if (!need_shared())
        skip();
    for (int encoder = 0; encoder < 2; encoder++) {
        bool worked = false;
        for (size_t at = 1; !worked; at++) {
            struct quire_engine_params ep =
                params_for(encoder ? "bert-bf16.gguf" : "llama-q8_0.gguf");
            struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, 40);
            struct fail_alloc f;
            struct quire_engine *e;
            quire_request_id id;
            fail_alloc_init(&f, at, false);
            ep.allocator = &f.hooks;
            ep.n_threads = 1;
            ep.context_length = 64;
            p.token_type_ids = encoder ? types : NULL;
            p.pooling = QUIRE_POOLING_MEAN;
            quire_status s = quire_engine_open(&ep, &e, NULL);
            if (s == QUIRE_OK)
                s = quire_engine_submit(e, &p, &id, NULL);
            if (s == QUIRE_OK) {
                const size_t calls = f.calls;
                struct quire_event ev = { .struct_size = sizeof ev };
                do
                    assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
                while (ev.kind != QUIRE_EVENT_DONE);
                assert_int_equal(ev.reason, QUIRE_FINISH_STOP);
                assert_int_equal(f.calls, calls);
                worked = calls < at;
            } else {
                assert_int_equal(s, QUIRE_E_NOMEM);
            }
            quire_engine_close(e);
            assert_int_equal(f.live_count, 0);
        }
    }
}

/* ---- Life of a request */

static void check_ends(const char *folder, uint32_t step)
{
    static int32_t ids[120];
    struct bench b;
    struct quire_event ev = { .struct_size = sizeof ev };
    struct quire_engine_params ep = bench_params(1);
    ep.context_length = 120;
    ep.max_step_tokens = step;
    ep.max_seqs = 2;
    open_bench(&b, folder, NULL, &ep);
    for (int32_t i = 0; i < 120; i++)
        ids[i] = 4 + i * 37 % 300;
    for (int way = 0; way < 2; way++) {
        struct vector v = { .n = 0 };
        struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, 120);
        p.pooling = QUIRE_POOLING_MEAN;
        p.deadline = way ? 1e-9 : 0;
        const quire_request_id id = submit(b.engine, &p);
        if (!way && step < 120) /* within its prompt */
            assert_status(QUIRE_OK, quire_engine_step(b.engine, NULL));
        if (!way)
            assert_status(QUIRE_OK, quire_request_cancel(b.engine, id));
        do {
            assert_status(QUIRE_OK, quire_engine_wait(b.engine, id, -1, &ev, NULL));
            take_vector_event(&ev, &v);
        } while (ev.kind != QUIRE_EVENT_DONE);
        assert_int_equal(ev.reason, way ? QUIRE_FINISH_DEADLINE : QUIRE_FINISH_CANCELLED);
        assert_int_equal(v.n, 0);
        assert_all_free(b.engine);
    }
    close_bench(&b);
}

static void test_cancel_and_deadline(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_ends("bert", 120);
    check_ends("llama", 16);
}

/* With one place, requests of higher priority come first; equal ones in the order of submission. */
static void test_priority(void **state)
{
    static const char *const folders[] = { "bert", "llama" };
    static int32_t ids[40];
    (void)state;
    if (!need_shared())
        skip();
    for (int f = 0; f < 2; f++) {
        struct bench b;
        struct quire_engine_params ep = bench_params(1);
        struct quire_event ev = { .struct_size = sizeof ev };
        quire_request_id ids_of[4], order[4];
        ep.max_seqs = 1;
        open_bench(&b, folders[f], NULL, &ep);
        for (uint32_t i = 0; i < 4; i++) {
            ids[i] = 4 + (int32_t)i;
            struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, 40);
            p.priority = i == 2;
            ids_of[i] = submit(b.engine, &p);
        }
        for (uint32_t n = 0; n < 4;) {
            assert_status(QUIRE_OK, quire_engine_wait(b.engine, 0, -1, &ev, NULL));
            if (ev.kind == QUIRE_EVENT_VECTOR)
                order[n++] = ev.id;
        }
        assert_true(order[0] == ids_of[2] && order[1] == ids_of[0] && order[2] == ids_of[1] &&
                    order[3] == ids_of[3]);
        while (quire_engine_poll(b.engine, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {}
        close_bench(&b);
    }
}

/* Several sequences share a step of an encoder, as far as its tokens allow. */
static void test_encoder_steps(void **state)
{
    static int32_t ids[128];
    struct bench b;
    struct quire_event ev = { .struct_size = sizeof ev };
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = bench_params(1);
    ep.max_step_tokens = 160;
    open_bench(&b, "bert", NULL, &ep);
    static const size_t lengths[] = { 40, 40, 40, 40, 100, 80, 60 };
    for (size_t i = 0; i < 7; i++) {
        ids[0] = 4 + (int32_t)i;
        const struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, lengths[i]);
        (void)submit(b.engine, &p);
    }
    while (quire_engine_active_count(b.engine))
        assert_status(QUIRE_OK, quire_engine_step(b.engine, NULL));
    assert_status(QUIRE_OK, quire_engine_get_stats(b.engine, &stats));
    assert_int_equal(stats.n_steps, 3); /* 4 x 40; 100; 80 + 60 */
    assert_int_equal(stats.prompt_tokens, 400);
    while (quire_engine_poll(b.engine, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {}
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_arguments),       cmocka_unit_test(test_bad_engines),
        cmocka_unit_test(test_encoder_info),        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_cancel_and_deadline), cmocka_unit_test(test_priority),
        cmocka_unit_test(test_encoder_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
