/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_adapter.c - adapters of requests: the bits that a request has alone, in random
 * schedules with preemption, prefix hits, saved caches and drafts; prefixes per adapter and scale;
 * adapters that come and go; bad arguments. */
#include "engine_jobs.h"
#include "model/load/model.h"
#include "test_dir.h"
#include <math.h>
#include <pthread.h>

enum { N_JOBS = 40, RANK = 8 };

static const struct test_model llama = { .gguf = "llama-q8_0.gguf" };

static const char *adapter_path(const char *name)
{
    static _Thread_local char path[4200];
    snprintf(path, sizeof path, "%s/goldens/lora/%s", shared_dir(), name);
    return path;
}

static quire_status add_adapter(struct quire_engine *e, const char *name, const char *file,
                                struct quire_error *err)
{
    struct quire_engine_adapter_params p;
    quire_engine_adapter_params_init(&p, sizeof p);
    p.name = name;
    p.path = adapter_path(file);
    return quire_engine_add_adapter(e, &p, err);
}

static struct quire_engine *open_adapters(const struct setup *s, uint32_t n_jobs)
{
    struct setup with = *s;
    with.adapter_rank = RANK;
    struct quire_engine *e = open_setup(&llama, &with, n_jobs);
    assert_status(QUIRE_OK, add_adapter(e, "four", "lora_llama_r4", NULL));
    assert_status(QUIRE_OK, add_adapter(e, "embed", "lora_llama_r8_rs_embed", NULL));
    return e;
}

/* ---- Random schedules */

static struct job alone[N_JOBS], together[N_JOBS];

static void make_adapter_jobs(struct job *jobs, uint32_t seed)
{
    static const char *const names[] = { NULL, "four", "embed", "four" };
    make_jobs(jobs, N_JOBS, seed);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        jobs[i].repeats = i % 5 == 0;
        jobs[i].params.adapter_name = names[i % 4];
        jobs[i].params.adapter_scale = i % 8 == 3 ? 0.5f : 1;
    }
}

static void schedules(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    uint64_t n_cached = 0, n_preempted = 0, n_accepted = 0, n_restored = 0;
    const struct setup one = { .threads = 1, .step = 512, .seqs = 1, .block = 64 };
    struct quire_engine *e = open_adapters(&one, 1);
    char file[128];
    struct quire_cache_file_params cache;
    struct quire_cache_file_result saved = { .struct_size = sizeof saved };
    quire_cache_file_params_init(&cache, sizeof cache);
    snprintf(file, sizeof file, "%s/cache", dir);
    cache.path = file;
    make_adapter_jobs(alone, 7);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        alone[i].params.flags |= QUIRE_REQUEST_NO_REUSE;
        generate(e, &alone[i].params, &alone[i].result);
    }
    quire_engine_close(e);
    for (uint32_t k = 0; k < 6; k++) {
        const struct setup s = {
            .threads = 1 + k % 3,
            .step = 256,
            .seqs = 8,
            .block = 16u << k % 3,
            .draft = k % 2 ? 24 : 0,
            .cache_tokens = k % 2 ? JOB_CONTEXT + 64 : 0,
            .chunk = k % 3 ? 7 : 64,
            .draft_model = k == 3 ? "llama-bf16.gguf" : NULL,
        };
        e = open_adapters(&s, N_JOBS);
        if (k >= 4)
            assert_status(QUIRE_OK, quire_engine_restore_cache(e, &cache, &saved, NULL));
        make_adapter_jobs(together, 7);
        for (uint32_t i = 0; i < N_JOBS; i++)
            together[i].params.draft_tokens = s.draft ? 8 : 0;
        uint32_t order[N_JOBS]; /* a long prompt with an adapter is first */
        for (uint32_t i = 0; i < N_JOBS; i++)
            order[i] = i;
        uint32_t first = 1;
        while (!together[first].params.adapter_name || together[first].params.n_tokens < 100)
            first++;
        order[0] = first;
        order[first] = 0;
        n_accepted += run_jobs(e, together, order, N_JOBS, k);
        assert_same_jobs(alone, together, N_JOBS);
        assert_free(e);
        n_cached += e->scheduler.n_cached_tokens;
        n_preempted += count_preemptions(e);
        if (k >= 4)
            n_restored += together[first].result.usage.cached_tokens;
        if (k == 0 || k == 4)
            assert_status(QUIRE_OK, quire_engine_save_cache(e, &cache, NULL, NULL));
        quire_engine_close(e);
    }
    print_message("%llu preemptions, %llu cached tokens, %llu restored, %llu of drafts\n",
                  (unsigned long long)n_preempted, (unsigned long long)n_cached,
                  (unsigned long long)n_restored, (unsigned long long)n_accepted);
    assert_true(n_cached && n_preempted && n_accepted && n_restored);
}

