/* SPDX-License-Identifier: Apache-2.0 */
/* test_struct_size_attention.c - calls of attention and MLA with sized structs of older and newer
 * headers. */
#include "test_struct_size.h"

enum { HEADS = 2, SIZE = 8, TOKENS = 3, BLOCK = 16 };
enum { ROWS = TOKENS * HEADS, OUT = ROWS * SIZE, LATENT_OUT = 2 * OUT, WEIGHTS = 256 };

static const int32_t starts[2] = { 0, TOKENS }, length = TOKENS, block_table[1] = { 0 };
static const int64_t slots[TOKENS] = { 0, 1, 2 };
static const struct quire_attention_batch_group tables = { .block_table = block_table,
                                                           .max_blocks = 1 };
static float q[OUT], k[TOKENS * SIZE], v[TOKENS * SIZE];
static float kv_b[WEIGHTS];   /* of latent attention, and queries */
static float out[LATENT_OUT]; /* of the call under test */
static struct quire_attention_config config;
static struct quire_kv_cache *kv; /* holds k and v in block 0 */
static struct quire_plan *plan;   /* of one sequence whose tokens are all new */
static struct quire_threads *threads;

static void fill(float *p, size_t n, uint32_t seed)
{
    for (uint32_t i = 0; i < n; i++)
        p[i] = (float)((i * 37 + seed * 11) % 23) / 8 - 1;
}

static struct quire_attention_batch paged_batch(void)
{
    struct quire_attention_batch batch;
    quire_attention_batch_init(&batch, sizeof batch);
    batch.n_seqs = batch.n_groups = 1;
    batch.query_start_loc = starts;
    batch.seq_lens = &length;
    batch.groups = &tables;
    return batch;
}

static struct quire_attention_args attention_args(void)
{
    struct quire_attention_args args;
    quire_attention_args_init(&args, sizeof args);
    args.q = q;
    args.out = out;
    return args;
}

static void write_rows(void)
{
    const struct quire_kv_params pool = kv_params();
    assert_status(QUIRE_OK, quire_kv_create(&pool, &kv, NULL));
    int32_t block;
    assert_status(QUIRE_OK, quire_kv_alloc(kv, 0, -1, 1, &block, NULL));
    assert_int_equal(block, block_table[0]);
    struct quire_kv_write_args write;
    quire_kv_write_args_init(&write, sizeof write);
    write.k = k;
    write.v = v;
    write.slot_mapping = slots;
    write.n_tokens = TOKENS;
    assert_status(QUIRE_OK, quire_kv_write(kv, &write, NULL, NULL));
}

static int set_up(void **state)
{
    (void)state;
    fill(q, OUT, 1);
    fill(k, TOKENS * SIZE, 2);
    fill(v, TOKENS * SIZE, 3);
    fill(kv_b, WEIGHTS, 4);
    struct quire_threads_params pool;
    quire_threads_params_init(&pool, sizeof pool);
    pool.n_threads = 1;
    assert_status(QUIRE_OK, quire_threads_create(&pool, &threads, NULL));
    write_rows();
    quire_attention_config_init(&config, sizeof config, HEADS, 1, SIZE);
    const struct quire_plan_group group = { .config = &config };
    struct quire_plan_params params;
    quire_plan_params_init(&params, sizeof params);
    params.kv = kv;
    params.groups = &group;
    params.n_groups = params.max_seqs = params.n_threads = 1;
    params.max_tokens = TOKENS;
    params.max_seq_len = BLOCK;
    assert_status(QUIRE_OK, quire_plan_create(&params, &plan, NULL));
    const struct quire_attention_batch batch = paged_batch();
    assert_status(QUIRE_OK, quire_plan_build(plan, &batch, NULL));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
    quire_threads_destroy(threads);
    return 0;
}

/* ---- Paged attention */

static quire_status call_forward(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(out, OUT);
    const quire_status status = quire_attention_forward(plan, s, NULL, err);
    return output_figure(status, out, OUT, result);
}

static void attention_part(void *s, const struct quire_team *team)
{
    quire_attention_part(plan, s, team);
}

typedef void (*part_fn)(void *s, const struct quire_team *team);

/* Runs a _part function with the sized struct at `s` if `checked`, the status of its check, is
 * QUIRE_OK; returns `checked`. */
