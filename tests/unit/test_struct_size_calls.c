/* SPDX-License-Identifier: Apache-2.0 */
/* test_struct_size_calls.c - public functions with sized structs of older and newer headers: base,
 * cache, text, sampling. Attention and models have files of their own. */
#include "test_struct_size.h"

static const char model_path[] = QUIRE_SOURCE_DIR "/models/quire-tiny/quire-tiny.gguf";

/* ---- Arguments of public functions */

static quire_status call_threads(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_threads *threads;
    const quire_status status = quire_threads_create(s, &threads, err);
    if (status == QUIRE_OK)
        *result = quire_threads_count(threads);
    quire_threads_destroy(threads);
    return status;
}

static quire_status call_kv_create(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_kv_cache *kv;
    const quire_status status = quire_kv_create(s, &kv, err);
    if (status == QUIRE_OK)
        *result = quire_kv_block_size(kv) * quire_kv_free_block_count(kv, 0);
    quire_kv_destroy(kv);
    return status;
}

static quire_status call_validate(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_attention_report report;
    quire_attention_report_init(&report, sizeof report);
    const quire_status status =
        quire_attention_validate(s, QUIRE_KV_F32, QUIRE_KV_F32, 16, "generic", &report, err);
    *result = !report.reasons;
    return status;
}

/* The figure is the memory of a plan with this configuration of its only group. */
static quire_status call_plan_config(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_kv_params kv_config = kv_params();
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, quire_kv_create(&kv_config, &kv, NULL));
    const struct quire_plan_group group = { .config = s };
    struct quire_plan_params params;
    quire_plan_params_init(&params, sizeof params);
    params.kv = kv;
    params.groups = &group;
    params.n_groups = params.max_tokens = params.max_seqs = params.n_threads = 1;
    params.max_seq_len = 16;
    const quire_status status = quire_plan_bytes(&params, result, err);
    quire_kv_destroy(kv);
    return status;
}

static quire_status call_plan_params(const void *s, uint64_t *result, struct quire_error *err)
{
    return quire_plan_bytes(s, result, err);
}

/* The figure is the sum of the row that the pool holds afterwards. */
static quire_status call_kv_write(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_kv_params params = kv_params();
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, quire_kv_create(&params, &kv, NULL));
    int32_t block;
    assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, -1, 1, &block, NULL));
    const quire_status status = quire_kv_write(kv, s, NULL, err);
    if (status == QUIRE_OK) {
        const int64_t slot = 2;
        float row[8];
        const struct quire_kv_read_args read = {
            .struct_size = sizeof read, .v = row, .slots = &slot, .n_tokens = 1
        };
        assert_status(QUIRE_OK, quire_kv_read(kv, &read, NULL));
        *result = 0;
        for (int i = 0; i < 8; i++)
            *result += (uint64_t)row[i];
    }
    quire_kv_destroy(kv);
    return status;
}

static quire_status call_tokenizer(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_tokenizer *tok;
    const quire_status status = quire_tokenizer_open(model_path, s, &tok, err);
    if (status == QUIRE_OK)
        *result = quire_tokenizer_vocab_size(tok);
    quire_tokenizer_close(tok);
    return status;
}

static quire_status call_template(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_chat_template *tmpl;
    const quire_status status =
        quire_chat_template_create("{{ 1 }}{{ 2 }}", QUIRE_NUL_TERMINATED, s, &tmpl, err);
    if (status == QUIRE_OK) {
        struct quire_chat_render_args args;
        quire_chat_render_args_init(&args, sizeof args);
        struct quire_chat_prompt *prompt;
        assert_status(QUIRE_OK, quire_chat_template_render(tmpl, &args, &prompt, NULL));
        *result = strtoull(quire_chat_prompt_text(prompt, NULL), NULL, 10);
        quire_chat_prompt_destroy(prompt);
    }
    quire_chat_template_destroy(tmpl);
    return status;
}

static quire_status call_render(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_chat_template *tmpl;
    assert_status(QUIRE_OK, quire_chat_template_create("{{ bos_token }}", QUIRE_NUL_TERMINATED,
                                                       NULL, &tmpl, NULL));
    struct quire_chat_prompt *prompt;
    const quire_status status = quire_chat_template_render(tmpl, s, &prompt, err);
    if (status == QUIRE_OK)
        *result = strtoull(quire_chat_prompt_text(prompt, NULL), NULL, 10);
    quire_chat_prompt_destroy(prompt);
    quire_chat_template_destroy(tmpl);
    return status;
}

