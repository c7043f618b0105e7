/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_vector.c - embeddings by the engine: against the reference data, against encoder
 * passes, under any schedule. */
#include "engine_vectors.h"

enum { WIDTH = 64, N_REQUESTS = 16, MAX_PROMPT = 120 };

/* ---- Against reference hidden states, pooled in double precision */

static void pool_reference(const float *hidden, size_t n, enum quire_pooling pooling,
                           double out[WIDTH])
{
    for (size_t i = 0; i < WIDTH; i++) {
        out[i] = hidden[(pooling == QUIRE_POOLING_LAST ? n - 1 : 0) * WIDTH + i];
        for (size_t r = 1; r < n && pooling == QUIRE_POOLING_MEAN; r++)
            out[i] += hidden[r * WIDTH + i];
        out[i] /= pooling == QUIRE_POOLING_MEAN ? (double)n : 1;
    }
}

static void normalize_reference(double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    for (size_t i = 0; i < n; i++)
        x[i] /= sqrt(sum);
}

static void check_pooled(struct bench *b, const int32_t *ids, const float *hidden, uint32_t n)
{
    static const enum quire_pooling poolings[] = { QUIRE_POOLING_CLS, QUIRE_POOLING_MEAN,
                                                   QUIRE_POOLING_LAST };
    for (size_t k = 0; k < 3; k++)
        for (int variant = 0; variant < 3; variant++) {
            double want[WIDTH];
            struct vector got;
            struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, n);
            p.pooling = poolings[k];
            p.normalize = variant > 0;
            p.dimensions = variant == 2 ? 24 : 0;
            must_compute(b->engine, &p, &got);
            pool_reference(hidden, n, poolings[k], want);
            assert_int_equal(got.n, variant == 2 ? 24 : WIDTH);
            if (variant)
                normalize_reference(want, got.n);
            assert_near(got.values, want, got.n, variant ? 5e-4 : 3e-3);
        }
}

static void test_hidden_states(void **state)
{
    static const char *const folders[] = { "bert",       "modernbert",      "embedding_gemma",
                                           "nomic_bert", "qwen3_embedding", "llama" };
    static const uint32_t lengths[] = { 1, 7, 33, 100 };
    static float hidden[4 * 100 * WIDTH];
    int32_t ids[100];
    (void)state;
    if (!need_shared())
        skip();
    for (size_t f = 0; f < 6; f++) {
        struct bench b;
        struct quire_engine_params ep = bench_params(2);
        if (f >= 4) /* decoders: several chunks */
            ep.max_step_tokens = 16;
        open_bench(&b, folders[f], NULL, &ep);
        for (size_t i = 0; i < 4; i++) {
            const uint32_t n = lengths[i];
            char name[32];
            golden_ids(folders[f], n, ids);
            snprintf(name, sizeof name, "last_hidden.%u", n);
            const float *last = hidden;
            if (f == 5) { /* the last entry of all layers */
                if (n != 7)
                    continue;
                assert_true(read_golden(folders[f], "hidden.7", hidden, 4 * 7 * WIDTH * 4));
                last = hidden + 3 * 7 * WIDTH;
            } else {
                assert_true(read_golden(folders[f], name, hidden, n * WIDTH * 4));
            }
            check_pooled(&b, ids, last, n);
        }
        close_bench(&b);
    }
}

/* Computes the vector of a request, which the reference implementation stored in the folder. */
static void check_golden(struct quire_engine *e, const struct quire_request_params *p,
                         const char *folder, const char *name, double tolerance)
{
    float golden[WIDTH];
    double want[WIDTH];
    struct vector got;
    assert_true(read_golden(folder, name, golden, sizeof golden));
    must_compute(e, p, &got);
    for (size_t i = 0; i < WIDTH; i++)
        want[i] = golden[i];
    assert_near(got.values, want, WIDTH, tolerance);
}

/* The defaults are the author's: last token or mean, normalized. */
static void test_author_defaults(void **state)
{
    int32_t ids[100];
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    const struct quire_engine_params ep = bench_params(1);
    open_bench(&b, "qwen3_embedding", NULL, &ep);
    golden_ids("qwen3_embedding", 100, ids);
    const struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, 100);
    check_golden(b.engine, &p, "qwen3_embedding", "embedding.100", 5e-4);
    close_bench(&b);

    open_bench(&b, "nomic_bert", NULL, &ep); /* mean */
    golden_ids("nomic_bert", 100, ids);
    check_golden(b.engine, &p, "nomic_bert", "embedding.100", 5e-4);
    close_bench(&b);

    /* mean, then two dense layers */
    static const char *const gemma[] = { "embedding_gemma", "gguf_2026/embedding_gemma-bf16.gguf" };
    for (size_t f = 0; f < 2; f++) {
        open_bench(&b, gemma[f], NULL, &ep);
        for (size_t i = 0; i < 4; i++) {
            static const uint32_t lengths[] = { 1, 7, 33, 100 };
            char name[32];
            snprintf(name, sizeof name, "embedding.%u", lengths[i]);
            golden_ids("embedding_gemma", lengths[i], ids);
            const struct quire_request_params d = vector_of(QUIRE_TASK_EMBED, ids, lengths[i]);
            check_golden(b.engine, &d, "embedding_gemma", name, 5e-4);
        }
        close_bench(&b);
    }
}

