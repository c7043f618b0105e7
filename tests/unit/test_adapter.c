/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter.c - adapters in a step: equal bits in every batch, chunk and team; scales;
 * arguments. */
#include "test_adapter_world.h"
#include <math.h>

static const size_t SEQ = (size_t)TOKENS * VOCAB;

/* Two sequences with the adapters in every combination: bits of the sequence alone, in one chunk,
 * on one thread. */
static void invariance(const char *model, const char *first, const char *second,
                       enum quire_compute compute)
{
    static float want[2 * TOKENS * VOCAB], got[2 * TOKENS * VOCAB], base[2 * TOKENS * VOCAB];
    struct lora_world l;
    open_lora_world(&l, model, compute, 3, 16);
    struct quire_adapter *a = open_golden_adapter(l.w.model, first),
                         *b = open_golden_adapter(l.w.model, second);
    const struct use uses[] = {
        { { a, b }, 2, { 0, 1 }, { 1, 1 } },     { { a, b }, 2, { 1, 0 }, { 0.5f, -2 } },
        { { a, a }, 2, { 0, 1 }, { 1, 0.25f } }, { { a }, 1, { -1, 0 }, { 1, 1 } },
        { { b }, 1, { 0, 0 }, { 0, 1 } },
    };
    l.w.step_threads = 1;
    run_chunks(&l.w, NULL, TOKENS, false, base);
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        l.w.step_threads = 1;
        run_chunks(&l.w, &uses[i], TOKENS, true, want);
        for (int q = 0; q < 2; q++) {
            const bool used = uses[i].index[q] >= 0 && uses[i].scales[q] != 0;
            assert_int_equal(memcmp(want + q * SEQ, base + q * SEQ, SEQ * sizeof(float)) != 0,
                             used);
        }
        static const int32_t chunks[] = { TOKENS, 1, 3, 7, 16 };
        for (size_t c = 0; c < sizeof chunks / sizeof chunks[0]; c++) {
            l.w.step_threads = (uint32_t)(c % 3) + 1;
            run_chunks(&l.w, &uses[i], chunks[c], false, got);
            assert_memory_equal(got, want, sizeof want);
        }
    }
    assert_status(QUIRE_OK, quire_adapter_close(a));
    assert_status(QUIRE_OK, quire_adapter_close(b));
    close_lora_world(&l);
}

static void dense(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    invariance("llama", "lora_llama_r4", "lora_llama_r8_rs_embed", QUIRE_COMPUTE_F32);
    invariance("qwen2", "lora_qwen2_r4", "lora_qwen2_r8_part", QUIRE_COMPUTE_NATIVE);
}

static void quantized(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    invariance("gguf/llama-q8_0.gguf", "lora_llama_r4", "lora_llama_r8_rs_embed",
               QUIRE_COMPUTE_NATIVE);
    invariance("gguf/llama-bf16.gguf", "lora_llama_r4", "lora_llama_r8_rs_embed",
               QUIRE_COMPUTE_NATIVE);
}

static void experts(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    invariance("mixtral", "lora_mixtral_r4", "lora_mixtral_r4_params", QUIRE_COMPUTE_F32);
    invariance("gguf/mixtral-bf16.gguf", "lora_mixtral_r8_attn", "lora_mixtral_r4",
               QUIRE_COMPUTE_NATIVE);
}