static quire_status call_engine(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_engine *engine;
    const quire_status status = quire_engine_open(s, &engine, err);
    if (status == QUIRE_OK) {
        struct quire_engine_info info;
        quire_engine_info_init(&info, sizeof info);
        assert_status(QUIRE_OK, quire_engine_get_info(engine, &info));
        *result = info.context_length;
    }
    quire_engine_close(engine);
    return status;
}

static const float logits[4] = { 0, 1, 3, 2 };

static quire_status sample(const void *params, const void *args, uint64_t *result,
                           struct quire_error *err)
{
    struct quire_sampler *sampler;
    assert_status(QUIRE_OK, quire_sampler_create(4, NULL, &sampler, NULL));
    int32_t token;
    const quire_status status = quire_sampler_sample(sampler, params, args, &token, err);
    *result = (uint64_t)token;
    quire_sampler_destroy(sampler);
    return status;
}

static quire_status call_sample_params(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_sample_args args;
    quire_sample_args_init(&args, sizeof args);
    args.logits = logits;
    return sample(s, &args, result, err);
}

static quire_status call_sample_args(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_sampling_params params;
    quire_sampling_params_init(&params, sizeof params);
    params.temperature = 0;
    return sample(&params, s, result, err);
}

static void arguments_of_base_and_kv(void **state)
{
    (void)state;
    struct quire_threads_params threads;
    quire_threads_params_init(&threads, sizeof threads);
    threads.backend = QUIRE_THREADS_PTHREAD;
    threads.n_threads = 3;
    CHECK_CALL(call_threads, threads, 3, QUIRE_OK);

    const struct quire_kv_params params = kv_params();
    CHECK_CALL(call_kv_create, params, 16 * 3, QUIRE_E_INVALID_ARG);

    static const float row[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const int64_t slot = 2;
    struct quire_kv_write_args write;
    quire_kv_write_args_init(&write, sizeof write);
    write.dtype = QUIRE_KV_F32;
    write.k = write.v = row;
    write.slot_mapping = &slot;
    write.n_tokens = 1;
    CHECK_CALL(call_kv_write, write, 36, QUIRE_E_INVALID_ARG);
}

static void arguments_of_attention(void **state)
{
    (void)state;
    struct quire_attention_config config;
    quire_attention_config_init(&config, sizeof config, 2, 1, 8);
    uint64_t bytes = 0;
    assert_status(QUIRE_OK, call_plan_config(&config, &bytes, NULL));
    assert_true(bytes > 0);
    CHECK_CALL(call_plan_config, config, bytes, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_validate, config, 1, QUIRE_E_INVALID_ARG);

    const struct quire_kv_params kv_config = kv_params();
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, quire_kv_create(&kv_config, &kv, NULL));
    const struct quire_plan_group group = { .config = &config };
    struct quire_plan_params params;
    quire_plan_params_init(&params, sizeof params);
    params.kv = kv;
    params.groups = &group;
    params.n_groups = params.max_tokens = params.max_seqs = params.n_threads = 1;
    params.max_seq_len = 16;
    CHECK_CALL(call_plan_params, params, bytes, QUIRE_E_INVALID_ARG);
    quire_kv_destroy(kv);
}

static void arguments_of_text(void **state)
{
    (void)state;
    struct quire_tokenizer_params tokenizer;
    quire_tokenizer_params_init(&tokenizer, sizeof tokenizer);
    uint64_t n_tokens = 0;
    assert_status(QUIRE_OK, call_tokenizer(NULL, &n_tokens, NULL));
    assert_true(n_tokens > 256);
    CHECK_CALL(call_tokenizer, tokenizer, n_tokens, QUIRE_OK);

    struct quire_chat_template_params tmpl;
    quire_chat_template_params_init(&tmpl, sizeof tmpl);
    CHECK_CALL(call_template, tmpl, 12, QUIRE_OK);

    struct quire_chat_render_args render;
    quire_chat_render_args_init(&render, sizeof render);
    render.bos_token = "34";
    CHECK_CALL(call_render, render, 34, QUIRE_E_INVALID_ARG);
}

static void arguments_of_engine(void **state)
{
    (void)state;
    struct quire_engine_params engine;
    quire_engine_params_init(&engine, sizeof engine);
    engine.model_path = model_path;
    engine.context_length = 96;
    engine.n_threads = 1;
    engine.flags = QUIRE_ENGINE_DRY_RUN;
    CHECK_CALL(call_engine, engine, 96, QUIRE_E_INVALID_ARG);

    struct quire_sampling_params params;
    quire_sampling_params_init(&params, sizeof params);
    params.temperature = 0;
    CHECK_CALL(call_sample_params, params, 2, QUIRE_E_INVALID_ARG);
    struct quire_sample_args args;
    quire_sample_args_init(&args, sizeof args);
    args.logits = logits;
    CHECK_CALL(call_sample_args, args, 2, QUIRE_E_INVALID_ARG);
}

