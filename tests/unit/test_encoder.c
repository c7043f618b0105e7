/* SPDX-License-Identifier: Apache-2.0 */
/* test_encoder.c - encoder passes through the public API: batch invariance, pooling, limits,
 * misuse. */
#include "test_encoder.h"
#include <math.h>

/* Lengths of three sequences. */
static const int32_t lens[] = { 5, 70, 40 };
enum { N = 3, ROWS = 115 };

struct outputs {
    float *hidden, *pooled, *logits;
};

static struct outputs make_outputs(const struct quire_model_info *info, size_t rows)
{
    return (struct outputs){ floats(rows * info->hidden_size), floats(MAX_SEQS * info->hidden_size),
                             info->has_logits ? floats(rows * info->vocab_size) : NULL };
}

static void free_outputs(struct outputs *o)
{
    free(o->hidden);
    free(o->pooled);
    free(o->logits);
}

static void encode(const struct world *w, uint32_t n_seqs, const int32_t *starts,
                   const int32_t *ids, const struct outputs *o)
{
    const struct quire_encode_args step = { .struct_size = sizeof step,
                                            .n_seqs = n_seqs,
                                            .query_start_loc = starts,
                                            .token_ids = ids,
                                            .hidden = o->hidden,
                                            .pooled = o->pooled,
                                            .pooling = QUIRE_POOLING_MEAN,
                                            .normalize = 1,
                                            .logits = o->logits };
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = quire_context_encode(w->context, &step, &err);
    if (s != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(s, QUIRE_OK);
}

/* Compares sequence i of a pass with the same sequence in another pass. */
static void assert_same_sequence(const struct quire_model_info *info, int32_t n,
                                 const struct outputs *a, int32_t row_a, uint32_t seq_a,
                                 const struct outputs *b, int32_t row_b, uint32_t seq_b)
{
    const size_t width = info->hidden_size, vocab = info->vocab_size, rows = (size_t)n;
    assert_memory_equal(a->hidden + (size_t)row_a * width, b->hidden + (size_t)row_b * width,
                        rows * width * sizeof(float));
    assert_memory_equal(a->pooled + seq_a * width, b->pooled + seq_b * width,
                        width * sizeof(float));
    if (a->logits)
        assert_memory_equal(a->logits + (size_t)row_a * vocab, b->logits + (size_t)row_b * vocab,
                            rows * vocab * sizeof(float));
}

/* Equal bits alone, batched, in another order, and for any number of threads. */
static void same_bits(void **state)
{
    static const char *const names[] = { "bert", "modernbert" };
    static const uint32_t threads[] = { 0, 1, 2, 3, 7 };
    (void)state;
    if (!need_shared())
        skip();
    for (int m = 0; m < 2; m++) {
        int32_t ids[ROWS], backwards[ROWS];
        const int32_t starts[] = { 0, 5, 75, 115 }, back_starts[] = { 0, 40, 110, 115 };
        make_ids(ids, ROWS, 3);
        memcpy(backwards, ids + 75, 40 * sizeof *ids);
        memcpy(backwards + 40, ids + 5, 70 * sizeof *ids);
        memcpy(backwards + 110, ids, 5 * sizeof *ids);
        struct world w = good_world(&(struct setting){ .name = names[m] });
        struct outputs all = make_outputs(&w.info, ROWS), one = make_outputs(&w.info, ROWS);
        encode(&w, N, starts, ids, &all);
        for (uint32_t i = 0; i < N; i++) {
            const int32_t alone[] = { 0, lens[i] };
            encode(&w, 1, alone, ids + starts[i], &one);
            assert_same_sequence(&w.info, lens[i], &one, 0, 0, &all, starts[i], i);
        }
        close_world(&w);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            w = good_world(&(struct setting){ .name = names[m], .threads = threads[t] });
            encode(&w, N, back_starts, backwards, &one);
            for (uint32_t i = 0; i < N; i++)
                assert_same_sequence(&w.info, lens[i], &one, back_starts[2 - i], 2 - i, &all,
                                     starts[i], i);
            close_world(&w);
        }
        free_outputs(&all);
        free_outputs(&one);
    }
}

