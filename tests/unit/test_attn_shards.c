/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_shards.c - one sequence with keys in four shards: merged partial results against the
 * whole. */
#include "test_plan.h"
#include <quire/attention_dense.h>
#include <quire/attention_merge.h>

/* Attention of the last n_new tokens of a problem's only sequence over its keys [begin, end),
 * which are in a separate cache: positions count from begin. */
static void attend_range(const struct problem *s, uint32_t begin, uint32_t end, uint32_t n_new,
                         float *out, float *lse)
{
    const struct quire_attention_config *c = &s->config;
    const uint32_t len = s->len[0] - begin, n_keys = end - begin, v_size = problem_v_size(s);
    const size_t kv = (size_t)begin * c->n_kv_heads, q = (size_t)(len - n_new) * c->n_heads;
    struct problem part = *s;
    if (end < s->len[0]) {
        part.config.kind = QUIRE_ATTENTION_CROSS;
        part.config.causal = 0;
    }
    part.config.sinks = NULL;
    part.len[0] = part.n_rows = len;
    part.key_len[0] = part.n_keys = n_keys;
    part.k += kv * c->head_size;
    part.v += kv * v_size;
    part.q += (size_t)begin * c->n_heads * c->head_size;
    struct variant r = variant_whole(&part);
    r.from[0] = len - n_new;
    struct result result = result_new(&part);
    run_problem(&part, &r, &result);
    memcpy(out, result.out + q * v_size, (size_t)n_new * c->n_heads * v_size * sizeof *out);
    memcpy(lse, result.lse + q, (size_t)n_new * c->n_heads * sizeof *lse);
    result_free(&result);
}

/* Compares a merged result with that of the whole sequence. */
static void check_shards(const struct problem *s, uint32_t n_new,
                         const struct quire_attention_partial *parts, uint32_t n_parts)
{
    const size_t n = (size_t)n_new * s->config.n_heads, width = problem_v_size(s);
    struct result want = result_new(s);
    struct variant r = variant_whole(s);
    r.from[0] = s->len[0] - n_new;
    run_problem(s, &r, &want);
    float *out = malloc(n * width * sizeof *out), *lse = malloc(n * sizeof *lse);
    const struct quire_attention_merge_args args = { .struct_size = sizeof args,
                                                     .n_parts = n_parts,
                                                     .parts = parts,
                                                     .n_tokens = n_new,
                                                     .n_heads = s->config.n_heads,
                                                     .v_head_size = (uint32_t)width,
                                                     .sinks = s->config.sinks,
                                                     .out = out,
                                                     .lse = lse };
    must(quire_attention_merge(&args, NULL, &err));
    const float *want_out = want.out + want.n_out - n * width,
                *want_lse = want.lse + want.n_lse - n;
    for (size_t i = 0; i < n * width; i++)
        assert_true(fabsf(out[i] - want_out[i]) <= 1e-5f);
    for (size_t i = 0; i < n; i++)
        assert_true(fabsf(lse[i] - want_lse[i]) <= 1e-5f);
    free(out), free(lse);
    result_free(&want);
}

static struct problem random_sequence(uint32_t len)
{
    struct problem s = {
        .k_dtype = QUIRE_KV_F32, .v_dtype = QUIRE_KV_F32, .k_scale = 1, .v_scale = 1
    };
    quire_attention_config_init(&s.config, sizeof s.config, 8, 2, 32);
    s.config.v_head_size = problem_below(2) ? 16 : 32;
    s.config.logits_soft_cap = problem_below(3) ? 0 : 20;
    s.config.window_left = problem_below(3) ? -1 : (int32_t)problem_below(1500);
    s.config.chunk_size = problem_below(3) ? 0 : 1 + problem_below(600);
    problem_fill(&s, &len, 1);
    return s;
}

