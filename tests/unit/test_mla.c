/* SPDX-License-Identifier: Apache-2.0 */
/* test_mla.c - latent attention (MLA): dimensions, products with W_UK and W_UV against double
 * precision, absorbed against expanded attention. */
#include "test_mla.h"

enum { TOKENS = 150, MAX_HEADS = 16, MAX_LATENT = 576 };

static double wanted(const struct layer *l, bool absorb, size_t head, const float *in, size_t i,
                     double *sum)
{
    const struct quire_mla_dims *d = l->d;
    double want = 0;
    *sum = 0;
    for (size_t j = 0; j < (absorb ? d->qk_nope_head_dim : d->kv_lora_rank); j++) {
        const double w =
            (double)(absorb ? row_of(l, head, j)[i] : row_of(l, head, d->qk_nope_head_dim + i)[j]);
        want += w * (double)in[j];
        *sum += fabs(w * (double)in[j]);
    }
    return want;
}

static void check_product(const struct layer *l, bool absorb, size_t gap)
{
    const struct quire_mla_dims *d = l->d;
    const size_t rope = absorb ? d->qk_rope_head_dim : 0, n = 9, heads = d->n_heads;
    const size_t wide_in = absorb ? d->qk_nope_head_dim + rope : d->kv_lora_rank;
    const size_t own = absorb ? d->kv_lora_rank : d->v_head_dim, wide_out = own + rope;
    struct quire_mla_args a = { .struct_size = sizeof a, .n_tokens = n };
    const size_t in_head = wide_in + gap, out_head = wide_out + gap;
    float *in = values(n * heads * in_head), *out = malloc(n * heads * out_head * sizeof *out);
    for (size_t i = 0; i < n * heads * out_head; i++)
        out[i] = 777;
    a.in = in;
    a.out = out;
    a.in_head_stride = gap ? in_head : 0;
    a.out_head_stride = gap ? out_head : 0;
    assert_status(QUIRE_OK, call(l->weights, absorb, &a, NULL, NULL));
    for (size_t t = 0; t < n; t++)
        for (size_t h = 0; h < heads; h++) {
            const float *row = in + (t * heads + h) * in_head,
                        *got = out + (t * heads + h) * out_head;
            for (size_t i = 0; i < own; i++) {
                double sum;
                const double want = wanted(l, absorb, h, row, i, &sum);
                assert_true(fabs((double)got[i] - want) <= 2 * (double)wide_in * 0x1p-24 * sum);
            }
            assert_memory_equal(got + own, row + wide_in - rope, rope * sizeof *got);
            for (size_t i = wide_out; i < out_head; i++)
                assert_true(got[i] == 777);
        }
    free(in), free(out);
}

static void products_against_double(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_DIMS; i++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            struct layer l = layer_new(&DIMS[i], bf16);
            check_product(&l, true, 0);
            check_product(&l, false, 0);
            check_product(&l, true, 3);
            check_product(&l, false, 3);
            layer_free(&l);
        }
}

/* Rows computed alone, on several threads and at every level have the same bits. */
static void bits_depend_on_the_row_alone(void **state)
{
    (void)state;
    const struct quire_mla_dims *d = &DIMS[0];
    const size_t n = 21, in_row = 4 * 48, out_row = 4 * 48;
    struct layer l = layer_new(d, true);
    float *in = values(n * in_row), *want = malloc(n * out_row * sizeof *want),
          *got = malloc(n * out_row * sizeof *got);
    struct quire_mla_args a = { .struct_size = sizeof a, .in = in, .out = want, .n_tokens = n };
    assert_status(QUIRE_OK, quire_mla_absorb(l.weights, &a, NULL, NULL));
    for (size_t t = 0; t < n; t++) {
        a.in = in + t * in_row, a.out = got + t * out_row, a.n_tokens = 1;
        assert_status(QUIRE_OK, quire_mla_absorb(l.weights, &a, NULL, NULL));
    }
    assert_memory_equal(got, want, n * out_row * sizeof *want);
    a.in = in, a.out = got, a.n_tokens = n;
    for (uint32_t n_threads = 2; n_threads <= 7; n_threads += 5) {
        const struct quire_threads_params p = { .struct_size = sizeof p, .n_threads = n_threads };
        struct quire_threads *threads;
        assert_status(QUIRE_OK, quire_threads_create(&p, &threads, NULL));
        memset(got, 0, n * out_row * sizeof *got);
        assert_status(QUIRE_OK, quire_mla_absorb(l.weights, &a, threads, NULL));
        assert_memory_equal(got, want, n * out_row * sizeof *want);
        quire_threads_destroy(threads);
    }
    for (int i = 0; quire_cpu_level_name(i); i++) {
        if (!quire_cpu_level_usable(i))
            continue;
        struct quire_mla_weights *w = pack(d, l.bf16, QUIRE_KV_BF16, quire_cpu_level_name(i));
        assert_status(QUIRE_OK, quire_mla_absorb(w, &a, NULL, NULL));
        assert_memory_equal(got, want, n * out_row * sizeof *want);
        quire_mla_weights_destroy(w);
    }
    free(in), free(want), free(got);
    layer_free(&l);
}

