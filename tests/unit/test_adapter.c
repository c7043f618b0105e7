/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter.c - adapters in a step: equal bits in every batch, chunk and team; scales;
 * arguments; GGUF adapters give the bits of the PEFT folder. */
#include "test_adapter.h"
#include "test_model_world.h"
#include <math.h>

enum { VOCAB = 320 };

/* A model with contexts that take adapters. */
struct lora_world {
    struct world w;
    struct quire_context *plain; /* takes none */
};

static void open_lora_world(struct lora_world *l, const char *name, enum quire_compute compute,
                            uint32_t n_threads, uint32_t max_rank)
{
    struct quire_context_params cp;
    open_world(&l->w, name, compute, n_threads, NULL);
    l->plain = l->w.context;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = l->w.kv;
    cp.max_tokens = 2 * TOKENS;
    cp.max_seqs = 2;
    cp.max_seq_len = BLOCK * BLOCKS;
    cp.threads = l->w.threads;
    cp.max_adapter_rank = max_rank;
    assert_status(QUIRE_OK, quire_context_create(l->w.model, &cp, &l->w.context, NULL));
}

static void close_lora_world(struct lora_world *l)
{
    quire_context_destroy(l->plain);
    close_world(&l->w);
}

/* Adapters of both sequences of a step. */
struct use {
    const struct quire_adapter *adapters[2];
    uint32_t n;
    int32_t index[2];
    float scales[2];
};

/* One step with tokens [begin[q], begin[q] + n[q]) of both sequences; logits of every row. */
static quire_status run(struct world *w, const int32_t *ids, const int32_t begin[2],
                        const int32_t n[2], const struct use *u, float *logits,
                        struct quire_error *err)
{
    static int64_t slots[MAX_GROUPS][2 * TOKENS];
    static int32_t tables[MAX_GROUPS][2 * BLOCKS];
    uint32_t rows[2 * TOKENS];
    struct quire_attention_batch_group groups[MAX_GROUPS];
    const int32_t starts[3] = { 0, n[0], n[0] + n[1] },
                  lens[2] = { begin[0] + n[0], begin[1] + n[1] };
    for (uint32_t g = 0; g < w->n_groups; g++) {
        for (int q = 0; q < 2; q++) {
            memcpy(tables[g] + q * BLOCKS, w->tables[q][g], sizeof w->tables[q][g]);
            for (int32_t i = 0; i < n[q]; i++)
                slots[g][starts[q] + i] = (int64_t)w->tables[q][g][(begin[q] + i) / BLOCK] * BLOCK +
                                          (begin[q] + i) % BLOCK;
        }
        groups[g] = (struct quire_attention_batch_group){ .block_table = tables[g],
                                                          .max_blocks = BLOCKS,
                                                          .slot_mapping = slots[g] };
    }
    for (int32_t i = 0; i < starts[2]; i++) /* in falling order */
        rows[i] = (uint32_t)(starts[2] - 1 - i);
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 2,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = w->n_groups,
                                                 .groups = groups };
    struct quire_forward_args args = { .struct_size = sizeof args,
                                       .batch = &batch,
                                       .token_ids = ids,
                                       .logits = logits,
                                       .logits_rows = rows,
                                       .n_logits = (uint32_t)starts[2],
                                       .n_threads = w->step_threads };
    if (u) {
        args.adapters = u->adapters;
        args.n_adapters = u->n;
        args.adapter_index = u->index;
        args.adapter_scales = u->scales;
    }
    const quire_status s = quire_context_forward(w->context, &args, err);
    /* rows in rising order */
    for (int32_t i = 0; s == QUIRE_OK && i < starts[2] / 2; i++)
        for (uint32_t k = 0; k < VOCAB; k++) {
            float *a = &logits[(uint32_t)i * VOCAB + k],
                  *b = &logits[(uint32_t)(starts[2] - 1 - i) * VOCAB + k];
            const float t = *a;
            *a = *b;
            *b = t;
        }
    return s;
}

static void make_ids(int32_t ids[2][TOKENS])
{
    for (int q = 0; q < 2; q++)
        for (int i = 0; i < TOKENS; i++)
            ids[q][i] = (i * 37 + q * 101 + 11) % VOCAB;
}