static void point_options(struct problem *s)
{
    s->config.sinks = problem_below(2) ? NULL : s->sinks;
    s->config.alibi_slopes = problem_below(2) ? NULL : s->slopes;
    s->config.relative_bias = problem_below(2) ? NULL : s->relative;
    s->config.relative_range = problem_below(MAX_PROBLEM_RANGE);
}

static void four_ranges(void **state)
{
    (void)state;
    static const uint32_t len = 2100, n_new = 9;
    problem_rng = 24;
    for (int round = 0; round < 24; round++) {
        struct problem s = random_sequence(len);
        const uint32_t step = s.config.chunk_size ? s.config.chunk_size : 1,
                       width = problem_v_size(&s);
        const size_t n = (size_t)n_new * 8;
        float *memory = malloc(4 * n * (width + 1) * sizeof *memory);
        struct quire_attention_partial parts[4];
        point_options(&s);
        for (uint32_t i = 0; i < 4; i++) {
            float *out = memory + i * n * (width + 1);
            const uint32_t begin = len * i / 4 / step * step,
                           end = i == 3 ? len : len * (i + 1) / 4 / step * step;
            attend_range(&s, begin, end, n_new, out, out + n * width);
            parts[i] = (struct quire_attention_partial){ .out = out, .lse = out + n * width };
        }
        check_shards(&s, n_new, parts, 4);
        free(memory);
        problem_free(&s);
    }
}

/* Shard i of 4 stores every fourth block of a sequence, starting at block i. */
enum { BLOCK_KEYS = 64, MAX_PLACES = 64 };

/* A cache with the blocks of one shard only. */
static struct quire_kv_cache *shard_cache(const struct problem *s, uint32_t shard, int32_t *table)
{
    const struct quire_attention_config *c = &s->config;
    const uint32_t n_places = (s->len[0] + BLOCK_KEYS - 1) / BLOCK_KEYS;
    const struct quire_kv_group_config group = { .n_layers = 1,
                                                 .n_kv_heads = c->n_kv_heads,
                                                 .head_size = c->head_size,
                                                 .v_head_size = problem_v_size(s),
                                                 .n_blocks = n_places / 4 + 1 };
    const struct quire_kv_params config = {
        .struct_size = sizeof config, .block_size = BLOCK_KEYS, .groups = &group, .n_groups = 1
    };
    struct quire_kv_cache *kv;
    int32_t ids[MAX_PLACES], next = 0;
    int64_t *slots = malloc(s->len[0] * sizeof *slots);
    for (uint32_t p = 0; p < n_places; p++)
        table[p] = p % 4 == shard ? next++ : -9; /* must not be read */
    for (uint32_t t = 0; t < s->len[0]; t++)
        slots[t] = table[t / BLOCK_KEYS] < 0
                       ? QUIRE_SLOT_PAD
                       : (int64_t)table[t / BLOCK_KEYS] * BLOCK_KEYS + t % BLOCK_KEYS;
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = s->k, .v = s->v, .slot_mapping = slots, .n_tokens = s->len[0]
    };
    must(quire_kv_create(&config, &kv, &err));
    must(quire_kv_alloc(kv, 0, -1, group.n_blocks, ids, &err));
    must(quire_kv_write(kv, &w, NULL, &err));
    free(slots);
    return kv;
}

/* Attention of the last n_new tokens of a problem's only sequence over the blocks of a shard.
 * The batch is that of the whole sequence, with sparse block lists. */