static void test_pooler(void **state)
{
    int32_t ids[33];
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    const struct quire_engine_params ep = bench_params(2);
    open_bench(&b, "bert", NULL, &ep);
    golden_ids("bert", 33, ids);
    struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, 33);
    p.pooling = QUIRE_POOLING_POOLER;
    p.normalize = false;
    check_golden(b.engine, &p, "bert", "pooler.33", 1e-4);

    /* token types */
    int64_t wide[33];
    int32_t types[33];
    assert_true(read_golden("bert", "tt.ids", wide, sizeof wide));
    for (int i = 0; i < 33; i++)
        ids[i] = (int32_t)wide[i];
    assert_true(read_golden("bert", "tt.token_type_ids", wide, sizeof wide));
    for (int i = 0; i < 33; i++)
        types[i] = (int32_t)wide[i];
    p.token_type_ids = types;
    check_golden(b.engine, &p, "bert", "tt.pooler", 1e-4);
    close_bench(&b);
}

/* ---- Any schedule gives the bits of a request alone */

struct job {
    int32_t ids[MAX_PROMPT];
    int32_t types[MAX_PROMPT];
    struct quire_request_params params;
    struct vector alone, got;
    quire_request_id id;
    bool done;
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Prompts that share beginnings; on a decoder every fourth request generates. */
static void make_jobs(struct job *jobs, bool encoder, bool has_types)
{
    uint32_t random = 7;
    for (uint32_t i = 0; i < N_REQUESTS; i++) {
        struct job *j = &jobs[i];
        const uint32_t n = 1 + next_random(&random) % MAX_PROMPT;
        for (uint32_t k = 0; k < n; k++) {
            j->ids[k] = (int32_t)(4 + (k < 40 ? k * 7 : k * 31 + i) % 300);
            j->types[k] = (int32_t)(k * 2 / n % 2);
        }
        j->params = vector_of(QUIRE_TASK_EMBED, j->ids, n);
        j->params.pooling = (enum quire_pooling)(i % (has_types ? 4 : 3)); /* BERT has a pooler */
        j->params.normalize = i % 5 != 0;
        j->params.dimensions = i % 3 == 0 ? 1 + i : 0;
        j->params.priority = (int32_t)(next_random(&random) % 3);
        j->params.client = next_random(&random) % 3;
        if (has_types && i % 2)
            j->params.token_type_ids = j->types;
        if (encoder || i % 4 != 3)
            continue;
        j->params.task = QUIRE_TASK_GENERATE;
        j->params.dimensions = 0;
        j->params.max_tokens = 8;
        j->params.flags = QUIRE_REQUEST_IGNORE_EOS;
        j->params.sampling = &greedy_sampling;
    }
}

static void run_jobs(struct quire_engine *e, struct job *jobs, uint32_t seed)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    uint32_t submitted = 0, done = 0, random = seed;
    for (uint32_t i = 0; i < N_REQUESTS; i++)
        jobs[i].got = (struct vector){ .n = 0 };
    for (size_t guard = 0; done < N_REQUESTS; guard++) {
        assert_true(guard < 100000);
        while (submitted < N_REQUESTS && next_random(&random) % 4) {
            jobs[submitted].id = submit(e, &jobs[submitted].params);
            submitted++;
        }
        assert_status(QUIRE_OK, quire_engine_step(e, NULL));
        while (quire_engine_poll(e, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE) {
            uint32_t i = 0;
            while (jobs[i].id != ev.id)
                i++;
            if (jobs[i].params.task == QUIRE_TASK_EMBED)
                take_vector_event(&ev, &jobs[i].got);
            done += ev.kind == QUIRE_EVENT_DONE;
        }
    }
}

static uint64_t check_schedule(struct bench *b, const struct quire_engine_params *ep,
                               struct job *jobs)
{
    struct quire_engine *reference = b->engine;
    open_bench_engine(b, *ep);
    for (uint32_t round = 0; round < 3; round++) { /* later ones with a warm prefix cache */
        run_jobs(b->engine, jobs, round + 5);
        for (uint32_t i = 0; i < N_REQUESTS; i++) {
            const struct job *j = &jobs[i];
            if (j->params.task != QUIRE_TASK_EMBED)
                continue;
            assert_int_equal(j->got.n, j->alone.n);
            assert_memory_equal(j->got.values, j->alone.values, j->alone.n * sizeof(float));
            assert_int_equal(j->got.usage.prompt_tokens, j->params.n_tokens);
        }
        assert_all_free(b->engine);
    }
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    assert_status(QUIRE_OK, quire_engine_get_stats(b->engine, &stats));
    quire_engine_close(b->engine);
    b->engine = reference;
    return stats.n_preemptions;
}

static void check_batch_invariance(const char *folder, bool encoder)
{
    static const struct {
        uint32_t threads, step, seqs, block;
        uint64_t cache;
    } setups[] = { { 1, 128, 1, 64, 0 },   { 2, 128, 8, 16, 0 }, { 3, 512, 16, 64, 0 },
                   { 2, 130, 5, 16, 128 }, { 1, 7, 6, 16, 144 }, { 3, 16, 3, 16, 160 },
                   { 2, 1, 1, 16, 0 } };
    static struct job jobs[N_REQUESTS];
    struct bench b;
    uint64_t preemptions = 0;
    struct quire_engine_params ep = bench_params(1);
    ep.context_length = 128;
    open_bench(&b, folder, NULL, &ep);
    make_jobs(jobs, encoder, b.engine->n_token_types > 1);
    for (uint32_t i = 0; i < N_REQUESTS; i++)
        if (jobs[i].params.task == QUIRE_TASK_EMBED) {
            struct quire_request_params p = jobs[i].params;
            p.flags = QUIRE_REQUEST_NO_REUSE;
            must_compute(b.engine, &p, &jobs[i].alone);
            assert_int_equal(jobs[i].alone.usage.cached_tokens, 0);
        }
    for (size_t k = 0; k < sizeof setups / sizeof *setups; k++) {
        if (encoder && setups[k].step < 128)
            continue;
        ep = bench_params(setups[k].threads);
        ep.context_length = 128;
        ep.max_step_tokens = setups[k].step;
        ep.max_seqs = setups[k].seqs;
        ep.block_size = setups[k].block;
        ep.cache_tokens = encoder ? 0 : setups[k].cache;
        preemptions += check_schedule(&b, &ep, jobs);
    }
    assert_true(encoder || preemptions > 0);
    close_bench(&b);
}

static void test_batch_invariance(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    check_batch_invariance("bert", true);
    check_batch_invariance("modernbert", true);
    check_batch_invariance("llama", false);
    check_batch_invariance("qwen3_embedding", false);
    check_batch_invariance("gemma3_text", false);
}

/* The bits of an encoder pass over the sequence. */
static void test_same_as_encode(void **state)
{
    static int32_t ids[90];
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    const struct quire_engine_params ep = bench_params(2);
    open_bench(&b, "bert", NULL, &ep);
    struct quire_context_params cp;
    struct quire_context *context;
    quire_context_params_init(&cp, sizeof cp);
    assert_status(QUIRE_OK, quire_context_create(b.model, &cp, &context, NULL));
    for (int32_t i = 0; i < 90; i++)
        ids[i] = 4 + i * 37 % 300;
    for (int pooling = 0; pooling <= QUIRE_POOLING_DEFAULT; pooling++)
        for (int normalize = 0; normalize < 2; normalize++) {
            const int32_t starts[] = { 0, 90 };
            float want[WIDTH];
            struct vector got;
            struct quire_encode_args args;
            quire_encode_args_init(&args, sizeof args);
            args.n_seqs = 1;
            args.query_start_loc = starts;
            args.token_ids = ids;
            args.pooled = want;
            args.pooling = (enum quire_pooling)pooling;
            args.normalize = normalize;
            assert_status(QUIRE_OK, quire_context_encode(context, &args, NULL));
            struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, 90);
            p.pooling = (enum quire_pooling)pooling;
            p.normalize = normalize;
            must_compute(b.engine, &p, &got);
            assert_memory_equal(got.values, want, sizeof want);
        }
    quire_context_destroy(context);
    close_bench(&b);
}

