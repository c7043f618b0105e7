/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_dense_args.c - attention over contiguous keys and values: failing allocations and every
 * invalid argument. */
#include "test_attn_dense.h"

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
    d.batch.n_seqs = 0;
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
    BAD(p.struct_size = 8, QUIRE_E_MISUSE, "struct_size");
    BAD(p.reserved = 1, QUIRE_E_INVALID_ARG, "reserved");
    BAD(p.max_tree_words = 65, QUIRE_E_INVALID_ARG, "max_tree_words is 65");
    BAD(p.config = NULL, QUIRE_E_INVALID_ARG, "config");
    BAD(d.s.config.struct_size = 4, QUIRE_E_MISUSE, "config");
    BAD(d.s.config.reserved = 1, QUIRE_E_INVALID_ARG, "params.config.reserved");
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

/* A valid call, and a copy to restore after each change. */
struct call {
    struct dense_scene d, good;
    struct quire_dense *dense;
};

static void call_new(struct call *c)
{
    small_scene(&c->d, QUIRE_ATTENTION_DECODER);
    const struct quire_dense_params params = params_of(&c->d, 2);
    must(quire_dense_create(&params, &c->dense, &err));
    must(quire_dense_prepare(c->dense, &c->d.batch, &err));
    memset(c->d.out, 0xee, 8 * 4 * 16 * sizeof *c->d.out);
    c->good = c->d;
}

/* Checks that nothing was written and that the restored call succeeds. */
static void call_free(struct call *c)
{
    for (size_t i = 0; i < 8 * 4 * 16 * sizeof *c->d.out; i++)
        assert_int_equal(((unsigned char *)c->d.out)[i], 0xee);
    must(quire_attention_dense(c->dense, &c->d.batch, &c->d.args, NULL, &err));
    quire_dense_destroy(c->dense);
    small_free(&c->d);
}

#define BAD(change, code, word)                                                                    \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_attention_dense(c.dense, b, &c.d.args, NULL, &err));      \
        c.d = c.good;                                                                              \
    } while (0)
#define BAD_LENGTHS(change, code, word)                                                            \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_dense_prepare(c.dense, b, &err));                         \
        BAD(change, code, word);                                                                   \
    } while (0)
#define BAD_ROWS(change, code, word)                                                               \
    do {                                                                                           \
        change;                                                                                    \
        assert_refused(code, word, quire_dense_check(c.dense, b, &c.d.args, &err));                \
        BAD(change, code, word);                                                                   \
    } while (0)

static void null_arguments(void **state)
{
    (void)state;
    struct call c;
    call_new(&c);
    struct quire_dense_batch *b = &c.d.batch;
    assert_refused(QUIRE_E_INVALID_ARG, "dense",
                   quire_attention_dense(NULL, b, &c.d.args, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "batch",
                   quire_attention_dense(c.dense, NULL, &c.d.args, NULL, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "dense", quire_dense_prepare(NULL, b, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "dense", quire_dense_check(NULL, b, &c.d.args, &err));
    assert_refused(QUIRE_E_INVALID_ARG, "batch", quire_dense_check(c.dense, NULL, &c.d.args, &err));
    call_free(&c);
}

static void bad_lengths(void **state)
{
    (void)state;
    struct call c;
    call_new(&c);
    struct dense_scene *d = &c.d;
    struct quire_dense_batch *b = &c.d.batch;
    BAD_LENGTHS(b->struct_size = 1, QUIRE_E_MISUSE, "batch.struct_size");
    BAD_LENGTHS(b->n_seqs = MAX_PROBLEM_SEQS + 1, QUIRE_E_LIMIT, "n_seqs");
    BAD_LENGTHS(b->query_start_loc = NULL, QUIRE_E_INVALID_ARG, "query_start_loc");
    BAD_LENGTHS(b->kv_start_loc = NULL, QUIRE_E_INVALID_ARG, "kv_start_loc");
    BAD_LENGTHS(b->seq_lens = d->lens, QUIRE_E_INVALID_ARG, "seq_lens");
    BAD_LENGTHS(d->q_loc[0] = 1, QUIRE_E_INVALID_ARG, "query_start_loc[0]");
    BAD_LENGTHS(d->q_loc[1] = 9, QUIRE_E_INVALID_ARG, "query_start_loc[2]");
    BAD_LENGTHS(d->q_loc[1] = -1, QUIRE_E_INVALID_ARG, "query_start_loc[1]");
    BAD_LENGTHS(d->q_loc[2] = 3 + 71, QUIRE_E_INVALID_ARG, "fewer than its 71 queries");
    BAD_LENGTHS(d->q_loc[2] = 200, QUIRE_E_LIMIT, "query_start_loc[2]");
    BAD_LENGTHS(d->kv_loc[0] = -1, QUIRE_E_INVALID_ARG, "kv_start_loc[0]");
    BAD_LENGTHS(d->kv_loc[1] = -1, QUIRE_E_INVALID_ARG, "kv_start_loc[1]");
    BAD_LENGTHS(d->kv_loc[2] = 39, QUIRE_E_INVALID_ARG, "kv_start_loc[2]");
    BAD_LENGTHS(d->kv_loc[2] = 40 + 71, QUIRE_E_LIMIT, "sequence 1 has 71 keys");
    BAD_LENGTHS(d->kv_loc[1] = 45;
                d->kv_loc[2] = 112, QUIRE_E_LIMIT, "more keys than max_kv_tokens 111");
    BAD_LENGTHS(b->kv_lens = d->kv_lens; d->kv_lens[1] = -4, QUIRE_E_INVALID_ARG, "kv_lens[1]");
    call_free(&c);
}

static void bad_rows(void **state)
{
    (void)state;
    struct call c;
    call_new(&c);
    struct dense_scene *d = &c.d;
    struct quire_dense_batch *b = &c.d.batch;
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
    BAD_ROWS(b->k = d->out, QUIRE_E_INVALID_ARG, "args.out and batch.k");
    BAD_ROWS(b->v = (char *)d->out - 2 * 16 * 4 * 109, QUIRE_E_INVALID_ARG, "args.out and batch.v");
    BAD_ROWS(d->args.lse = (void *)d->k.memory, QUIRE_E_INVALID_ARG, "args.lse and batch.k");
    BAD_ROWS(d->args.lse = (void *)d->v.memory, QUIRE_E_INVALID_ARG, "args.lse and batch.v");
    BAD_ROWS(d->args.struct_size = 0, QUIRE_E_MISUSE, "args.struct_size");
    BAD_ROWS(d->args.q = NULL, QUIRE_E_INVALID_ARG, "args.q");
    BAD_ROWS(d->args.out = d->q, QUIRE_E_INVALID_ARG, "args.q and args.out");
    BAD_ROWS(d->args.group = 1, QUIRE_E_INVALID_ARG, "args.group");
    BAD_ROWS(d->args.layer = 1, QUIRE_E_INVALID_ARG, "args.layer");
    call_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_exact_and_may_fail),
        cmocka_unit_test(bad_params),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(bad_lengths),
        cmocka_unit_test(bad_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