static void attend_blocks(const struct problem *s, uint32_t shard, uint32_t n_new, float *out,
                          float *lse)
{
    int32_t table[MAX_PLACES], owned[MAX_PLACES];
    struct quire_attention_config c = s->config;
    struct quire_kv_cache *kv = shard_cache(s, shard, table);
    struct quire_sparse_list lists[2] = { { .blocks = owned }, { .blocks = owned } };
    for (uint32_t p = shard; p < (s->len[0] + BLOCK_KEYS - 1) / BLOCK_KEYS; p += 4)
        owned[lists[0].n++] = (int32_t)p;
    lists[1].n = lists[0].n;
    c.sinks = NULL;
    const struct quire_plan_group group = { .config = &c };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = n_new,
                                              .max_seqs = 1,
                                              .max_seq_len = s->len[0],
                                              .n_threads = 1,
                                              .max_sparse_blocks = 2 * MAX_PLACES };
    const int32_t starts[] = { 0, (int32_t)n_new }, lens[] = { (int32_t)s->len[0] };
    const struct quire_attention_batch_group tables = { .block_table = table,
                                                        .max_blocks = MAX_PLACES };
    const struct quire_sparse_list *const sparse[] = { lists };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = 1,
                                                 .groups = &tables,
                                                 .sparse = sparse };
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .q = s->q + (size_t)(s->len[0] - n_new) * c.n_heads *
                                                               c.head_size,
                                               .out = out,
                                               .lse = lse };
    struct quire_plan *plan;
    must(quire_plan_create(&params, &plan, &err));
    must(quire_plan_build(plan, &batch, &err));
    must(quire_attention_forward(plan, &args, NULL, &err));
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
}

static void blocks_in_turn(void **state)
{
    (void)state;
    static const uint32_t len = 2100, n_new = 9;
    problem_rng = 26;
    for (int round = 0; round < 24; round++) {
        struct problem s = random_sequence(len);
        const uint32_t width = problem_v_size(&s);
        const size_t n = (size_t)n_new * 8;
        float *memory = malloc(4 * n * (width + 1) * sizeof *memory);
        struct quire_attention_partial parts[4];
        point_options(&s);
        for (uint32_t i = 0; i < 4; i++) {
            float *out = memory + i * n * (width + 1);
            attend_blocks(&s, i, n_new, out, out + n * width);
            parts[i] = (struct quire_attention_partial){ .out = out, .lse = out + n * width };
        }
        check_shards(&s, n_new, parts, 4);
        free(memory);
        problem_free(&s);
    }
}

/* Attention of the last n_new tokens of every sequence over the keys of one rank, which holds
 * `interleave` of every world * interleave consecutive tokens. */
static void attend_tokens(const struct problem *s, uint32_t world, uint32_t rank,
                          uint32_t interleave, uint32_t n_new, float *out, float *lse)
{
    enum { TOKEN_BLOCK = 16 };
    struct quire_attention_config c = s->config;
    const uint32_t len = s->len[0],
                   n_blocks = len / world / TOKEN_BLOCK + interleave / TOKEN_BLOCK + 2;
    int32_t *table = malloc(n_blocks * sizeof *table);
    int64_t *slots = malloc(len * sizeof *slots);
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    const struct quire_kv_group_config g = { .n_layers = 1,
                                             .n_kv_heads = c.n_kv_heads,
                                             .head_size = c.head_size,
                                             .v_head_size = problem_v_size(s),
                                             .n_blocks = n_blocks };
    const struct quire_kv_params pool = {
        .struct_size = sizeof pool, .block_size = TOKEN_BLOCK, .groups = &g, .n_groups = 1
    };
    const struct quire_kv_slot_args map = { .struct_size = sizeof map,
                                            .block_size = TOKEN_BLOCK,
                                            .block_table = table,
                                            .n_entries = n_blocks,
                                            .n_tokens = len,
                                            .cp_world_size = world,
                                            .cp_rank = rank,
                                            .cp_interleave = interleave };
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = s->k, .v = s->v, .slot_mapping = slots, .n_tokens = len
    };
    const struct quire_plan_group group = { .config = &c };
    struct quire_plan_params params = { .struct_size = sizeof params,
                                        .groups = &group,
                                        .n_groups = 1,
                                        .max_tokens = n_new,
                                        .max_seqs = 1,
                                        .max_seq_len = len,
                                        .n_threads = 3 };
    const int32_t starts[] = { 0, (int32_t)n_new }, lens[] = { (int32_t)len };
    const struct quire_attention_batch_group tables = { .block_table = table,
                                                        .max_blocks = n_blocks };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = 1,
                                                 .groups = &tables,
                                                 .cp_world_size = world,
                                                 .cp_rank = rank,
                                                 .cp_interleave = interleave };
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .q = s->q +
                                                    (size_t)(len - n_new) * c.n_heads * c.head_size,
                                               .out = out,
                                               .lse = lse };
    c.sinks = NULL;
    must(quire_kv_create(&pool, &kv, &err));
    must(quire_kv_alloc(kv, 0, -1, n_blocks, table, &err));
    must(quire_kv_map_slots(&map, slots, &err));
    must(quire_kv_write(kv, &w, NULL, &err));
    params.kv = kv;
    must(quire_plan_create(&params, &plan, &err));
    must(quire_plan_build(plan, &batch, &err));
    must(quire_attention_forward(plan, &args, NULL, &err));
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
    free(table), free(slots);
}

