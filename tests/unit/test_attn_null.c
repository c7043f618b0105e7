/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_null.c - every pointer of the attention API NULL and every struct_size wrong, one at
 * a time: the message names the argument, and no output is written. */
#include "quire_cmocka.h"
#include <quire/attention_dense.h>
#include <quire/attention_merge.h>
#include <quire/bias.h>
#include <quire/mla.h>

enum { D = 8, BLOCK = 16, BLOCKS = 4, N = 5, MARK = 0x5a };

/* Valid arguments of all calls, and outputs with a fill pattern. */
struct world {
    struct quire_kv_group_config group;
    struct quire_kv_params kv_config;
    struct quire_kv_cache *kv;
    struct quire_attention_config config;
    struct quire_plan_group plan_group;
    struct quire_plan_params plan_params;
    struct quire_plan *plan;
    int32_t blocks[BLOCKS], starts[2], kv_starts[2], lens[1];
    int64_t slots[N];
    struct quire_attention_batch_group tables;
    struct quire_attention_batch batch;
    struct quire_attention_args args;
    struct quire_dense_params dense_params;
    struct quire_dense *dense;
    struct quire_dense_batch dense_batch;
    struct quire_attention_partial part;
    struct quire_attention_merge_args merge;
    struct quire_mla_dims dims;
    struct quire_mla_weights_params weights_params;
    struct quire_mla_weights *weights;
    struct quire_mla_args mla;
    float in[64 * D], slopes[4];
};

/* Outputs of the calls. */
static struct outputs {
    float out[64 * D], lse[64];
    unsigned char bytes[512];
    int64_t slots[N];
    int32_t blocks[BLOCKS];
    uint64_t n;
} o;

#define must(call)                                                                                 \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        if ((call) != QUIRE_OK)                                                                    \
            fail_msg("%s: %s", #call, err.msg);                                                    \
    } while (0)

/* Checks that the call fails with this status, that the message contains the word and that the
 * outputs are unchanged. */
#define REFUSED(code_, word, call)                                                                 \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        memset(&o, MARK, sizeof o);                                                                \
        assert_status(code_, call);                                                                \
        if (!strstr(err.msg, word))                                                                \
            fail_msg("%s: \"%s\" does not name %s", #call, err.msg, word);                         \
        for (size_t i_ = 0; i_ < sizeof o; i_++)                                                   \
            assert_int_equal(((unsigned char *)&o)[i_], MARK);                                     \
    } while (0)

#define NULLED(word, call) REFUSED(QUIRE_E_INVALID_ARG, word, call)

/* Sets a pointer member to NULL for one call. */
#define WITHOUT(member, word, call)                                                                \
    do {                                                                                           \
        const __typeof__(member) kept = member;                                                    \
        member = NULL;                                                                             \
        NULLED(word, call);                                                                        \
        member = kept;                                                                             \
    } while (0)

#define OTHER_SIZE(object, call)                                                                   \
    do {                                                                                           \
        (object).struct_size = 4; /* below the first version of any */                             \
        REFUSED(QUIRE_E_MISUSE, "struct_size", call);                                              \
        (object).struct_size = 1u << 20;                                                           \
        REFUSED(QUIRE_E_MISUSE, "struct_size", call);                                              \
        (object).struct_size = sizeof(object);                                                     \
    } while (0)

static void open_cache(struct world *w)
{
    w->group = (struct quire_kv_group_config){
        .n_layers = 1, .n_kv_heads = 1, .head_size = D, .n_blocks = BLOCKS
    };
    w->kv_config = (struct quire_kv_params){ .struct_size = sizeof w->kv_config,
                                             .block_size = BLOCK,
                                             .groups = &w->group,
                                             .n_groups = 1,
                                             .flags = QUIRE_KV_TOUCH };
    must(quire_kv_create(&w->kv_config, &w->kv, &err));
    must(quire_kv_alloc(w->kv, 0, -1, 2, w->blocks, &err));
    for (int i = 0; i < N; i++)
        w->slots[i] = i;
}