/* ---- Prefixes */

static uint32_t cached(struct quire_engine *e, const char *name, float scale, struct result *r)
{
    struct quire_request_params p = greedy(story, 8);
    p.adapter_name = name;
    p.adapter_scale = scale;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    generate(e, &p, r);
    return r->usage.cached_tokens;
}

static void prefixes(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result base, four, half, zero, r;
    char file[128];
    struct quire_cache_file_params cache;
    const struct setup s = { .threads = 2, .step = 256, .seqs = 4, .block = 16 };
    struct quire_engine *e = open_adapters(&s, 8);
    assert_int_equal(cached(e, NULL, 1, &base), 0);
    assert_int_equal(cached(e, "four", 1, &four), 0);
    assert_int_equal(cached(e, "four", 0.5f, &half), 0);
    assert_int_equal(cached(e, "embed", 1, &r), 0);
    assert_true(memcmp(base.tokens, four.tokens, 8 * sizeof(int32_t)) != 0);
    assert_true(memcmp(half.tokens, four.tokens, 8 * sizeof(int32_t)) != 0);
    assert_true(cached(e, "four", 0, &zero) > 0); /* as without adapter */
    assert_same(&zero, &base);
    assert_true(cached(e, "four", 1, &r) > 0);
    assert_same(&r, &four);
    assert_true(cached(e, "four", 0.5f, &r) > 0);
    assert_same(&r, &half);
    /* another name for the same content: equal keys */
    assert_status(QUIRE_OK, add_adapter(e, "again", "lora_llama_r4", NULL));
    assert_true(cached(e, "again", 1, &r) > 0);
    assert_same(&r, &four);
    quire_cache_file_params_init(&cache, sizeof cache);
    snprintf(file, sizeof file, "%s/prefixes", dir);
    cache.path = file;
    assert_status(QUIRE_OK, quire_engine_save_cache(e, &cache, NULL, NULL));
    quire_engine_close(e);
    e = open_adapters(&s, 8);
    assert_status(QUIRE_OK, quire_engine_restore_cache(e, &cache, NULL, NULL));
    assert_true(cached(e, NULL, 1, &r) > 0);
    assert_same(&r, &base);
    assert_true(cached(e, "four", 1, &r) > 0);
    assert_same(&r, &four);
    assert_int_equal(cached(e, "four", 0.25f, &r), 0);
    quire_engine_close(e);
}

