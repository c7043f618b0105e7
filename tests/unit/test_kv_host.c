/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_host.c - bitwise equality of attention when the host frees blocks before a window, shares
 * KV between layers, and reuses prefixes. */
#include "kv/types.h"
#include "test_kv.h"
#include <math.h>
#include <quire/attention.h>

enum { HEADS = 4, KV_HEADS = 2, MAX_D = 24, MAX_LEN = 220, MAX_BLOCKS = 16, GROUPS = 2 };

/* Queries, keys and values of one sequence in each group. */
struct data {
    float q[GROUPS][MAX_LEN][HEADS][MAX_D], k[GROUPS][MAX_LEN][KV_HEADS * MAX_D],
        v[GROUPS][MAX_LEN][KV_HEADS * MAX_D];
};

/* Group 0 has full attention, group 1 a window. */
struct shape {
    enum quire_kv_dtype k_dtype, v_dtype;
    uint32_t head_size, block_size, window;
};

static struct data data;

static void fill_data(void)
{
    float *x = (float *)&data;
    for (size_t i = 0; i < sizeof data / sizeof *x; i++)
        x[i] = (float)kv_below(4001) / 1000 - 2;
}

/* Pool and plan of both groups, and the block table of one sequence. */
struct host {
    const struct shape *shape;
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    int32_t table[GROUPS][MAX_BLOCKS]; /* entries of freed blocks are undefined */
    uint32_t first[GROUPS], n_blocks, len;
};

static uint32_t window_of(const struct shape *s, uint32_t group) { return group ? s->window : 0; }

static struct quire_attention_config config_of(const struct shape *s, uint32_t group)
{
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, HEADS, KV_HEADS, s->head_size);
    if (group)
        c.window_left = (int32_t)s->window - 1;
    return c;
}

static struct host open_host(const struct shape *s, uint32_t n_layers, const uint32_t *n_blocks)
{
    struct host h = { .shape = s };
    struct quire_kv_group_config groups[GROUPS];
    struct quire_attention_config configs[GROUPS];
    struct quire_plan_group plan_groups[GROUPS];
    for (uint32_t g = 0; g < GROUPS; g++) {
        groups[g] = kv_group(s->k_dtype, s->head_size, n_blocks[g]);
        groups[g].v_dtype = s->v_dtype;
        groups[g].n_layers = n_layers;
        groups[g].sliding_window = window_of(s, g);
        configs[g] = config_of(s, g);
        plan_groups[g] = (struct quire_plan_group){ &configs[g], g, 0 };
    }
    h.kv = kv_make(groups, GROUPS, s->block_size, NULL);
    const struct quire_plan_params p = { .struct_size = sizeof p,
                                         .kv = h.kv,
                                         .groups = plan_groups,
                                         .n_groups = GROUPS,
                                         .max_tokens = MAX_LEN,
                                         .max_seqs = 1,
                                         .max_seq_len = MAX_LEN,
                                         .n_threads = 1 };
    assert_status(QUIRE_OK, quire_plan_create(&p, &h.plan, NULL));
    return h;
}

static void close_host(struct host *h)
{
    quire_plan_destroy(h->plan);
    quire_kv_destroy(h->kv);
}

/* Fills whole blocks with NaN, as another sequence might. */
static void poison(struct host *h, uint32_t group, const int32_t *blocks, uint32_t n)
{
    static float nan[MAX_BLOCKS * 64 * KV_HEADS * MAX_D];
    int64_t slots[MAX_BLOCKS * 64];
    const uint32_t bs = h->shape->block_size, n_layers = h->kv->groups[group].n_layers;
    for (size_t i = 0; i < COUNT(nan); i++)
        nan[i] = NAN;
    for (uint32_t i = 0; i < n * bs; i++)
        slots[i] = (int64_t)blocks[i / bs] * bs + i % bs;
    for (uint32_t layer = 0; layer < n_layers; layer++) {
        const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                               .group = group,
                                               .layer = layer,
                                               .k = nan,
                                               .v = nan,
                                               .slot_mapping = slots,
                                               .n_tokens = n * bs };
        assert_status(QUIRE_OK, quire_kv_write(h->kv, &w, NULL, NULL));
    }
}