static quire_status run_part(quire_status checked, part_fn part, const void *s)
{
    if (checked == QUIRE_OK)
        assert_status(QUIRE_OK, quire_threads_run(threads, part, (void *)(uintptr_t)s));
    return checked;
}

static quire_status call_check_part(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(out, OUT);
    const quire_status status = run_part(quire_attention_check(plan, s, err), attention_part, s);
    return output_figure(status, out, OUT, result);
}

static quire_status call_layer_config(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_attention_args args = attention_args();
    args.config = s;
    return call_forward(&args, result, err);
}

/* The figure is that of attention over the batch. */
static quire_status call_build(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_attention_args args = attention_args();
    const quire_status status = quire_plan_build(plan, s, err);
    if (status == QUIRE_OK)
        *result = figure_of(call_forward, &args);
    return status;
}

static quire_status fill_plan_info(void *s)
{
    const quire_status status = quire_plan_get_info(plan, 0, s);
    struct quire_plan_info info;
    memcpy(&info, s, sizeof info);
    if (status == QUIRE_OK) {
        assert_int_equal(info.n_seqs, 1);
        assert_int_equal(info.n_tokens, TOKENS);
        assert_int_equal(info.max_seq_len, TOKENS);
    }
    return status;
}

static void paged_attention(void **state)
{
    (void)state;
    const struct quire_attention_args args = attention_args();
    const uint64_t figure = figure_of(call_forward, &args);
    CHECK_CALL(call_forward, args, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_check_part, args, figure, QUIRE_E_INVALID_ARG);
    const struct quire_attention_batch batch = paged_batch();
    CHECK_CALL(call_build, batch, figure, QUIRE_E_INVALID_ARG);

    struct quire_attention_config layer = config; /* NULL: the group's configuration */
    CHECK_CALL(call_layer_config, layer, figure, QUIRE_OK);
    layer.scale = 2;
    const uint64_t scaled = figure_of(call_layer_config, &layer);
    assert_true(scaled != figure);
    CHECK_CALL(call_layer_config, layer, scaled, QUIRE_OK);
    check_filled("quire_plan_get_info", fill_plan_info, sizeof(struct quire_plan_info));
}

static quire_status call_unpadded(const void *s, uint64_t *result, struct quire_error *err)
{
    struct {
        struct quire_attention_batch batch;
        unsigned char tail[TAIL];
    } to;
    memset(&to, 0xaa, sizeof to);
    const quire_status status = quire_attention_batch_unpadded(s, TOKENS, 1, &to.batch, err);
    if (status == QUIRE_OK)
        *result = figure_of(call_build, &to.batch);
    return status;
}

