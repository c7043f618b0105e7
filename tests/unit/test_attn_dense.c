/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_dense.c - attention over contiguous keys and values: the bits of the paged call however
 * the rows lie, and every argument wrong in turn. */
#include "test_plan.h"
#include <quire/attention_dense.h>

/* Ways a sequence's rows may lie in memory. */
enum rows { PACKED, PADDED, HEADS_FIRST, N_ROWS };

/* K or V of a scene in some dtype and order. */
struct tensor {
    char *memory, *rows; /* the rows begin at an odd address */
    size_t token_stride, head_stride;
};

/* A scene with the batch that describes it. */
struct dense_scene {
    struct scene s;
    struct tensor k, v;
    uint32_t from[MAX_SCENE_SEQS]; /* queries of sequence i are its rows from here on */
    int32_t q_loc[MAX_SCENE_SEQS + 1], kv_loc[MAX_SCENE_SEQS + 1], kv_lens[MAX_SCENE_SEQS],
        lens[MAX_SCENE_SEQS];
    struct quire_dense_batch batch;
    struct quire_attention_args args; /* dense rows of q and out */
    float *q, *out, *lse;
};

/* Multiples of 1 / 32 are the same in every dtype here. */
static void make_exact(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = rintf(x[i] * 32) / 32;
}

static void encode(char *dst, float x, enum quire_kv_dtype dtype)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (dtype == QUIRE_KV_F32) {
        memcpy(dst, &x, sizeof x);
        return;
    }
    uint16_t half = (uint16_t)(bits >> 16);
    if (dtype == QUIRE_KV_F16)
        half = (uint16_t)(x == 0 ? 0
                                 : (bits >> 16 & 0x8000) | (((bits >> 23 & 0xff) - 112) << 10) |
                                       (bits >> 13 & 0x3ff));
    memcpy(dst, &half, sizeof half);
}

/* Where sequence i begins, in rows. */
static int32_t first_row(const struct dense_scene *d, enum rows order, uint32_t i)
{
    uint32_t longest = 1;
    for (uint32_t j = 0; j < d->s.n_seqs; j++)
        longest = d->s.key_len[j] > longest ? d->s.key_len[j] : longest;
    if (order == PACKED)
        return (int32_t)d->s.key_first[i];
    if (order == PADDED) /* the last one first */
        return (int32_t)((d->s.n_seqs - 1 - i) * (longest + 7));
    return (int32_t)(i * d->s.config.num_kv_heads * longest);
}

static struct tensor lay_rows(const struct dense_scene *d, const float *values, uint32_t size,
                              enum rows order, enum quire_kv_dtype dtype)
{
    const uint32_t heads = d->s.config.num_kv_heads, n = d->s.n_seqs;
    const size_t elem = dtype == QUIRE_KV_F32 ? 4 : 2;
    struct tensor t = { .head_stride = size + (order == PADDED ? 3 : 0) };
    t.token_stride = heads * t.head_stride + (order == PADDED ? 1 : 0);
    if (order == HEADS_FIRST) {
        t.token_stride = size;
        t.head_stride = (size_t)(n > 1 ? first_row(d, order, 1) : (int32_t)(d->s.n_keys * heads)) /
                        heads * size;
    }
    size_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        const size_t row = (size_t)first_row(d, order, i) + d->s.key_len[i];
        end = row > end ? row : end;
    }
    const size_t bytes = (end * t.token_stride + heads * t.head_stride + size) * elem;
    t.memory = malloc(bytes + 1);
    t.rows = t.memory + 1;
    memset(t.memory, 0xff, bytes + 1);
    for (uint32_t i = 0; i < n; i++)
        for (size_t j = 0; j < (size_t)d->s.key_len[i] * heads * size; j++) {
            const size_t row = (size_t)first_row(d, order, i) + j / (heads * size),
                         head = j / size % heads;
            encode(t.rows + (row * t.token_stride + head * t.head_stride + j % size) * elem,
                   values[(size_t)d->s.key_first[i] * heads * size + j], dtype);
        }
    return t;
}