/* Several answers to one prompt, and an embedding. */
static void answers_and_vectors(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result one, many[3];
    const struct setup s = { .threads = 2, .step = 256, .seqs = 4, .block = 16 };
    struct quire_engine *e = open_adapters(&s, 8);
    struct quire_request_params p = greedy(story, 8);
    struct quire_sampling_params sampling = greedy_sampling;
    sampling.temperature = 0.9f;
    p.adapter_name = "four";
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.sampling = &sampling;
    p.n = 3;
    const quire_request_id id = submit(e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    for (int left = 3; left;) {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        append_event(&ev, &many[ev.choice]);
        left -= ev.kind == QUIRE_EVENT_DONE;
    }
    p.n = 0;
    for (uint32_t i = 0; i < 3; i++) {
        p.stream = i;
        generate(e, &p, &one);
        assert_memory_equal(one.tokens, many[i].tokens, 8 * sizeof(int32_t));
    }
    float vectors[2][64];
    for (int i = 0; i < 2; i++) {
        struct quire_request_params q;
        quire_request_params_init(&q, sizeof q);
        q.task = QUIRE_TASK_EMBED;
        q.text = story;
        q.text_size = strlen(story);
        q.adapter_name = i ? "four" : NULL;
        const quire_request_id embed = submit(e, &q);
        do {
            assert_status(QUIRE_OK, quire_engine_wait(e, embed, -1, &ev, NULL));
            if (ev.kind == QUIRE_EVENT_VECTOR)
                memcpy(vectors[i], ev.values, sizeof vectors[i]);
        } while (ev.kind != QUIRE_EVENT_DONE);
        assert_int_equal(ev.reason, QUIRE_FINISH_STOP);
    }
    assert_true(memcmp(vectors[0], vectors[1], sizeof vectors[0]) != 0);
    quire_engine_close(e);
}

/* Log-probabilities of an echoed prompt, which need the LM head of all rows: the same in chunks of
 * any size. */
static void prompt_logprobs(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    float values[3][128];
    uint32_t n[3] = { 0 };
    for (int i = 0; i < 3; i++) {
        const struct setup s = {
            .threads = 2, .step = 256, .seqs = 2, .block = 16, .chunk = i == 1 ? 7 : 256
        };
        struct quire_engine *e = open_adapters(&s, 4);
        struct quire_request_params p = greedy(story, 4);
        struct quire_event ev = { .struct_size = sizeof ev };
        p.adapter_name = i < 2 ? "embed" : NULL;
        p.flags = QUIRE_REQUEST_ECHO | QUIRE_REQUEST_LOGPROBS | QUIRE_REQUEST_IGNORE_EOS;
        const quire_request_id id = submit(e, &p);
        do {
            assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
            for (size_t k = 0; k < ev.n_tokens && n[i] < 128; k++)
                values[i][n[i]++] = ev.logprobs[k].logprob;
        } while (ev.kind != QUIRE_EVENT_DONE);
        quire_engine_close(e);
    }
    assert_true(n[0] > 20 && n[0] == n[1]);
    /* the first token has none */
    assert_memory_equal(&values[0][1], &values[1][1], (n[0] - 1) * sizeof(float));
    assert_true(memcmp(&values[0][1], &values[2][1], 16 * sizeof(float)) != 0);
}

/* ---- Adapters that come and go */

static void removal(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result want, got;
    const struct setup s = { .threads = 1, .step = 64, .seqs = 4, .block = 16 };
    struct quire_engine *e = open_adapters(&s, 8);
    struct quire_engine_adapter_info info;
    quire_engine_adapter_info_init(&info, sizeof info);
    struct quire_request_params p = greedy(story, 20);
    p.adapter_name = "four";
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    generate(e, &p, &want);
    const quire_request_id id = submit(e, &p);
    for (int i = 0; i < 5; i++)
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_status(QUIRE_OK, quire_engine_get_adapter(e, 0, &info));
    assert_string_equal(info.name, "four");
    assert_int_equal(info.n_requests, 1);
    assert_int_equal(info.rank, 4);
    assert_status(QUIRE_OK, quire_engine_remove_adapter(e, "four", NULL));
    assert_status(QUIRE_E_RANGE, quire_engine_remove_adapter(e, "four", NULL));
    quire_request_id other;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_RANGE, quire_engine_submit(e, &p, &other, &err));
    assert_non_null(strstr(err.msg, "four"));
    /* the name is free again while the request goes on with the old adapter */
    assert_status(QUIRE_OK, add_adapter(e, "four", "lora_llama_r8_rs_embed", NULL));
    run_one(e, id, &got);
    assert_same(&got, &want);
    assert_int_equal(e->model->n_adapters, 2);
    assert_status(QUIRE_OK, quire_engine_remove_adapter(e, "embed", NULL));
    assert_status(QUIRE_OK, quire_engine_get_adapter(e, 0, &info));
    assert_string_equal(info.name, "four");
    assert_int_equal(info.n_requests, 0);
    assert_status(QUIRE_E_RANGE, quire_engine_get_adapter(e, 1, &info));
    assert_int_equal(e->model->n_adapters, 1);
    quire_engine_close(e);
}

/* Adds and removes adapters while the engine's own thread runs requests. */
static void *come_and_go(void *engine)
{
    for (int i = 0; i < 20; i++) {
        assert_status(QUIRE_OK, add_adapter(engine, "guest", "lora_llama_r4", NULL));
        assert_status(QUIRE_OK, quire_engine_remove_adapter(engine, "guest", NULL));
    }
    return NULL;
}