/* Frees the blocks before the window; another sequence allocates, fills and frees them. */
static void free_before_window(struct host *h)
{
    for (uint32_t g = 0; g < GROUPS; g++) {
        const uint32_t bs = h->shape->block_size, window = window_of(h->shape, g);
        const uint32_t first = quire_kv_first_block(bs, window, h->len), old = h->first[g];
        if (first <= old)
            continue;
        int32_t others[MAX_BLOCKS];
        assert_status(QUIRE_OK, quire_kv_release(h->kv, g, &h->table[g][old], first - old, NULL));
        const uint32_t n = (uint32_t)quire_kv_free_block_count(h->kv, g);
        kv_take(h->kv, g, n, others);
        poison(h, g, others, n);
        assert_status(QUIRE_OK, quire_kv_release(h->kv, g, others, n, NULL));
        h->first[g] = first;
    }
}

/* Allocates blocks for tokens up to `len`. */
static void grow(struct host *h, uint32_t len)
{
    const uint32_t bs = h->shape->block_size, want = (len + bs - 1) / bs;
    for (; h->n_blocks < want; h->n_blocks++)
        for (uint32_t g = 0; g < GROUPS; g++) {
            const int32_t after = h->n_blocks > h->first[g] ? h->table[g][h->n_blocks - 1] : -1;
            assert_status(QUIRE_OK,
                          quire_kv_alloc(h->kv, g, after, 1, &h->table[g][h->n_blocks], NULL));
        }
}

static void write_tokens(struct host *h, uint32_t group, uint32_t layer, uint32_t n)
{
    const uint32_t bs = h->shape->block_size, d = h->shape->head_size;
    int64_t slots[MAX_LEN];
    const struct quire_kv_slot_args map = { .struct_size = sizeof map,
                                            .block_size = bs,
                                            .block_table = h->table[group] + h->first[group],
                                            .n_entries = h->n_blocks - h->first[group],
                                            .first_block = h->first[group],
                                            .first_pos = h->len,
                                            .n_tokens = n };
    assert_status(QUIRE_OK, quire_kv_map_slots(&map, slots, NULL));
    const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                           .group = group,
                                           .layer = layer,
                                           .k = data.k[group][h->len],
                                           .v = data.v[group][h->len],
                                           .k_token_stride = KV_HEADS * MAX_D,
                                           .v_token_stride = KV_HEADS * MAX_D,
                                           .k_head_stride = d,
                                           .v_head_stride = d,
                                           .slot_mapping = slots,
                                           .n_tokens = n };
    assert_status(QUIRE_OK, quire_kv_write(h->kv, &w, NULL, NULL));
}

static void build(struct host *h, uint32_t n)
{
    const int32_t starts[] = { 0, (int32_t)n }, len = (int32_t)(h->len + n);
    struct quire_attention_batch_group groups[GROUPS];
    for (uint32_t g = 0; g < GROUPS; g++)
        groups[g] = (struct quire_attention_batch_group){
            .block_table = h->table[g] + h->first[g],
            .max_blocks = h->n_blocks - h->first[g],
            .first_block = &h->first[g],
        };
    const struct quire_attention_batch b = { .struct_size = sizeof b,
                                             .n_seqs = 1,
                                             .query_start_loc = starts,
                                             .seq_lens = &len,
                                             .n_groups = GROUPS,
                                             .groups = groups };
    assert_status(QUIRE_OK, quire_plan_build(h->plan, &b, NULL));
}

/* out: [n][HEADS][head_size] */
static void attend(struct host *h, uint32_t group, uint32_t layer, float scale, float *out)
{
    struct quire_attention_config c = config_of(h->shape, group);
    c.scale = scale != 0 ? scale : c.scale;
    const struct quire_attention_args a = { .struct_size = sizeof a,
                                            .group = group,
                                            .layer = layer,
                                            .config = &c,
                                            .q = data.q[group][h->len],
                                            .q_token_stride = HEADS * MAX_D,
                                            .q_head_stride = MAX_D,
                                            .out = out };
    assert_status(QUIRE_OK, quire_attention_forward(h->plan, &a, NULL, NULL));
}