/* The batch of a filled scene, with the last part of every sequence as queries. */
static void lay_scene(struct dense_scene *d, enum rows order, enum quire_kv_dtype dtype)
{
    const struct quire_attention_config *c = &d->s.config;
    const uint32_t n = d->s.n_seqs;
    const bool cross = c->kind == QUIRE_ATTENTION_CROSS;
    const size_t row = (size_t)c->num_heads * c->head_size;
    d->k = lay_rows(d, d->s.k, c->head_size, order, dtype);
    d->v = lay_rows(d, d->s.v, scene_v_size(&d->s), order, dtype);
    d->q = malloc(((size_t)d->s.n_rows * row + 1) * sizeof *d->q);
    d->q_loc[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t n_q = d->s.len[i] - d->from[i];
        memcpy(d->q + (size_t)d->q_loc[i] * row, d->s.q + (d->s.first[i] + d->from[i]) * row,
               n_q * row * sizeof *d->q);
        d->q_loc[i + 1] = d->q_loc[i] + (int32_t)n_q;
        d->kv_loc[i] = first_row(d, order, i);
        d->kv_lens[i] = (int32_t)d->s.key_len[i];
        d->lens[i] = (int32_t)d->s.len[i];
    }
    d->kv_loc[n] = order == PACKED ? (int32_t)d->s.n_keys : -1; /* not read otherwise */
    const size_t n_rows = (size_t)d->q_loc[n] * c->num_heads;
    d->out = malloc((n_rows * scene_v_size(&d->s) + 1) * sizeof *d->out);
    d->lse = malloc((n_rows + 1) * sizeof *d->lse);
    d->batch = (struct quire_dense_batch){ .struct_size = sizeof d->batch,
                                           .num_seqs = n,
                                           .query_start_loc = d->q_loc,
                                           .kv_start_loc = d->kv_loc,
                                           .kv_lens = order == PACKED ? NULL : d->kv_lens,
                                           .seq_lens = cross ? d->lens : NULL,
                                           .dtype = dtype,
                                           .k = d->k.rows,
                                           .v = d->v.rows };
    if (order != PACKED) {
        d->batch.k_token_stride = d->k.token_stride;
        d->batch.k_head_stride = d->k.head_stride;
        d->batch.v_token_stride = d->v.token_stride;
        d->batch.v_head_stride = d->v.head_stride;
    }
    d->args = (struct quire_attention_args){
        .struct_size = sizeof d->args, .q = d->q, .out = d->out, .lse = d->lse
    };
}

static void lift_scene(struct dense_scene *d)
{
    free(d->k.memory), free(d->v.memory), free(d->q), free(d->out), free(d->lse);
}

/* Results of the paged call for the same queries, in the order of d->out and d->lse. */
static void paged(const struct dense_scene *d, float *out, float *lse)
{
    const size_t heads = d->s.config.num_heads, width = heads * scene_v_size(&d->s);
    struct run r = run_whole(&d->s);
    struct result all = result_new(&d->s);
    memcpy(r.from, d->from, sizeof r.from);
    run_scene(&d->s, &r, &all);
    for (uint32_t i = 0; i < d->s.n_seqs; i++) {
        const size_t row = d->s.first[i] + d->from[i], n = (size_t)(d->q_loc[i + 1] - d->q_loc[i]);
        memcpy(out + (size_t)d->q_loc[i] * width, all.out + row * width, n * width * sizeof *out);
        memcpy(lse + (size_t)d->q_loc[i] * heads, all.lse + row * heads, n * heads * sizeof *lse);
    }
    result_free(&all);
}

static struct quire_dense_params params_of(const struct dense_scene *d, uint32_t n_threads)
{
    uint32_t longest = 1;
    for (uint32_t i = 0; i < d->s.n_seqs; i++) {
        longest = d->s.key_len[i] > longest ? d->s.key_len[i] : longest;
        longest = d->s.len[i] > longest ? d->s.len[i] : longest;
    }
    return (struct quire_dense_params){ .struct_size = sizeof(struct quire_dense_params),
                                        .dtype = d->s.k_dtype,
                                        .config = &d->s.config,
                                        .max_tokens = d->s.n_rows + 1,
                                        .max_kv_tokens = d->s.n_keys + 1,
                                        .max_seqs = MAX_SCENE_SEQS,
                                        .max_seq_len = longest,
                                        .n_threads = n_threads };
}