static void open_plan(struct world *w)
{
    quire_attention_config_init(&w->config, sizeof w->config, 2, 1, D);
    w->plan_group.config = &w->config;
    w->plan_params = (struct quire_plan_params){ .struct_size = sizeof w->plan_params,
                                                 .kv = w->kv,
                                                 .groups = &w->plan_group,
                                                 .n_groups = 1,
                                                 .max_tokens = N,
                                                 .max_seqs = 1,
                                                 .max_seq_len = 2 * BLOCK,
                                                 .n_threads = 1 };
    must(quire_plan_create(&w->plan_params, &w->plan, &err));
    w->starts[1] = w->kv_starts[1] = w->lens[0] = N;
    w->tables = (struct quire_attention_batch_group){ .block_table = w->blocks, .max_blocks = 2 };
    w->batch = (struct quire_attention_batch){ .struct_size = sizeof w->batch,
                                               .n_seqs = 1,
                                               .query_start_loc = w->starts,
                                               .seq_lens = w->lens,
                                               .n_groups = 1,
                                               .groups = &w->tables };
    must(quire_plan_build(w->plan, &w->batch, &err));
    w->args = (struct quire_attention_args){
        .struct_size = sizeof w->args, .q = w->in, .out = o.out, .lse = o.lse
    };
}

static void open_others(struct world *w)
{
    w->dense_params = (struct quire_dense_params){ .struct_size = sizeof w->dense_params,
                                                   .config = &w->config,
                                                   .max_tokens = N,
                                                   .max_kv_tokens = N,
                                                   .max_seqs = 1,
                                                   .n_threads = 1 };
    must(quire_dense_create(&w->dense_params, &w->dense, &err));
    w->dense_batch = (struct quire_dense_batch){ .struct_size = sizeof w->dense_batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = w->starts,
                                                 .kv_start_loc = w->kv_starts,
                                                 .k = w->in,
                                                 .v = w->in };
    w->part = (struct quire_attention_partial){ .out = w->in, .lse = w->in };
    w->merge = (struct quire_attention_merge_args){ .struct_size = sizeof w->merge,
                                                    .n_parts = 1,
                                                    .parts = &w->part,
                                                    .n_tokens = 1,
                                                    .n_heads = 1,
                                                    .v_head_size = D,
                                                    .out = o.out,
                                                    .lse = o.lse };
    w->dims = (struct quire_mla_dims){ .struct_size = sizeof w->dims,
                                       .n_heads = 1,
                                       .kv_lora_rank = D,
                                       .qk_nope_head_dim = D,
                                       .v_head_dim = D };
    w->weights_params = (struct quire_mla_weights_params){ .struct_size = sizeof w->weights_params,
                                                           .dims = &w->dims,
                                                           .kv_b = w->in };
    must(quire_mla_weights_create(&w->weights_params, &w->weights, &err));
    w->mla = (struct quire_mla_args){
        .struct_size = sizeof w->mla, .in = w->in, .out = o.out, .n_tokens = 1
    };
}

static void close_world(struct world *w)
{
    quire_mla_weights_destroy(w->weights);
    quire_dense_destroy(w->dense);
    quire_plan_destroy(w->plan);
    quire_kv_destroy(w->kv);
}

static void open_world(struct world *w)
{
    memset(w, 0, sizeof *w);
    open_cache(w);
    open_plan(w);
    open_others(w);
}

/* ---- quire/kv_cache.h */

