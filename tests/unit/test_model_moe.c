/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_moe.c - mixture of experts: routing, batch invariance, memory. */
#include "model/forward/moe_route.h"
#include "test_model_world.h"
#include <math.h>
#include <quire/model.h>

/* ---- routing */

static const struct qr_moe_config plain = {
    .n_experts = 6, .top_k = 3, .n_groups = 1, .topk_groups = 1, .weights_scale = 1
};

static void route(struct qr_moe_config m, const float *scores, const float *correction,
                  uint32_t *experts, float *weights)
{
    float copy[16];
    memcpy(copy, scores, m.n_experts * sizeof *copy);
    qr_moe_route(&m, copy, correction, NULL, experts, weights);
}

static void routes_by_softmax(void **state)
{
    (void)state;
    const float scores[] = { 0, 2, 1, 2, -1, 1000 };
    uint32_t e[6];
    float w[6];
    struct qr_moe_config m = plain;
    route(m, scores, NULL, e, w);
    assert_int_equal(e[0], 5);
    assert_int_equal(e[1], 0); /* the other scores underflow to zero: lowest index first */
    assert_int_equal(e[2], 1);
    assert_float_equal(w[0], 1, 0);
    const float ties[] = { 0, 2, 1, 2, -1, 0 };
    route(m, ties, NULL, e, w);
    assert_int_equal(e[0], 1);
    assert_int_equal(e[1], 3);
    assert_int_equal(e[2], 2);
    const double sum = 2 * exp(2) + exp(1) + 2 + exp(-1);
    assert_float_equal(w[0], (float)(exp(2) / sum), 1e-6f);
    assert_float_equal(w[2], (float)(exp(1) / sum), 1e-6f);
    m.renormalize = true;
    m.weights_scale = 2;
    route(m, ties, NULL, e, w);
    assert_float_equal(w[0] + w[1] + w[2], 2, 1e-6f);
    struct qr_moe_config topk = plain;
    topk.gating = QR_GATING_SOFTMAX_TOPK;
    float v[6];
    route(topk, ties, NULL, e, v);
    for (int i = 0; i < 3; i++)
        assert_float_equal(v[i], w[i] / 2, 1e-6f);
}

static void routes_by_sparsemixer(void **state)
{
    (void)state;
    uint32_t e[6];
    float w[6];
    struct qr_moe_config m = plain;
    m.gating = QR_GATING_SPARSEMIXER;
    m.top_k = 2;
    m.sparsemixer_margin = 0.02f;
    /* (5 - 4.95) / 5 is within the margin of expert 1, (5 - 4.8) / 5 is not; without expert 1,
     * (4.95 - 4.8) / 4.95 is not within the margin of expert 3 either */
    const float scores[] = { 4.8f, 5, -60, 4.95f, 0, 1 };
    route(m, scores, NULL, e, w);
    assert_true(e[0] == 1 && e[1] == 3);
    assert_float_equal(w[0], (float)(1 / (1 + exp(-0.05))), 1e-6f);
    assert_float_equal(w[1], 1, 0);
    /* large negative scores count relative to their own size; sums are not renormalized */
    const float negative[] = { -100, -101, -1000, -102, -103, -104 };
    m.renormalize = true;
    m.weights_scale = 2;
    route(m, negative, NULL, e, w);
    assert_true(e[0] == 0 && e[1] == 1);
    assert_float_equal(w[0], (float)(1 / (1 + exp(-1) + exp(-2))), 1e-6f);
    assert_float_equal(w[1], (float)(1 / (1 + exp(-1) + exp(-2))), 1e-6f);
    /* all equal to zero: 0 / 0 counts as within the margin */
    const float zeros[6] = { 0 };
    route(m, zeros, NULL, e, w);
    assert_true(e[0] == 0 && e[1] == 1);
    assert_float_equal(w[0], 1 / 6.0f, 1e-6f);
    assert_float_equal(w[1], 1 / 5.0f, 1e-6f);
    const float unknown[] = { NAN, NAN, NAN, NAN, NAN, NAN };
    route(m, unknown, NULL, e, w);
    assert_true(e[0] < 6 && e[1] < 6 && e[0] != e[1]);
}

static void routes_by_sigmoid_and_groups(void **state)
{
    (void)state;
    const float scores[] = { 3, -9, 1, 1, -1, 2 }, correction[] = { 0, 5, 0, 0, 0, 0 };
    uint32_t e[6];
    float w[6];
    struct qr_moe_config m = plain;
    m.gating = QR_GATING_SIGMOID;
    route(m, scores, correction, e, w);
    assert_int_equal(e[0], 1); /* chosen by the corrected score, weighted by the plain score */
    assert_float_equal(w[0], 1 / (1 + expf(9)), 1e-6f);
    assert_int_equal(e[1], 0);
    assert_float_equal(w[1], 1 / (1 + expf(-3)), 1e-6f);
    /* groups {3, -9}, {1, 1}, {-1, 2}: by best expert 0 and 2 win, by the best two 1 and 2 */
    m.n_groups = 3;
    m.topk_groups = 2;
    route(m, scores, NULL, e, w);
    assert_int_equal(e[0], 0);
    assert_int_equal(e[1], 5);
    assert_int_equal(e[2], 4);
    m.group_top2 = true;
    route(m, scores, NULL, e, w);
    assert_int_equal(e[0], 5);
    assert_int_equal(e[1], 2);
    assert_int_equal(e[2], 3);
}

