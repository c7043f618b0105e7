/* SPDX-License-Identifier: Apache-2.0 */
/* test_struct_size_model.c - calls of models, and requests of engines, with sized structs of older
 * and newer headers. */
#include "test_struct_size.h"

enum { BLOCK = 16, BLOCKS = 2, TOKENS = 3, MAX_GROUPS = 4 };

static const char tiny_path[] = QUIRE_SOURCE_DIR "/models/quire-tiny/quire-tiny.gguf";
static const int32_t starts[2] = { 0, TOKENS }, length = TOKENS, ids[TOKENS] = { 5, 9, 7 };
static const int64_t slots[TOKENS] = { 0, 1, 2 };

/* ---- Models */

/* An open model; decoders have a cache too. */
static struct quire_model *model;
static struct quire_kv_cache *cache;
static struct quire_context *context;
static struct quire_model_info info;
static struct quire_attention_batch_group tables[MAX_GROUPS];
static const int32_t table[BLOCKS] = { 0, 1 };
static float *row; /* output of a step: logits of the last token, or its hidden state */

static struct quire_model_params model_params(const char *path)
{
    struct quire_model_params params;
    quire_model_params_init(&params, sizeof params);
    params.path = path;
    params.linear = QUIRE_LINEAR_QUIRE;
    return params;
}

static quire_status call_model_open(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_model *m;
    const quire_status status = quire_model_open(s, &m, err);
    if (status == QUIRE_OK) {
        struct quire_model_info opened;
        quire_model_info_init(&opened, sizeof opened);
        assert_status(QUIRE_OK, quire_model_get_info(m, &opened));
        *result = opened.n_parameters;
    }
    quire_model_close(m);
    return status;
}

static void open_cache(void)
{
    struct quire_kv_group_config groups[MAX_GROUPS];
    struct quire_kv_params params;
    quire_kv_params_init(&params, sizeof params);
    assert_status(QUIRE_OK, quire_model_kv_groups(model, groups, MAX_GROUPS, &params.n_groups));
    params.block_size = BLOCK;
    params.groups = groups;
    for (uint32_t g = 0; g < params.n_groups; g++)
        groups[g].n_blocks = BLOCKS;
    assert_status(QUIRE_OK, quire_kv_create(&params, &cache, NULL));
    for (uint32_t g = 0; g < params.n_groups; g++) {
        int32_t blocks[BLOCKS];
        assert_status(QUIRE_OK, quire_kv_alloc(cache, g, -1, BLOCKS, blocks, NULL));
        assert_memory_equal(blocks, table, sizeof table);
        tables[g] = (struct quire_attention_batch_group){ .block_table = table,
                                                          .max_blocks = BLOCKS,
                                                          .slot_mapping = slots };
    }
}

static struct quire_context_params context_params(void)
{
    struct quire_context_params params;
    quire_context_params_init(&params, sizeof params);
    params.kv = cache;
    params.max_tokens = params.max_seq_len = BLOCK;
    return params;
}

static void open_model(const char *path)
{
    const struct quire_model_params params = model_params(path);
    assert_status(QUIRE_OK, quire_model_open(&params, &model, NULL));
    quire_model_info_init(&info, sizeof info);
    assert_status(QUIRE_OK, quire_model_get_info(model, &info));
    cache = NULL;
    if (info.kind == QUIRE_MODEL_DECODER)
        open_cache();
    row = malloc(info.vocab_size * sizeof *row);
    assert_non_null(row);
}

static void close_model(void)
{
    free(row);
    quire_context_destroy(context);
    quire_kv_destroy(cache);
    assert_status(QUIRE_OK, quire_model_close(model));
}

static struct quire_attention_batch model_batch(void)
{
    struct quire_attention_batch batch;
    quire_attention_batch_init(&batch, sizeof batch);
    batch.n_seqs = 1;
    batch.query_start_loc = starts;
    batch.seq_lens = &length;
    batch.n_groups = quire_kv_group_count(cache);
    batch.groups = tables;
    return batch;
}

static struct quire_forward_args forward_args(const struct quire_attention_batch *batch)
{
    struct quire_forward_args args;
    quire_forward_args_init(&args, sizeof args);
    args.batch = batch;
    args.token_ids = ids;
    args.logits = row;
    return args;
}

static quire_status call_forward(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(row, info.vocab_size);
    const quire_status status = quire_context_forward(context, s, err);
    return output_figure(status, row, info.vocab_size, result);
}

static quire_status call_forward_batch(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_forward_args args = forward_args(s);
    return call_forward(&args, result, err);
}

