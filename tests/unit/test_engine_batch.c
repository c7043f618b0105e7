/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_batch.c - many requests at once: each gives the tokens and the logits, bit for bit,
 * that it gives alone, whatever the schedule. */
#include "engine_requests.h"

enum { N_REQUESTS = 24, MAX_PROMPT = 160, VOCAB_IDS = 250 };

/* A request of the test, and the hash of all its rows of logits. */
struct job {
    int32_t prompt[MAX_PROMPT];
    struct quire_request_params params;
    struct quire_sampling_params sampling;
    uint64_t hash;
    struct result result;
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static quire_status hash_logits(void *user, const struct quire_logits_args *args)
{
    uint64_t *hash = user;
    const uint32_t *words = (const uint32_t *)(const void *)args->logits;
    for (size_t i = 0; i < args->n_vocab; i++)
        *hash = (*hash ^ words[i]) * 0x9E3779B97F4A7C15u >> 1;
    return QUIRE_OK;
}

/* Prompts that share beginnings and repeat themselves; greedy and random sampling. */
static void make_jobs(struct job *jobs, uint32_t seed)
{
    uint32_t random = seed;
    for (int i = 0; i < N_REQUESTS; i++) {
        struct job *j = &jobs[i];
        *j = (struct job){ .hash = 1 };
        const uint32_t n = 1 + next_random(&random) % MAX_PROMPT;
        const uint32_t shared = next_random(&random) % 3 * 45, period = 3 + i % 9;
        for (uint32_t k = 0; k < n; k++)
            j->prompt[k] =
                3 + (int32_t)(k < shared ? k * 7 % VOCAB_IDS : (k % period * 31 + i) % VOCAB_IDS);
        quire_sampling_params_init(&j->sampling, sizeof j->sampling);
        j->sampling.temperature = i % 2 ? 0.9f : 0;
        j->sampling.seed = (uint64_t)i;
        quire_request_params_init(&j->params, sizeof j->params);
        j->params.tokens = j->prompt;
        j->params.n_tokens = n;
        j->params.max_tokens = 1 + next_random(&random) % 40;
        j->params.flags = QUIRE_REQUEST_IGNORE_EOS;
        j->params.sampling = &j->sampling;
        j->params.logits_hook = hash_logits;
        j->params.logits_hook_user = &j->hash;
        j->params.priority = (int32_t)(next_random(&random) % 3);
        j->params.client = next_random(&random) % 3;
    }
}

struct setup {
    uint32_t threads, step, seqs, block, draft;
    uint64_t cache_tokens;   /* 0 = automatic */
    const char *draft_model; /* NULL = none */
};

/* For open_setup(), in place of a model file: a model that is open. */
static struct quire_model *open_model_object;
static struct quire_tokenizer *open_tokenizer;

static struct quire_engine *open_setup(const char *model, const struct setup *s)
{
    struct quire_engine_params ep = params_for(model);
    if (open_model_object) {
        ep.model_path = NULL;
        ep.model = open_model_object;
        ep.tokenizer = open_tokenizer;
    }
    ep.context_length = 256;
    ep.n_threads = s->threads;
    ep.max_step_tokens = s->step;
    ep.max_seqs = s->seqs;
    ep.block_size = s->block;
    ep.max_requests = N_REQUESTS;
    ep.cache_tokens = s->cache_tokens;
    ep.max_draft_tokens = s->draft;
    char draft_path[4200];
    if (s->draft_model) {
        snprintf(draft_path, sizeof draft_path, "%s/goldens/gguf/%s", shared_dir(), s->draft_model);
        ep.draft_model_path = draft_path;
        ep.draft_cache_tokens = s->cache_tokens / 2;
    }
    return open_with(&ep);
}

/* Submits the jobs at random times and runs them to the end. */
static void run_jobs(struct quire_engine *e, struct job *jobs, const struct setup *s, uint32_t seed)
{
    quire_request_id ids[N_REQUESTS] = { 0 };
    struct quire_event ev = { .struct_size = sizeof ev };
    uint32_t submitted = 0, done = 0, random = seed;
    for (size_t guard = 0; done < N_REQUESTS; guard++) {
        assert_true(guard < 100000);
        if (submitted < N_REQUESTS && next_random(&random) % 3 == 0) {
            struct job *j = &jobs[submitted];
            j->hash = 1;
            j->result.size = j->result.n_tokens = 0;
            j->params.draft_tokens = s->draft;
            if (s->draft_model) /* drafts in every step, in particular bad ones */
                j->params.flags |= QUIRE_REQUEST_FIXED_DRAFT;
            ids[submitted++] = submit(e, &j->params);
        }
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        while (quire_engine_poll(e, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
            uint32_t i = 0;
            while (ids[i] != ev.id)
                i++;
            append_event(&ev, &jobs[i].result);
            if (ev.kind != QUIRE_EVENT_DONE)
                continue;
            assert_int_equal(ev.reason, QUIRE_FINISH_LENGTH);
            jobs[i].result.done = ev;
            done++;
        }
    }
}

static void assert_free(struct quire_engine *e)
{
    for (uint32_t g = 0; g < e->memory.n_groups; g++) {
        struct quire_kv_group_config config;
        assert_status(QUIRE_OK, quire_kv_get_group(e->kv, g, &config, NULL));
        assert_int_equal(qr_sequence_blocks_available(&e->memory, g), config.n_blocks);
    }
    assert_int_equal(quire_engine_active_count(e), 0);
}

/* Runs the jobs in one schedule, twice, the second time with a warm prefix cache. Returns how often
 * tasks were preempted. */
static uint64_t compare_schedule(const char *model, const struct setup *s, const struct job *alone,
                                 uint32_t seed, uint32_t schedule)
{
    static struct job together[N_REQUESTS];
    struct quire_engine *e = open_setup(model, s);
    make_jobs(together, seed);
    for (uint32_t round = 0; round < 2; round++) {
        run_jobs(e, together, s, schedule * 10 + round);
        for (int i = 0; i < N_REQUESTS; i++) {
            assert_same(&alone[i].result, &together[i].result);
            assert_true(alone[i].hash == together[i].hash);
        }
        assert_free(e);
    }
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
    quire_engine_close(e);
    return stats.n_preemptions;
}

static void check_same_bits(const char *model, uint32_t seed)
{
    static const struct setup setups[] = {
        { 1, 256, 8, 64, 0, 0, NULL },
        { 2, 64, 8, 16, 0, 0, NULL },
        { 3, 16, 4, 32, 0, 0, NULL },
        { 2, 256, 8, 16, 0, 256, NULL },
        { 1, 24, 16, 16, 0, 288, NULL },
        { 2, 64, 6, 16, 7, 512, NULL },
        { 1, 256, 24, 64, 31, 0, NULL },
        { 2, 64, 6, 16, 7, 512, "llama-bf16.gguf" },
        { 1, 256, 8, 32, 24, 288, "gemma2_q32-q8_0.gguf" },
        { 3, 24, 16, 64, 5, 0, "phi3-bf16.gguf" },
    };
    static struct job alone[N_REQUESTS];
    const struct setup one = { 1, 512, 1, 64, 0, 0, NULL };
    struct quire_engine *e = open_setup(model, &one);
    make_jobs(alone, seed);
    for (int i = 0; i < N_REQUESTS; i++) {
        alone[i].params.flags |= QUIRE_REQUEST_NO_REUSE;
        generate(e, &alone[i].params, &alone[i].result);
    }
    quire_engine_close(e);
    uint64_t n_preempted = 0;
    for (uint32_t i = 0; i < sizeof setups / sizeof *setups; i++)
        n_preempted += compare_schedule(model, &setups[i], alone, seed, i);
    assert_true(n_preempted > 0);
}

static void test_same_bits(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_same_bits("llama-q8_0.gguf", 1);
    check_same_bits("gemma2_q32-q8_0.gguf", 2);
    check_same_bits("phi3-bf16.gguf", 3);
}

/* Dynamic NTK scaling gives every length beyond the original context its own frequencies: after a
 * preemption the keys of generated tokens are recomputed one by one. */
static void test_dynamic_rope(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    char folder[] = "/tmp/quire_batch_XXXXXX", command[2 * 4096 + 512];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "ln -s '%s/goldens/llama/model.safetensors' '%s' && "
             "sed -e 's/\"rope_type\": \"default\"/\"rope_type\": \"dynamic\", \"factor\": 2.0/' "
             "-e 's/\"max_position_embeddings\": 512/\"max_position_embeddings\": 60/' "
             "'%s/goldens/llama/config.json' > '%s/config.json'",
             shared_dir(), folder, shared_dir(), folder);
    assert_int_equal(system(command), 0);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = folder;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_model_open(&mp, &open_model_object, &err);
    if (s != QUIRE_OK)
        fail_msg("%s", err.msg);
    const char *gguf = params_for("llama-q8_0.gguf").model_path;
    assert_status(QUIRE_OK, quire_tokenizer_open(gguf, NULL, &open_tokenizer, NULL));
    check_same_bits("llama-q8_0.gguf", 4);
    assert_status(QUIRE_OK, quire_model_close(open_model_object));
    quire_tokenizer_close(open_tokenizer);
    open_model_object = NULL;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* Makes the answer repeat seven tokens, with the model's logits for nothing but their hash. */
static quire_status repeat(void *user, const struct quire_logits_args *args)
{
    (void)user;
    for (size_t i = 0; i < args->n_vocab; i++)
        args->logits[i] = i == 20 + args->n_tokens % 7 ? 10.0f : -10.0f;
    return QUIRE_OK;
}

/* Repetitive text: drafts are accepted, several tokens come from one step. */
static void test_drafts(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const struct setup with_draft = { 1, 256, 1, 64, 16, 0, NULL };
    struct quire_engine *e = open_setup("llama-q8_0.gguf", &with_draft);
    struct quire_request_params p = greedy(story, 120);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.logits_hook = repeat;
    struct result plain, drafted;
    generate(e, &p, &plain);
    struct quire_engine_stats before = { .struct_size = sizeof before }, after = before;
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &before));
    p.draft_tokens = 16;
    generate(e, &p, &drafted);
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &after));
    assert_same(&plain, &drafted);
    assert_true(after.n_steps - before.n_steps < 60);
    p.draft_tokens = 17;
    quire_request_id id;
    assert_status(QUIRE_E_LIMIT, quire_engine_submit(e, &p, &id, NULL));
    quire_engine_close(e);
}