typedef float results[GROUPS][MAX_LEN][HEADS * MAX_D];

/* Runs the next n tokens; result rows are stored by position. */
static void step(struct host *h, uint32_t n, results out)
{
    float rows[MAX_LEN * HEADS * MAX_D];
    const size_t width = HEADS * h->shape->head_size;
    grow(h, h->len + n);
    for (uint32_t g = 0; g < GROUPS; g++)
        write_tokens(h, g, 0, n);
    build(h, n);
    for (uint32_t g = 0; g < GROUPS; g++) {
        attend(h, g, 0, 0, rows);
        for (uint32_t t = 0; t < n; t++)
            memcpy(out[g][h->len + t], rows + t * width, width * sizeof *rows);
    }
    h->len += n;
}

static struct shape random_shape(void)
{
    static const uint32_t sizes[] = { 8, 16, 24, 20 }, blocks[] = { 16, 32, 64 },
                          windows[] = { 1, 2, 15, 16, 17, 33, 64, 65, 100 };
    return (struct shape){ .k_dtype = KV_DTYPES[kv_below(COUNT(KV_DTYPES))],
                           .v_dtype = KV_DTYPES[kv_below(COUNT(KV_DTYPES))],
                           .head_size = sizes[kv_below(COUNT(sizes))],
                           .block_size = blocks[kv_below(COUNT(blocks))],
                           .window = windows[kv_below(COUNT(windows))] };
}

static results want, got;

/* Reference: one step, no block freed. */
static void run_whole(const struct shape *s)
{
    const uint32_t plenty[] = { MAX_BLOCKS, MAX_BLOCKS };
    fill_data();
    memset(want, 0, sizeof want);
    struct host h = open_host(s, 1, plenty);
    step(&h, MAX_LEN, want);
    close_host(&h);
}

/* A windowed group needs blocks for its window and one step only, whatever the sequence length. */
static void freed_blocks_change_no_bit(void **state)
{
    (void)state;
    kv_rng = 31;
    for (int round = 0; round < 40; round++) {
        const struct shape s = random_shape();
        run_whole(&s);
        memset(got, 0, sizeof got);
        const uint32_t most = 1 + kv_below(20), bs = s.block_size, few = (s.window + most) / bs + 2;
        const uint32_t n_blocks[] = { MAX_BLOCKS, few < MAX_BLOCKS ? few : MAX_BLOCKS };
        struct host h = open_host(&s, 1, n_blocks);
        while (h.len < MAX_LEN) {
            const uint32_t n = round % 2 ? 1 : 1 + kv_below(most);
            free_before_window(&h);
            step(&h, n < MAX_LEN - h.len ? n : MAX_LEN - h.len, got);
        }
        assert_true(h.first[0] == 0 && (s.window > 64 || h.first[1] > 0));
        assert_memory_equal(got, want, sizeof want);
        close_host(&h);
    }
}

/* Layers 2 and 3 of a model read the KV of layers 0 and 1, and have none in the pool. The reference
 * is a pool in which all four layers have a copy. */
