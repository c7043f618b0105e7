/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_latent.c - latent attention: expanded against absorbed rows, memory, errors. */
#include "model/forward/types.h"
#include "test_model_world.h"
#include <math.h>

static const char *const MODELS[] = { "deepseek_v2", "deepseek_v2_lite", "deepseek_v3",
                                      "gguf/deepseek_v2-bf16.gguf" };
enum { N_MODELS = sizeof MODELS / sizeof *MODELS, VOCAB = 320 };

static int32_t ids[2 * TOKENS];
static void fill_ids(void)
{
    for (int i = 0; i < 2 * TOKENS; i++)
        ids[i] = (i * 37 + 11) % VOCAB;
}

static float *new_logits(void)
{
    float *logits = calloc(2 * TOKENS * VOCAB, sizeof *logits);
    assert_non_null(logits);
    return logits;
}

static void assert_near(const float *a, const float *b, size_t n, float gate)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= gate))
            fail_msg("logit %zu of row %zu: %g, not %g", i % VOCAB, i / VOCAB, (double)a[i],
                     (double)b[i]);
}

/* Prefill, then decode over the same cache: results of expanded rows are close to those of absorbed
 * rows, not equal, and do not depend on the number of threads. */
static void expanded_is_near_absorbed(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    fill_ids();
    for (size_t m = 0; m < N_MODELS; m++) {
        float *want = new_logits(), *got = new_logits(), *again = new_logits();
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            struct world a, e;
            open_world(&a, MODELS[m], QUIRE_COMPUTE_F32, threads, NULL);
            open_world_expanded(&e, MODELS[m], QUIRE_COMPUTE_F32, threads, 2, NULL);
            step(&a, ids, (int32_t[]){ 0, 0 }, (int32_t[]){ TOKENS - 1, 0 }, want);
            step(&e, ids, (int32_t[]){ 0, 0 }, (int32_t[]){ TOKENS - 1, 0 }, got);
            step(&a, ids + TOKENS - 1, (int32_t[]){ TOKENS - 1, 0 }, (int32_t[]){ 1, 0 },
                 want + (TOKENS - 1) * VOCAB);
            step(&e, ids + TOKENS - 1, (int32_t[]){ TOKENS - 1, 0 }, (int32_t[]){ 1, 0 },
                 got + (TOKENS - 1) * VOCAB);
            assert_near(got, want, TOKENS * VOCAB, 2e-3f);
            assert_true(memcmp(got, want, TOKENS * VOCAB * sizeof *got) != 0);
            if (threads == 1)
                memcpy(again, got, TOKENS * VOCAB * sizeof *got);
            assert_memory_equal(again, got, TOKENS * VOCAB * sizeof *got);
            close_world(&a);
            close_world(&e);
        }
        free(want), free(got), free(again);
    }
}

/* Two sequences in one step give the bits of each alone: both expanded, one absorbed, both
 * absorbed. */
static void is_batch_invariant(void **state)
{
    (void)state;
    static const int32_t lens[][2] = { { 12, 9 }, { 12, 3 }, { 3, 12 }, { 1, 2 }, { 1, 12 } };
    if (!need_shared())
        skip();
    fill_ids();
    for (size_t m = 0; m < N_MODELS; m++)
        for (int compute = 0; compute < 2; compute++) {
            struct world w;
            open_world_expanded(&w, MODELS[m], compute ? QUIRE_COMPUTE_NATIVE : QUIRE_COMPUTE_F32,
                                2, 4, NULL);
            float *alone = new_logits(), *both = new_logits();
            const int32_t ctx[2] = { 20, 17 }; /* tokens in the cache */
            for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
                const int32_t *n = lens[i];
                int32_t pair[2 * TOKENS];
                step(&w, ids, (int32_t[]){ 0, 0 }, ctx, both);
                memcpy(pair, ids + 3, (size_t)n[0] * sizeof *pair);
                memcpy(pair + n[0], ids + 30, (size_t)n[1] * sizeof *pair);
                step(&w, pair, ctx, n, both);
                step(&w, pair, (int32_t[]){ ctx[0], 0 }, (int32_t[]){ n[0], 0 }, alone);
                assert_memory_equal(both, alone, (size_t)n[0] * VOCAB * sizeof *both);
                /* the second sequence first */
                int32_t table[BLOCKS];
                memcpy(table, w.tables[0][0], sizeof table);
                memcpy(w.tables[0][0], w.tables[1][0], sizeof table);
                step(&w, pair + n[0], (int32_t[]){ ctx[1], 0 }, (int32_t[]){ n[1], 0 }, alone);
                memcpy(w.tables[0][0], table, sizeof table);
                assert_memory_equal(both + n[0] * VOCAB, alone,
                                    (size_t)n[1] * VOCAB * sizeof *both);
            }
            free(alone), free(both);
            close_world(&w);
        }
}

/* A context allocates the bytes it reports, handles every allocation failure, and a step allocates
 * nothing. */