static void hot(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result want, got;
    const struct setup s = { .threads = 2, .step = 64, .seqs = 4, .block = 16 };
    struct quire_engine *e = open_adapters(&s, 8);
    struct quire_request_params p = greedy(story, 60);
    p.adapter_name = "four";
    p.flags = QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_NO_REUSE;
    generate(e, &p, &want);
    pthread_t thread;
    assert_status(QUIRE_OK, quire_engine_start(e, NULL));
    assert_int_equal(pthread_create(&thread, NULL, come_and_go, e), 0);
    for (int i = 0; i < 6; i++) {
        struct quire_event ev = { .struct_size = sizeof ev };
        const quire_request_id id = submit(e, &p);
        got.size = got.n_tokens = 0;
        do {
            assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
            append_event(&ev, &got);
        } while (ev.kind != QUIRE_EVENT_DONE);
        assert_int_equal(got.n_tokens, want.n_tokens);
        assert_memory_equal(got.tokens, want.tokens, want.n_tokens * sizeof(int32_t));
    }
    pthread_join(thread, NULL);
    quire_engine_close(e);
}

/* ---- Arguments */

static void handles(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result by_name, by_handle;
    char path[4200];
    struct quire_model *m;
    struct quire_tokenizer *tokenizer;
    struct quire_adapter *a;
    struct quire_error err = QUIRE_ERROR_INIT;
    snprintf(path, sizeof path, "%s/goldens/gguf/%s", shared_dir(), llama.gguf);
    const struct quire_model_params mp = { .struct_size = sizeof mp, .path = path };
    assert_status(QUIRE_OK, quire_model_open(&mp, &m, NULL));
    assert_status(QUIRE_OK, quire_tokenizer_open(path, NULL, &tokenizer, NULL));
    const struct quire_adapter_params ap = { .struct_size = sizeof ap,
                                             .path = adapter_path("lora_llama_r4") };
    assert_status(QUIRE_OK, quire_adapter_open(m, &ap, &a, NULL));
    const struct test_model shared = { .gguf = llama.gguf, .model = m, .tokenizer = tokenizer };
    const struct setup s = {
        .threads = 1, .step = 64, .seqs = 2, .block = 16, .adapter_rank = RANK
    };
    struct quire_engine *e = open_setup(&shared, &s, 4);
    struct quire_request_params p = greedy(story, 12);
    p.adapter = a;
    generate(e, &p, &by_handle);
    struct quire_engine_adapter_params add;
    quire_engine_adapter_params_init(&add, sizeof add);
    add.name = "mine";
    add.adapter = a;
    assert_status(QUIRE_OK, quire_engine_add_adapter(e, &add, &err));
    assert_status(QUIRE_E_BUSY, quire_adapter_close(a));
    quire_request_id id;
    p.adapter_name = "mine";
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &p, &id, &err));
    p.adapter = NULL;
    generate(e, &p, &by_name);
    assert_same(&by_name, &by_handle);
    id = submit(e, &p);
    assert_status(QUIRE_OK, quire_engine_remove_adapter(e, "mine", NULL));
    assert_status(QUIRE_E_BUSY, quire_adapter_close(a)); /* until its request has ended */
    run_one(e, id, &by_name);
    /* slots are reused only after their last event was returned: that releases the adapter */
    struct quire_event ev = { .struct_size = sizeof ev };
    assert_status(QUIRE_OK, quire_engine_poll(e, &ev, NULL));
    assert_status(QUIRE_OK, quire_adapter_close(a));
    p.adapter_name = NULL;
    p.adapter = a; /* closed */
    assert_status(QUIRE_E_BUSY, quire_model_close(m));
    quire_engine_close(e);
    quire_tokenizer_close(tokenizer);
    assert_status(QUIRE_OK, quire_model_close(m));
}

static void expect_add(struct quire_engine *e, struct quire_engine_adapter_params p,
                       quire_status status, const char *text)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_engine_add_adapter(e, &p, &err);
    if (s != status || !strstr(err.msg, text))
        print_error("got %s \"%s\"\n", quire_status_name(s), err.msg);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
}

