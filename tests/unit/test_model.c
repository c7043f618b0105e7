/* SPDX-License-Identifier: Apache-2.0 */
/* test_model.c - opening models and running steps through the public API: bad input, limits,
 * allocation failures. */
#include "quire_cmocka.h"
#include <math.h>
#include <quire/model.h>

enum { BLOCK = 16, BLOCKS = 8 };

static char model_path[4200];

static int find_model(void **state)
{
    (void)state;
    if (shared_dir())
        snprintf(model_path, sizeof model_path, "%s/goldens/llama", shared_dir());
    return 0;
}

/* A model with cache and context, and one sequence in blocks 0, 1, 2, ... */
struct world {
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_model_info info;
    int32_t table[BLOCKS], starts[2], len;
    int64_t slots[BLOCK * BLOCKS];
    struct quire_attention_batch_group group;
    struct quire_attention_batch batch;
    struct quire_forward_args step;
    float *logits;
};

static quire_status open_world(struct world *w, const struct quire_allocator *a,
                               struct quire_error *err)
{
    memset(w, 0, sizeof *w);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = model_path;
    mp.allocator = a;
    quire_status s = quire_model_open(&mp, &w->model, err);
    if (s != QUIRE_OK)
        return s;
    w->info.struct_size = sizeof w->info;
    assert_status(QUIRE_OK, quire_model_get_info(w->model, &w->info));
    struct quire_kv_group_config g[4];
    uint32_t n;
    assert_status(QUIRE_OK, quire_model_kv_groups(w->model, g, 4, &n));
    assert_int_equal(n, 1);
    g[0].n_blocks = BLOCKS;
    struct quire_kv_params config = { .struct_size = sizeof config,
                                      .block_size = BLOCK,
                                      .groups = g,
                                      .n_groups = n,
                                      .allocator = a };
    s = quire_kv_create(&config, &w->kv, err);
    if (s == QUIRE_OK)
        s = quire_kv_alloc(w->kv, 0, -1, BLOCKS, w->table, err);
    struct quire_context_params cp;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = w->kv;
    cp.max_tokens = 64;
    cp.max_seq_len = BLOCK * BLOCKS;
    cp.allocator = a;
    return s == QUIRE_OK ? quire_context_create(w->model, &cp, &w->context, err) : s;
}

static void close_world(struct world *w)
{
    quire_context_destroy(w->context);
    quire_kv_destroy(w->kv);
    assert_int_equal(quire_model_close(w->model), QUIRE_OK);
    free(w->logits);
}

/* Sets up a step of tokens [begin, begin + n). */
static void set_step(struct world *w, const int32_t *ids, int32_t begin, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        w->slots[i] = (int64_t)w->table[(begin + i) / BLOCK] * BLOCK + (begin + i) % BLOCK;
    w->starts[1] = n;
    w->len = begin + n;
    w->group = (struct quire_attention_batch_group){ .block_table = w->table,
                                                     .max_blocks = BLOCKS,
                                                     .slot_mapping = w->slots };
    w->batch = (struct quire_attention_batch){ .struct_size = sizeof w->batch,
                                               .n_seqs = 1,
                                               .query_start_loc = w->starts,
                                               .seq_lens = &w->len,
                                               .n_groups = 1,
                                               .groups = &w->group };
    if (!w->logits)
        w->logits = calloc(64 * w->info.vocab_size, sizeof *w->logits);
    w->step = (struct quire_forward_args){
        .struct_size = sizeof w->step, .batch = &w->batch, .token_ids = ids, .logits = w->logits
    };
}