/* LAST takes prefixes from the cache; MEAN and CLS need the hidden states of all tokens. */
static void test_prefix_reuse(void **state)
{
    static int32_t ids[100];
    struct vector v;
    struct bench b;
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = bench_params(1);
    ep.block_size = 16;
    open_bench(&b, "llama", NULL, &ep);
    for (int32_t i = 0; i < 100; i++)
        ids[i] = 4 + i * 37 % 300;
    for (int pooling = 0; pooling < 3; pooling++)
        for (int round = 0; round < 2; round++) {
            struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, ids, 100);
            p.cache_salt = (uint64_t)pooling;
            p.pooling = (enum quire_pooling)pooling;
            must_compute(b.engine, &p, &v);
            assert_int_equal(b.engine->batch.n_logits, 0);
            assert_int_equal(v.usage.cached_tokens,
                             round && pooling == QUIRE_POOLING_LAST ? 99 : 0);
        }
    /* what EMBED has computed serves generation */
    struct quire_request_params p = greedy("", 1);
    static struct result r;
    p.text = NULL;
    p.tokens = ids;
    p.n_tokens = 100;
    p.cache_salt = QUIRE_POOLING_MEAN;
    generate(b.engine, &p, &r);
    assert_int_equal(r.usage.cached_tokens, 99);
    close_bench(&b);
}