/* An adapter of some experts is one whose updates of the others are zero. */
static void some_experts(void **state)
{
    static float want[2 * TOKENS * VOCAB], got[2 * TOKENS * VOCAB];
    (void)state;
    if (!need_shared())
        skip();
    struct lora_world l;
    struct folder f;
    open_lora_world(&l, "mixtral", QUIRE_COMPUTE_F32, 1, 4);
    read_adapter(&f, "lora_mixtral_r4");
    for (size_t i = 0; i < f.n; i++)
        if (strstr(f.t[i].name, "experts.1.") && strstr(f.t[i].name, "lora_B"))
            memset(f.t[i].data, 0, f.t[i].n * sizeof(float));
    for (int removed = 0; removed < 2; removed++) {
        write_adapter(&f);
        struct quire_adapter *a = open_adapter(l.w.model, dir);
        run_chunks(&l.w, &(struct use){ { a }, 1, { 0, 0 }, { 1, 1 } }, TOKENS, false,
                   removed ? got : want);
        assert_status(QUIRE_OK, quire_adapter_close(a));
        size_t n = 0;
        for (size_t i = 0; i < f.n; i++)
            if (!strstr(f.t[i].name, "experts.1."))
                f.t[n++] = f.t[i];
            else
                free(f.t[i].data);
        assert_true(removed ? n == f.n : n < f.n);
        f.n = n;
    }
    assert_memory_equal(got, want, sizeof want);
    free_folder(&f);
    close_lora_world(&l);
}

/* The scale of the sequence multiplies that of the file: twice alpha is a scale of 2. */
static void scales(void **state)
{
    static float want[2 * TOKENS * VOCAB], got[2 * TOKENS * VOCAB];
    (void)state;
    if (!need_shared())
        skip();
    struct lora_world l;
    struct folder f;
    open_lora_world(&l, "llama", QUIRE_COMPUTE_F32, 1, 4);
    read_adapter(&f, "lora_llama_r4");
    replace(f.config, 1 << 16, "\"lora_alpha\": 8", "\"lora_alpha\": 16");
    write_adapter(&f);
    struct quire_adapter *a = open_golden_adapter(l.w.model, "lora_llama_r4"),
                         *twice = open_adapter(l.w.model, dir);
    const struct use by_scale = { { a }, 1, { 0, 0 }, { 2, 2 } },
                     by_alpha = { { twice }, 1, { 0, 0 }, { 1, 1 } };
    run_chunks(&l.w, &by_alpha, TOKENS, false, want);
    run_chunks(&l.w, &by_scale, 5, false, got);
    assert_memory_equal(got, want, sizeof want);
    static const char *const patterns[][2] = {
        { "\"alpha_pattern\": {}",
          "\"alpha_pattern\": {\"^model\\\\.layers.0.self_attn.q_proj\": 16, \"proj\": 7, "
          "\"q_proj\": 16, "
          "\"k_proj\": 16, \"v_proj\": 16, \"o_proj\": 16, \"mlp.gate_proj\": 16, \"up_proj\": 16, "
          "\"down_proj\": 16}" },
        { "\"lora_alpha\": 16", "\"lora_alpha\": 5" },
        { "\"r\": 4", "\"r\": 9" },
        { "\"rank_pattern\": {}",
          "\"rank_pattern\": {\"q_proj\": 4, \"k_proj\": 4, \"v_proj\": 4, \"o_proj\": 4, "
          "\"gate_proj\": 4, \"up_proj\": 4, \"down_proj\": 4}" },
    };
    for (int i = 0; i < 4; i++)
        replace(f.config, 1 << 16, patterns[i][0], patterns[i][1]);
    write_adapter(&f);
    struct quire_adapter *by_pattern = open_adapter(l.w.model, dir);
    run_chunks(&l.w, &(struct use){ { by_pattern }, 1, { 0, 0 }, { 1, 1 } }, TOKENS, false, got);
    assert_memory_equal(got, want, sizeof want);
    assert_status(QUIRE_OK, quire_adapter_close(by_pattern));
    struct quire_adapter_info i1, i2;
    quire_adapter_info_init(&i1, sizeof i1);
    quire_adapter_info_init(&i2, sizeof i2);
    assert_status(QUIRE_OK, quire_adapter_get_info(a, &i1));
    assert_status(QUIRE_OK, quire_adapter_get_info(twice, &i2));
    assert_true(i1.fingerprint != i2.fingerprint);
    assert_status(QUIRE_OK, quire_adapter_close(a));
    assert_status(QUIRE_OK, quire_adapter_close(twice));
    free_folder(&f);
    close_lora_world(&l);
}