/* The derived batch is of the version of its input: the caller has one struct type for both. */
static void unpadded_batch(void **state)
{
    (void)state;
    const int32_t padded_starts[4] = { 0, TOKENS, TOKENS, TOKENS };
    const int32_t padded_lens[3] = { TOKENS };
    const struct quire_attention_batch exact = paged_batch();
    CHECK_CALL(call_unpadded, exact, figure_of(call_build, &exact), QUIRE_E_INVALID_ARG);
    struct {
        struct quire_attention_batch batch;
        unsigned char tail[TAIL], guard[8];
    } from, to;
    memset(&from, 0, sizeof from);
    from.batch = paged_batch();
    from.batch.struct_size += TAIL;
    from.batch.n_seqs = 3;
    from.batch.query_start_loc = padded_starts;
    from.batch.seq_lens = padded_lens;
    const uint64_t figure = figure_of(call_build, &exact);
    memset(&to, 0xaa, sizeof to);
    assert_status(QUIRE_OK,
                  quire_attention_batch_unpadded(&from.batch, TOKENS, 1, &to.batch, NULL));
    assert_int_equal(to.batch.struct_size, sizeof to.batch + TAIL);
    assert_int_equal(to.batch.n_seqs, 1);
    for (int i = 0; i < TAIL; i++)
        assert_int_equal(to.tail[i], 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(to.guard[i], 0xaa);
    assert_int_equal(figure_of(call_build, &to.batch), figure);
    assert_status(QUIRE_OK,
                  quire_attention_batch_unpadded(&from.batch, TOKENS, 1, &from.batch, NULL));
    assert_int_equal(from.batch.struct_size, to.batch.struct_size);
    assert_int_equal(figure_of(call_build, &from.batch), figure);
}

/* ---- Contiguous attention */

static struct quire_dense *dense; /* of the functions below */

static struct quire_dense_params dense_params(void)
{
    struct quire_dense_params params;
    quire_dense_params_init(&params, sizeof params);
    params.config = &config;
    params.max_tokens = params.max_kv_tokens = TOKENS;
    params.max_seqs = params.n_threads = 1;
    return params;
}

static struct quire_dense_batch dense_batch(void)
{
    struct quire_dense_batch batch;
    quire_dense_batch_init(&batch, sizeof batch);
    batch.n_seqs = 1;
    batch.query_start_loc = batch.kv_start_loc = starts;
    batch.k = k;
    batch.v = v;
    return batch;
}

static quire_status run_dense(const void *batch, const void *args, uint64_t *result,
                              struct quire_error *err)
{
    mark_untouched(out, OUT);
    const quire_status status = quire_attention_dense(dense, batch, args, NULL, err);
    return output_figure(status, out, OUT, result);
}

static quire_status call_dense_batch(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_attention_args args = attention_args();
    return run_dense(s, &args, result, err);
}

static quire_status call_dense_args(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_dense_batch batch = dense_batch();
    return run_dense(&batch, s, result, err);
}

static void dense_part(void *s, const struct quire_team *team)
{
    const struct quire_attention_args args = attention_args();
    quire_dense_part(dense, s, &args, team);
}

static quire_status call_dense_prepare(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_attention_args args = attention_args();
    mark_untouched(out, OUT);
    quire_status status = quire_dense_prepare(dense, s, err);
    assert_status(status, quire_dense_check(dense, s, &args, NULL));
    status = run_part(status, dense_part, s);
    return output_figure(status, out, OUT, result);
}

static quire_status call_dense_create(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_dense_batch batch = dense_batch();
    const quire_status status = quire_dense_create(s, &dense, err);
    if (status == QUIRE_OK)
        *result = figure_of(call_dense_batch, &batch);
    quire_dense_destroy(dense);
    return status;
}

static quire_status call_dense_config(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_dense_params params = dense_params();
    params.config = s;
    return call_dense_create(&params, result, err);
}

static quire_status call_dense_bytes(const void *s, uint64_t *result, struct quire_error *err)
{
    return quire_dense_bytes(s, result, err);
}

static void contiguous_attention(void **state)
{
    (void)state;
    const struct quire_attention_args args = attention_args();
    const struct quire_dense_batch batch = dense_batch();
    const struct quire_dense_params params = dense_params();
    const uint64_t figure = figure_of(call_forward, &args); /* the bits are those of the cache */
    CHECK_CALL(call_dense_create, params, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_dense_config, config, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_dense_bytes, params, figure_of(call_dense_bytes, &params), QUIRE_E_INVALID_ARG);
    assert_status(QUIRE_OK, quire_dense_create(&params, &dense, NULL));
    CHECK_CALL(call_dense_batch, batch, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_dense_args, args, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_dense_prepare, batch, figure, QUIRE_E_INVALID_ARG);
    quire_dense_destroy(dense);
}

/* ---- Merge */

static quire_status call_merge(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(out, OUT);
    return output_figure(quire_attention_merge(s, NULL, err), out, OUT, result);
}

static void merge_part(void *s, const struct quire_team *team)
{
    quire_attention_merge_part(s, team);
}

static quire_status call_merge_part(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(out, OUT);
    const quire_status status = run_part(quire_attention_merge_check(s, err), merge_part, s);
    return output_figure(status, out, OUT, result);
}

static void merge(void **state)
{
    (void)state;
    float rows[2][OUT], lse[2][ROWS];
    for (uint32_t i = 0; i < 2; i++) {
        fill(rows[i], OUT, i);
        fill(lse[i], ROWS, i + 2);
    }
    const struct quire_attention_partial parts[2] = { { .out = rows[0], .lse = lse[0] },
                                                      { .out = rows[1], .lse = lse[1] } };
    struct quire_attention_merge_args args;
    quire_attention_merge_args_init(&args, sizeof args);
    args.n_parts = 2;
    args.parts = parts;
    args.n_tokens = TOKENS;
    args.n_heads = HEADS;
    args.v_head_size = SIZE;
    args.out = out;
    const uint64_t figure = figure_of(call_merge, &args);
    CHECK_CALL(call_merge, args, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_merge_part, args, figure, QUIRE_E_INVALID_ARG);
}

/* ---- Multi-head latent attention */

static struct quire_mla_dims dims; /* all of SIZE elements */
static struct quire_mla_weights *weights;

static quire_status call_kv_group(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_kv_group_config group = { 0 };
    const quire_status status = quire_mla_kv_group(s, QUIRE_KV_F32, 1, 1, &group, err);
    *result = group.head_size * 100 + group.v_head_size;
    return status;
}

static quire_status call_absorbed_config(const void *s, uint64_t *result, struct quire_error *err)
{
    struct quire_attention_config absorbed;
    quire_attention_config_init(&absorbed, sizeof absorbed, 0, 0, 0);
    const quire_status status = quire_mla_absorbed_config(s, 1, &absorbed, err);
    *result = absorbed.head_size * 100 + absorbed.n_kv_heads;
    return status;
}

static quire_status fill_absorbed_config(void *s)
{
    return quire_mla_absorbed_config(&dims, 1, s, NULL);
}

static quire_status fill_expanded_config(void *s)
{
    return quire_mla_expanded_config(&dims, 1, s, NULL);
}

static quire_status call_absorb(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(out, LATENT_OUT);
    return output_figure(quire_mla_absorb(weights, s, NULL, err), out, LATENT_OUT, result);
}

static void absorb_part(void *s, const struct quire_team *team)
{
    quire_mla_absorb_part(weights, s, team);
}

static quire_status call_absorb_part(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(out, LATENT_OUT);
    const quire_status status = run_part(quire_mla_absorb_check(weights, s, err), absorb_part, s);
    return output_figure(status, out, LATENT_OUT, result);
}

static quire_status call_v_up_proj(const void *s, uint64_t *result, struct quire_error *err)
{
    mark_untouched(out, OUT);
    return output_figure(quire_mla_v_up_proj(weights, s, NULL, err), out, OUT, result);
}

static struct quire_mla_args mla_args(void)
{
    struct quire_mla_args args;
    quire_mla_args_init(&args, sizeof args);
    args.in = kv_b;
    args.out = out;
    args.n_tokens = TOKENS;
    return args;
}

static quire_status call_weights(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_mla_args args = mla_args();
    const quire_status status = quire_mla_weights_create(s, &weights, err);
    if (status == QUIRE_OK)
        *result = figure_of(call_absorb, &args);
    quire_mla_weights_destroy(weights);
    return status;
}

static struct quire_mla_weights_params weights_params(const struct quire_mla_dims *d)
{
    struct quire_mla_weights_params params;
    quire_mla_weights_params_init(&params, sizeof params);
    params.dims = d;
    params.kv_b = kv_b;
    return params;
}

static quire_status call_weights_dims(const void *s, uint64_t *result, struct quire_error *err)
{
    const struct quire_mla_weights_params params = weights_params(s);
    return call_weights(&params, result, err);
}

static void latent_attention(void **state)
{
    (void)state;
    quire_mla_dims_init(&dims, sizeof dims);
    dims.n_heads = HEADS;
    dims.kv_lora_rank = dims.qk_nope_head_dim = dims.qk_rope_head_dim = dims.v_head_dim = SIZE;
    CHECK_CALL(call_kv_group, dims, 1608, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_absorbed_config, dims, 1601, QUIRE_E_INVALID_ARG);
    const size_t first = FIRST_BYTES((struct quire_attention_config){ 0 });
    check_filled_since("absorbed_config", fill_absorbed_config, first, sizeof config);
    check_filled_since("expanded_config", fill_expanded_config, first, sizeof config);

    const struct quire_mla_weights_params params = weights_params(&dims);
    const struct quire_mla_args args = mla_args();
    const uint64_t figure = figure_of(call_weights, &params);
    CHECK_CALL(call_weights, params, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_weights_dims, dims, figure, QUIRE_E_INVALID_ARG);
    assert_status(QUIRE_OK, quire_mla_weights_create(&params, &weights, NULL));
    CHECK_CALL(call_absorb, args, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_absorb_part, args, figure, QUIRE_E_INVALID_ARG);
    CHECK_CALL(call_v_up_proj, args, figure_of(call_v_up_proj, &args), QUIRE_E_INVALID_ARG);
    quire_mla_weights_destroy(weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paged_attention),      cmocka_unit_test(unpadded_batch),
        cmocka_unit_test(contiguous_attention), cmocka_unit_test(merge),
        cmocka_unit_test(latent_attention),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
