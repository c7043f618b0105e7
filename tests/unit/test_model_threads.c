/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_threads.c - steps on some members of a context's threads (n_threads of
 * quire_forward_args): equal bits, sleeping threads, limits. */
#include "quire_cmocka.h"
#include "test_model_world.h"
#include "test_thread_sleep.h"

enum { CONTEXT = 1200, THREADS = 5 };

static const char tiny_path[] = QUIRE_SOURCE_DIR "/models/quire-tiny/quire-tiny.gguf";

/* quire-tiny with one sequence in blocks 0, 1, 2, ..., long enough for splits of attention. */
struct tiny {
    struct quire_threads *threads;
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_model_info info;
    int32_t table[CONTEXT / BLOCK];
    int64_t slots[CONTEXT];
    float *logits;
};

static void open_tiny(struct tiny *w, uint32_t n_threads)
{
    memset(w, 0, sizeof *w);
    struct quire_threads_params tp;
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = n_threads;
    if (n_threads)
        assert_status(QUIRE_OK, quire_threads_create(&tp, &w->threads, NULL));
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = tiny_path;
    assert_status(QUIRE_OK, quire_model_open(&mp, &w->model, NULL));
    quire_model_info_init(&w->info, sizeof w->info);
    assert_status(QUIRE_OK, quire_model_get_info(w->model, &w->info));
    struct quire_kv_group_config g[MAX_GROUPS];
    uint32_t n;
    assert_status(QUIRE_OK, quire_model_kv_groups(w->model, g, MAX_GROUPS, &n));
    assert_int_equal(n, 1);
    g[0].n_blocks = CONTEXT / BLOCK;
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .block_size = BLOCK, .groups = g, .n_groups = 1
    };
    assert_status(QUIRE_OK, quire_kv_create(&kp, &w->kv, NULL));
    assert_status(QUIRE_OK, quire_kv_alloc(w->kv, 0, -1, CONTEXT / BLOCK, w->table, NULL));
    for (int32_t i = 0; i < CONTEXT; i++)
        w->slots[i] = (int64_t)w->table[i / BLOCK] * BLOCK + i % BLOCK;
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = w->kv;
    cp.threads = w->threads;
    cp.max_tokens = CONTEXT;
    cp.max_seq_len = CONTEXT;
    assert_status(QUIRE_OK, quire_context_create(w->model, &cp, &w->context, NULL));
    w->logits = malloc(w->info.vocab_size * sizeof(float));
}

static void close_tiny(struct tiny *w)
{
    free(w->logits);
    quire_context_destroy(w->context);
    quire_kv_destroy(w->kv);
    assert_int_equal(quire_model_close(w->model), QUIRE_OK);
    quire_threads_destroy(w->threads);
}

/* Runs tokens [begin, begin + n) on n_threads members. */
static quire_status run_tiny(struct tiny *w, int32_t begin, int32_t n, uint32_t n_threads,
                             struct quire_error *err)
{
    int32_t ids[CONTEXT];
    for (int32_t i = 0; i < n; i++)
        ids[i] = ((begin + i) * 37 + 11) % (int32_t)w->info.vocab_size;
    const int32_t starts[] = { 0, n }, len = begin + n;
    const struct quire_attention_batch_group group = { .block_table = w->table,
                                                       .max_blocks = CONTEXT / BLOCK,
                                                       .slot_mapping = w->slots + begin };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = 1,
                                                 .groups = &group };
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .token_ids = ids,
                                             .logits = w->logits,
                                             .n_threads = n_threads };
    return quire_context_forward(w->context, &args, err);
}