/* Decode context parallelism: single tokens in turn, and runs of them, with every kind of mask and
 * bias and with several new tokens. */
static void tokens_in_turn(void **state)
{
    (void)state;
    enum { MAX_WORLD = 5, LEN = 1100 };
    problem_rng = 27;
    for (int round = 0; round < 40; round++) {
        struct problem s = random_sequence(LEN - problem_below(1000));
        const uint32_t world = 2 + problem_below(MAX_WORLD - 1), n_new = 1 + problem_below(20),
                       interleave = round % 3 ? 1 : 1 + problem_below(40),
                       width = problem_v_size(&s);
        const size_t n = (size_t)n_new * 8;
        float *memory = malloc(world * n * (width + 1) * sizeof *memory);
        struct quire_attention_partial parts[MAX_WORLD];
        point_options(&s);
        s.config.causal = problem_below(4) != 0;
        for (uint32_t i = 0; i < world; i++) {
            float *out = memory + i * n * (width + 1);
            attend_tokens(&s, world, i, interleave, n_new, out, out + n * width);
            parts[i] = (struct quire_attention_partial){ .out = out, .lse = out + n * width };
        }
        check_shards(&s, n_new, parts, world);
        free(memory);
        problem_free(&s);
    }
}

/* Every rank weighs its own keys of the window: by hand. */
static void tokens_by_hand(void **state)
{
    (void)state;
    enum { LEN = 11, NEW = 3, WORLD = 2, D = 8 };
    static const uint32_t len = LEN;
    static const float slope = 0.5f;
    struct problem s = {
        .k_dtype = QUIRE_KV_F32, .v_dtype = QUIRE_KV_F32, .k_scale = 1, .v_scale = 1
    };
    quire_attention_config_init(&s.config, sizeof s.config, 1, 1, D);
    s.config.window_left = 4;
    s.config.alibi_slopes = &slope;
    problem_fill(&s, &len, 1);
    memset(s.q, 0, LEN * D * sizeof *s.q); /* scores are the biases */
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        float out[NEW * D], lse[NEW];
        attend_tokens(&s, WORLD, rank, 1, NEW, out, lse);
        for (int i = 0; i < NEW; i++) {
            const int pos = LEN - NEW + i;
            double sum = 0, value = 0;
            for (int k = pos - 4; k <= pos; k++)
                if (k % WORLD == (int)rank) {
                    sum += exp(0.5 * (k - pos));
                    value += exp(0.5 * (k - pos)) * (double)s.v[k * D];
                }
            assert_true(fabs((double)lse[i] - log(sum)) < 1e-6);
            assert_true(fabs((double)out[i * D] - value / sum) < 1e-5);
        }
    }
    problem_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_ranges),
        cmocka_unit_test(blocks_in_turn),
        cmocka_unit_test(tokens_in_turn),
        cmocka_unit_test(tokens_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