static struct quire_threads *make_threads(uint32_t n)
{
    struct quire_threads_params p;
    struct quire_threads *t;
    quire_threads_params_default(&p);
    p.backend = QUIRE_THREADS_PTHREAD;
    p.n_threads = n;
    must(quire_threads_create(&p, &t, &err));
    return t;
}

/* ---- the same bits as the paged call */

static struct scene random_scene(void)
{
    static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16 };
    const uint32_t kv_heads = 1 + scene_below(3), ratio = 1 + scene_below(4);
    struct scene s = { .k_scale = 1, .v_scale = 1 };
    s.k_dtype = s.v_dtype = dtypes[scene_below(3)];
    quire_attention_config_default(&s.config, kv_heads * ratio, kv_heads,
                                   scene_below(6) ? 8 * (1 + scene_below(9)) : 1 + scene_below(30));
    s.config.v_head_size = scene_below(4) ? 0 : 8 * (1 + scene_below(6));
    s.config.kind = (enum quire_attention_kind)scene_below(4);
    s.config.causal = s.config.kind == QUIRE_ATTENTION_DECODER && scene_below(4);
    s.config.compute = scene_below(2) ? QUIRE_COMPUTE_F32 : QUIRE_COMPUTE_NATIVE;
    s.config.window_left = scene_below(3) ? -1 : (int32_t)scene_below(600);
    s.config.window_right = scene_below(4) ? -1 : (int32_t)scene_below(100);
    s.config.logits_soft_cap = scene_below(3) ? 0 : scene_uniform(1, 40);
    s.config.chunk_size = scene_below(5) ? 0 : 1 + scene_below(500);
    return s;
}

static void every_option(void **state)
{
    (void)state;
    static const uint32_t thread_counts[] = { 1, 2, 3, 7 };
    static const enum quire_kv_dtype row_dtypes[] = { QUIRE_KV_F32, QUIRE_KV_BF16, QUIRE_KV_F16 };
    struct quire_threads *threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = make_threads(thread_counts[i]);
    scene_rng = 31;
    for (int round = 0; round < 72; round++) {
        struct dense_scene d = { .s = random_scene() };
        uint32_t lens[6];
        for (int i = 0; i < 6; i++)
            lens[i] = scene_below(4) ? scene_below(90) : scene_below(900);
        scene_fill(&d.s, lens, 1 + scene_below(6));
        make_exact(d.s.k, (size_t)d.s.n_keys * d.s.config.num_kv_heads * d.s.config.head_size);
        make_exact(d.s.v, (size_t)d.s.n_keys * d.s.config.num_kv_heads * scene_v_size(&d.s));
        d.s.config.alibi_slopes = scene_below(3) ? NULL : d.s.slopes;
        d.s.config.sinks = scene_below(3) ? NULL : d.s.sinks;
        d.s.config.relative_bias = scene_below(4) ? NULL : d.s.relative;
        d.s.config.relative_range = d.s.config.relative_bias ? scene_below(MAX_SCENE_RANGE) : 0;
        for (uint32_t i = 0; i < d.s.n_seqs; i++)
            d.from[i] = scene_below(2) || !d.s.len[i] ? 0 : scene_below(d.s.len[i]);
        lay_scene(&d, (enum rows)(round % N_ROWS), row_dtypes[scene_below(3)]);
        const size_t n_lse = (size_t)d.q_loc[d.s.n_seqs] * d.s.config.num_heads;
        const size_t n_out = n_lse * scene_v_size(&d.s);
        float *out = malloc((n_out + 1) * sizeof *out), *lse = malloc((n_lse + 1) * sizeof *lse);
        paged(&d, out, lse);
        const int t = round / N_ROWS % 4;
        struct quire_dense *dense;
        const struct quire_dense_params params = params_of(&d, thread_counts[t]);
        must(quire_dense_create(&params, &dense, &err));
        for (int call = 0; call < 2; call++) { /* the second finds the first one's rows */
            memset(d.out, 0xee, n_out * sizeof *out);
            memset(d.lse, 0xee, n_lse * sizeof *lse);
            must(quire_attention_dense(dense, &d.batch, &d.args, t ? threads[t] : NULL, &err));
            assert_same_bits(d.out, out, n_out);
            assert_same_bits(d.lse, lse, n_lse);
        }
        quire_dense_destroy(dense);
        free(out), free(lse);
        lift_scene(&d);
        scene_free(&d.s);
    }
    for (int i = 0; i < 4; i++)
        quire_threads_destroy(threads[i]);
}

