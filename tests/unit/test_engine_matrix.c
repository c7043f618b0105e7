/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_matrix.c - determinism: requests in random schedules that combine threads, chunks of
 * prompts, prefix hits, preemptions, a restored prefix cache and drafts give the tokens and the
 * logits, bit for bit, that they give alone; 1,000 requests in a pool of 10 % of their demand lose
 * nothing. QUIRE_TEST_SLOW: more requests and schedules. */
#include "engine_jobs.h"
#include "test_dir.h"

enum { MAX_JOBS = 1000, N_SCHEDULES = 20, N_THREADS = 3, N_CHUNKS = 5 };

static struct job alone[MAX_JOBS], together[MAX_JOBS];

static bool is_slow(void) { return getenv("QUIRE_TEST_SLOW") != NULL; }

static uint32_t n_requests(uint32_t usual, uint32_t many)
{
    return is_slow() ? many : takes_sample() ? usual / 4 : usual;
}

/* ---- The matrix */

static const uint32_t chunks[N_CHUNKS] = { 1, 7, 16, 64, 512 /* whole prompts */ };

/* One schedule. Every factor is drawn at random. */
struct combination {
    uint32_t threads, chunk, block_size;
    bool hits, preempts, restores, drafts;
};

/* Values that occurred, and what the factors caused. */
struct coverage {
    bool threads[N_THREADS + 1], chunks[N_CHUNKS];
    bool hits[2], preempts[2], restores[2], drafts[2];
    uint64_t n_cached, n_preempted, n_restored, n_accepted;
};

static struct combination draw(uint32_t *random, struct coverage *c)
{
    const uint32_t chunk = next_random(random) % N_CHUNKS;
    const struct combination drawn = {
        .threads = 1 + next_random(random) % N_THREADS,
        .chunk = chunks[chunk],
        .block_size = 16u << next_random(random) % 3,
        .hits = next_random(random) % 4 > 0,
        .preempts = next_random(random) % 2,
        .restores = next_random(random) % 2,
        .drafts = next_random(random) % 2,
    };
    c->chunks[chunk] = c->threads[drawn.threads] = true;
    c->hits[drawn.hits] = c->preempts[drawn.preempts] = true;
    c->restores[drawn.restores] = c->drafts[drawn.drafts] = true;
    return drawn;
}

static void assert_covered(const struct coverage *c)
{
    for (uint32_t i = 1; i <= N_THREADS; i++)
        assert_true(c->threads[i]);
    for (uint32_t i = 0; i < N_CHUNKS; i++)
        assert_true(c->chunks[i]);
    for (int i = 0; i < 2; i++)
        assert_true(c->hits[i] && c->preempts[i] && c->restores[i] && c->drafts[i]);
    print_message("%llu preemptions, %llu cached tokens, %llu restored, %llu of drafts\n",
                  (unsigned long long)c->n_preempted, (unsigned long long)c->n_cached,
                  (unsigned long long)c->n_restored, (unsigned long long)c->n_accepted);
    assert_true(c->n_cached > 0 && c->n_preempted > 0 && c->n_restored > 0 && c->n_accepted > 0);
}

static void make_matrix_jobs(struct job *jobs, uint32_t n_jobs, uint32_t seed)
{
    make_jobs(jobs, n_jobs, seed);
    for (uint32_t i = 0; i < n_jobs; i++)
        jobs[i].repeats = i % 5 == 0;
}

static struct quire_cache_file_params cache_file(char *path, size_t size)
{
    struct quire_cache_file_params p;
    quire_cache_file_params_init(&p, sizeof p);
    snprintf(path, size, "%s/cache", dir);
    p.path = path;
    return p;
}

/* Saves the prefix cache of an engine that ran the first third of the jobs. */
static void save_some(const struct test_model *m, uint32_t n_jobs)
{
    char path[128];
    const struct quire_cache_file_params file = cache_file(path, sizeof path);
    const struct setup s = { .threads = 2, .step = 256, .seqs = 8, .block = 64 };
    struct quire_engine *e = open_setup(m, &s, n_jobs);
    run_jobs(e, together, NULL, n_jobs / 3, 1);
    assert_status(QUIRE_OK, quire_engine_save_cache(e, &file, NULL, NULL));
    quire_engine_close(e);
}

