/* SPDX-License-Identifier: Apache-2.0 */
/* test_encoder.h - reference models with an encoder, their context, and generated token ids. */
#ifndef QUIRE_TEST_ENCODER_H
#define QUIRE_TEST_ENCODER_H
#include "quire_cmocka.h"
#include <quire/model.h>

enum { BLOCK = 16, MAX_SEQS = 4, MAX_TOKENS = 160, MAX_GROUPS = 4 };

struct world {
    struct quire_model *model;
    struct quire_model_info info;
    struct quire_threads *threads;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_kv_group_config groups[MAX_GROUPS];
    uint32_t n_groups;
};

/* Parameters of a world. */
struct setting {
    const char *name;                   /* folder of the reference data */
    uint32_t threads;                   /* 0: none */
    uint32_t n_blocks;                  /* of a cache for the model's KV groups; 0: none */
    struct quire_context_params params; /* struct_size 0: the defaults below */
    const struct quire_allocator *allocator;
};

static inline struct quire_context_params default_params(void)
{
    struct quire_context_params p;
    quire_context_params_init(&p, sizeof p);
    p.max_tokens = MAX_TOKENS;
    p.max_seqs = MAX_SEQS;
    p.max_seq_len = 128;
    p.max_encoder_len = 128;
    return p;
}

static inline quire_status open_cache(struct world *w, const struct setting *s,
                                      struct quire_error *err)
{
    if (!s->n_blocks)
        return QUIRE_OK;
    for (uint32_t g = 0; g < w->n_groups; g++)
        w->groups[g].n_blocks = s->n_blocks;
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = BLOCK,
                                            .groups = w->groups,
                                            .n_groups = w->n_groups,
                                            .allocator = s->allocator };
    return quire_kv_create(&config, &w->kv, err);
}

static inline quire_status open_world(struct world *w, const struct setting *s,
                                      struct quire_error *err)
{
    char path[4200];
    memset(w, 0, sizeof *w);
    snprintf(path, sizeof path, "%s%s%s", s->name[0] == '/' ? "" : shared_dir(),
             s->name[0] == '/' ? "" : "/goldens/", s->name);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = path;
    mp.linear = QUIRE_LINEAR_QUIRE; /* batch-invariant */
    mp.allocator = s->allocator;
    quire_status status = quire_model_open(&mp, &w->model, err);
    if (status != QUIRE_OK)
        return status;
    w->info.struct_size = sizeof w->info;
    assert_status(QUIRE_OK, quire_model_get_info(w->model, &w->info));
    assert_status(QUIRE_OK, quire_model_kv_groups(w->model, w->groups, MAX_GROUPS, &w->n_groups));
    status = open_cache(w, s, err);
    struct quire_threads_params tp;
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = s->threads;
    tp.backend = QUIRE_THREADS_PTHREAD;
    if (status == QUIRE_OK && s->threads)
        assert_status(QUIRE_OK, quire_threads_create(&tp, &w->threads, err));
    struct quire_context_params p = s->params.struct_size ? s->params : default_params();
    p.kv = w->kv;
    p.threads = w->threads;
    p.allocator = s->allocator;
    return status == QUIRE_OK ? quire_context_create(w->model, &p, &w->context, err) : status;
}

static inline struct world good_world(const struct setting *s)
{
    struct world w;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status status = open_world(&w, s, &err);
    if (status != QUIRE_OK)
        print_error("%s: %s\n", s->name, err.msg);
    assert_int_equal(status, QUIRE_OK);
    return w;
}

static inline void close_world(struct world *w)
{
    quire_context_destroy(w->context);
    quire_kv_destroy(w->kv);
    assert_int_equal(quire_model_close(w->model), QUIRE_OK);
    quire_threads_destroy(w->threads);
}

/* Pseudo-random ids. */
static inline void make_ids(int32_t *ids, uint32_t n, uint32_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (int32_t)((i * 37 + seed * 101 + i * i * seed) % 315 + 4);
}

static inline float *floats(size_t n)
{
    float *p = malloc(n * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = -12345; /* marks floats that were not written */
    return p;
}

static inline void assert_untouched(const float *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(p[i] == -12345);
}

/* Expects an error whose message contains `text`. */
#define expect_error(status, text, call)                                                           \
    do {                                                                                           \
        struct quire_error err_ = QUIRE_ERROR_INIT, *err = &err_;                                  \
        const quire_status got_ = (call);                                                          \
        if (got_ != (status) || !strstr(err_.msg, text))                                           \
            print_error("%s:%d: got %s \"%s\"\n", __FILE__, __LINE__, quire_status_name(got_),     \
                        err_.msg);                                                                 \
        assert_int_equal(got_, status);                                                            \
        assert_non_null(strstr(err_.msg, text));                                                   \
    } while (0)

#endif