/* A small scene: two sequences of 40 and 70 keys, whose last 3 and 5 tokens are queries. */
static void small_scene(struct dense_scene *d, enum quire_attention_kind kind)
{
    static const uint32_t lens[] = { 40, 70 };
    *d = (struct dense_scene){ .from = { 37, 65 } };
    scene_rng = 32;
    d->s.k_scale = d->s.v_scale = 1;
    d->s.k_dtype = d->s.v_dtype = QUIRE_KV_BF16;
    quire_attention_config_default(&d->s.config, 4, 2, 16);
    d->s.config.kind = kind;
    d->s.config.causal = kind == QUIRE_ATTENTION_DECODER;
    scene_fill(&d->s, lens, 2);
    make_exact(d->s.k, (size_t)d->s.n_keys * 2 * 16);
    make_exact(d->s.v, (size_t)d->s.n_keys * 2 * 16);
    lay_scene(d, PACKED, QUIRE_KV_F32);
}

static void small_free(struct dense_scene *d)
{
    lift_scene(d);
    scene_free(&d->s);
}

/* The sequence's own flag wins over the configuration's, as in the paged call. */
static void causal_per_sequence(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    const struct quire_dense_params params = params_of(&d, 1);
    const uint8_t flags[] = { 0, 1 };
    float causal[8 * 4 * 16], mixed[8 * 4 * 16];
    struct quire_dense *dense;
    must(quire_dense_create(&params, &dense, &err));
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    memcpy(causal, d.out, sizeof causal);
    d.batch.causal = flags;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    memcpy(mixed, d.out, sizeof mixed);
    assert_memory_not_equal(mixed, causal, 3 * 4 * 16 * sizeof *mixed);
    assert_same_bits(mixed + 3 * 4 * 16, causal + 3 * 4 * 16, 5 * 4 * 16);
    quire_dense_destroy(dense);
    small_free(&d);
}

/* Without lengths of its own, a cross sequence's queries are all of it. */
static void cross_positions(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_CROSS);
    d.s.config.window_left = 10;
    const struct quire_dense_params params = params_of(&d, 1);
    float from_start[8 * 4 * 16];
    struct quire_dense *dense;
    const int32_t n_q[] = { 3, 5 };
    must(quire_dense_create(&params, &dense, &err));
    d.batch.seq_lens = n_q;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    memcpy(from_start, d.out, sizeof from_start);
    d.batch.seq_lens = NULL;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    assert_same_bits(from_start, d.out, 8 * 4 * 16);
    d.batch.seq_lens = d.lens;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    assert_memory_not_equal(from_start, d.out, sizeof from_start);
    quire_dense_destroy(dense);
    small_free(&d);
}