/* ---- Arguments of the cache */

enum { BLOCK = 16, SIZE = 8, TOKENS = 3, PLAIN = 2 * BLOCK * SIZE };

static const int64_t slots[TOKENS] = { 0, 1, 2 };
static float plain[PLAIN];  /* a tensor of one block */
static float out[PLAIN];    /* of the call under test */
static const int32_t block; /* 0, of the pool below */

/* Returns a pool with one block in use, and writes `plain` to it with the arguments `import`. */
static quire_status open_pool(const void *import, struct quire_kv_cache **kv,
                              struct quire_error *err)
{
    const struct quire_kv_params params = kv_params();
    int32_t id;
    assert_status(QUIRE_OK, quire_kv_create(&params, kv, NULL));
    assert_status(QUIRE_OK, quire_kv_alloc(*kv, 0, -1, 1, &id, NULL));
    assert_int_equal(id, block);
    for (int i = 0; i < PLAIN; i++)
        plain[i] = (float)i / 4;
    mark_untouched(out, PLAIN);
    return quire_kv_import(*kv, import, plain, err);
}

static struct quire_kv_plain_args plain_args(void)
{
    struct quire_kv_plain_args args;
    quire_kv_plain_args_init(&args, sizeof args);
    args.blocks = &block;
    args.n_blocks = 1;
    args.layout = quire_kv_plain_block_major(QUIRE_KV_F32, BLOCK, 1, SIZE);
    args.size = sizeof plain;
    return args;
}

static quire_status call_import(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_kv_plain_args args = plain_args();
    struct quire_kv_cache *kv;
    const quire_status status = open_pool(s, &kv, err);
    if (status == QUIRE_OK)
        assert_status(QUIRE_OK, quire_kv_export(kv, &args, out, NULL));
    quire_kv_destroy(kv);
    return output_figure(status, out, PLAIN, result);
}

static quire_status call_export(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_kv_plain_args args = plain_args();
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, open_pool(&args, &kv, NULL));
    const quire_status status = quire_kv_export(kv, s, out, err);
    quire_kv_destroy(kv);
    return output_figure(status, out, PLAIN, result);
}

static quire_status call_read(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_kv_plain_args args = plain_args();
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, open_pool(&args, &kv, NULL));
    const quire_status status = quire_kv_read(kv, s, err);
    quire_kv_destroy(kv);
    return output_figure(status, out, TOKENS * SIZE, result);
}

static quire_status call_bytes(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_kv_memory memory;
    quire_kv_memory_init(&memory, sizeof memory);
    const quire_status status = quire_kv_bytes(s, &memory, err);
    *result = memory.pool;
    return status;
}

static quire_status call_prefix_hit(const void *s, uint64_t *result, struct quire_error *err)
{
    uint32_t n = 0;
    const quire_status status = quire_kv_prefix_hit(s, &n, err);
    *result = n;
    return status;
}

/* The figure has the slots of two tokens. */
static quire_status call_map_slots(const void *s, uint64_t *result, struct quire_error *err)
{
    int64_t mapped[2] = { 0 };
    const quire_status status = quire_kv_map_slots(s, mapped, err);
    *result = (uint64_t)(mapped[0] * 100 + mapped[1]);
    return status;
}

static quire_status call_calibrate(const void *s, uint64_t *result, struct quire_error *err)
{
    float amax = 0;
    const quire_status status = quire_kv_calibrate(s, &amax, NULL, err);
    *result = (uint64_t)amax;
    return status;
}