static void arguments(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const struct setup s = { .threads = 1, .step = 64, .seqs = 2, .block = 16, .adapter_rank = 4 };
    struct quire_engine *e = open_setup(&llama, &s, 4);
    char path[4200], four[4200], long_name[200];
    struct quire_error err = QUIRE_ERROR_INIT;
    snprintf(path, sizeof path, "%s", adapter_path("lora_llama_r8_rs_embed"));
    snprintf(four, sizeof four, "%s", adapter_path("lora_llama_r4"));
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    struct quire_engine_adapter_params p = { .struct_size = sizeof p, .name = "a", .path = path };
    expect_add(e, p, QUIRE_E_LIMIT, "rank 8");
    p.path = "/nonexistent";
    expect_add(e, p, QUIRE_E_IO, "");
    p.path = NULL;
    expect_add(e, p, QUIRE_E_INVALID_ARG, "path and adapter");
    p.adapter = (struct quire_adapter *)e;
    expect_add(e, p, QUIRE_E_INVALID_ARG, "adapter");
    p.path = four;
    expect_add(e, p, QUIRE_E_INVALID_ARG, "path and adapter");
    p.adapter = NULL;
    p.flags = 1u << 20;
    expect_add(e, p, QUIRE_E_INVALID_ARG, "flags");
    p.flags = 0;
    p.name = NULL;
    expect_add(e, p, QUIRE_E_INVALID_ARG, "name");
    p.name = "";
    expect_add(e, p, QUIRE_E_INVALID_ARG, "name");
    p.name = "a\nb";
    expect_add(e, p, QUIRE_E_INVALID_ARG, "name");
    p.name = long_name;
    expect_add(e, p, QUIRE_E_INVALID_ARG, "name");
    p.name = "a";
    p.struct_size = 8;
    assert_status(QUIRE_E_MISUSE, quire_engine_add_adapter(e, &p, &err));
    p.struct_size = sizeof p;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_add_adapter(e, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_add_adapter(NULL, &p, &err));
    assert_status(QUIRE_OK, quire_engine_add_adapter(e, &p, &err));
    expect_add(e, p, QUIRE_E_RANGE, "exists");
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_remove_adapter(NULL, "a", &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_remove_adapter(e, NULL, &err));
    assert_status(QUIRE_E_RANGE, quire_engine_remove_adapter(e, "b", &err));
    struct quire_engine_adapter_info info;
    quire_engine_adapter_info_init(&info, sizeof info);
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_get_adapter(NULL, 0, &info));
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_get_adapter(e, 0, NULL));
    quire_request_id id;
    struct quire_request_params r = greedy(story, 4);
    r.adapter_name = "b";
    assert_status(QUIRE_E_RANGE, quire_engine_submit(e, &r, &id, &err));
    assert_non_null(strstr(err.msg, "adapter_name"));
    r.adapter_name = "a";
    r.adapter_scale = NAN;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &r, &id, &err));
    assert_non_null(strstr(err.msg, "adapter_scale"));
    r.adapter_scale = 1;
    r.reserved4 = 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_submit(e, &r, &id, &err));
    assert_non_null(strstr(err.msg, "reserved4"));
    quire_engine_close(e);
    /* an engine without room for adapters */
    const struct setup plain = { .threads = 1, .step = 64, .seqs = 2, .block = 16 };
    e = open_setup(&llama, &plain, 4);
    p.name = "a";
    expect_add(e, p, QUIRE_E_LIMIT, "max_adapter_rank of the engine is 0");
    quire_engine_close(e);
    struct quire_engine_params ep = params_for("llama-q8_0.gguf");
    ep.max_adapter_rank = QUIRE_ADAPTER_MAX_RANK + 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_engine_open(&ep, &e, &err));
    assert_non_null(strstr(err.msg, "max_adapter_rank"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments), cmocka_unit_test(handles),
        cmocka_unit_test(prefixes),  cmocka_unit_test(answers_and_vectors),
        cmocka_unit_test(removal),   cmocka_unit_test(hot),
        cmocka_unit_test(schedules), cmocka_unit_test(prompt_logprobs),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
