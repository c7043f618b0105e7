/* SPDX-License-Identifier: Apache-2.0 */
/* test_input_sums.c - sums of squares of the inputs of matrices, against hidden states. */
#include "model/forward/input_sums.h"
#include "test_model_world.h"
#include <math.h>

enum { MAX_WIDTH = 256, MAX_LAYERS = 8, VOCAB = 1024, FIRST = 23, SECOND = 14 };

static float logits[2 * TOKENS * VOCAB], hidden[(MAX_LAYERS + 1) * 2 * TOKENS * MAX_WIDTH];

static void make_ids(const struct world *w, int32_t *ids)
{
    for (int i = 0; i < 2 * TOKENS; i++)
        ids[i] = (i * 37 + 11) % (int32_t)w->info.vocab_size;
}

/* Runs FIRST and SECOND tokens of two sequences, `most` of each in a step. */
static void run(struct world *w, int32_t most)
{
    const int32_t all[2] = { FIRST, SECOND };
    int32_t ids[2 * TOKENS], part[2 * TOKENS], begin[2] = { 0, 0 };
    make_ids(w, ids);
    assert_true(w->info.vocab_size <= VOCAB);
    while (begin[0] < all[0] || begin[1] < all[1]) {
        int32_t n[2], at = 0;
        for (int q = 0; q < 2; q++) {
            n[q] = all[q] - begin[q] < most ? all[q] - begin[q] : most;
            memcpy(part + at, ids + q * TOKENS + begin[q], (size_t)n[q] * sizeof *part);
            at += n[q];
        }
        step(w, part, begin, n, logits);
        begin[0] += n[0];
        begin[1] += n[1];
    }
}

static struct qr_input_sums *attach(const struct world *w)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_input_sums *sums;
    assert_status(QUIRE_OK, qr_input_sums_create(w->model, &sums, &err));
    qr_input_sums_attach(w->context, sums);
    return sums;
}

static const float *sums_of(const struct qr_input_sums *sums, const struct quire_model *m,
                            uint32_t layer, enum qr_weight_role role, uint64_t *n)
{
    const float *s = qr_input_sums_get(sums, m->layers[layer].mat[role], n);
    assert_non_null(s);
    return s;
}

/* What enters the queries is the RMS norm of the layer's input. */
static void equals_norms_of_hidden_states(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct world w;
    open_world(&w, "llama", QUIRE_COMPUTE_F32, 2, NULL);
    const struct quire_model *m = w.model;
    const uint32_t width = w.info.hidden_size, rows = FIRST + SECOND;
    assert_true(width <= MAX_WIDTH && w.info.n_layers <= MAX_LAYERS);
    w.hidden = hidden;
    struct qr_input_sums *sums = attach(&w);
    run(&w, TOKENS);
    for (uint32_t i = 0; i < w.info.n_layers; i++) {
        static double want[MAX_WIDTH];
        uint64_t n;
        memset(want, 0, sizeof want);
        for (uint32_t r = 0; r < rows; r++) {
            const float *x = hidden + ((size_t)i * rows + r) * width;
            double squares = 0;
            for (uint32_t c = 0; c < width; c++)
                squares += (double)x[c] * x[c];
            for (uint32_t c = 0; c < width; c++) {
                const double h = x[c] / sqrt(squares / width + m->config->norm_eps) *
                                 m->layers[i].vec[QR_W_ATTN_NORM][c];
                want[c] += h * h;
            }
        }
        const float *q = sums_of(sums, m, i, QR_W_ATTN_Q, &n);
        assert_int_equal(n, rows);
        for (uint32_t c = 0; c < width; c++)
            assert_true(fabs(q[c] - want[c]) <= 1e-4 * want[c] + 1e-9);
        assert_memory_equal(q, sums_of(sums, m, i, QR_W_ATTN_V, &n), width * sizeof *q);
        const float *down = sums_of(sums, m, i, QR_W_FFN_DOWN, &n);
        assert_int_equal(n, rows);
        assert_true(down[0] > 0);
    }
    qr_input_sums_free(sums);
    close_world(&w);
}

