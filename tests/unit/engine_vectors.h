/* SPDX-License-Identifier: Apache-2.0 */
/* engine_vectors.h - fixtures of the tests of EMBED and SCORE: engines over folders of the
 * reference data, which have no tokenizer, their reference tensors, requests and vectors. */
#ifndef QUIRE_ENGINE_VECTORS_H
#define QUIRE_ENGINE_VECTORS_H
#include "engine_requests.h"
#include "format/safetensors.h"
#include <math.h>

enum { MAX_WIDTH = 512 };

/* An engine over an open model with a tokenizer of another file. */
struct bench {
    struct quire_model *model;
    struct quire_tokenizer *tokenizer;
    struct quire_engine *engine;
};

static inline struct quire_engine_params bench_params(uint32_t threads)
{
    struct quire_engine_params p;
    quire_engine_params_init(&p, sizeof p);
    p.n_threads = threads;
    p.thread_backend = QUIRE_THREADS_PTHREAD;
    p.k_dtype = p.v_dtype = QUIRE_KV_F32;
    return p;
}

static inline void open_bench_engine(struct bench *b, struct quire_engine_params p)
{
    p.model = b->model;
    p.tokenizer = b->tokenizer;
    b->engine = open_with(&p);
}

/* folder: of the reference data, or a path. tokenizer: NULL, or a path. */
static inline void open_bench(struct bench *b, const char *folder, const char *tokenizer,
                              const struct quire_engine_params *p)
{
    char path[8192];
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_tokenizer_params tp = { .struct_size = sizeof tp };
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    snprintf(path, sizeof path, "%s%s%s", folder[0] == '/' ? "" : shared_dir(),
             folder[0] == '/' ? "" : "/goldens/", folder);
    mp.path = path;
    mp.linear = QUIRE_LINEAR_QUIRE;
    mp.compute = QUIRE_COMPUTE_F32;
    if (quire_model_open(&mp, &b->model, &err) != QUIRE_OK)
        fail_msg("%s: %s", folder, err.msg);
    snprintf(path, sizeof path, "%s/goldens/gguf/llama-f32.gguf", shared_dir());
    if (quire_tokenizer_open(tokenizer ? tokenizer : path, &tp, &b->tokenizer, &err) != QUIRE_OK)
        fail_msg("tokenizer: %s", err.msg);
    open_bench_engine(b, *p);
}

static inline void assert_all_free(struct quire_engine *e)
{
    for (uint32_t g = 0; g < e->memory.n_groups; g++) {
        struct quire_kv_group_config config;
        assert_status(QUIRE_OK, quire_kv_get_group(e->kv, g, &config, NULL));
        assert_int_equal(qr_sequence_blocks_available(&e->memory, g), config.n_blocks);
    }
    assert_int_equal(quire_engine_active_count(e), 0);
    for (uint32_t i = 0; i < e->memory.n_sequences; i++)
        assert_false(e->memory.sequences[i].open);
}

static inline void close_bench(struct bench *b)
{
    assert_all_free(b->engine);
    quire_engine_close(b->engine);
    quire_tokenizer_close(b->tokenizer);
    assert_int_equal(quire_model_close(b->model), QUIRE_OK);
}

/* Reads n values of a reference tensor; false if the file has none of that name. */
static inline bool read_golden(const char *folder, const char *name, void *data, size_t bytes)
{
    char path[8192];
    struct qr_safetensors *s;
    size_t i;
    snprintf(path, sizeof path, "%s/goldens/%s/golden.safetensors", shared_dir(), folder);
    assert_status(QUIRE_OK, qr_safetensors_open(path, NULL, &s, NULL));
    const bool found = qr_safetensors_find(s, name, &i);
    if (found) {
        assert_int_equal(qr_safetensors_tensor(s, i)->bytes, bytes);
        assert_status(QUIRE_OK, qr_safetensors_read_range(s, i, 0, bytes, data, NULL));
    }
    qr_safetensors_close(s);
    return found;
}

/* Reads ids.<n>. */
static inline void golden_ids(const char *folder, uint32_t n, int32_t *ids)
{
    static int64_t wide[512];
    char name[32];
    snprintf(name, sizeof name, "ids.%u", n);
    assert_true(n <= 512 && read_golden(folder, name, wide, n * sizeof *wide));
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (int32_t)wide[i];
}

static inline struct quire_request_params vector_of(enum quire_task task, const int32_t *ids,
                                                    size_t n)
{
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.task = task;
    p.tokens = ids;
    p.n_tokens = n;
    return p;
}

struct vector {
    float values[MAX_WIDTH];
    size_t n;
    struct quire_event done;
    struct quire_usage usage;
};

static inline void take_vector_event(const struct quire_event *ev, struct vector *v)
{
    assert_true(ev->kind == QUIRE_EVENT_PROMPT || ev->kind == QUIRE_EVENT_VECTOR ||
                ev->kind == QUIRE_EVENT_DONE);
    assert_true(ev->text_size == 0 && ev->n_tokens == 0);
    assert_true((ev->values != NULL) == (ev->kind == QUIRE_EVENT_VECTOR));
    if (ev->kind == QUIRE_EVENT_VECTOR) {
        assert_true(v->n == 0 && ev->n_values && ev->n_values <= MAX_WIDTH);
        v->n = ev->n_values;
        memcpy(v->values, ev->values, ev->n_values * sizeof(float));
    }
    if (ev->kind == QUIRE_EVENT_DONE) {
        v->done = *ev;
        v->usage = *ev->usage;
    }
}

/* Runs one request to its end. */
static inline void compute(struct quire_engine *e, const struct quire_request_params *p,
                           struct vector *v)
{
    struct quire_event ev = { .struct_size = sizeof ev };
    const quire_request_id id = submit(e, p);
    *v = (struct vector){ .n = 0 };
    do {
        assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
        take_vector_event(&ev, v);
    } while (ev.kind != QUIRE_EVENT_DONE);
    assert_int_equal(v->usage.prompt_tokens, v->usage.prompt_done);
}

/* The one vector of a request that must succeed. */
static inline void must_compute(struct quire_engine *e, const struct quire_request_params *p,
                                struct vector *v)
{
    compute(e, p, v);
    if (v->done.reason != QUIRE_FINISH_STOP)
        fail_msg("%s: %s", quire_finish_reason_name(v->done.reason), v->done.message_data);
    assert_int_equal(v->usage.completion_tokens, 0);
}

static inline void assert_near(const float *got, const double *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance))
            fail_msg("value %zu is %g, not %g", i, (double)got[i], want[i]);
}

#define refuse_request(engine, params, status, text)                                               \
    do {                                                                                           \
        struct quire_error err_ = QUIRE_ERROR_INIT;                                                \
        quire_request_id id_ = 1;                                                                  \
        const quire_status got_ = quire_engine_submit((engine), (params), &id_, &err_);            \
        if (got_ != (status) || !strstr(err_.msg, (text)))                                         \
            fail_msg("line %d: %s: %s", __LINE__, quire_status_name(got_), err_.msg);              \
        assert_true(id_ == 0);                                                                     \
    } while (0)

#endif
