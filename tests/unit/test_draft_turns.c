/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_turns.c - heads of multi-token prediction that take turns: their tensors, the rows of
 * each pass of a draft, and the same answers with and without. */
#include "engine/draft_heads.h"
#include "engine/request.h"
#include "test_mtp_heads.h"

/* ---- Opening */

static uint32_t count_heads(struct quire_model *base)
{
    struct quire_error err;
    struct quire_model *heads;
    struct quire_model_info info = { .struct_size = sizeof info };
    assert_status(QUIRE_OK, open_path(dir, base, &heads, &err));
    assert_status(QUIRE_OK, quire_model_get_info(heads, &info));
    assert_int_equal(info.is_mtp, 1);
    assert_int_equal(info.n_layers, info.n_mtp_heads);
    assert_status(QUIRE_OK, quire_model_close(heads));
    return info.n_mtp_heads;
}

static void test_info(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int k = 0; k < N_TURNS; k++) {
        struct quire_error err;
        struct quire_model *base, *heads;
        struct quire_model_info of = { .struct_size = sizeof of }, info = of;
        struct quire_kv_group_config group;
        uint32_t n;
        write_turns(k);
        assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
        assert_status(QUIRE_OK, quire_model_get_info(base, &of));
        assert_true(of.n_mtp_heads == 0 && of.mtp_chained == 0);
        assert_status(QUIRE_OK, open_path(dir, base, &heads, &err));
        assert_status(QUIRE_OK, quire_model_get_info(heads, &info));
        assert_int_equal(info.n_mtp_heads, N_HEADS);
        assert_int_equal(info.mtp_chained, k == STEP);
        assert_true(info.n_mtp_features == 1 && info.mtp_feature_layers[0] == of.n_layers);
        assert_true(info.mtp_hidden_size == HIDDEN && info.mtp_state_size == HIDDEN);
        const uint64_t output = k == STEP ? 0 : VOCAB * HIDDEN * sizeof(float);
        assert_int_equal(info.token_weight_bytes, info.weight_bytes / N_HEADS + output);
        assert_status(QUIRE_OK, quire_model_kv_groups(heads, &group, 1, &n));
        assert_true(n == 1 && group.n_layers == N_HEADS && group.sliding_window == 16);
        assert_status(QUIRE_OK, quire_model_close(heads));
        assert_status(QUIRE_OK, quire_model_close(base));
    }
}

/* Whether a head may do without a tensor: the head before it is the last one then, or the matrix is
 * the model's. */
static bool is_optional(const char *name, uint32_t head)
{
    return (head && strstr(name, "eh_proj")) || strstr(name, "shared_head.output");
}

static void check_tensor(const struct folder *f, size_t i, uint32_t head, struct quire_model *base)
{
    struct quire_error err;
    struct quire_model *heads;
    const char *name = f->t[i].name;
    write_folder(f, i, none);
    if (is_optional(name, head)) {
        assert_int_equal(count_heads(base), strstr(name, "eh_proj") ? head : N_HEADS);
    } else {
        assert_int_equal(open_path(dir, base, &heads, &err),
                         strstr(name, "eh_proj") ? QUIRE_E_UNSUPPORTED : QUIRE_E_FORMAT);
        if (!strstr(err.msg, name))
            fail_msg("without %s: %s", name, err.msg);
    }
    write_folder(f, none, i);
    assert_int_equal(open_path(dir, base, &heads, &err), QUIRE_E_FORMAT);
    if (!strstr(err.msg, name))
        fail_msg("longer %s: %s", name, err.msg);
}