/* All sums of a run, and the logits of its last step. */
static size_t collect(enum quire_compute compute, uint32_t threads, int32_t most, float *out,
                      float *last)
{
    struct world w;
    size_t n = 0;
    open_world(&w, "llama", compute, threads, NULL);
    struct qr_input_sums *sums = attach(&w);
    run(&w, most);
    memcpy(last, logits, w.info.vocab_size * sizeof *last);
    for (uint32_t i = 0; i < w.info.n_layers; i++)
        for (int r = 0; r < QR_W_N_ROLES; r++) {
            const struct qr_packed *p = w.model->layers[i].mat[r];
            uint64_t rows;
            const float *s = p ? qr_input_sums_get(sums, p, &rows) : NULL;
            for (size_t c = 0; s && c < p->k; c++)
                out[n++] = s[c];
        }
    qr_input_sums_free(sums);
    close_world(&w);
    return n;
}

static void is_the_same_for_any_threads_and_steps(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static float one[1 << 16], other[1 << 16], last[VOCAB], other_last[VOCAB];
    const size_t n = collect(QUIRE_COMPUTE_F32, 1, TOKENS, one, last);
    assert_true(n > 0);
    assert_int_equal(collect(QUIRE_COMPUTE_F32, 3, TOKENS, other, other_last), n);
    assert_memory_equal(one, other, n * sizeof *one);
    assert_memory_equal(last, other_last, sizeof last);
    collect(QUIRE_COMPUTE_F32, 2, 2, other, other_last); /* rows that all threads keep */
    for (size_t i = 0; i < n; i++)
        assert_float_equal(one[i], other[i], 1e-5f * one[i] + 1e-9f);
    collect(QUIRE_COMPUTE_NATIVE, 2, TOKENS, other, other_last);
    struct world w; /* sums change no result */
    open_world(&w, "llama", QUIRE_COMPUTE_NATIVE, 2, NULL);
    run(&w, TOKENS);
    assert_memory_equal(logits, other_last, w.info.vocab_size * sizeof *logits);
    close_world(&w);
}

static void experts_have_their_own_rows(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct world w;
    open_world(&w, "mixtral", QUIRE_COMPUTE_F32, 2, NULL);
    const struct qr_moe_config *moe = &w.model->config->moe;
    struct qr_input_sums *sums = attach(&w);
    run(&w, TOKENS);
    for (uint32_t i = 0; i < w.info.n_layers; i++) {
        const struct qr_model_layer *l = &w.model->layers[i];
        uint64_t total = 0, n, other;
        for (uint32_t e = 0; e < moe->n_experts; e++) {
            const struct qr_packed *up = l->experts[QR_W_EXPERT_UP][e];
            const float *a = qr_input_sums_get(sums, up, &n),
                        *b = qr_input_sums_get(sums, l->experts[QR_W_EXPERT_GATE][e], &other);
            assert_int_equal(n, other);
            assert_memory_equal(a, b, up->k * sizeof *a);
            assert_non_null(qr_input_sums_get(sums, l->experts[QR_W_EXPERT_DOWN][e], &other));
            assert_int_equal(n, other);
            total += n;
        }
        assert_int_equal(total, (FIRST + SECOND) * moe->top_k);
    }
    qr_input_sums_attach(w.context, NULL);
    run(&w, TOKENS);
    uint64_t n;
    sums_of(sums, w.model, 0, QR_W_ATTN_Q, &n);
    assert_int_equal(n, FIRST + SECOND);
    assert_null(qr_input_sums_get(sums, (const struct qr_packed *)(const void *)&w, &n));
    qr_input_sums_free(sums);
    close_world(&w);
}

static void fails_without_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct fail_alloc f;
    struct world w;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_input_sums *sums;
    fail_alloc_init(&f, 0, false);
    open_world(&w, "llama", QUIRE_COMPUTE_F32, 1, &f.hooks);
    const size_t before = f.live_bytes;
    quire_status s = QUIRE_E_NOMEM;
    for (size_t k = 1; s != QUIRE_OK; k++) {
        f.fail_at = f.calls + k;
        s = qr_input_sums_create(w.model, &sums, &err);
        assert_true(s == QUIRE_OK || (s == QUIRE_E_NOMEM && sums == NULL && k < 8));
        assert_true(s == QUIRE_OK || f.live_bytes == before);
    }
    qr_input_sums_free(sums);
    assert_int_equal(f.live_bytes, before);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_norms_of_hidden_states),
        cmocka_unit_test(is_the_same_for_any_threads_and_steps),
        cmocka_unit_test(experts_have_their_own_rows),
        cmocka_unit_test(fails_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