/* Pooled vectors against the hidden states. */
static void pooling(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t starts[] = { 0, 1, 8 };
    int32_t ids[8];
    make_ids(ids, 8, 5);
    struct world w = good_world(&(struct setting){ .name = "bert" });
    const size_t width = w.info.hidden_size;
    float *hidden = floats(8 * width), *pooled = floats(2 * width);
    for (int kind = QUIRE_POOLING_CLS; kind <= QUIRE_POOLING_LAST; kind++)
        for (uint32_t normalize = 0; normalize < 2; normalize++) {
            struct quire_encode_args step = { .struct_size = sizeof step,
                                              .n_seqs = 2,
                                              .query_start_loc = starts,
                                              .token_ids = ids,
                                              .hidden = hidden,
                                              .pooled = pooled,
                                              .pooling = (enum quire_pooling)kind,
                                              .normalize = normalize };
            assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
            for (int i = 0; i < 2; i++) {
                double want[64], length = 0;
                for (size_t d = 0; d < width; d++) {
                    const int first = kind == QUIRE_POOLING_LAST ? starts[i + 1] - 1 : starts[i];
                    const int end = kind == QUIRE_POOLING_MEAN ? starts[i + 1] : first + 1;
                    want[d] = 0;
                    for (int r = first; r < end; r++)
                        want[d] += (double)hidden[(size_t)r * width + d] / (end - first);
                    length += want[d] * want[d];
                }
                for (size_t d = 0; d < width; d++)
                    assert_true(fabs(pooled[(size_t)i * width + d] -
                                     want[d] / (normalize ? sqrt(length) : 1)) < 1e-5);
            }
        }
    free(hidden);
    free(pooled);
    close_world(&w);
}

/* Token types change the results and default to 0. Rows of logits can be chosen. The last of all
 * layers' states are the hidden states. */
static void options(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int32_t starts[] = { 0, 9 }, zeros[9] = { 0 }, types[9] = { 0, 0, 0, 0, 1, 1, 1, 1, 1 };
    int32_t ids[9];
    make_ids(ids, 9, 7);
    struct world w = good_world(&(struct setting){ .name = "bert" });
    const size_t n = 9 * (size_t)w.info.hidden_size;
    float *plain = floats(n), *typed = floats(n), *layers = floats(3 * n);
    struct quire_encode_args step = { .struct_size = sizeof step,
                                      .n_seqs = 1,
                                      .query_start_loc = starts,
                                      .token_ids = ids,
                                      .hidden = plain,
                                      .layers = layers };
    assert_int_equal(w.info.n_encoder_layers, 2);
    assert_int_equal(w.info.n_token_types, 2);
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    assert_memory_equal(plain, layers + 2 * n, n * sizeof *plain);
    step.layers = NULL;
    step.hidden = typed;
    step.token_type_ids = zeros;
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    assert_memory_equal(plain, typed, n * sizeof *plain);
    step.token_type_ids = types;
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    assert_memory_not_equal(plain, typed, n * sizeof *plain);
    close_world(&w);
    free(plain);
    free(typed);
    free(layers);

    w = good_world(&(struct setting){ .name = "modernbert" });
    const size_t vocab = w.info.vocab_size;
    const uint32_t rows[] = { 8, 0, 8, 3 };
    float *all = floats(9 * vocab), *some = floats(4 * vocab);
    step = (struct quire_encode_args){ .struct_size = sizeof step,
                                       .n_seqs = 1,
                                       .query_start_loc = starts,
                                       .token_ids = ids,
                                       .logits = all };
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    step.logits = some;
    step.logits_rows = rows;
    step.n_logits = 4;
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    for (int i = 0; i < 4; i++)
        assert_memory_equal(some + (size_t)i * vocab, all + rows[i] * vocab, vocab * sizeof *all);
    close_world(&w);
    free(all);
    free(some);
}

/* A valid pass of three sequences over bert or modernbert, which tests then modify. */
struct pass {
    struct world w;
    int32_t ids[ROWS], types[ROWS], starts[N + 1];
    struct outputs o;
    struct quire_encode_args step;
};

static struct pass *make_pass(const char *name)
{
    static struct pass p;
    p = (struct pass){ .w = good_world(&(struct setting){ .name = name }),
                       .starts = { 0, 5, 75, 115 } };
    p.o = make_outputs(&p.w.info, ROWS);
    make_ids(p.ids, ROWS, 3);
    return &p;
}

static void reset(struct pass *p)
{
    static const int32_t starts[] = { 0, 5, 75, 115 };
    memcpy(p->starts, starts, sizeof starts);
    p->step = (struct quire_encode_args){ .struct_size = sizeof p->step,
                                          .n_seqs = N,
                                          .query_start_loc = p->starts,
                                          .token_ids = p->ids,
                                          .token_type_ids = p->types,
                                          .hidden = p->o.hidden };
}

static void end_pass(struct pass *p)
{
    assert_untouched(p->o.hidden, ROWS * p->w.info.hidden_size);
    assert_untouched(p->o.pooled, MAX_SEQS * p->w.info.hidden_size);
    close_world(&p->w);
    free_outputs(&p->o);
}

#define refuse(status, text)                                                                       \
    do {                                                                                           \
        expect_error(status, text, quire_context_encode(p->w.context, &p->step, err));             \
        reset(p);                                                                                  \
    } while (0)