/* With one place, a request of higher priority takes it from the running one, in the draft model
 * too. */
static void test_draft_after_preemption(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const struct setup one_place = { 1, 256, 1, 64, 4, 0, "llama-bf16.gguf" };
    struct quire_engine *e = open_setup("llama-q8_0.gguf", &one_place);
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 1;
    struct quire_request_params p = greedy(story, 60);
    p.sampling = &sampling;
    p.flags = QUIRE_REQUEST_IGNORE_EOS | QUIRE_REQUEST_FIXED_DRAFT;
    p.draft_tokens = 4;
    struct quire_engine_stats before = { .struct_size = sizeof before }, after = before;
    static struct result preempted, plain;
    const quire_request_id low = submit(e, &p);
    do {
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        assert_status(QUIRE_OK, quire_engine_get_stats(e, &before));
    } while (before.model_drafted_tokens == 0);
    p.priority = 1;
    p.max_tokens = 20;
    const quire_request_id high = submit(e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    do
        assert_status(QUIRE_OK, quire_engine_wait(e, high, -1, &ev, NULL));
    while (ev.kind != QUIRE_EVENT_DONE);
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &after));
    assert_int_equal(after.n_preemptions, 1);
    assert_true(after.model_drafted_tokens > before.model_drafted_tokens);
    run_one(e, low, &preempted);
    p.draft_tokens = 0;
    p.max_tokens = 60;
    generate(e, &p, &plain);
    assert_same(&plain, &preempted);
    assert_free(e);
    quire_engine_close(e);
}