/* Prefill, decode and small steps at a context of several spans have equal bits for any number. */
static void same_bits(void **state)
{
    (void)state;
    static const int32_t rows[] = { 1, 3, 40 };
    struct tiny w;
    open_tiny(&w, THREADS);
    const size_t bytes = w.info.vocab_size * sizeof(float);
    float *want = malloc(4 * bytes);
    for (uint32_t n = 0; n <= THREADS; n++) {
        assert_status(QUIRE_OK, run_tiny(&w, 0, CONTEXT - 100, n, NULL));
        if (!n)
            memcpy(want, w.logits, bytes);
        assert_memory_equal(want, w.logits, bytes);
        for (size_t i = 0; i < 3; i++) {
            float *row = want + (i + 1) * w.info.vocab_size;
            assert_status(QUIRE_OK, run_tiny(&w, CONTEXT - 100, rows[i], n, NULL));
            if (!n)
                memcpy(row, w.logits, bytes);
            assert_memory_equal(row, w.logits, bytes);
        }
    }
    free(want);
    close_tiny(&w);
}

/* The members that a step excludes sleep through it. */
static void excluded_threads_sleep(void **state)
{
    (void)state;
    struct tiny w;
    open_tiny(&w, THREADS);
    struct thread_list members = { 0 }, excluded = { .n = THREADS - 2 };
    long before[THREADS];
    assert_status(QUIRE_OK, quire_threads_run(w.threads, list_member, &members));
    assert_status(QUIRE_OK, run_tiny(&w, 0, 8, 2, NULL));
    for (int i = 0; i < excluded.n; i++)
        excluded.ids[i] = members.ids[2 + i];
    assert_true(stay_asleep(&excluded));
    for (int i = 0; i < excluded.n; i++)
        before[i] = sleep_count(excluded.ids[i]);
    for (int32_t i = 8; i < 40; i++)
        assert_status(QUIRE_OK, run_tiny(&w, i, 1, 1 + (uint32_t)i % 2, NULL));
    for (int i = 0; i < excluded.n; i++)
        assert_int_equal(sleep_count(excluded.ids[i]), before[i]);
    close_tiny(&w);
}

static void limits(void **state)
{
    (void)state;
    struct tiny w;
    struct quire_error err = QUIRE_ERROR_INIT;
    open_tiny(&w, THREADS);
    assert_status(QUIRE_E_LIMIT, run_tiny(&w, 0, 1, THREADS + 1, &err));
    assert_non_null(strstr(err.msg, "args.n_threads is 6, the context has 5"));
    assert_status(QUIRE_E_LIMIT, run_tiny(&w, 0, 1, UINT32_MAX, &err));
    assert_status(QUIRE_OK, run_tiny(&w, 0, 1, THREADS, &err));
    close_tiny(&w);
    open_tiny(&w, 0);
    assert_status(QUIRE_E_LIMIT, run_tiny(&w, 0, 1, 2, &err));
    assert_status(QUIRE_OK, run_tiny(&w, 0, 1, 1, &err));
    close_tiny(&w);
}

/* Experts, latent attention and expanded latent attention. */
static void same_bits_of_variants(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t expand_from;
    } models[] = { { "mixtral", 0 }, { "deepseek_v2_lite", 0 }, { "deepseek_v2_lite", 2 } };
    if (!need_shared())
        skip();
    for (size_t m = 0; m < 3; m++) {
        struct world w;
        int32_t ids[2 * TOKENS];
        open_world_expanded(&w, models[m].name, QUIRE_COMPUTE_NATIVE, 4, models[m].expand_from,
                            NULL);
        const size_t bytes = 2 * TOKENS * w.info.vocab_size * sizeof(float);
        float *want = malloc(bytes), *got = malloc(bytes);
        for (int i = 0; i < 2 * TOKENS; i++)
            ids[i] = (i * 37 + 11) % (int32_t)w.info.vocab_size;
        step(&w, ids, (int32_t[]){ 0, 0 }, (int32_t[]){ TOKENS, TOKENS }, want);
        for (w.step_threads = 1; w.step_threads <= 4; w.step_threads++) {
            step(&w, ids, (int32_t[]){ 0, 0 }, (int32_t[]){ TOKENS, TOKENS }, got);
            assert_memory_equal(want, got, bytes);
        }
        free(want);
        free(got);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(excluded_threads_sleep),
        cmocka_unit_test(limits),
        cmocka_unit_test(same_bits_of_variants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