/* Spans, trees and block lists go to the plan as they are. */
static void masks(void **state)
{
    (void)state;
    enum { SPANS, TREE, LISTS, N_MASKS };
    for (int mask = 0; mask < N_MASKS; mask++) {
        struct dense_scene d;
        small_scene(&d, QUIRE_ATTENTION_DECODER);
        for (uint32_t i = 0; i < 2; i++) {
            d.s.n_spans[i] = mask == SPANS;
            d.s.spans[i][0] = (struct quire_span){ (int32_t)d.from[i] + 1, (int32_t)d.s.len[i] };
            d.s.n_tree[i] = d.s.len[i] - d.from[i];
            for (uint32_t t = 0; t < d.s.n_tree[i]; t++)
                d.s.tree[i][t] = 1 | (uint64_t)1 << t;
            for (uint32_t h = 0; h < 2; h++)
                d.s.listed[i][h][0] = (i + h) % 2;
        }
        d.s.has_tree = mask == TREE;
        d.s.has_lists = mask == LISTS;
        float plain[8 * 4 * 16], want[8 * 4 * 16], lse[8 * 4];
        struct quire_dense_params params = params_of(&d, 1);
        struct quire_dense *dense;
        struct stage st;
        struct run r = run_whole(&d.s);
        memcpy(r.from, d.from, sizeof r.from);
        stage_open(&st, &d.s, &r); /* for its description of the masks */
        params.max_spans = 2;
        params.max_tree_tokens = 8;
        params.max_sparse_blocks = 100;
        must(quire_dense_create(&params, &dense, &err));
        must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
        memcpy(plain, d.out, sizeof plain);
        d.batch.span_loc = mask == SPANS ? st.batch.span_loc : NULL;
        d.batch.spans = mask == SPANS ? st.batch.spans : NULL;
        d.batch.tree_mask = st.batch.tree_mask;
        d.batch.sparse = mask == LISTS ? st.sparse : NULL;
        must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
        paged(&d, want, lse);
        assert_same_bits(d.out, want, 8 * 4 * 16);
        assert_same_bits(d.lse, lse, 8 * 4);
        assert_memory_not_equal(d.out, plain, sizeof plain);
        quire_dense_destroy(dense);
        stage_close(&st);
        small_free(&d);
    }
}

/* ---- prepared batches and teams */

struct layers {
    struct quire_dense *dense;
    const struct quire_dense_batch *batch[2];
    struct quire_attention_args args[2];
};

static void run_layers(void *arg, const struct quire_team *team)
{
    const struct layers *l = arg;
    for (int i = 0; i < 2; i++) {
        quire_dense_part(l->dense, l->batch[i], &l->args[i], team);
        quire_team_barrier(team);
    }
}

static void layers_of_a_prepared_batch(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    const struct quire_dense_params params = params_of(&d, 3);
    struct quire_threads *threads = make_threads(3);
    float want[2][8 * 4 * 16], got[2][8 * 4 * 16];
    struct layers l = { .batch = { &d.batch } };
    struct quire_dense_batch second = d.batch; /* K and V change places */
    second.k = d.batch.v;
    second.v = d.batch.k;
    l.batch[1] = &second;
    must(quire_dense_create(&params, &l.dense, &err));
    for (int i = 0; i < 2; i++) {
        l.args[i] = d.args;
        l.args[i].out = want[i];
        must(quire_attention_dense(l.dense, l.batch[i], &l.args[i], NULL, &err));
        l.args[i].out = got[i];
    }
    assert_memory_not_equal(want[0], want[1], sizeof want[0]);
    must(quire_dense_prepare(l.dense, &d.batch, &err));
    struct quire_dense_batch worse = d.batch;
    worse.num_seqs = 1000; /* a failure keeps the batch that is held */
    assert_status(QUIRE_E_LIMIT, quire_dense_prepare(l.dense, &worse, NULL));
    int32_t bad_loc[] = { 0, 3, 500 };
    worse = d.batch;
    worse.query_start_loc = bad_loc;
    assert_status(QUIRE_E_LIMIT, quire_dense_prepare(l.dense, &worse, NULL));
    for (int i = 0; i < 2; i++)
        must(quire_dense_check(l.dense, l.batch[i], &l.args[i], &err));
    assert_status(QUIRE_OK, quire_threads_run(threads, run_layers, &l));
    assert_same_bits(got[0], want[0], 8 * 4 * 16);
    assert_same_bits(got[1], want[1], 8 * 4 * 16);
    quire_dense_destroy(l.dense);
    quire_threads_destroy(threads);
    small_free(&d);
}