static void cache_and_blocks(void **state)
{
    (void)state;
    struct world w;
    struct quire_kv_cache *kv = NULL;
    struct quire_kv_memory m = { .struct_size = sizeof m };
    struct quire_kv_group_config *g = (void *)o.bytes;
    enum quire_kv_dtype *dtype = (void *)o.bytes;
    open_world(&w);
    NULLED("name", quire_kv_dtype_parse(NULL, dtype, &err));
    NULLED("out", quire_kv_dtype_parse("f32", NULL, &err));
    NULLED("params", quire_kv_bytes(NULL, &m, &err));
    NULLED("out", quire_kv_bytes(&w.kv_config, NULL, &err));
    OTHER_SIZE(m, quire_kv_bytes(&w.kv_config, &m, &err));
    OTHER_SIZE(w.kv_config, quire_kv_bytes(&w.kv_config, &m, &err));
    OTHER_SIZE(w.kv_config, quire_kv_create(&w.kv_config, &kv, &err));
    NULLED("params", quire_kv_create(NULL, &kv, &err));
    NULLED("out", quire_kv_create(&w.kv_config, NULL, &err));
    WITHOUT(w.kv_config.groups, "groups", quire_kv_create(&w.kv_config, &kv, &err));
    assert_null(kv);
    NULLED("kv", quire_kv_get_group(NULL, 0, g, &err));
    NULLED("out", quire_kv_get_group(w.kv, 0, NULL, &err));
    NULLED("kv", quire_kv_alloc(NULL, 0, -1, 1, o.blocks, &err));
    NULLED("blocks", quire_kv_alloc(w.kv, 0, -1, 1, NULL, &err));
    NULLED("kv", quire_kv_retain(NULL, 0, w.blocks, 1, &err));
    NULLED("blocks", quire_kv_retain(w.kv, 0, NULL, 1, &err));
    NULLED("kv", quire_kv_release(NULL, 0, w.blocks, 1, &err));
    NULLED("blocks", quire_kv_release(w.kv, 0, NULL, 1, &err));
    NULLED("kv", quire_kv_copy(NULL, 0, w.blocks, w.blocks + 1, 1, &err));
    NULLED("src", quire_kv_copy(w.kv, 0, NULL, w.blocks + 1, 1, &err));
    NULLED("dst", quire_kv_copy(w.kv, 0, w.blocks, NULL, 1, &err));
    NULLED("kv", quire_kv_make_writable(NULL, 0, -1, o.blocks, &err));
    NULLED("block", quire_kv_make_writable(w.kv, 0, -1, NULL, &err));
    assert_int_equal(quire_kv_group_count(NULL), 0);
    assert_int_equal(quire_kv_block_size(NULL), 0);
    assert_int_equal(quire_kv_clipped(NULL), 0);
    assert_int_equal(quire_kv_free_block_count(NULL, 0), 0);
    assert_int_equal(quire_kv_ref_count(NULL, 0, 0), 0);
    assert_int_equal(quire_kv_free_block_count(w.kv, 0), BLOCKS - 2); /* nothing was allocated */
    close_world(&w);
}

static void slot_maps_and_scales(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    struct quire_kv_slot_args map = { .struct_size = sizeof map,
                                      .block_size = BLOCK,
                                      .block_table = w.blocks,
                                      .n_entries = 2,
                                      .n_tokens = N };
    NULLED("args", quire_kv_map_slots(NULL, o.slots, &err));
    NULLED("slots", quire_kv_map_slots(&map, NULL, &err));
    WITHOUT(map.block_table, "block_table", quire_kv_map_slots(&map, o.slots, &err));
    OTHER_SIZE(map, quire_kv_map_slots(&map, o.slots, &err));
    const struct quire_kv_prefix_group pg = { .n_blocks = 1 };
    struct quire_kv_prefix_args prefix = { .struct_size = sizeof prefix,
                                           .block_size = BLOCK,
                                           .n_tokens = N,
                                           .groups = &pg,
                                           .n_groups = 1 };
    uint32_t *hit = (void *)o.bytes;
    NULLED("args", quire_kv_prefix_hit(NULL, hit, &err));
    NULLED("n_tokens", quire_kv_prefix_hit(&prefix, NULL, &err));
    WITHOUT(prefix.groups, "groups", quire_kv_prefix_hit(&prefix, hit, &err));
    OTHER_SIZE(prefix, quire_kv_prefix_hit(&prefix, hit, &err));
    struct quire_kv_calibrate_args cal = { .struct_size = sizeof cal,
                                           .n_kv_heads = 1,
                                           .head_size = D,
                                           .k = w.in,
                                           .v = w.in,
                                           .n_tokens = N };
    NULLED("args", quire_kv_calibrate(NULL, o.out, o.lse, &err));
    NULLED("k_amax", quire_kv_calibrate(&cal, NULL, o.lse, &err));
    NULLED("v_amax", quire_kv_calibrate(&cal, o.out, NULL, &err));
    OTHER_SIZE(cal, quire_kv_calibrate(&cal, o.out, o.lse, &err));
    NULLED("amax", quire_kv_calibrate_scales(QUIRE_KV_FP8_E4M3, NULL, 1, o.out, 1, &err));
    NULLED("scales", quire_kv_calibrate_scales(QUIRE_KV_FP8_E4M3, w.in, 1, NULL, 1, &err));
    close_world(&w);
}