static void run_schedule(const struct test_model *m, uint32_t n_jobs, uint32_t schedule,
                         const struct combination *c, struct coverage *seen)
{
    char path[128];
    uint32_t order[MAX_JOBS], random = schedule;
    const struct setup s = {
        .threads = c->threads,
        .step = 256,
        .seqs = 8,
        .block = c->block_size,
        .draft = c->drafts ? 24 : 0,
        .cache_tokens = c->preempts ? JOB_CONTEXT + 64 : 0,
        .chunk = c->chunk,
    };
    struct quire_engine *e = open_setup(m, &s, n_jobs);
    const struct quire_cache_file_params file = cache_file(path, sizeof path);
    if (c->restores)
        assert_status(QUIRE_OK, quire_engine_restore_cache(e, &file, NULL, NULL));
    for (uint32_t i = 0; i < n_jobs; i++) {
        struct quire_request_params *p = &together[i].params;
        p->draft_tokens = c->drafts ? 8 : 0;
        p->flags = QUIRE_REQUEST_IGNORE_EOS | (c->hits ? 0 : QUIRE_REQUEST_NO_REUSE);
        const uint32_t at = next_random(&random) % (i + 1); /* a random permutation */
        order[i] = order[at];
        order[at] = i;
    }
    seen->n_accepted += run_jobs(e, together, order, n_jobs, schedule);
    assert_same_jobs(alone, together, n_jobs);
    assert_free(e);
    if (c->restores) /* the first request found nothing but the restored blocks */
        seen->n_restored += together[order[0]].result.usage.cached_tokens;
    seen->n_cached += e->scheduler.n_cached_tokens;
    seen->n_preempted += count_preemptions(e);
    quire_engine_close(e);
}

static void check_matrix(const struct test_model *m, uint32_t n_jobs, uint32_t seed)
{
    struct coverage seen = { .n_cached = 0 };
    uint32_t random = seed;
    make_matrix_jobs(alone, n_jobs, seed);
    run_alone(m, alone, n_jobs);
    make_matrix_jobs(together, n_jobs, seed);
    save_some(m, n_jobs);
    for (uint32_t i = 0; i < (takes_sample() ? 4 : N_SCHEDULES); i++) {
        const struct combination c = draw(&random, &seen);
        run_schedule(m, n_jobs, 100 * seed + i, &c, &seen);
    }
    if (!takes_sample())
        assert_covered(&seen);
}

static void full_attention(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_matrix(&(struct test_model){ .gguf = "llama-q8_0.gguf" }, n_requests(80, 200), 11);
}

static void windows(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_matrix(&(struct test_model){ .gguf = "gemma2_q32-q8_0.gguf" }, n_requests(80, 200), 12);
}

static void dynamic_ntk(void **state)
{
    (void)state;
    struct test_model m;
    if (!need_shared())
        skip();
    open_dynamic_ntk(&m);
    check_matrix(&m, n_requests(80, 200), 13);
    close_dynamic_ntk(&m);
}

/* Indexers: their keys are in a KV group of their own. The last models have a state, too. */
static void selected_keys(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const struct test_model keys = { .gguf = "../gguf_2026/glm_moe_dsa-bf16.gguf" },
                            blocks = { .gguf = "../gguf_2026/minimax_m3_text-bf16.gguf" },
                            pooled = { .gguf = "../gguf_2026/deepseek_v4-bf16.gguf" };
    check_matrix(&keys, n_requests(60, 200), 14);
    check_matrix(&blocks, n_requests(60, 200), 15);
    check_matrix(&pooled, n_requests(60, 200), 18);
    struct test_model compressed;
    open_tested(&compressed, "qwen4_exp", keys.gguf);
    check_matrix(&compressed, n_requests(60, 200), 16);
    close_tested(&compressed);
}

/* ---- Preemption */

/* Blocks that the requests which run at a time need on average when they end. */
static uint64_t demand(const struct job *jobs, uint32_t n_jobs, const struct setup *s)
{
    uint64_t n_blocks = 0;
    for (uint32_t i = 0; i < n_jobs; i++)
        n_blocks += (jobs[i].params.n_tokens + jobs[i].params.max_tokens + s->block - 1) / s->block;
    return n_blocks * s->seqs / n_jobs;
}

static void small_pool(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const uint32_t n_jobs = n_requests(300, 1000);
    const struct test_model m = { .gguf = "llama-q8_0.gguf" };
    const struct setup s = {
        .threads = 2, .step = 256, .seqs = 32, .block = 16, .cache_tokens = JOB_CONTEXT
    };
    make_jobs(alone, n_jobs, 21);
    run_alone(&m, alone, n_jobs);
    make_jobs(together, n_jobs, 21);
    struct quire_engine *e = open_setup(&m, &s, n_jobs);
    struct quire_kv_group_config config;
    assert_status(QUIRE_OK, quire_kv_get_group(e->kv, 0, &config, NULL));
    assert_true(config.n_blocks * 10 <= demand(together, n_jobs, &s));
    run_jobs(e, together, NULL, n_jobs, 21);
    assert_same_jobs(alone, together, n_jobs);
    assert_free(e);
    const uint64_t n = count_preemptions(e);
    print_message("%u requests, %u blocks: %llu preemptions\n", n_jobs, config.n_blocks,
                  (unsigned long long)n);
    assert_true(n > 0);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_attention), cmocka_unit_test(windows),
        cmocka_unit_test(dynamic_ntk),    cmocka_unit_test(selected_keys),
        cmocka_unit_test(small_pool),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