/* Runs both sequences in chunks; logits [2][TOKENS][VOCAB]. alone: one sequence per step. */
static void run_chunks(struct world *w, const struct use *u, int32_t chunk, bool alone,
                       float *logits)
{
    static float out[2 * TOKENS * VOCAB];
    int32_t ids[2][TOKENS], step_ids[2 * TOKENS];
    struct quire_error err = QUIRE_ERROR_INIT;
    make_ids(ids);
    for (int pass = 0; pass < (alone ? 2 : 1); pass++)
        for (int32_t at = 0; at < TOKENS; at += chunk) {
            const int32_t n = TOKENS - at < chunk ? TOKENS - at : chunk;
            const int32_t ns[] = { alone && pass == 1 ? 0 : n, alone && pass == 0 ? 0 : n },
                          begin[] = { alone && pass == 1 ? TOKENS : at,
                                      alone && pass == 0 ? 0 : at };
            memcpy(step_ids, ids[0] + at, (size_t)ns[0] * sizeof *step_ids);
            memcpy(step_ids + ns[0], ids[1] + at, (size_t)ns[1] * sizeof *step_ids);
            const quire_status s = run(w, step_ids, begin, ns, u, out, &err);
            if (s != QUIRE_OK)
                print_error("%s\n", err.msg);
            assert_int_equal(s, QUIRE_OK);
            for (int q = 0, row = 0; q < 2; row += ns[q], q++)
                memcpy(logits + ((size_t)q * TOKENS + (size_t)at) * VOCAB,
                       out + (size_t)row * VOCAB, (size_t)ns[q] * VOCAB * sizeof(float));
        }
}

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

/* A GGUF adapter made from a PEFT folder, both on a model of either format: equal bits. */
static void formats(void **state)
{
    static float want[2 * TOKENS * VOCAB], got[2 * TOKENS * VOCAB];
    static const char *const models[] = { "llama", "gguf/llama-f32.gguf" };
    static const char *const names[] = { "lora_llama_r4", "lora_llama_r8_rs_embed" };
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < 4; i++) {
        struct lora_world l;
        struct folder f;
        const bool rs = i / 2;
        open_lora_world(&l, models[i % 2], QUIRE_COMPUTE_F32, 1, 8);
        struct quire_adapter *peft = open_golden_adapter(l.w.model, names[i / 2]), *gguf;
        read_adapter(&f, names[i / 2]);
        const struct gguf_options o = { "llama", "adapter", "lora", NULL, rs ? 8 * sqrtf(8) : 8,
                                        16,      SIZE_MAX };
        struct image image = gguf_adapter(&f, &o);
        const struct quire_adapter_params ap = { .struct_size = sizeof ap,
                                                 .data = image.data,
                                                 .data_bytes = image.size };
        assert_status(QUIRE_OK, quire_adapter_open(l.w.model, &ap, &gguf, NULL));
        const struct use use_peft = { { peft }, 1, { 0, 0 }, { 1, 1 } },
                         use_gguf = { { gguf }, 1, { 0, 0 }, { 1, 1 } };
        run_chunks(&l.w, &use_peft, TOKENS, false, want);
        run_chunks(&l.w, &use_gguf, TOKENS, false, got);
        assert_memory_equal(got, want, sizeof want);
        assert_status(QUIRE_OK, quire_adapter_close(peft));
        assert_status(QUIRE_OK, quire_adapter_close(gguf));
        drop(&image);
        free_folder(&f);
        close_lora_world(&l);
    }
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
    struct quire_adapter *a = open_golden_adapter(l.w.model, "lora_llama_r4"), *twice;
    struct quire_adapter_params ap;
    quire_adapter_params_init(&ap, sizeof ap);
    ap.path = dir;
    assert_status(QUIRE_OK, quire_adapter_open(l.w.model, &ap, &twice, NULL));
    const struct use by_scale = { { a }, 1, { 0, 0 }, { 2, 2 } },
                     by_alpha = { { twice }, 1, { 0, 0 }, { 1, 1 } };
    run_chunks(&l.w, &by_alpha, TOKENS, false, want);
    run_chunks(&l.w, &by_scale, 5, false, got);
    assert_memory_equal(got, want, sizeof want);
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
        cmocka_unit_test(arguments), cmocka_unit_test(dense),   cmocka_unit_test(quantized),
        cmocka_unit_test(experts),   cmocka_unit_test(formats), cmocka_unit_test(scales),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