static void cross_layer_kv_sharing(void **state)
{
    (void)state;
    static const uint32_t source[] = { 0, 1, 0, 1 };
    static const float scales[] = { 0.2f, 0.3f, 0.4f, 0.5f };
    const uint32_t plenty[] = { MAX_BLOCKS, MAX_BLOCKS }, n = 70;
    static float mine[MAX_LEN * HEADS * MAX_D], copy[MAX_LEN * HEADS * MAX_D],
        before[MAX_LEN * HEADS * MAX_D];
    kv_rng = 5;
    for (int round = 0; round < 12; round++) {
        const struct shape s = random_shape();
        struct host shared = open_host(&s, 2, plenty), copies = open_host(&s, 4, plenty);
        grow(&shared, n);
        grow(&copies, n);
        for (uint32_t layer = 0; layer < 4; layer++)
            for (uint32_t g = 0; g < GROUPS; g++) {
                kv_rng = 100 + source[layer];
                fill_data();
                write_tokens(&copies, g, layer, n);
                if (layer < 2)
                    write_tokens(&shared, g, layer, n);
            }
        build(&shared, n);
        build(&copies, n);
        unsigned char *pool = malloc(shared.kv->pool_bytes);
        assert_non_null(pool);
        memcpy(pool, shared.kv->pool, shared.kv->pool_bytes);
        for (uint32_t g = 0; g < GROUPS; g++)
            for (uint32_t layer = 0; layer < 4; layer++) {
                attend(&shared, g, source[layer], scales[layer], mine);
                attend(&copies, g, layer, scales[layer], copy);
                assert_memory_equal(mine, copy, n * HEADS * s.head_size * sizeof *mine);
                if (layer)
                    assert_memory_not_equal(mine, before, sizeof mine);
                memcpy(before, mine, sizeof mine);
            }
        assert_memory_equal(pool, shared.kv->pool, shared.kv->pool_bytes);
        free(pool);
        close_host(&shared);
        close_host(&copies);
        kv_rng = 7 + (uint64_t)round;
    }
}

/* A second sequence with the same prefix, in the blocks that remain of the first one. */
static uint32_t reuse(struct host *h, uint32_t n_same)
{
    struct quire_kv_prefix_group groups[GROUPS];
    int32_t held[GROUPS][MAX_BLOCKS];
    for (uint32_t g = 0; g < GROUPS; g++) {
        for (uint32_t b = 0; b < h->n_blocks; b++) {
            held[g][b] = kv_below(12) ? h->table[g][b] : -1;
            if (held[g][b] < 0) { /* freed and allocated to another sequence */
                poison(h, g, &h->table[g][b], 1);
            }
        }
        groups[g] =
            (struct quire_kv_prefix_group){ window_of(h->shape, g), 0, h->n_blocks, held[g] };
    }
    const struct quire_kv_prefix_args p = { .struct_size = sizeof p,
                                            .block_size = h->shape->block_size,
                                            .n_tokens = n_same,
                                            .groups = groups,
                                            .n_groups = GROUPS };
    uint32_t n;
    assert_status(QUIRE_OK, quire_kv_prefix_hit(&p, &n, NULL));
    const uint32_t bs = h->shape->block_size, end = (n + bs - 1) / bs;
    for (uint32_t g = 0; g < GROUPS; g++) {
        h->first[g] = quire_kv_first_block(bs, groups[g].window, n);
        if (h->first[g] > end)
            h->first[g] = end;
        const uint32_t shared = end - h->first[g];
        assert_status(QUIRE_OK, quire_kv_retain(h->kv, g, &h->table[g][h->first[g]], shared, NULL));
        if (shared && n % bs) /* the next token writes to a shared block */
            assert_status(QUIRE_OK,
                          quire_kv_make_writable(h->kv, g, -1, &h->table[g][end - 1], NULL));
    }
    h->n_blocks = end;
    h->len = n;
    return n;
}

static void reused_prefixes_change_no_bit(void **state)
{
    (void)state;
    uint32_t n_reused = 0;
    kv_rng = 77;
    for (int round = 0; round < 60; round++) {
        const struct shape s = random_shape();
        const uint32_t plenty[] = { 3 * MAX_BLOCKS, 3 * MAX_BLOCKS };
        run_whole(&s);
        struct host h = open_host(&s, 1, plenty);
        step(&h, 1 + kv_below(MAX_LEN), got);
        memset(got, 0, sizeof got);
        const uint32_t n = reuse(&h, h.len);
        n_reused += n > 0;
        if (h.len < MAX_LEN)
            step(&h, MAX_LEN - h.len, got);
        for (uint32_t g = 0; g < GROUPS; g++)
            assert_memory_equal(got[g][n], want[g][n], (MAX_LEN - n) * sizeof got[g][0]);
        close_host(&h);
    }
    assert_true(n_reused > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_blocks_change_no_bit),
        cmocka_unit_test(cross_layer_kv_sharing),
        cmocka_unit_test(reused_prefixes_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