struct nested {
    struct layers *layers;
    struct quire_threads *threads;
};

static void call_inside(void *arg, const struct quire_team *team)
{
    const struct nested *n = arg;
    if (team->rank == 0)
        assert_refused(QUIRE_E_BUSY, "threads",
                       quire_attention_dense(n->layers->dense, n->layers->batch[0],
                                             &n->layers->args[0], n->threads, &err));
}

static void busy_threads(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    const struct quire_dense_params params = params_of(&d, 2);
    struct layers l = { .batch = { &d.batch }, .args = { d.args } };
    struct nested n = { &l, make_threads(2) };
    must(quire_dense_create(&params, &l.dense, &err));
    assert_status(QUIRE_OK, quire_threads_run(n.threads, call_inside, &n));
    must(quire_attention_dense(l.dense, &d.batch, &d.args, n.threads, &err));
    quire_dense_destroy(l.dense);
    quire_threads_destroy(n.threads);
    small_free(&d);
}

/* ---- memory and arguments */

static void memory_is_exact_and_may_fail(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    struct quire_dense_params params = params_of(&d, 2);
    struct quire_dense *dense;
    struct fail_alloc a;
    uint64_t bytes;
    must(quire_dense_bytes(&params, &bytes, &err));
    params.allocator = &a.hooks;
    for (size_t fail_at = 1; fail_at <= 4; fail_at++) {
        fail_alloc_init(&a, fail_at, false);
        assert_refused(QUIRE_E_NOMEM, "bytes", quire_dense_create(&params, &dense, &err));
        assert_null(dense);
        assert_int_equal(a.live_count, 0);
    }
    fail_alloc_init(&a, 0, false);
    must(quire_dense_create(&params, &dense, &err));
    assert_int_equal(a.calls, 4);
    assert_int_equal(a.live_bytes, bytes);
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    d.batch.num_seqs = 0;
    must(quire_attention_dense(dense, &d.batch, &d.args, NULL, &err));
    const struct quire_dense_batch none = { .struct_size = sizeof none };
    must(quire_attention_dense(dense, &none, &d.args, NULL, &err));
    assert_int_equal(a.calls, 4);
    quire_dense_destroy(dense);
    quire_dense_destroy(NULL);
    assert_int_equal(a.live_count, 0);
    small_free(&d);
}