static void cache_rows(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    NULLED("kv", quire_kv_check_slots(NULL, 0, w.slots, N, &err));
    NULLED("slot_mapping", quire_kv_check_slots(w.kv, 0, NULL, N, &err));
    struct quire_kv_write_args wr = {
        .struct_size = sizeof wr, .k = w.in, .v = w.in, .slot_mapping = w.slots, .n_tokens = N
    };
    NULLED("kv", quire_kv_write(NULL, &wr, NULL, &err));
    NULLED("args", quire_kv_write(w.kv, NULL, NULL, &err));
    WITHOUT(wr.k, "args.k", quire_kv_write(w.kv, &wr, NULL, &err));
    WITHOUT(wr.v, "args.v", quire_kv_write(w.kv, &wr, NULL, &err));
    WITHOUT(wr.slot_mapping, "slot_mapping", quire_kv_write(w.kv, &wr, NULL, &err));
    OTHER_SIZE(wr, quire_kv_write(w.kv, &wr, NULL, &err));
    NULLED("args", quire_kv_write_check(w.kv, NULL, &err));
    struct quire_kv_read_args rd = {
        .struct_size = sizeof rd, .k = o.out, .slots = w.slots, .n_tokens = N
    };
    NULLED("kv", quire_kv_read(NULL, &rd, &err));
    NULLED("args", quire_kv_read(w.kv, NULL, &err));
    WITHOUT(rd.slots, "slots", quire_kv_read(w.kv, &rd, &err));
    OTHER_SIZE(rd, quire_kv_read(w.kv, &rd, &err));
    struct quire_kv_plain_args pl = { .struct_size = sizeof pl,
                                      .blocks = w.blocks,
                                      .n_blocks = 1,
                                      .layout = quire_kv_plain_split(QUIRE_KV_F32, 1, BLOCK, 1, D),
                                      .size = 2 * BLOCK * D * sizeof(float) };
    NULLED("kv", quire_kv_import(NULL, &pl, w.in, &err));
    NULLED("args", quire_kv_import(w.kv, NULL, w.in, &err));
    NULLED("plain", quire_kv_import(w.kv, &pl, NULL, &err));
    WITHOUT(pl.blocks, "blocks", quire_kv_import(w.kv, &pl, w.in, &err));
    OTHER_SIZE(pl, quire_kv_import(w.kv, &pl, w.in, &err));
    NULLED("kv", quire_kv_export(NULL, &pl, o.out, &err));
    NULLED("args", quire_kv_export(w.kv, NULL, o.out, &err));
    NULLED("plain", quire_kv_export(w.kv, &pl, NULL, &err));
    OTHER_SIZE(pl, quire_kv_export(w.kv, &pl, o.out, &err));
    close_world(&w);
}

/* ---- quire/attention.h */