/* Every tensor of every head is required, and its shape; a file may leave out the last heads. */
static void test_tensors(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int k = 0; k < N_TURNS; k++) {
        struct folder f;
        struct quire_error err;
        struct quire_model *base;
        make_turns(&f, k);
        write_folder(&f, none, none);
        assert_status(QUIRE_OK, open_path(dir, NULL, &base, &err));
        for (uint32_t head = 0; head < N_HEADS; head++) {
            char at[80];
            size_t n = 0;
            name_head(k, head, at);
            for (size_t i = 0; i < f.n; i++)
                if (strncmp(f.t[i].name, at, strlen(at)) == 0 && ++n)
                    check_tensor(&f, i, head, base);
            assert_true(n > 12);
        }
        assert_status(QUIRE_OK, quire_model_close(base));
        free_folder(&f);
    }
}

/* ---- Arguments of a step */

static void test_arguments(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 3 };
    static float x[N * HIDDEN], features[N * HIDDEN], hidden[4 * N * HIDDEN];
    static const int32_t ids[N] = { 3, 4, 5 };
    struct quire_error err;
    struct quire_model *m[2];
    struct run s;
    write_turns(STEP);
    assert_status(QUIRE_OK, open_path(dir, NULL, &m[0], &err));
    assert_status(QUIRE_OK, open_path(dir, m[0], &m[1], &err));
    open_run(&s, m[0]);
    struct quire_forward_args a = { .token_ids = ids, .mtp_head = 1 };
    assert_int_equal(run_rows(&s, 0, N, a, &err), QUIRE_E_RANGE);
    assert_non_null(strstr(err.msg, "mtp_head is 1"));
    const uint32_t layers[] = { 3 }; /* behind the last layer, whose input is layer 2 */
    a = (struct quire_forward_args){
        .token_ids = ids, .n_features = 1, .feature_layers = layers, .features = features
    };
    a.hidden = hidden;
    assert_status(QUIRE_OK, run_rows(&s, 0, N, a, &err));
    assert_memory_not_equal(features, hidden + 2 * N * HIDDEN, sizeof features);
    assert_memory_not_equal(features, hidden + 3 * N * HIDDEN, sizeof features); /* its norm */
    close_run(&s);
    open_run(&s, m[1]);
    for (uint32_t k = 0; k <= N_HEADS; k++) {
        a = (struct quire_forward_args){ .token_ids = ids, .previous_hidden = x, .mtp_head = k };
        assert_int_equal(run_rows(&s, 0, N, a, &err), k < N_HEADS ? QUIRE_OK : QUIRE_E_RANGE);
    }
    a = (struct quire_forward_args){ .token_ids = ids, .previous_hidden = x, .reserved4 = 1 };
    assert_int_equal(run_rows(&s, 0, N, a, &err), QUIRE_E_INVALID_ARG);
    assert_non_null(strstr(err.msg, "reserved4"));
    close_run(&s);
    for (int i = 1; i >= 0; i--)
        assert_status(QUIRE_OK, quire_model_close(m[i]));
}

/* ---- The rows of the passes */

/* What the heads compute for a request, by contexts of the test's own. */
struct expected {
    struct quire_engine *e;
    struct quire_model *base, *heads;
    bool chained;
    struct run run, of[N_HEADS]; /* the model; a context for each head, and so a KV cache */
    int32_t tokens[2 * ROWS];    /* of the request, and of its draft */
    uint32_t n, n_draft;         /* their numbers */
    bool zero[ROWS];             /* rows behind a cached prefix without a hidden state */
    bool began;                  /* the request has computed rows */
    float states[ROWS * HIDDEN]; /* of the model */
    float in[N_HEADS + 1][ROWS * HIDDEN], out[N_HEADS][ROWS * HIDDEN]; /* of each head */
    float drafted[32 * HIDDEN];                                        /* states that drafted */
    uint32_t n_compared;                                               /* passes */
};

static void open_expected(struct expected *x, enum turns_family family)
{
    struct quire_error err;
    struct quire_engine_params ep = mtp_params();
    ep.k_dtype = ep.v_dtype = QUIRE_KV_F32;
    ep.max_step_tokens = 48; /* prompts are computed in chunks */
    write_turns(family);
    x->e = open_with(&ep);
    x->chained = family == STEP;
    x->n_compared = 0;
    assert_status(QUIRE_OK, open_path(dir, NULL, &x->base, &err));
    assert_status(QUIRE_OK, open_path(dir, x->base, &x->heads, &err));
    open_run(&x->run, x->base);
    for (int k = 0; k < N_HEADS; k++)
        open_run(&x->of[k], x->heads);
}