/* An answer of higher priority grows until a mean loses its blocks, most of which are then evicted:
 * the tokens that are computed again, in other chunks, count once. */
static void test_preempted_mean(void **state)
{
    static int32_t ids[80];
    struct vector alone, got;
    struct bench b;
    struct quire_event ev = { .struct_size = sizeof ev };
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = bench_params(1);
    ep.context_length = 128;
    ep.cache_tokens = 128;
    ep.block_size = 16;
    ep.max_step_tokens = 3;
    ep.max_seqs = 2;
    open_bench(&b, "llama", NULL, &ep);
    for (int32_t i = 0; i < 80; i++)
        ids[i] = 4 + i * 37 % 300;
    struct quire_request_params mean = vector_of(QUIRE_TASK_EMBED, ids, 80),
                                answer = vector_of(QUIRE_TASK_GENERATE, ids + 40, 11);
    mean.pooling = QUIRE_POOLING_MEAN;
    answer.priority = 1;
    answer.max_tokens = 100;
    answer.flags = QUIRE_REQUEST_IGNORE_EOS;
    answer.sampling = &greedy_sampling;
    must_compute(b.engine, &mean, &alone);
    quire_engine_close(b.engine);
    open_bench_engine(&b, ep);
    got = (struct vector){ .n = 0 };
    (void)submit(b.engine, &answer);
    const quire_request_id id = submit(b.engine, &mean);
    for (int done = 0; done < 2; done += ev.kind == QUIRE_EVENT_DONE) {
        assert_status(QUIRE_OK, quire_engine_wait(b.engine, 0, -1, &ev, NULL));
        if (ev.id == id)
            take_vector_event(&ev, &got);
    }
    assert_status(QUIRE_OK, quire_engine_get_stats(b.engine, &stats));
    assert_int_equal(stats.n_preemptions, 1);
    assert_true(stats.prompt_tokens > 11 + 80 + 30);
    assert_memory_equal(got.values, alone.values, alone.n * sizeof(float));
    close_bench(&b);
}

/* ---- Text */

static void test_text(void **state)
{
    static const char text[] = "once upon a time";
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("bert-bf16.gguf");
    const struct quire_tokenizer *tokenizer = quire_engine_tokenizer(e);
    int32_t ids[64];
    size_t n, counted;
    assert_status(QUIRE_OK, quire_tokenizer_encode(tokenizer, text, sizeof text - 1,
                                                   QUIRE_ENCODE_ADD_BOS | QUIRE_ENCODE_ADD_EOS, ids,
                                                   64, &n, NULL));
    struct quire_request_params p = vector_of(QUIRE_TASK_EMBED, NULL, 0), same;
    struct vector a, b;
    p.text = text;
    p.text_size = sizeof text - 1;
    must_compute(e, &p, &a);
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &counted, NULL));
    assert_int_equal(counted, n);
    same = vector_of(QUIRE_TASK_EMBED, ids, n);
    must_compute(e, &same, &b);
    assert_int_equal(a.usage.prompt_tokens, n);
    assert_memory_equal(a.values, b.values, WIDTH * sizeof(float));
    p.text_flags = 0; /* neither end */
    assert_status(QUIRE_OK, quire_engine_count_tokens(e, &p, &counted, NULL));
    size_t bare;
    assert_status(QUIRE_OK, quire_tokenizer_encode(tokenizer, text, sizeof text - 1, 0, NULL, 0,
                                                   &bare, NULL));
    assert_int_equal(counted, bare);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden_states),  cmocka_unit_test(test_author_defaults),
        cmocka_unit_test(test_pooler),         cmocka_unit_test(test_batch_invariance),
        cmocka_unit_test(test_same_as_encode), cmocka_unit_test(test_prefix_reuse),
        cmocka_unit_test(test_text),           cmocka_unit_test(test_preempted_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