static void bad_sequences(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct pass *p = make_pass("bert");
    reset(p);
    expect_error(QUIRE_E_INVALID_ARG, "context is NULL", quire_context_encode(NULL, &p->step, err));
    expect_error(QUIRE_E_INVALID_ARG, "args is NULL",
                 quire_context_encode(p->w.context, NULL, err));
    p->step.struct_size = offsetof(struct quire_encode_args, cross_slot_mapping);
    refuse(QUIRE_E_MISUSE, "struct_size");
    p->step.n_seqs = MAX_SEQS + 1;
    refuse(QUIRE_E_LIMIT, "n_seqs is 5");
    p->step.query_start_loc = NULL;
    refuse(QUIRE_E_INVALID_ARG, "query_start_loc is NULL");
    p->starts[0] = 1;
    refuse(QUIRE_E_INVALID_ARG, "query_start_loc[0] is 1");
    p->starts[2] = 4;
    refuse(QUIRE_E_INVALID_ARG, "query_start_loc[2] is 4");
    p->starts[2] = INT32_MIN;
    refuse(QUIRE_E_INVALID_ARG, "query_start_loc[2]");
    p->starts[3] = MAX_TOKENS + 1;
    refuse(QUIRE_E_LIMIT, "query_start_loc[3] is 161");
    p->starts[2] = 5, p->starts[3] = 134;
    refuse(QUIRE_E_LIMIT, "sequence 2 has 129 tokens, the context allows 128");
    p->starts[2] = 5, p->step.pooled = p->o.pooled;
    refuse(QUIRE_E_INVALID_ARG, "sequence 1 has no tokens to pool");
    /* an empty pass is valid, and so are empty sequences */
    p->step.n_seqs = 0;
    assert_status(QUIRE_OK, quire_context_encode(p->w.context, &p->step, NULL));
    reset(p);
    p->starts[1] = p->starts[2] = p->starts[3] = 0;
    assert_status(QUIRE_OK, quire_context_encode(p->w.context, &p->step, NULL));
    assert_int_equal(quire_model_close(p->w.model), QUIRE_E_BUSY);
    end_pass(p);
}

static void bad_tokens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct pass *p = make_pass("bert");
    reset(p);
    p->step.token_ids = NULL;
    refuse(QUIRE_E_INVALID_ARG, "token_ids and args.embeddings are both NULL");
    p->ids[114] = 320;
    refuse(QUIRE_E_RANGE, "token_ids[114] is 320");
    p->ids[114] = -1;
    refuse(QUIRE_E_RANGE, "token_ids[114] is -1");
    p->ids[114] = 0;
    p->types[7] = 2;
    refuse(QUIRE_E_RANGE, "token_type_ids[7] is 2");
    p->types[7] = -1;
    refuse(QUIRE_E_RANGE, "token_type_ids[7] is -1");
    end_pass(p);
    p = make_pass("modernbert"); /* no types: only 0 */
    reset(p);
    p->types[9] = 1;
    refuse(QUIRE_E_RANGE, "token_type_ids[9] is 1, the model has 0 types");
    end_pass(p);
}

static void bad_outputs(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const int64_t slots[ROWS] = { 0 };
    const uint32_t row = ROWS;
    struct pass *p = make_pass("bert");
    reset(p);
    p->step.pooled = p->o.pooled, p->step.pooling = (enum quire_pooling)(QUIRE_POOLING_DEFAULT + 1);
    refuse(QUIRE_E_INVALID_ARG, "pooling 5");
    p->step.pooled = p->o.pooled, p->step.pooling = (enum quire_pooling) - 1;
    refuse(QUIRE_E_INVALID_ARG, "pooling -1");
    p->step.logits = p->o.hidden;
    refuse(QUIRE_E_UNSUPPORTED, "no output matrix");
    p->step.cross_slot_mapping = slots;
    refuse(QUIRE_E_UNSUPPORTED, "no decoder");
    end_pass(p);
    p = make_pass("modernbert");
    reset(p);
    p->step.pooled = p->o.pooled, p->step.pooling = QUIRE_POOLING_POOLER;
    refuse(QUIRE_E_UNSUPPORTED, "no pooler");
    p->step.logits = p->o.logits, p->step.logits_rows = &row, p->step.n_logits = 1;
    refuse(QUIRE_E_RANGE, "logits_rows[0] is 115");
    p->step.logits = p->o.logits, p->step.logits_rows = &row, p->step.n_logits = MAX_TOKENS + 1;
    refuse(QUIRE_E_LIMIT, "161 rows of logits");
    end_pass(p);
}
#undef refuse