static void configurations_and_plans(void **state)
{
    (void)state;
    struct world w;
    struct quire_plan *plan = NULL;
    struct quire_attention_report report = { .struct_size = sizeof report };
    struct quire_attention_caps caps = { .struct_size = sizeof caps };
    struct quire_attention_batch *cut = (void *)o.bytes;
    open_world(&w);
    const enum quire_kv_dtype f32 = QUIRE_KV_F32;
    quire_attention_config_init(NULL, sizeof *NULL, 1, 1, 1); /* no-op */
    NULLED("config", quire_attention_validate(NULL, f32, f32, BLOCK, NULL, &report, &err));
    OTHER_SIZE(w.config, quire_attention_validate(&w.config, f32, f32, BLOCK, NULL, NULL, &err));
    OTHER_SIZE(report, quire_attention_validate(&w.config, f32, f32, BLOCK, NULL, &report, &err));
    NULLED("out", quire_attention_get_caps(NULL, NULL, &err));
    OTHER_SIZE(caps, quire_attention_get_caps(NULL, &caps, &err));
    NULLED("batch", quire_attention_batch_unpadded(NULL, N, 1, cut, &err));
    NULLED("out", quire_attention_batch_unpadded(&w.batch, N, 1, NULL, &err));
    OTHER_SIZE(w.batch, quire_attention_batch_unpadded(&w.batch, N, 1, cut, &err));
    NULLED("params", quire_plan_bytes(NULL, &o.n, &err));
    NULLED("bytes", quire_plan_bytes(&w.plan_params, NULL, &err));
    NULLED("params", quire_plan_create(NULL, &plan, &err));
    NULLED("out", quire_plan_create(&w.plan_params, NULL, &err));
    WITHOUT(w.plan_params.kv, "kv", quire_plan_create(&w.plan_params, &plan, &err));
    WITHOUT(w.plan_params.groups, "groups", quire_plan_create(&w.plan_params, &plan, &err));
    WITHOUT(w.plan_group.config, "config", quire_plan_create(&w.plan_params, &plan, &err));
    OTHER_SIZE(w.plan_params, quire_plan_create(&w.plan_params, &plan, &err));
    OTHER_SIZE(w.config, quire_plan_create(&w.plan_params, &plan, &err));
    assert_null(plan);
    NULLED("plan", quire_plan_build(NULL, &w.batch, &err));
    NULLED("batch", quire_plan_build(w.plan, NULL, &err));
    WITHOUT(w.batch.query_start_loc, "query_start", quire_plan_build(w.plan, &w.batch, &err));
    WITHOUT(w.batch.seq_lens, "seq_lens", quire_plan_build(w.plan, &w.batch, &err));
    WITHOUT(w.batch.groups, "groups", quire_plan_build(w.plan, &w.batch, &err));
    WITHOUT(w.tables.block_table, "block_table", quire_plan_build(w.plan, &w.batch, &err));
    OTHER_SIZE(w.batch, quire_plan_build(w.plan, &w.batch, &err));
    NULLED("plan", quire_plan_set_tables(NULL, 0, &w.tables, &err));
    NULLED("tables", quire_plan_set_tables(w.plan, 0, NULL, &err));
    NULLED("plan", quire_attention_forward(NULL, &w.args, NULL, &err));
    NULLED("args", quire_attention_forward(w.plan, NULL, NULL, &err));
    NULLED("plan", quire_attention_check(NULL, &w.args, &err));
    NULLED("args", quire_attention_check(w.plan, NULL, &err));
    WITHOUT(w.args.q, "args.q", quire_attention_forward(w.plan, &w.args, NULL, &err));
    WITHOUT(w.args.out, "args.out", quire_attention_forward(w.plan, &w.args, NULL, &err));
    OTHER_SIZE(w.args, quire_attention_forward(w.plan, &w.args, NULL, &err));
    w.args.config = &w.config;
    OTHER_SIZE(w.config, quire_attention_forward(w.plan, &w.args, NULL, &err));
    NULLED("out", quire_sliding_window_bias(2, 2, 1, 1, NULL, 2, &err));
    NULLED("slopes", quire_alibi_bias(NULL, 2, 2, 2, 1, o.out, 2, 0, &err));
    NULLED("out", quire_alibi_bias(w.slopes, 2, 2, 2, 1, NULL, 2, 0, &err));
    NULLED("slopes", quire_alibi_slopes(4, NULL, &err));
    NULLED("table", quire_relative_bias(NULL, 8, 2, 1, 16, 4, o.out, &err));
    NULLED("out", quire_relative_bias(w.in, 8, 2, 1, 16, 4, NULL, &err));
    close_world(&w);
}

/* ---- quire/attention_dense.h */