static void expect_step(struct world *w, const struct use *u, quire_status status, const char *text)
{
    static float logits[2 * TOKENS * VOCAB];
    int32_t ids[2][TOKENS];
    const int32_t begin[2] = { 0 }, n[] = { 3, 2 };
    struct quire_error err = QUIRE_ERROR_INIT;
    make_ids(ids);
    const quire_status s = run(w, ids[0], begin, n, u, logits, &err);
    if (s != status || (text && !strstr(err.msg, text)))
        print_error("got %s \"%s\"\n", quire_status_name(s), err.msg);
    assert_int_equal(s, status);
    assert_true(!text || strstr(err.msg, text));
}

static void arguments(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct lora_world l, other;
    open_lora_world(&l, "llama", QUIRE_COMPUTE_F32, 1, 4);
    open_lora_world(&other, "qwen2", QUIRE_COMPUTE_F32, 1, 16);
    struct quire_adapter *r4 = open_golden_adapter(l.w.model, "lora_llama_r4"),
                         *r8 = open_golden_adapter(l.w.model, "lora_llama_r8_rs_embed");
    expect_step(&l.w, &(struct use){ { r4 }, 1, { 0, -1 }, { 1, 1 } }, QUIRE_OK, NULL);
    expect_step(&l.w, &(struct use){ { r4 }, 1, { 0, -2 }, { 1, 1 } }, QUIRE_E_RANGE,
                "adapter_index[1] is -2");
    expect_step(&l.w, &(struct use){ { r4 }, 1, { 1, 0 }, { 1, 1 } }, QUIRE_E_RANGE,
                "adapter_index[0] is 1 of 1");
    expect_step(&l.w, &(struct use){ { r4 }, 1, { 0, 0 }, { 1, NAN } }, QUIRE_E_INVALID_ARG,
                "adapter_scales[1]");
    expect_step(&l.w, &(struct use){ { r4 }, 1, { 0, 0 }, { INFINITY, 1 } }, QUIRE_E_INVALID_ARG,
                "adapter_scales[0]");
    expect_step(&l.w, &(struct use){ { r4, r8 }, 2, { 0, 0 }, { 1, 1 } }, QUIRE_E_LIMIT,
                "adapters[1] has rank 8, the context allows");
    expect_step(&l.w, &(struct use){ { r4, NULL }, 2, { 0, 0 }, { 1, 1 } }, QUIRE_E_INVALID_ARG,
                "adapters[1]");
    expect_step(&other.w, &(struct use){ { r4 }, 1, { 0, 0 }, { 1, 1 } }, QUIRE_E_MISMATCH,
                "another model");
    struct world plain = l.w;
    plain.context = l.plain;
    expect_step(&plain, &(struct use){ { r4 }, 1, { 0, 0 }, { 1, 1 } }, QUIRE_E_LIMIT, "rank 4");
    struct quire_context_params cp;
    struct quire_context *c;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = l.w.kv;
    cp.max_adapter_rank = QUIRE_ADAPTER_MAX_RANK + 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_create(l.w.model, &cp, &c, &err));
    assert_non_null(strstr(err.msg, "max_adapter_rank"));
    cp.max_adapter_rank = 4;
    cp.reserved = 1;
    assert_status(QUIRE_E_INVALID_ARG, quire_context_create(l.w.model, &cp, &c, &err));
    assert_non_null(strstr(err.msg, "params.reserved"));
    cp.reserved = 0;
    struct quire_model *bert = open_base("bert");
    cp.kv = NULL;
    cp.max_adapter_rank = 8;
    assert_status(QUIRE_E_UNSUPPORTED, quire_context_create(bert, &cp, &c, &err));
    assert_status(QUIRE_OK, quire_model_close(bert));
    assert_status(QUIRE_OK, quire_adapter_close(r4));
    assert_status(QUIRE_OK, quire_adapter_close(r8));
    close_lora_world(&l);
    close_lora_world(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments), cmocka_unit_test(dense),        cmocka_unit_test(quantized),
        cmocka_unit_test(experts),   cmocka_unit_test(some_experts), cmocka_unit_test(scales),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