/* ---- Several answers */

static void run_answers(struct quire_engine *e, const struct quire_request_params *p,
                        struct result *results, uint32_t n)
{
    const quire_request_id id = submit(e, p);
    struct quire_event ev = { .struct_size = sizeof ev };
    for (uint32_t i = 0; i < n; i++)
        results[i].size = results[i].n_tokens = 0;
    for (uint32_t left = n; left;) {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        assert_true(ev.kind != QUIRE_EVENT_NONE && ev.id == id && ev.choice < n);
        append_event(&ev, &results[ev.choice]);
        if (ev.kind == QUIRE_EVENT_DONE) {
            results[ev.choice].done = ev;
            left--;
        }
    }
    assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
    assert_int_equal(ev.kind, QUIRE_EVENT_NONE);
    assert_free(e);
}

/* Answer i of a request is the answer to the prompt with stream + i; with few sequences the answers
 * come one after the other. */
static void test_choices(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 6 };
    static struct result all[N], one;
    for (uint32_t seqs = 1; seqs <= 9; seqs += 4) {
        const struct setup s = { 1, 256, seqs, 16, 0, 0, NULL };
        struct quire_engine *e = open_setup("gemma2_q32-q8_0.gguf", &s);
        struct quire_sampling_params sampling;
        quire_sampling_params_init(&sampling, sizeof sampling);
        sampling.temperature = 1;
        struct quire_request_params p = greedy(story, 25);
        p.sampling = &sampling;
        p.n = N;
        p.stream = 3;
        run_answers(e, &p, all, N);
        p.n = 0;
        for (uint32_t i = 0; i < N; i++) {
            p.stream = 3 + i;
            p.flags = QUIRE_REQUEST_NO_REUSE;
            generate(e, &p, &one);
            assert_same(&one, &all[i]);
        }
        quire_engine_close(e);
    }
}