static void dense_and_merge(void **state)
{
    (void)state;
    struct world w;
    struct quire_dense *dense = NULL;
    open_world(&w);
    NULLED("params", quire_dense_bytes(NULL, &o.n, &err));
    NULLED("bytes", quire_dense_bytes(&w.dense_params, NULL, &err));
    NULLED("params", quire_dense_create(NULL, &dense, &err));
    NULLED("out", quire_dense_create(&w.dense_params, NULL, &err));
    WITHOUT(w.dense_params.config, "config", quire_dense_create(&w.dense_params, &dense, &err));
    OTHER_SIZE(w.dense_params, quire_dense_create(&w.dense_params, &dense, &err));
    assert_null(dense);
#define CALL quire_attention_dense(w.dense, &w.dense_batch, &w.args, NULL, &err)
    NULLED("dense", quire_attention_dense(NULL, &w.dense_batch, &w.args, NULL, &err));
    NULLED("batch", quire_attention_dense(w.dense, NULL, &w.args, NULL, &err));
    NULLED("args", quire_attention_dense(w.dense, &w.dense_batch, NULL, NULL, &err));
    WITHOUT(w.dense_batch.query_start_loc, "query_start_loc", CALL);
    WITHOUT(w.dense_batch.kv_start_loc, "kv_start_loc", CALL);
    WITHOUT(w.dense_batch.k, "batch.k", CALL);
    WITHOUT(w.dense_batch.v, "batch.v", CALL);
    WITHOUT(w.args.q, "args.q", CALL);
    WITHOUT(w.args.out, "args.out", CALL);
    OTHER_SIZE(w.dense_batch, CALL);
    OTHER_SIZE(w.args, CALL);
#undef CALL
    NULLED("dense", quire_dense_prepare(NULL, &w.dense_batch, &err));
    NULLED("batch", quire_dense_prepare(w.dense, NULL, &err));
    NULLED("dense", quire_dense_check(NULL, &w.dense_batch, &w.args, &err));
    NULLED("batch", quire_dense_check(w.dense, NULL, &w.args, &err));
    NULLED("args", quire_dense_check(w.dense, &w.dense_batch, NULL, &err));
    NULLED("args", quire_attention_merge(NULL, NULL, &err));
    WITHOUT(w.merge.parts, "parts", quire_attention_merge(&w.merge, NULL, &err));
    WITHOUT(w.merge.out, "args.out", quire_attention_merge(&w.merge, NULL, &err));
    WITHOUT(w.part.out, "parts[0].out", quire_attention_merge(&w.merge, NULL, &err));
    WITHOUT(w.part.lse, "parts[0].lse", quire_attention_merge(&w.merge, NULL, &err));
    OTHER_SIZE(w.merge, quire_attention_merge(&w.merge, NULL, &err));
    NULLED("args", quire_attention_merge_check(NULL, &err));
    close_world(&w);
}

/* ---- quire/mla.h */

static void latent(void **state)
{
    (void)state;
    struct world w;
    struct quire_mla_weights *weights = NULL;
    struct quire_kv_group_config *group = (void *)o.bytes;
    struct quire_attention_config *config = (void *)o.bytes;
    open_world(&w);
    NULLED("dims", quire_mla_kv_group(NULL, QUIRE_KV_F32, 1, 1, group, &err));
    NULLED("out", quire_mla_kv_group(&w.dims, QUIRE_KV_F32, 1, 1, NULL, &err));
    OTHER_SIZE(w.dims, quire_mla_kv_group(&w.dims, QUIRE_KV_F32, 1, 1, group, &err));
    NULLED("dims", quire_mla_absorbed_config(NULL, 1, config, &err));
    NULLED("out", quire_mla_absorbed_config(&w.dims, 1, NULL, &err));
    NULLED("dims", quire_mla_expanded_config(NULL, 1, config, &err));
    NULLED("out", quire_mla_expanded_config(&w.dims, 1, NULL, &err));
    NULLED("params", quire_mla_weights_create(NULL, &weights, &err));
    NULLED("out", quire_mla_weights_create(&w.weights_params, NULL, &err));
    WITHOUT(w.weights_params.dims, "dims",
            quire_mla_weights_create(&w.weights_params, &weights, &err));
    WITHOUT(w.weights_params.kv_b, "kv_b",
            quire_mla_weights_create(&w.weights_params, &weights, &err));
    OTHER_SIZE(w.weights_params, quire_mla_weights_create(&w.weights_params, &weights, &err));
    OTHER_SIZE(w.dims, quire_mla_weights_create(&w.weights_params, &weights, &err));
    assert_null(weights);
    NULLED("weights", quire_mla_absorb(NULL, &w.mla, NULL, &err));
    NULLED("args", quire_mla_absorb(w.weights, NULL, NULL, &err));
    WITHOUT(w.mla.in, "in", quire_mla_absorb(w.weights, &w.mla, NULL, &err));
    WITHOUT(w.mla.out, "out", quire_mla_absorb(w.weights, &w.mla, NULL, &err));
    OTHER_SIZE(w.mla, quire_mla_absorb(w.weights, &w.mla, NULL, &err));
    NULLED("weights", quire_mla_v_up_proj(NULL, &w.mla, NULL, &err));
    NULLED("args", quire_mla_v_up_proj(w.weights, NULL, NULL, &err));
    NULLED("weights", quire_mla_absorb_check(NULL, &w.mla, &err));
    NULLED("weights", quire_mla_v_up_proj_check(NULL, &w.mla, &err));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cache_and_blocks), cmocka_unit_test(slot_maps_and_scales),
        cmocka_unit_test(cache_rows),       cmocka_unit_test(configurations_and_plans),
        cmocka_unit_test(dense_and_merge),  cmocka_unit_test(latent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