static void memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    fill_ids();
    struct fail_alloc f;
    struct world w;
    struct quire_error err = QUIRE_ERROR_INIT;
    fail_alloc_init(&f, 0, false);
    open_world_expanded(&w, "deepseek_v3", QUIRE_COMPUTE_NATIVE, 2, 2, &f.hooks);
    struct quire_context_params p;
    struct quire_context *c;
    uint64_t bytes, absorbed;
    quire_context_params_init(&p, sizeof p);
    p.kv = w.kv;
    p.threads = w.threads;
    p.allocator = &f.hooks;
    p.max_seq_len = 200;
    assert_status(QUIRE_OK, quire_context_bytes(w.model, &p, &absorbed, &err));
    p.expand_latent_from = 16;
    assert_status(QUIRE_OK, quire_context_bytes(w.model, &p, &bytes, &err));
    assert_true(bytes > absorbed);
    for (size_t nth = 1;; nth++) {
        const size_t before = f.live_bytes;
        f.fail_at = f.calls + nth;
        const quire_status s = quire_context_create(w.model, &p, &c, &err);
        if (s == QUIRE_OK) {
            assert_int_equal(f.live_bytes - before, bytes);
            quire_context_destroy(c);
        }
        assert_int_equal(f.live_bytes, before);
        if (s == QUIRE_OK)
            break;
        assert_int_equal(s, QUIRE_E_NOMEM);
    }
    f.fail_at = 0;
    const size_t calls = f.calls;
    float *logits = new_logits();
    step(&w, ids, (int32_t[]){ 0, 0 }, (int32_t[]){ 9, 5 }, logits);
    assert_int_equal(f.calls, calls);
    free(logits);
    close_world(&w);
    assert_int_equal(f.live_bytes, 0);
}

static void refuse_context(const char *model, uint32_t flags, const char *text)
{
    char path[8192];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_params mp;
    struct quire_model *m;
    struct quire_kv_group_config g;
    struct quire_kv_cache *kv;
    uint32_t n;
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), model);
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    mp.flags = flags;
    assert_status(QUIRE_OK, quire_model_open(&mp, &m, &err));
    assert_status(QUIRE_OK, quire_model_kv_groups(m, &g, 1, &n));
    g.n_blocks = 1;
    const struct quire_kv_params kc = { .struct_size = sizeof kc, .groups = &g, .n_groups = 1 };
    assert_status(QUIRE_OK, quire_kv_create(&kc, &kv, &err));
    struct quire_context_params p;
    struct quire_context *c = (struct quire_context *)&c;
    uint64_t bytes = 77;
    quire_context_params_init(&p, sizeof p);
    p.kv = kv;
    p.expand_latent_from = 1;
    assert_status(QUIRE_E_UNSUPPORTED, quire_context_create(m, &p, &c, &err));
    assert_non_null(strstr(err.msg, text));
    assert_null(c);
    assert_status(QUIRE_E_UNSUPPORTED, quire_context_bytes(m, &p, &bytes, &err));
    assert_int_equal(bytes, 77);
    quire_kv_destroy(kv);
    assert_status(QUIRE_OK, quire_model_close(m));
}

static void bad_parameters(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    refuse_context("deepseek_v2", 0, "without QUIRE_MODEL_EXPAND_LATENT");
    refuse_context("llama", QUIRE_MODEL_EXPAND_LATENT, "no latent attention");
    struct quire_model_params mp;
    struct quire_model *m;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = "nowhere";
    mp.flags = 1u << 31;
    assert_status(QUIRE_E_INVALID_ARG, quire_model_open(&mp, &m, &err));
    assert_non_null(strstr(err.msg, "params.flags"));
}

/* A cache of the right sizes that stores values as well does not fit the model. */
static void cache_must_be_latent(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct world w;
    open_world(&w, "deepseek_v2_lite", QUIRE_COMPUTE_F32, 1, NULL);
    struct quire_kv_group_config g;
    struct quire_kv_cache *kv;
    struct quire_context *c;
    struct quire_error err = QUIRE_ERROR_INIT;
    uint32_t n;
    assert_status(QUIRE_OK, quire_model_kv_groups(w.model, &g, 1, &n));
    assert_true(n == 1 && g.n_kv_heads == 1 && g.head_size == 48 && g.v_head_size == 32 &&
                g.flags == QUIRE_KV_LATENT && g.n_layers == 3);
    g.n_blocks = 1;
    g.flags = 0;
    const struct quire_kv_params kc = { .struct_size = sizeof kc, .groups = &g, .n_groups = 1 };
    assert_status(QUIRE_OK, quire_kv_create(&kc, &kv, &err));
    struct quire_context_params p;
    quire_context_params_init(&p, sizeof p);
    p.kv = kv;
    assert_status(QUIRE_E_MISMATCH, quire_context_create(w.model, &p, &c, &err));
    assert_non_null(strstr(err.msg, "latent"));
    quire_kv_destroy(kv);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expanded_is_near_absorbed),
        cmocka_unit_test(is_batch_invariant),
        cmocka_unit_test(memory),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(cache_must_be_latent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