static void bad_parameters(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model *m = (void *)1;
    struct quire_model_params p;
    quire_model_params_init(&p, sizeof p);
    assert_status(QUIRE_E_INVALID_ARG, quire_model_open(&p, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_model_open(NULL, &m, &err));
    assert_null(m);
    assert_status(QUIRE_E_INVALID_ARG, quire_model_open(&p, &m, &err));
    p.path = "/nonexistent/model.gguf";
    assert_status(QUIRE_E_IO, quire_model_open(&p, &m, &err));
    assert_non_null(strstr(err.msg, "/nonexistent/model.gguf"));
    p.isa = "pentium";
    assert_status(QUIRE_E_INVALID_ARG, quire_model_open(&p, &m, &err));
    p.isa = NULL;
    p.compute = (enum quire_compute)7;
    assert_status(QUIRE_E_INVALID_ARG, quire_model_open(&p, &m, &err));
    p.struct_size = 4;
    assert_status(QUIRE_E_MISUSE, quire_model_open(&p, &m, &err));
    assert_int_equal(quire_model_close(NULL), QUIRE_OK);
    quire_context_destroy(NULL);
}

static void garbage_in_memory(void **state)
{
    (void)state;
    char bytes[64];
    for (size_t n = 0; n <= sizeof bytes; n++) {
        memset(bytes, 'G', sizeof bytes);
        memcpy(bytes, "GGUF\3\0\0\0", 8);
        struct quire_model_params p;
        quire_model_params_init(&p, sizeof p);
        p.data = bytes;
        p.data_bytes = n;
        struct quire_model *m;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_int_not_equal(quire_model_open(&p, &m, &err), QUIRE_OK);
        assert_null(m);
        assert_true(err.msg[0] != 0);
    }
}

/* The output matrix multiplies only the requested rows, in the requested order. */
static void rows_that_want_logits(void **state)
{
    (void)state;
    static const uint32_t rows[] = { 5, 0, 5, 2 };
    struct world w;
    struct quire_error err = QUIRE_ERROR_INIT;
    snprintf(model_path, sizeof model_path, "%s",
             QUIRE_SOURCE_DIR "/models/quire-tiny/quire-tiny.gguf");
    assert_status(QUIRE_OK, open_world(&w, NULL, &err));
    find_model(NULL);
    const int32_t ids[] = { 5, 9, 300, 41, 77, 8 };
    const size_t width = w.info.vocab_size;
    float *want = malloc(4 * width * sizeof *want);
    for (int i = 0; i < 4; i++) { /* one row at a time; NULL is the last row */
        set_step(&w, ids, 0, 6);
        w.step.logits_rows = i == 0 ? NULL : &rows[i];
        w.step.n_logits = 1;
        assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
        memcpy(want + i * width, w.logits, width * sizeof *want);
    }
    set_step(&w, ids, 0, 6);
    w.step.logits_rows = rows;
    w.step.n_logits = 4;
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    assert_memory_equal(w.logits, want, 4 * width * sizeof *want);
    assert_memory_not_equal(want, want + width, width * sizeof *want);
    free(want);
    close_world(&w);
}

static void bad_steps(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct world w;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, open_world(&w, NULL, &err));
    int32_t ids[65] = { 5, 6, 7, 8 };
    set_step(&w, ids, 0, 4);
    assert_status(QUIRE_E_INVALID_ARG, quire_context_forward(NULL, &w.step, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_context_forward(w.context, NULL, &err));
    ids[2] = (int32_t)w.info.vocab_size;
    assert_status(QUIRE_E_RANGE, quire_context_forward(w.context, &w.step, &err));
    assert_non_null(strstr(err.msg, "token_ids[2]"));
    ids[2] = -1;
    assert_status(QUIRE_E_RANGE, quire_context_forward(w.context, &w.step, &err));
    ids[2] = 7;
    w.slots[1] = BLOCK * BLOCKS;
    assert_status(QUIRE_E_RANGE, quire_context_forward(w.context, &w.step, &err));
    w.slots[1] = w.slots[0];
    assert_status(QUIRE_E_INVALID_ARG, quire_context_forward(w.context, &w.step, &err));
    set_step(&w, ids, 0, 4);
    w.table[0] = BLOCKS;
    assert_status(QUIRE_E_RANGE, quire_context_forward(w.context, &w.step, &err));
    w.table[0] = 0;
    uint32_t row = 4;
    w.step.logits_rows = &row;
    w.step.n_logits = 1;
    assert_status(QUIRE_E_RANGE, quire_context_forward(w.context, &w.step, &err));
    w.step.logits_rows = NULL;
    w.step.token_ids = NULL;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_forward(w.context, &w.step, &err));
    static const float row_of_zeros[4096];
    const float *embedding_rows[4] = { row_of_zeros, row_of_zeros, NULL, row_of_zeros };
    assert_true(w.info.hidden_size <= 4096);
    w.step.embedding_rows = embedding_rows;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_forward(w.context, &w.step, &err));
    assert_non_null(strstr(err.msg, "embedding_rows[2] is NULL"));
    w.step.token_ids = ids; /* of rows without an embedding only */
    ids[1] = -1;
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    ids[2] = -1;
    assert_status(QUIRE_E_RANGE, quire_context_forward(w.context, &w.step, &err));
    ids[1] = 6;
    ids[2] = 7;
    set_step(&w, ids, 0, 65);
    assert_status(QUIRE_E_LIMIT, quire_context_forward(w.context, &w.step, &err));
    set_step(&w, ids, 0, 4);
    w.len = BLOCK * BLOCKS + 1;
    assert_int_not_equal(quire_context_forward(w.context, &w.step, &err), QUIRE_OK);
    set_step(&w, ids, 0, 4);
    w.batch.n_groups = 2;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_forward(w.context, &w.step, &err));
    set_step(&w, ids, 0, 4);
    w.step.reserved = 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_forward(w.context, &w.step, &err));
    assert_non_null(strstr(err.msg, "args.reserved"));
    w.step.reserved = 0;
    w.step.struct_size = offsetof(struct quire_forward_args, n_threads) - 1;
    assert_status(QUIRE_E_MISUSE, quire_context_forward(w.context, &w.step, &err));
    /* the context still works after errors; an empty step succeeds */
    set_step(&w, ids, 0, 4);
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    assert_true(isfinite(w.logits[0]));
    w.batch.n_seqs = 0;
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    assert_int_equal(quire_model_close(w.model), QUIRE_E_BUSY);
    close_world(&w);
}