/* ---- absorbed = expanded */

#define must(call_)                                                                                \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        if ((call_) != QUIRE_OK)                                                                   \
            fail_msg("%s: %s", #call_, err.msg);                                                   \
    } while (0)

/* Computes all heads from queries to outputs with a plan over latent rows. */
static void attend_latent(const struct layer *l, struct quire_plan *plan, const float *q,
                          float *out)
{
    const struct quire_mla_dims *d = l->d;
    const size_t heads = d->n_heads, rank = d->kv_lora_rank;
    float *latent_q = malloc(TOKENS * heads * (rank + d->qk_rope_head_dim) * sizeof *latent_q),
          *latent_out = malloc(TOKENS * heads * rank * sizeof *latent_out);
    const struct quire_mla_args in = {
        .struct_size = sizeof in, .in = q, .out = latent_q, .n_tokens = TOKENS
    };
    const struct quire_mla_args back = {
        .struct_size = sizeof back, .in = latent_out, .out = out, .n_tokens = TOKENS
    };
    const struct quire_attention_args a = { .struct_size = sizeof a,
                                            .q = latent_q,
                                            .out = latent_out };
    must(quire_mla_absorb(l->weights, &in, NULL, &err));
    must(quire_attention_forward(plan, &a, NULL, &err));
    must(quire_mla_v_up_proj(l->weights, &back, NULL, &err));
    free(latent_q), free(latent_out);
}

/* Attention of all tokens over the latent rows [TOKENS], through a pool of latent rows. */
static void run_absorbed(const struct layer *l, float mscale, const float *rows, const float *q,
                         float *out)
{
    const struct quire_mla_dims *d = l->d;
    struct quire_kv_group_config group;
    struct quire_attention_config c = { .struct_size = sizeof c };
    must(quire_mla_kv_group(d, QUIRE_KV_F32, 1, (TOKENS + 15) / 16, &group, &err));
    must(quire_mla_absorbed_config(d, mscale, &c, &err));
    c.compute = QUIRE_COMPUTE_F32;
    const struct quire_kv_params config = {
        .struct_size = sizeof config, .block_size = 16, .groups = &group, .n_groups = 1
    };
    struct quire_kv_cache *kv;
    must(quire_kv_create(&config, &kv, &err));
    int32_t blocks[(TOKENS + 15) / 16];
    int64_t slots[TOKENS];
    must(quire_kv_alloc(kv, 0, -1, (TOKENS + 15) / 16, blocks, &err));
    for (int i = 0; i < TOKENS; i++)
        slots[i] = (int64_t)blocks[i / 16] * 16 + i % 16;
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = rows, .slot_mapping = slots, .n_tokens = TOKENS
    };
    must(quire_kv_write(kv, &w, NULL, &err));
    const struct quire_plan_group pg = { .config = &c };
    const struct quire_plan_params pp = { .struct_size = sizeof pp,
                                          .kv = kv,
                                          .groups = &pg,
                                          .n_groups = 1,
                                          .max_tokens = TOKENS,
                                          .max_seqs = 1,
                                          .max_seq_len = TOKENS,
                                          .n_threads = 1 };
    struct quire_plan *plan;
    must(quire_plan_create(&pp, &plan, &err));
    const int32_t starts[] = { 0, TOKENS }, len = TOKENS;
    const struct quire_attention_batch_group table = { .block_table = blocks,
                                                       .max_blocks = (TOKENS + 15) / 16 };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = 1,
                                                 .groups = &table };
    must(quire_plan_build(plan, &batch, &err));
    attend_latent(l, plan, q, out);
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
}

/* Computes the same over expanded keys and values of every head, by the definition in the
 * header. */