/* Calls and contexts for another kind of model. */
static void wrong_kind(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct world w = good_world(&(struct setting){ .name = "bert" });
    const struct quire_forward_args forward = { .struct_size = sizeof forward };
    expect_error(QUIRE_E_UNSUPPORTED, "use quire_context_encode",
                 quire_context_forward(w.context, &forward, err));
    assert_true(w.info.kind == QUIRE_MODEL_ENCODER && w.n_groups == 0 && w.info.cross_group == -1 &&
                !w.info.has_logits && w.info.has_pooler);
    struct quire_context_params p = default_params();
    struct quire_context *c;
    p.kv = (struct quire_kv_cache *)&w; /* never dereferenced */
    expect_error(QUIRE_E_INVALID_ARG, "params.kv must be NULL",
                 quire_context_create(w.model, &p, &c, err));
    p.kv = NULL, p.max_encoder_tokens = (1 << 20) + 1;
    expect_error(QUIRE_E_INVALID_ARG, "max_encoder_tokens",
                 quire_context_create(w.model, &p, &c, err));
    p = default_params(), p.max_encoder_len = 1u << 31;
    expect_error(QUIRE_E_INVALID_ARG, "max_encoder_len",
                 quire_context_create(w.model, &p, &c, err));
    p = default_params(), p.encoder_dtype = (enum quire_kv_dtype)77;
    expect_error(QUIRE_E_INVALID_ARG, "dtype", quire_context_create(w.model, &p, &c, err));
    assert_null(c);
    close_world(&w);
    w = good_world(&(struct setting){ .name = "llama", .n_blocks = 4 });
    const struct quire_encode_args encode_step = { .struct_size = sizeof encode_step };
    expect_error(QUIRE_E_UNSUPPORTED, "use quire_context_forward",
                 quire_context_encode(w.context, &encode_step, err));
    assert_true(w.info.kind == QUIRE_MODEL_DECODER && w.info.n_encoder_layers == 0 &&
                w.info.has_logits);
    close_world(&w);
}

/* The table of learned positions is finite; a context may have a larger limit. */
static void positions_end(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_context_params p = default_params();
    p.max_encoder_len = 140;
    struct world w = good_world(&(struct setting){ .name = "bert", .params = p });
    int32_t ids[130];
    make_ids(ids, 130, 2);
    int32_t starts[] = { 0, 128 };
    float *hidden = floats(130 * w.info.hidden_size);
    struct quire_encode_args step = { .struct_size = sizeof step,
                                      .n_seqs = 1,
                                      .query_start_loc = starts,
                                      .token_ids = ids,
                                      .hidden = hidden };
    assert_int_equal(w.info.context_length, 128);
    starts[1] = 129;
    expect_error(QUIRE_E_LIMIT, "position 128 is beyond",
                 quire_context_encode(w.context, &step, err));
    assert_untouched(hidden, 130 * w.info.hidden_size);
    starts[1] = 128;
    assert_status(QUIRE_OK, quire_context_encode(w.context, &step, NULL));
    free(hidden);
    close_world(&w);
}

/* A context allocates the bytes it reports, a pass allocates nothing, and every allocation failure
 * is handled. */
static void memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    fail_alloc_init(&f, 0, false);
    struct world w = good_world(&(struct setting){ .name = "modernbert", .allocator = &f.hooks });
    struct quire_context_params p = default_params();
    p.allocator = &f.hooks;
    p.max_encoder_tokens = 300;
    struct quire_context *c;
    uint64_t bytes;
    const size_t before = f.live_bytes;
    assert_status(QUIRE_OK, quire_context_bytes(w.model, &p, &bytes, &err));
    assert_int_equal(f.live_bytes, before);
    assert_status(QUIRE_OK, quire_context_create(w.model, &p, &c, &err));
    assert_int_equal(f.live_bytes - before, bytes);
    quire_context_destroy(c);
    int32_t ids[ROWS];
    const int32_t starts[] = { 0, 5, 75, 115 };
    make_ids(ids, ROWS, 3);
    struct outputs o = make_outputs(&w.info, ROWS);
    const size_t calls = f.calls;
    encode(&w, N, starts, ids, &o);
    assert_int_equal(f.calls, calls);
    free_outputs(&o);
    close_world(&w);
    assert_int_equal(f.live_bytes, 0);
    for (size_t n = 1;; n++) {
        fail_alloc_init(&f, n, n % 2);
        const quire_status s =
            open_world(&w, &(struct setting){ .name = "bert", .allocator = &f.hooks }, &err);
        close_world(&w);
        assert_int_equal(f.live_bytes, 0);
        if (f.calls < n)
            break;
        assert_true(s == QUIRE_E_NOMEM || s == QUIRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),  cmocka_unit_test(pooling),
        cmocka_unit_test(options),    cmocka_unit_test(bad_sequences),
        cmocka_unit_test(bad_tokens), cmocka_unit_test(bad_outputs),
        cmocka_unit_test(wrong_kind), cmocka_unit_test(positions_end),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