static void arguments_of_cache(void **state)
{
    (void)state;
    const struct quire_kv_plain_args transfer = plain_args();
    const uint64_t figure = figure_of(call_export, &transfer);
    CHECK_CALL(call_import, transfer, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_export, transfer, figure, QUIRE_E_INVALID_ARG);

    struct quire_kv_read_args read;
    quire_kv_read_args_init(&read, sizeof read);
    read.k = out;
    read.slots = slots;
    read.n_tokens = TOKENS;
    CHECK_CALL(call_read, read, figure_of(call_read, &read), QUIRE_E_INVALID_ARG);

    const struct quire_kv_params params = kv_params();
    CHECK_CALL(call_bytes, params, figure_of(call_bytes, &params), QUIRE_E_INVALID_ARG);

    const struct quire_kv_prefix_group cached = { .n_blocks = 2 };
    struct quire_kv_prefix_args prefix;
    quire_kv_prefix_args_init(&prefix, sizeof prefix);
    prefix.block_size = BLOCK;
    prefix.n_tokens = 40;
    prefix.groups = &cached;
    prefix.n_groups = 1;
    CHECK_CALL(call_prefix_hit, prefix, 2 * BLOCK, QUIRE_E_INVALID_ARG);

    static const int32_t table[2] = { 3, 1 };
    struct quire_kv_slot_args map;
    quire_kv_slot_args_init(&map, sizeof map);
    map.block_size = BLOCK;
    map.block_table = table;
    map.n_entries = map.n_tokens = 2;
    map.first_pos = BLOCK - 1;
    CHECK_CALL(call_map_slots, map, 6316, QUIRE_E_INVALID_ARG);

    static const float rows[2][SIZE] = { { 1, -7 }, { 3 } };
    struct quire_kv_calibrate_args calibrate;
    quire_kv_calibrate_args_init(&calibrate, sizeof calibrate);
    calibrate.n_kv_heads = 1;
    calibrate.head_size = SIZE;
    calibrate.k = rows;
    calibrate.n_tokens = 2;
    CHECK_CALL(call_calibrate, calibrate, 7, QUIRE_E_INVALID_ARG);
}

/* ---- Structs that the library fills */

static struct quire_engine *engine; /* of the functions below */

static quire_status fill_kv_memory(void *s)
{
    const struct quire_kv_params params = kv_params();
    return quire_kv_bytes(&params, s, NULL);
}

static quire_status fill_caps(void *s) { return quire_attention_get_caps("generic", s, NULL); }

static quire_status fill_report(void *s)
{
    struct quire_attention_config config;
    quire_attention_config_init(&config, sizeof config, 2, 1, 8);
    return quire_attention_validate(&config, QUIRE_KV_F32, QUIRE_KV_F32, 16, "generic", s, NULL);
}

static quire_status fill_model_info(void *s)
{
    return quire_model_get_info(quire_engine_model(engine), s);
}

static quire_status fill_engine_info(void *s) { return quire_engine_get_info(engine, s); }
static quire_status fill_stats(void *s) { return quire_engine_get_stats(engine, s); }
static quire_status fill_sampling(void *s) { return quire_engine_default_sampling(engine, s); }
static quire_status fill_event(void *s) { return quire_engine_poll(engine, s, NULL); }

static void filled_structs(void **state)
{
    (void)state;
    struct quire_engine_params params;
    quire_engine_params_init(&params, sizeof params);
    params.model_path = model_path;
    params.context_length = 96;
    params.n_threads = 1;
    params.flags = QUIRE_ENGINE_DRY_RUN;
    assert_status(QUIRE_OK, quire_engine_open(&params, &engine, NULL));
    check_filled("quire_kv_bytes", fill_kv_memory, sizeof(struct quire_kv_memory));
    check_filled("quire_attention_get_caps", fill_caps, sizeof(struct quire_attention_caps));
    check_filled("quire_attention_validate", fill_report, sizeof(struct quire_attention_report));
    check_filled_since("quire_model_get_info", fill_model_info,
                       QR_SIZE_TO(struct quire_model_info, pack_cached),
                       sizeof(struct quire_model_info));
    check_filled_since("quire_engine_get_info", fill_engine_info,
                       QR_SIZE_TO(struct quire_engine_info, has_chat_template),
                       sizeof(struct quire_engine_info));
    check_filled_since("quire_engine_get_stats", fill_stats,
                       QR_SIZE_TO(struct quire_engine_stats, n_cached_blocks),
                       sizeof(struct quire_engine_stats));
    check_filled_since("quire_engine_default_sampling", fill_sampling,
                       QR_SIZE_TO(struct quire_sampling_params, seed),
                       sizeof(struct quire_sampling_params));
    check_filled_since("quire_engine_poll", fill_event, QR_SIZE_TO(struct quire_event, usage),
                       sizeof(struct quire_event));
    quire_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_of_base_and_kv), cmocka_unit_test(arguments_of_attention),
        cmocka_unit_test(arguments_of_cache),       cmocka_unit_test(arguments_of_text),
        cmocka_unit_test(arguments_of_engine),      cmocka_unit_test(filled_structs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