static double mean_logprob(const struct quire_request_params *base, struct quire_engine *e,
                           uint32_t stream, struct result *r)
{
    struct quire_request_params p = *base;
    p.n = p.best_of = 0;
    p.stream = stream;
    p.flags |= QUIRE_REQUEST_LOGPROBS;
    const quire_request_id id = submit(e, &p);
    struct quire_event ev = { .struct_size = sizeof ev };
    double sum = 0;
    uint32_t n = 0;
    r->size = r->n_tokens = 0;
    do {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        append_event(&ev, r);
        for (size_t i = 0; i < ev.n_tokens; i++, n++)
            sum += ev.logprobs[i].logprob;
    } while (ev.kind != QUIRE_EVENT_DONE);
    return sum / n;
}

/* The best answers by mean log-probability, best first. */
static void test_best_of(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 2, OF = 5 };
    static struct result best[N], each[OF];
    const struct setup s = { 1, 256, 3, 16, 0, 0, NULL };
    struct quire_engine *e = open_setup("llama-q8_0.gguf", &s);
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 1.5f;
    struct quire_request_params p = greedy(story, 12);
    p.sampling = &sampling;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.n = N;
    p.best_of = OF;
    run_answers(e, &p, best, N);
    double mean[OF];
    for (uint32_t i = 0; i < OF; i++)
        mean[i] = mean_logprob(&p, e, i, &each[i]);
    for (uint32_t rank = 0; rank < N; rank++) {
        uint32_t top = 0;
        for (uint32_t i = 1; i < OF; i++)
            top = mean[i] > mean[top] ? i : top;
        assert_int_equal(best[rank].n_tokens, each[top].n_tokens);
        assert_memory_equal(best[rank].tokens, each[top].tokens, 12 * sizeof(int32_t));
        mean[top] = -1e9;
    }
    /* cancelled: all end, and the slots are free again */
    const quire_request_id id = submit(e, &p);
    assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    assert_status(QUIRE_OK, quire_request_cancel(e, id));
    struct quire_event ev = { .struct_size = sizeof ev };
    for (uint32_t done = 0; done < N; done += ev.kind == QUIRE_EVENT_DONE)
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
    assert_int_equal(ev.reason, QUIRE_FINISH_CANCELLED);
    assert_int_equal(e->n_free, e->n_requests);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_dynamic_rope),
        cmocka_unit_test(test_drafts),    cmocka_unit_test(test_choices),
        cmocka_unit_test(test_best_of),   cmocka_unit_test(test_draft_after_preemption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