static void run_expanded(const struct layer *l, float mscale, const float *rows, const float *q,
                         float *out)
{
    const struct quire_mla_dims *d = l->d;
    const size_t heads = d->n_heads, nope = d->qk_nope_head_dim, rope = d->qk_rope_head_dim,
                 rank = d->kv_lora_rank, vd = d->v_head_dim;
    float *k = malloc(TOKENS * heads * (nope + rope) * sizeof *k),
          *v = malloc(TOKENS * heads * vd * sizeof *v);
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < nope + rope + vd; i++) {
                const float *c = rows + t * (rank + rope);
                double sum = 0;
                const size_t r = i < nope ? i : i - rope;
                for (size_t j = 0; j < rank && (i < nope || i >= nope + rope); j++)
                    sum += (double)row_of(l, h, r)[j] * (double)c[j];
                if (i >= nope && i < nope + rope)
                    sum = (double)c[rank + i - nope];
                if (i < nope + rope)
                    k[(t * heads + h) * (nope + rope) + i] = (float)sum;
                else
                    v[(t * heads + h) * vd + i - nope - rope] = (float)sum;
            }
    struct quire_attention_config c = { .struct_size = sizeof c };
    must(quire_mla_expanded_config(d, mscale, &c, &err));
    c.compute = QUIRE_COMPUTE_F32;
    const struct quire_dense_params p = { .struct_size = sizeof p,
                                          .dtype = QUIRE_KV_F32,
                                          .config = &c,
                                          .max_tokens = TOKENS,
                                          .max_kv_tokens = TOKENS,
                                          .max_seqs = 1,
                                          .n_threads = 1 };
    struct quire_dense *dense;
    must(quire_dense_create(&p, &dense, &err));
    const int32_t starts[] = { 0, TOKENS };
    const struct quire_dense_batch batch = { .struct_size = sizeof batch,
                                             .n_seqs = 1,
                                             .query_start_loc = starts,
                                             .kv_start_loc = starts,
                                             .dtype = QUIRE_KV_F32,
                                             .k = k,
                                             .v = v };
    const struct quire_attention_args a = { .struct_size = sizeof a, .q = q, .out = out };
    must(quire_attention_dense(dense, &batch, &a, NULL, &err));
    quire_dense_destroy(dense);
    free(k), free(v);
}

static void absorbed_is_expanded(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_DIMS; i++) {
        const struct quire_mla_dims *d = &DIMS[i];
        struct layer l = layer_new(d, false);
        const size_t heads = d->n_heads, n_out = TOKENS * heads * d->v_head_dim;
        float *rows = values(TOKENS * (d->kv_lora_rank + d->qk_rope_head_dim)),
              *q = values(TOKENS * heads * (d->qk_nope_head_dim + d->qk_rope_head_dim)),
              *a = malloc(n_out * sizeof *a), *b = malloc(n_out * sizeof *b);
        run_absorbed(&l, 0.5f, rows, q, a);
        run_expanded(&l, 0.5f, rows, q, b);
        double most = 0, diff = 0;
        for (size_t j = 0; j < n_out; j++) {
            most = fmax(most, fabs((double)b[j]));
            diff = fmax(diff, fabs((double)a[j] - (double)b[j]));
        }
        assert_true(most > 0.1 && diff <= 2e-5 * most);
        free(rows), free(q), free(a), free(b);
        layer_free(&l);
    }
}

static void configurations(void **state)
{
    (void)state;
    struct quire_kv_group_config g;
    struct quire_attention_config c = { .struct_size = sizeof c };
    assert_status(QUIRE_OK, quire_mla_kv_group(&DIMS[1], QUIRE_KV_BF16, 27, 9, &g, NULL));
    assert_true(g.n_kv_heads == 1 && g.head_size == 576 && g.v_head_size == 512 &&
                g.n_layers == 27 && g.n_blocks == 9 && g.flags == QUIRE_KV_LATENT &&
                g.v_dtype == QUIRE_KV_BF16);
    assert_status(QUIRE_OK, quire_mla_absorbed_config(&DIMS[1], 2, &c, NULL));
    assert_true(c.n_heads == 2 && c.n_kv_heads == 1 && c.head_size == 576 && c.v_head_size == 512);
    assert_true(c.scale == (float)(4 / sqrt(192)) && c.causal == 1);
    assert_status(QUIRE_OK, quire_mla_expanded_config(&DIMS[1], 1, &c, NULL));
    assert_true(c.n_kv_heads == 2 && c.head_size == 192 && c.v_head_size == 128);
    assert_true(c.scale == (float)(1 / sqrt(192)));
    assert_true(quire_mla_yarn_mscale(1, 0.707f) == 1 && quire_mla_yarn_mscale(0.5f, 1) == 1);
    assert_true(fabsf(quire_mla_yarn_mscale(40, 0.707f) - 1.26080f) < 1e-5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_against_double),
        cmocka_unit_test(bits_depend_on_the_row_alone),
        cmocka_unit_test(absorbed_is_expanded),
        cmocka_unit_test(configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