/* Equal bits for a whole prompt, chunks, single tokens, and embeddings in place of ids. */
static void same_bits(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct world w;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, open_world(&w, NULL, &err));
    int32_t ids[40];
    for (int i = 0; i < 40; i++)
        ids[i] = (i * 37 + 11) % (int32_t)w.info.vocab_size;
    const size_t row_bytes = w.info.vocab_size * sizeof(float);
    float *whole = malloc(row_bytes),
          *hidden = malloc((w.info.n_layers + 1) * 40 * w.info.hidden_size * sizeof(float));
    set_step(&w, ids, 0, 40);
    w.step.hidden = hidden;
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    memcpy(whole, w.logits, row_bytes);
    static const int chunks[] = { 1, 7, 16, 39 };
    for (size_t c = 0; c < 4; c++) {
        for (int32_t i = 0; i < 40; i += chunks[c]) {
            set_step(&w, ids + i, i, 40 - i < chunks[c] ? 40 - i : chunks[c]);
            assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
        }
        assert_memory_equal(whole, w.logits, row_bytes);
    }
    set_step(&w, NULL, 0, 40);
    w.step.embeddings = hidden; /* without embedding scale, the input of layer 0 is the lookup */
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    assert_memory_equal(whole, w.logits, row_bytes);
    const float *rows[40] = { NULL }; /* some of them, beside ids and beside embeddings */
    for (size_t i = 0; i < 40; i += 3)
        rows[i] = hidden + i * w.info.hidden_size;
    w.step.embedding_rows = rows;
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    assert_memory_equal(whole, w.logits, row_bytes);
    set_step(&w, ids, 0, 40);
    for (size_t i = 0; i < 40; i += 3)
        ids[i] = 0;
    w.step.embedding_rows = rows;
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    assert_memory_equal(whole, w.logits, row_bytes);
    free(whole);
    free(hidden);
    close_world(&w);
}

static void context_limits(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct world w;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, open_world(&w, &f.hooks, &err));
    struct quire_context_params p;
    quire_context_params_init(&p, sizeof p);
    struct quire_context *c = (void *)1;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_create(w.model, &p, &c, &err));
    assert_null(c);
    p.kv = w.kv;
    p.allocator = &f.hooks;
    uint64_t bytes;
    assert_status(QUIRE_OK, quire_context_bytes(w.model, &p, &bytes, &err));
    const size_t before = f.live_bytes;
    assert_status(QUIRE_OK, quire_context_create(w.model, &p, &c, &err));
    assert_int_equal(f.live_bytes - before, bytes); /* exactly */
    const size_t calls = f.calls;
    const int32_t ids[4] = { 1, 2, 3, 4 };
    set_step(&w, ids, 0, 4);
    assert_status(QUIRE_OK, quire_context_forward(w.context, &w.step, &err));
    assert_int_equal(f.calls, calls); /* a step allocates nothing */
    quire_context_destroy(c);
    p.max_tokens = 0;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_create(w.model, &p, &c, &err));
    close_world(&w);
    assert_int_equal(f.live_bytes, 0);
}

static void allocation_failures(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t n = 1;; n++) {
        struct fail_alloc f;
        fail_alloc_init(&f, n, n % 2);
        struct world w;
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = open_world(&w, &f.hooks, &err);
        close_world(&w);
        assert_int_equal(f.live_bytes, 0);
        if (f.calls < n)
            break;
        if (s != QUIRE_E_NOMEM && s != QUIRE_OK)
            print_error("allocation %zu: %s\n", n, err.msg);
        assert_true(s == QUIRE_E_NOMEM || s == QUIRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_parameters),      cmocka_unit_test(garbage_in_memory),
        cmocka_unit_test(bad_steps),           cmocka_unit_test(rows_that_want_logits),
        cmocka_unit_test(same_bits),           cmocka_unit_test(context_limits),
        cmocka_unit_test(allocation_failures),
    };
    return cmocka_run_group_tests(tests, find_model, NULL);
}