static void close_expected(struct expected *x)
{
    close_run(&x->run);
    for (int k = 0; k < N_HEADS; k++)
        close_run(&x->of[k]);
    assert_status(QUIRE_OK, quire_model_close(x->heads));
    assert_status(QUIRE_OK, quire_model_close(x->base));
    assert_all_free(x->e);
    quire_engine_close(x->e);
}

static void run_head(struct expected *x, uint32_t k, uint32_t first, uint32_t end)
{
    struct quire_error err;
    const struct quire_forward_args a = { .token_ids = x->tokens + 1 + k + first,
                                          .previous_hidden = x->in[k] + first * HIDDEN,
                                          .last_hidden = x->out[k] + first * HIDDEN,
                                          .mtp_head = k };
    assert_status(QUIRE_OK, run_rows(&x->of[k], first, end, a, &err));
}

/* Computes all rows of all heads, the first `n_draft` tokens behind the request's being a draft. */
static void compute(struct expected *x)
{
    struct quire_error err;
    struct quire_model_info info = { .struct_size = sizeof info };
    const uint32_t rows = x->n - 1, last = N_HEADS - 1;
    assert_true(rows + x->n_draft < ROWS);
    assert_status(QUIRE_OK, quire_model_get_info(x->base, &info));
    const struct quire_forward_args a = { .token_ids = x->tokens,
                                          .n_features = 1,
                                          .feature_layers = &info.n_layers,
                                          .features = x->states };
    assert_status(QUIRE_OK, run_rows(&x->run, 0, rows, a, &err));
    for (uint32_t i = 0; i < rows; i++)
        if (x->zero[i])
            memset(x->states + i * HIDDEN, 0, HIDDEN * sizeof *x->states);
    for (uint32_t k = 0; k < N_HEADS; k++) {
        const uint32_t known = k > x->n_draft ? rows - (k - x->n_draft) : rows;
        memcpy(x->in[k], x->chained && k ? x->out[k - 1] : x->states,
               rows * HIDDEN * sizeof(float));
        run_head(x, k, 0, known);
        memcpy(x->drafted + k * HIDDEN, x->out[k] + (rows - 1) * HIDDEN, HIDDEN * sizeof(float));
    }
    for (uint32_t depth = N_HEADS; depth < x->n_draft + 1; depth++) {
        const uint32_t row = rows + depth - N_HEADS;
        const uint32_t from = x->chained ? depth - 1 : depth - N_HEADS;
        memcpy(x->in[last] + row * HIDDEN, x->drafted + from * HIDDEN, HIDDEN * sizeof(float));
        run_head(x, last, row, row + 1);
        memcpy(x->drafted + depth * HIDDEN, x->out[last] + row * HIDDEN, HIDDEN * sizeof(float));
    }
}

/* Compares the last pass of a step, which drafted token number `depth`, or computed rows of the
 * last head alone. */
static void compare(struct expected *x, uint32_t depth)
{
    const struct qr_draft_model *d = x->e->draft_model;
    const struct qr_batch *b = &d->batch;
    const uint32_t last = N_HEADS - 1, end = (uint32_t)b->seq_lens[0], first = end - b->n_tokens;
    compute(x);
    assert_int_equal(b->mtp_head, last);
    if (depth >= last)
        assert_int_equal(end, x->n - 1 + depth - last);
    assert_memory_equal(b->token_ids, x->tokens + first + N_HEADS,
                        b->n_tokens * sizeof *b->token_ids);
    assert_memory_equal(d->hidden_in, x->in[last] + first * HIDDEN,
                        b->n_tokens * HIDDEN * sizeof(float));
    assert_memory_equal(d->hidden_out, x->out[last] + first * HIDDEN,
                        b->n_tokens * HIDDEN * sizeof(float));
    x->n_compared++;
}