static void bad_params(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    struct quire_dense_params p = params_of(&d, 2);
    const struct quire_dense_params good = p;
    const struct quire_attention_config good_config = d.s.config;
    struct quire_dense *dense;
    uint64_t bytes = 7;
#define BAD(change, code, word)                                                                    \
    do {                                                                                           \
        dense = (struct quire_dense *)&d;                                                          \
        change;                                                                                    \
        assert_refused(code, word, quire_dense_create(&p, &dense, &err));                          \
        assert_null(dense);                                                                        \
        assert_refused(code, word, quire_dense_bytes(&p, &bytes, &err));                           \
        assert_int_equal(bytes, 7);                                                                \
        p = good;                                                                                  \
        d.s.config = good_config;                                                                  \
    } while (0)
    BAD(p.struct_size--, QUIRE_E_MISUSE, "struct_size");
    BAD(p.config = NULL, QUIRE_E_INVALID_ARG, "config");
    BAD(d.s.config.struct_size++, QUIRE_E_MISUSE, "config");
    BAD(d.s.config.scale = NAN, QUIRE_E_UNSUPPORTED, "scale");
    BAD(p.dtype = QUIRE_KV_FP8_E4M3, QUIRE_E_INVALID_ARG, "dtype");
    BAD(p.max_tokens = 0, QUIRE_E_INVALID_ARG, "max_tokens");
    BAD(p.max_tokens = (1 << 24) + 1, QUIRE_E_INVALID_ARG, "max_tokens");
    BAD(p.max_kv_tokens = 0, QUIRE_E_INVALID_ARG, "max_kv_tokens");
    BAD(p.max_kv_tokens = UINT32_MAX, QUIRE_E_INVALID_ARG, "max_kv_tokens");
    BAD(p.max_seqs = 0, QUIRE_E_INVALID_ARG, "max_seqs");
    BAD(p.max_seqs = UINT32_MAX, QUIRE_E_INVALID_ARG, "max_seqs");
    BAD(p.max_seq_len = UINT32_MAX, QUIRE_E_INVALID_ARG, "max_seq_len");
    BAD(p.n_threads = 0, QUIRE_E_INVALID_ARG, "n_threads");
    BAD(p.n_threads = 1025, QUIRE_E_INVALID_ARG, "n_threads");
    BAD(p.flags = 1u << 31, QUIRE_E_INVALID_ARG, "flags");
    BAD(p.flags = QUIRE_PLAN_CASCADE, QUIRE_E_INVALID_ARG, "flags");
#undef BAD
    p.isa = "none";
    assert_refused(QUIRE_E_INVALID_ARG, "none", quire_dense_create(&p, &dense, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "out", quire_dense_create(&good, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "params", quire_dense_create(NULL, &dense, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "bytes", quire_dense_bytes(&good, NULL, &err));
    small_free(&d);
}

static void bad_calls(void **state)
{
    (void)state;
    struct dense_scene d;
    small_scene(&d, QUIRE_ATTENTION_DECODER);
    const struct quire_dense_params params = params_of(&d, 2);
    struct quire_dense *dense;
    must(quire_dense_create(&params, &dense, &err));
    must(quire_dense_prepare(dense, &d.batch, &err));
    struct quire_dense_batch *b = &d.batch;
    const struct dense_scene good = d;
    for (size_t i = 0; i < 8 * 4 * 16; i++)
        d.out[i] = 7;
    assert_refused(QUIRE_E_INVALID_ARG, "dense",
                   quire_attention_dense(NULL, b, &d.args, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "batch",
                   quire_attention_dense(dense, NULL, &d.args, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "dense", quire_dense_prepare(NULL, b, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "dense", quire_dense_check(NULL, b, &d.args, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "batch", quire_dense_check(dense, NULL, &d.args, &err));
#define BAD(change, code, word)                                                                    \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_attention_dense(dense, b, &d.args, NULL, &err));          \
        d = good;                                                                                  \
    } while (0)
#define BAD_LENGTHS(change, code, word)                                                            \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_dense_prepare(dense, b, &err));                           \
        BAD(change, code, word);                                                                   \
    } while (0)
#define BAD_ROWS(change, code, word)                                                               \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_dense_check(dense, b, &d.args, &err));                    \
        BAD(change, code, word);                                                                   \
    } while (0)
    BAD_LENGTHS(b->struct_size = 1, QUIRE_E_MISUSE, "batch.struct_size");
    BAD_LENGTHS(b->num_seqs = MAX_SCENE_SEQS + 1, QUIRE_E_LIMIT, "num_seqs");
    BAD_LENGTHS(b->query_start_loc = NULL, QUIRE_E_INVALID_ARG, "query_start_loc");
    BAD_LENGTHS(b->kv_start_loc = NULL, QUIRE_E_INVALID_ARG, "kv_start_loc");
    BAD_LENGTHS(b->seq_lens = d.lens, QUIRE_E_INVALID_ARG, "seq_lens");
    BAD_LENGTHS(d.q_loc[0] = 1, QUIRE_E_INVALID_ARG, "query_start_loc[0]");
    BAD_LENGTHS(d.q_loc[1] = 9, QUIRE_E_INVALID_ARG, "query_start_loc[2]");
    BAD_LENGTHS(d.q_loc[1] = -1, QUIRE_E_INVALID_ARG, "query_start_loc[1]");
    BAD_LENGTHS(d.q_loc[2] = 3 + 71, QUIRE_E_INVALID_ARG, "fewer than its 71 queries");
    BAD_LENGTHS(d.q_loc[2] = 200, QUIRE_E_LIMIT, "query_start_loc[2]");
    BAD_LENGTHS(d.kv_loc[0] = -1, QUIRE_E_INVALID_ARG, "kv_start_loc[0]");
    BAD_LENGTHS(d.kv_loc[1] = -1, QUIRE_E_INVALID_ARG, "kv_start_loc[1]");
    BAD_LENGTHS(d.kv_loc[2] = 39, QUIRE_E_INVALID_ARG, "kv_start_loc[2]");
    BAD_LENGTHS(d.kv_loc[2] = 40 + 71, QUIRE_E_LIMIT, "sequence 1 has 71 keys");
    BAD_LENGTHS(d.kv_loc[1] = 45; d.kv_loc[2] = 112, QUIRE_E_LIMIT, "more than the 111 keys");
    BAD_LENGTHS(b->kv_lens = d.kv_lens; d.kv_lens[1] = -4, QUIRE_E_INVALID_ARG, "kv_lens[1]");
    BAD_ROWS(b->struct_size = 1, QUIRE_E_MISUSE, "batch.struct_size");
    BAD_ROWS(b->dtype = QUIRE_KV_FP8_E5M2, QUIRE_E_INVALID_ARG, "batch.dtype");
    BAD_ROWS(b->dtype = (enum quire_kv_dtype)77, QUIRE_E_INVALID_ARG, "batch.dtype");
    BAD_ROWS(b->k = NULL, QUIRE_E_INVALID_ARG, "batch.k");
    BAD_ROWS(b->v = NULL, QUIRE_E_INVALID_ARG, "batch.v");
    BAD_ROWS(b->k_token_stride = 15, QUIRE_E_INVALID_ARG, "batch.k");
    BAD_ROWS(b->v_head_stride = 15, QUIRE_E_INVALID_ARG, "batch.v");
    BAD_ROWS(b->k_token_stride = 17, QUIRE_E_INVALID_ARG, "batch.k: rows");
    BAD_ROWS(b->k_token_stride = SIZE_MAX / 8, QUIRE_E_INVALID_ARG, "batch.k");
    BAD_ROWS(b->v_token_stride = SIZE_MAX / 4 / 80, QUIRE_E_INVALID_ARG, "batch.v");
    BAD_ROWS(b->v_head_stride = SIZE_MAX / 2, QUIRE_E_INVALID_ARG, "batch.v");
    BAD_ROWS(b->k = d.out, QUIRE_E_INVALID_ARG, "args.out and batch.k");
    BAD_ROWS(b->v = (char *)d.out - 2 * 16 * 4 * 109, QUIRE_E_INVALID_ARG, "args.out and batch.v");
    BAD_ROWS(d.args.lse = (void *)d.k.memory, QUIRE_E_INVALID_ARG, "args.lse and batch.k");
    BAD_ROWS(d.args.lse = (void *)d.v.memory, QUIRE_E_INVALID_ARG, "args.lse and batch.v");
    BAD_ROWS(d.args.struct_size = 0, QUIRE_E_MISUSE, "args.struct_size");
    BAD_ROWS(d.args.q = NULL, QUIRE_E_INVALID_ARG, "args.q");
    BAD_ROWS(d.args.out = d.q, QUIRE_E_INVALID_ARG, "args.q and args.out");
    BAD_ROWS(d.args.group = 1, QUIRE_E_INVALID_ARG, "args.group");
    BAD_ROWS(d.args.layer = 1, QUIRE_E_INVALID_ARG, "args.layer");
#undef BAD
#undef BAD_ROWS
#undef BAD_LENGTHS
    for (size_t i = 0; i < 8 * 4 * 16; i++)
        assert_true(d.out[i] == 7);
    must(quire_attention_dense(dense, b, &d.args, NULL, &err));
    quire_dense_destroy(dense);
    small_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option),
        cmocka_unit_test(causal_per_sequence),
        cmocka_unit_test(cross_positions),
        cmocka_unit_test(masks),
        cmocka_unit_test(layers_of_a_prepared_batch),
        cmocka_unit_test(busy_threads),
        cmocka_unit_test(memory_is_exact_and_may_fail),
        cmocka_unit_test(bad_params),
        cmocka_unit_test(bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
