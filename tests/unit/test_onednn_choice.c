/* SPDX-License-Identifier: Apache-2.0 */
/* test_onednn_choice.c - choice of the matmul backend: self-test, AUTO, errors, ISA cap. */
#include "kernels/dispatch.h"
#include "linear/onednn.h"
#include "model/load/provider.h"
#include "model/load/weights.h"
#include "quire_cmocka.h"
#include <quire/model.h>
#include <quire/onednn.h>
#include <time.h>

/* Use as: if (!have_onednn()) skip(); */
static bool have_onednn(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_onednn *o;
    const quire_status s = qr_onednn_create(NULL, &o, &err);
    qr_onednn_destroy(o);
    if (s != QUIRE_OK) {
        assert_int_equal(s, QUIRE_E_UNSUPPORTED);
        printf("no oneDNN: %s\n", err.msg);
    }
    return s == QUIRE_OK;
}

static const struct qr_kernels *level(const char *name)
{
    const struct qr_kernels *kernels;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_kernels_get(name, &kernels, &err));
    return kernels;
}

static void self_test_is_fast_and_correct(void **state)
{
    (void)state;
    const struct qr_kernels *generic = level("generic"), *best = level(NULL);
    assert_false(qr_onednn_is_faster(QR_WEIGHT_Q4_0, 256, generic, NULL));
    for (size_t n = 1; n < 12; n++) {
        struct fail_alloc f;
        fail_alloc_init(&f, n, true);
        assert_false(qr_onednn_is_faster(QR_WEIGHT_F32, 256, generic, &f.hooks) && f.fail_at <= 4);
        assert_int_equal(f.live_count, 0);
    }
    if (!have_onednn())
        skip();
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    /* scalar code is slower than any vector code */
    assert_true(qr_onednn_is_faster(QR_WEIGHT_F32, 512, generic, NULL));
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_true(b.tv_sec - a.tv_sec < 5);
    printf("against level %s: f32 %s, bf16 %s\n", best->level,
           qr_onednn_is_faster(QR_WEIGHT_F32, 2048, best, NULL) ? "oneDNN is faster"
                                                                : "our kernels are faster",
           qr_onednn_is_faster(QR_WEIGHT_BF16, 2048, best, NULL) ? "oneDNN is faster"
                                                                 : "our kernels are faster");
}

static void isa_cap_must_precede_first_use(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!have_onednn()) {
        assert_status(QUIRE_E_UNSUPPORTED, quire_onednn_set_isa(NULL, &err));
        return;
    }
    assert_true(
        qr_onednn_is_faster(QR_WEIGHT_F32, 64, level("generic"), NULL)); /* first use of oneDNN */
    assert_status(QUIRE_E_INVALID_ARG, quire_onednn_set_isa("pentium", &err));
    assert_status(QUIRE_E_BUSY, quire_onednn_set_isa("generic", &err));
    assert_non_null(strstr(err.msg, "generic"));
}

struct asked {
    bool answer;
    int times;
};
static bool ask(void *user)
{
    struct asked *a = user;
    a->times++;
    return a->answer;
}

static void auto_chooses_onednn_for_encoders_only(void **state)
{
    (void)state;
    for (int holdable = 0; holdable < 2; holdable++)
        for (int answer = 0; answer < 2; answer++) {
            struct asked a = { answer, 0 };
            assert_false(qr_provider_auto(QR_PASS_CACHED, holdable, ask, &a));
            assert_int_equal(a.times,
                             0); /* the self-test does not run where its result does not matter */
            assert_int_equal(qr_provider_auto(QR_PASS_ENCODE, holdable, ask, &a),
                             holdable && answer);
            assert_int_equal(a.times, holdable);
        }
    assert_true(qr_provider_supports(QR_W_FFN_UP, QR_WEIGHT_BF16));
    assert_true(qr_provider_supports(QR_W_TOKEN_EMBD, QR_WEIGHT_F32));
    assert_false(qr_provider_supports(QR_W_FFN_UP, QR_WEIGHT_F16));
    assert_false(qr_provider_supports(QR_W_FFN_UP, QR_WEIGHT_Q8_0));
    assert_false(qr_provider_supports(QR_W_POS_EMBD, QR_WEIGHT_F32));
    assert_false(qr_provider_supports(QR_W_ATTN_NORM, QR_WEIGHT_F32));
}

static quire_status open_model(const char *name, enum quire_compute compute,
                               enum quire_linear_provider linear,
                               enum quire_linear_provider *chosen, struct quire_error *err)
{
    char path[4200];
    struct quire_model *m;
    struct quire_model_params p;
    struct quire_model_info info = { .struct_size = sizeof info };
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    quire_model_params_init(&p, sizeof p);
    p.path = path;
    p.compute = compute;
    p.linear = linear;
    const quire_status s = quire_model_open(&p, &m, err);
    if (s != QUIRE_OK) {
        assert_null(m);
        return s;
    }
    assert_status(QUIRE_OK, quire_model_get_info(m, &info));
    *chosen = info.linear;
    assert_status(QUIRE_OK, quire_model_close(m));
    return s;
}

static void backend_of_opened_models(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const bool have = have_onednn();
    struct quire_error err = QUIRE_ERROR_INIT;
    enum quire_linear_provider chosen = QUIRE_LINEAR_AUTO;
    const enum quire_compute f32 = QUIRE_COMPUTE_F32;
    assert_status(QUIRE_OK, open_model("llama", f32, QUIRE_LINEAR_AUTO, &chosen, &err));
    assert_int_equal(chosen, QUIRE_LINEAR_QUIRE); /* a decoder */
    assert_status(QUIRE_E_INVALID_ARG,
                  open_model("llama", f32, (enum quire_linear_provider)9, &chosen, &err));
    assert_status(have ? QUIRE_OK : QUIRE_E_UNSUPPORTED,
                  open_model("llama", f32, QUIRE_LINEAR_ONEDNN, &chosen, &err));
    assert_int_equal(chosen, have ? QUIRE_LINEAR_ONEDNN : QUIRE_LINEAR_QUIRE);
    assert_status(QUIRE_E_UNSUPPORTED,
                  open_model("gguf/llama-q8_0.gguf", f32, QUIRE_LINEAR_ONEDNN, &chosen, &err));
    assert_status(QUIRE_E_UNSUPPORTED,
                  open_model("gguf/llama-bf16.gguf", f32, QUIRE_LINEAR_ONEDNN, &chosen, &err));
    assert_non_null(strstr(err.msg, have ? "BF16" : "oneDNN"));
}

/* The chosen provider may fail to start. */
static void no_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    char path[4200];
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_weights *w;
    snprintf(path, sizeof path, "%s/goldens/llama", shared_dir());
    const struct qr_weights_params p = { .path = path };
    assert_status(QUIRE_OK, qr_weights_open(&p, &w, &err));
    fail_alloc_init(&f, 1, false);
    struct quire_model m = { .allocator = &f.hooks,
                             .weights = w,
                             .config = qr_weights_config(w),
                             .compute = QUIRE_COMPUTE_F32,
                             .kernels = level("generic") };
    assert_status(have_onednn() ? QUIRE_E_NOMEM : QUIRE_E_UNSUPPORTED,
                  qr_provider_choose(&m, QUIRE_LINEAR_ONEDNN, &err));
    assert_null(m.onednn);
    assert_int_equal(f.live_count, 0);
    qr_weights_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_test_is_fast_and_correct),
        cmocka_unit_test(isa_cap_must_precede_first_use),
        cmocka_unit_test(auto_chooses_onednn_for_encoders_only),
        cmocka_unit_test(backend_of_opened_models),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