/* The row that all heads began with in a step that computed n_rows rows of them together, hidden
 * states being known before position `end`. */
static uint32_t first_row(uint32_t n, uint32_t end, uint32_t n_draft, uint64_t n_rows)
{
    uint64_t ends = 0;
    n_rows -= n_draft > N_HEADS ? n_draft - N_HEADS : 0;
    for (uint32_t k = 0; k < N_HEADS; k++) {
        const uint32_t known = n - 1 - k < end ? n - 1 - k : end;
        ends += n_draft > k ? n - 1 : known;
    }
    return (uint32_t)((ends - n_rows) / N_HEADS);
}

/* Runs a step of the only request, and compares its last pass. */
static void run_step(struct expected *x)
{
    struct quire_engine *e = x->e;
    const struct qr_request *r =
        e->scheduler.n_running ? qr_request_of(e->scheduler.running[0]) : NULL;
    const uint32_t n = r ? r->task.n_tokens : 0, known = r ? r->hidden_first : 0,
                   n_hidden = r ? r->n_hidden : 0;
    const uint64_t before = stats_of(e).draft_model_tokens;
    assert_status(QUIRE_OK, quire_engine_step(e, NULL));
    r = e->scheduler.n_running ? qr_request_of(e->scheduler.running[0]) : NULL;
    const uint64_t n_rows = stats_of(e).draft_model_tokens - before;
    if (!r || n == 0 || n_rows == 0 || r->mtp_base)
        return;
    x->n = n;
    x->n_draft = r->n_model_draft ? r->n_model_draft - 1 : 0; /* that a head has read */
    memcpy(x->tokens, r->tokens, n * sizeof *x->tokens);
    memcpy(x->tokens + n, r->draft, (x->n_draft + 1) * sizeof *x->tokens);
    if (!x->began)
        for (uint32_t i = first_row(n, known + n_hidden, r->n_model_draft, n_rows); i < known; i++)
            x->zero[i] = true;
    x->began = true;
    compare(x, x->n_draft);
}

/* Each head computes each of its rows once, from the tokens and states that it is to read; drafts
 * that are rejected, a prefix in the cache and further tokens leave no trace. */
static void test_rows(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct expected x;
    for (int family = 0; family < N_TURNS; family++)
        for (uint32_t depth = 1; depth <= 6; depth++) {
            open_expected(&x, family);
            for (uint32_t i = 0; i < 4; i++) { /* the second and fourth find their prompt */
                make_prompt(i / 2);
                const struct quire_sampling_params s = sampling_of(i ? 1.0f : 0, i);
                struct quire_request_params p = fixed(prompt, 60 + 7 * i, 40, &s);
                p.draft_tokens = depth;
                const quire_request_id id = submit(x.e, &p);
                x.began = false;
                if (i % 2 == 0)
                    memset(x.zero, 0, sizeof x.zero);
                static struct result result;
                do
                    run_step(&x);
                while (x.e->scheduler.n_running);
                run_one(x.e, id, &result);
                assert_int_equal(result.n_tokens, 40);
            }
            const struct quire_engine_stats stats = stats_of(x.e);
            assert_true(stats.model_accepted_tokens > 0);
            assert_true(stats.model_accepted_tokens < stats.model_drafted_tokens);
            assert_true(x.n_compared + 4 * 3 > stats.n_steps); /* all but those of chunks */
            close_expected(&x);
        }
}

/* ---- Answers */

static void test_same_answers(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int k = 0; k < N_TURNS; k++) {
        write_turns(k);
        check_head(mtp_params());
    }
}