/* The figure is that of a step. */
static quire_status call_context(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_attention_batch batch = model_batch();
    const quire_status status = quire_context_create(model, s, &context, err);
    if (status == QUIRE_OK)
        *result = figure_of(call_forward_batch, &batch);
    quire_context_destroy(context);
    return status;
}

static quire_status call_context_bytes(const void *s, uint64_t *result, struct quire_error *err)
{
    return quire_context_bytes(model, s, result, err);
}

static void arguments_of_model(void **state)
{
    (void)state;
    const struct quire_model_params open = model_params(tiny_path);
    CHECK_CALL(call_model_open, open, figure_of(call_model_open, &open), QUIRE_E_INVALID_ARG);
    open_model(tiny_path);
    const struct quire_context_params params = context_params();
    const uint64_t figure = figure_of(call_context, &params);
    CHECK_CALL(call_context, params, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_context_bytes, params, figure_of(call_context_bytes, &params),
               QUIRE_E_INVALID_ARG);

    assert_status(QUIRE_OK, quire_context_create(model, &params, &context, NULL));
    const struct quire_attention_batch batch = model_batch();
    const struct quire_forward_args args = forward_args(&batch);
    CHECK_CALL(call_forward, args, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_forward_batch, batch, figure, QUIRE_E_INVALID_ARG);
    close_model();
}

static quire_status call_encode(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(row, info.hidden_size);
    const quire_status status = quire_context_encode(context, s, err);
    return output_figure(status, row, info.hidden_size, result);
}

static void arguments_of_encoder(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    char path[4200];
    snprintf(path, sizeof path, "%s/goldens/bert", shared_dir());
    open_model(path);
    assert_true(info.hidden_size <= info.vocab_size);
    const struct quire_context_params params = context_params();
    assert_status(QUIRE_OK, quire_context_create(model, &params, &context, NULL));
    struct quire_encode_args args;
    quire_encode_args_init(&args, sizeof args);
    args.n_seqs = 1;
    args.query_start_loc = starts;
    args.token_ids = ids;
    args.pooled = row;
    args.pooling = QUIRE_POOLING_MEAN;
    CHECK_CALL(call_encode, args, figure_of(call_encode, &args), QUIRE_E_INVALID_ARG);
    close_model();
}

/* ---- Requests of an engine */

static struct quire_engine *engine;

static struct quire_request_params request(const struct quire_sampling_params *sampling)
{
    static const char text[] = "The fox";
    struct quire_request_params params;
    quire_request_params_init(&params, sizeof params);
    params.text = text;
    params.text_size = sizeof text - 1;
    params.max_tokens = 4;
    params.flags = QUIRE_REQUEST_IGNORE_EOS;
    params.sampling = sampling;
    return params;
}

/* Completes the only request. The figure is made of its tokens. */
static uint64_t complete(quire_request_id id)
{
    uint64_t figure = 1;
    struct quire_event event;
    quire_event_init(&event, sizeof event);
    while (event.kind != QUIRE_EVENT_DONE) {
        assert_status(QUIRE_OK, quire_engine_step(engine, NULL));
        do {
            assert_status(QUIRE_OK, quire_engine_poll(engine, &event, NULL));
            assert_true(event.kind == QUIRE_EVENT_NONE || event.id == id);
            for (size_t i = 0; i < event.n_tokens; i++)
                figure = figure * 100003 + (uint64_t)event.tokens[i];
        } while (event.kind != QUIRE_EVENT_NONE && event.kind != QUIRE_EVENT_DONE);
    }
    assert_int_equal(event.usage->completion_tokens, 4);
    return figure;
}

static quire_status call_submit(const void *s, uint64_t *result, struct quire_error *err)
{
    quire_request_id id = 1;
    const quire_status status = quire_engine_submit(engine, s, &id, err);
    if (status == QUIRE_OK)
        *result = complete(id);
    else
        assert_int_equal(id, 0);
    assert_int_equal(quire_engine_active_count(engine), 0);
    return status;
}

static quire_status call_request_sampling(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_request_params params = request(s);
    return call_submit(&params, result, err);
}

static void arguments_of_requests(void **state)
{
    (void)state;
    struct quire_engine_params params;
    quire_engine_params_init(&params, sizeof params);
    params.model_path = tiny_path;
    params.context_length = 96;
    params.n_threads = 1;
    assert_status(QUIRE_OK, quire_engine_open(&params, &engine, NULL));
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.temperature = 0;
    const struct quire_request_params greedy = request(&sampling);
    const uint64_t figure = figure_of(call_submit, &greedy);
    CHECK_CALL(call_submit, greedy, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_request_sampling, sampling, figure, QUIRE_OK);
    quire_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_of_model),
        cmocka_unit_test(arguments_of_encoder),
        cmocka_unit_test(arguments_of_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