/* For any scores, NaN included, the chosen experts exist and differ. */
static void routes_garbage(void **state)
{
    (void)state;
    static const float values[] = { NAN, INFINITY, -INFINITY, 0, 1e38f, -1e38f };
    for (uint32_t n = 0; n < 46656 * 3; n++) {
        struct qr_moe_config m = plain;
        m.gating = (enum qr_moe_gating)(n % 3);
        m.n_groups = n / 3 % 2 ? 3 : 1;
        m.topk_groups = m.n_groups == 3 ? 2 : 1;
        m.group_top2 = n % 2;
        m.renormalize = true;
        float scores[6];
        for (uint32_t i = 0, k = n / 3; i < 6; i++, k /= 6)
            scores[i] = values[k % 6];
        uint32_t e[3];
        float w[3];
        qr_moe_route(&m, scores, NULL, NULL, e, w);
        assert_true(e[0] < 6 && e[1] < 6 && e[2] < 6);
        assert_true(e[0] != e[1] && e[0] != e[2] && e[1] != e[2]);
    }
}

/* ---- batch invariance */

static void compare(const char *name, enum quire_compute compute)
{
    static const uint32_t threads[] = { 1, 2, 3, 7 };
    static const int32_t chunks[] = { TOKENS, 1, 7, 16 };
    int32_t ids[2 * TOKENS];
    float *first = NULL;
    for (int t = 0; t < 4; t++) {
        struct world w;
        open_world(&w, name, compute, threads[t], NULL);
        const size_t width = w.info.vocab_size, bytes = TOKENS * width * sizeof(float);
        float *logits = malloc(2 * bytes);
        for (int i = 0; i < 2 * TOKENS; i++)
            ids[i] = (i * 37 + 11) % (int32_t)width;
        for (int c = 0; c < 4; c++) {
            for (int32_t i = 0; i < TOKENS; i += chunks[c]) {
                const int32_t n = TOKENS - i < chunks[c] ? TOKENS - i : chunks[c];
                step(&w, ids + i, (int32_t[]){ i, 0 }, (int32_t[]){ n, 0 },
                     logits + (size_t)i * width);
            }
            if (!first) {
                first = malloc(bytes);
                memcpy(first, logits, bytes);
            }
            assert_memory_equal(first, logits, bytes);
        }
        /* with a second sequence in the batch: after it, then before it */
        step(&w, ids, (int32_t[]){ 0, 0 }, (int32_t[]){ TOKENS, TOKENS - 3 }, logits);
        assert_memory_equal(first, logits, bytes);
        int32_t swapped[2 * TOKENS];
        memcpy(swapped, ids + TOKENS, TOKENS * sizeof *ids);
        memcpy(swapped + TOKENS, ids, TOKENS * sizeof *ids);
        step(&w, swapped, (int32_t[]){ 0, 0 }, (int32_t[]){ TOKENS, TOKENS }, logits);
        assert_memory_equal(first, logits + TOKENS * width, bytes);
        free(logits);
        close_world(&w);
    }
    free(first);
}

static void same_bits(void **state)
{
    (void)state;
    static const char *const models[] = { "mixtral",
                                          "qwen2_moe",
                                          "olmoe",
                                          "gpt_oss",
                                          "gguf/qwen3_moe-bf16.gguf",
                                          "llama4_text",
                                          "deepseek_v2",
                                          "deepseek_v3",
                                          "gguf/deepseek_v2_lite-bf16.gguf" };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        compare(models[i], QUIRE_COMPUTE_F32);
        compare(models[i], QUIRE_COMPUTE_NATIVE);
    }
}

static void exact_memory(void **state)
{
    (void)state;
    static const char *const models[] = { "mixtral", "qwen2_moe", "deepseek_v2" };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct fail_alloc f;
        struct world w;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, 0, false);
        open_world(&w, models[i], QUIRE_COMPUTE_NATIVE, 2, &f.hooks);
        struct quire_context_params p;
        struct quire_context *c;
        uint64_t bytes;
        quire_context_params_init(&p, sizeof p);
        p.kv = w.kv;
        p.allocator = &f.hooks;
        assert_status(QUIRE_OK, quire_context_bytes(w.model, &p, &bytes, &err));
        const size_t before = f.live_bytes;
        assert_status(QUIRE_OK, quire_context_create(w.model, &p, &c, &err));
        assert_int_equal(f.live_bytes - before, bytes);
        quire_context_destroy(c);
        const size_t calls = f.calls;
        float *logits = malloc(4 * w.info.vocab_size * sizeof *logits);
        step(&w, (int32_t[]){ 1, 2, 3, 4 }, (int32_t[]){ 0, 0 }, (int32_t[]){ 4, 0 }, logits);
        assert_int_equal(f.calls, calls);
        free(logits);
        close_world(&w);
        assert_int_equal(f.live_bytes, 0);
    }
}

static void allocation_failures(void **state)
{
    (void)state;
    char path[8192];
    if (!need_shared())
        skip();
    snprintf(path, sizeof path, "%s/goldens/mixtral", shared_dir());
    for (size_t n = 1;; n++) {
        struct fail_alloc f;
        struct quire_model *m;
        struct quire_model_params p;
        struct quire_error err = QUIRE_ERROR_INIT;
        fail_alloc_init(&f, n, n % 2);
        quire_model_params_init(&p, sizeof p);
        p.path = path;
        p.allocator = &f.hooks;
        const quire_status s = quire_model_open(&p, &m, &err);
        assert_true(s == QUIRE_OK || s == QUIRE_E_NOMEM);
        assert_int_equal(quire_model_close(m), QUIRE_OK);
        assert_int_equal(f.live_bytes, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_by_softmax),
        cmocka_unit_test(routes_by_sparsemixer),
        cmocka_unit_test(routes_by_sigmoid_and_groups),
        cmocka_unit_test(routes_garbage),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(exact_memory),
        cmocka_unit_test(allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