/* Several requests at a time draft the same tokens as each alone. */
static void test_batches(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    enum { N = 4 };
    for (int k = 0; k < N_TURNS; k++) {
        struct quire_engine_stats stats[2];
        write_turns(k);
        for (int together = 0; together < 2; together++) {
            static struct result results[N];
            const struct quire_engine_params ep = mtp_params();
            struct quire_engine *e = open_with(&ep);
            quire_request_id ids[N];
            for (uint32_t i = 0; i < N; i++) {
                make_prompt(i);
                const struct quire_sampling_params s = sampling_of(1, i);
                struct quire_request_params p = fixed(prompt, 30 + 9 * i, 50, &s);
                p.draft_tokens = 2 + i;
                p.flags |= QUIRE_REQUEST_NO_REUSE;
                ids[i] = submit(e, &p);
                if (!together)
                    run_one(e, ids[i], &results[i]);
            }
            if (together)
                run_to_completion(e, ids, N, results);
            stats[together] = stats_of(e);
            quire_engine_close(e);
        }
        assert_true(stats[0].n_steps > 2 * stats[1].n_steps);
        assert_int_equal(stats[0].model_drafted_tokens, stats[1].model_drafted_tokens);
        assert_int_equal(stats[0].model_accepted_tokens, stats[1].model_accepted_tokens);
    }
}

/* One head of these families alone, and two of three. */
static void test_fewer_heads(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int k = 0; k < N_TURNS; k++) {
        struct folder f;
        size_t skipped = none;
        make_turns(&f, k);
        for (size_t i = 0; i < f.n; i++) {
            char at[80];
            name_head(k, 1, at);
            if (strncmp(f.t[i].name, at, strlen(at)) == 0 && strstr(f.t[i].name, "eh_proj"))
                skipped = i;
        }
        write_with_tokenizer(&f);
        write_folder(&f, skipped, none);
        struct quire_engine_params p = mtp_params();
        struct quire_engine *e = open_with(&p);
        assert_int_equal(e->draft_model->heads->n, 1);
        quire_engine_close(e);
        check_head(mtp_params());
        write_folder(&f, none, none); /* all heads, of which two suffice */
        p.max_draft_tokens = 2;
        e = open_with(&p);
        assert_int_equal(e->draft_model->heads->n, 2);
        static struct result plain, drafted;
        make_prompt(1);
        const struct quire_sampling_params s = sampling_of(1, 4);
        struct quire_request_params request = fixed(prompt, 40, 60, &s);
        generate(e, &request, &plain);
        request.draft_tokens = 2;
        generate(e, &request, &drafted);
        assert_same(&plain, &drafted);
        assert_true(stats_of(e).model_drafted_tokens > 60);
        quire_engine_close(e);
        free_folder(&f);
    }
}

/* The KV cache and the buffers of all heads are in the sizes that a dry run tells. */
static void test_sizes(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_info info[2] = { { .struct_size = sizeof *info },
                                         { .struct_size = sizeof *info } };
    for (int one = 0; one < 2; one++) {
        struct folder f;
        size_t skipped = none;
        make_turns(&f, MIMO_V2);
        for (size_t i = 0; one && i < f.n; i++)
            if (strcmp(f.t[i].name, "model.mtp.layers.1.eh_proj.weight") == 0)
                skipped = i;
        write_with_tokenizer(&f);
        write_folder(&f, skipped, none);
        struct quire_engine_params p = mtp_params();
        struct quire_engine *e = open_with(&p);
        assert_status(QUIRE_OK, quire_engine_get_info(e, &info[one]));
        quire_engine_close(e);
        free_folder(&f);
    }
    /* the counts of references of blocks are not per layer */
    assert_true(info[0].draft_kv_bytes > 2 * info[1].draft_kv_bytes);
    assert_true(info[0].draft_weight_bytes > 2 * info[1].draft_weight_bytes);
    assert_true(info[0].draft_context_bytes > info[1].draft_context_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),         cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_arguments),    cmocka_unit_test(test_rows),
        cmocka_unit_test(test_same_answers), cmocka_unit_test(test_fewer_heads),
        cmocka_unit_test(test_sizes),        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
