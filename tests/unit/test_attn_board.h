/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_board.h - sequences whose output is the weight of each key, for hand-computed
 * examples. */
#ifndef QUIRE_TEST_ATTN_BOARD_H
#define QUIRE_TEST_ATTN_BOARD_H
#include "quire_cmocka.h"
#include <math.h>
#include <quire/attention.h>
#include <quire/cpu.h>

enum { KEYS = 48, BLOCK = 16, BLOCKS = 12, MAX_T = 24, HEADS = 2, D = 8 };

/* Queries and keys are 0 and value j is unit vector j: the output is the weight of each key. */
struct board {
    struct quire_attention_config config;
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    int32_t starts[5], lens[4], table[4][KEYS / BLOCK];
    struct quire_attention_batch_group group;
    struct quire_attention_batch batch;
    struct quire_attention_args args;
    float q[MAX_T][HEADS][D], out[MAX_T][HEADS][KEYS], lse[MAX_T][HEADS];
};

#define must(call)                                                                                 \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        if ((call) != QUIRE_OK)                                                                    \
            fail_msg("%s: %s", #call, err.msg);                                                    \
    } while (0)

static inline void fill_cache(struct board *b)
{
    static float k[KEYS][D], v[KEYS][KEYS];
    int64_t slots[KEYS];
    for (int j = 0; j < KEYS; j++)
        v[j][j] = 1;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < KEYS; j++)
            slots[j] = (int64_t)b->table[i][j / BLOCK] * BLOCK + j % BLOCK;
        const struct quire_kv_write_args w = { .struct_size = sizeof w,
                                               .dtype = QUIRE_KV_F32,
                                               .k = k,
                                               .v = v,
                                               .slot_mapping = slots,
                                               .n_tokens = KEYS };
        must(quire_kv_write(b->kv, &w, NULL, &err));
    }
}

static inline void open_board(struct board *b)
{
    memset(b, 0, sizeof *b);
    quire_attention_config_init(&b->config, sizeof b->config, HEADS, 1, D);
    b->config.v_head_size = KEYS;
    const struct quire_kv_group_config g = {
        .n_layers = 1, .n_kv_heads = 1, .head_size = D, .v_head_size = KEYS, .n_blocks = BLOCKS
    };
    const struct quire_kv_params c = {
        .struct_size = sizeof c, .block_size = BLOCK, .groups = &g, .n_groups = 1
    };
    must(quire_kv_create(&c, &b->kv, &err));
    must(quire_kv_alloc(b->kv, 0, -1, BLOCKS, b->table[0], &err));
    fill_cache(b);
    b->group = (struct quire_attention_batch_group){ .block_table = b->table[0],
                                                     .max_blocks = KEYS / BLOCK };
    b->batch = (struct quire_attention_batch){ .struct_size = sizeof b->batch,
                                               .query_start_loc = b->starts,
                                               .seq_lens = b->lens,
                                               .n_groups = 1,
                                               .groups = &b->group };
    b->args = (struct quire_attention_args){
        .struct_size = sizeof b->args, .q = b->q, .out = b->out, .lse = b->lse[0]
    };
}

static inline void close_board(struct board *b)
{
    quire_plan_destroy(b->plan);
    quire_kv_destroy(b->kv);
}

/* Appends a sequence of `len` tokens, the last `n_new` of which are queries. */
static inline void add(struct board *b, int32_t len, int32_t n_new)
{
    const uint32_t i = b->batch.n_seqs++;
    b->lens[i] = len;
    b->starts[i + 1] = b->starts[i] + n_new;
}

static inline void play_at(struct board *b, const char *isa)
{
    const struct quire_plan_group group = { .config = &b->config };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = b->kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = MAX_T,
                                              .max_seqs = 4,
                                              .max_seq_len = KEYS,
                                              .n_threads = 1,
                                              .max_spans = 8,
                                              .max_tree_tokens = MAX_T,
                                              .max_sparse_blocks = 12,
                                              .isa = isa };
    quire_plan_destroy(b->plan);
    must(quire_plan_create(&params, &b->plan, &err));
    must(quire_plan_build(b->plan, &b->batch, &err));
    must(quire_attention_forward(b->plan, &b->args, NULL, &err));
}

/* Runs the board at every level: all give the same bits for f32 keys. */
static inline void play(struct board *b)
{
    static float out[MAX_T][HEADS][KEYS], lse[MAX_T][HEADS];
    const size_t n = (size_t)b->starts[b->batch.n_seqs];
    play_at(b, quire_cpu_level_name(0));
    memcpy(out, b->out, sizeof out);
    memcpy(lse, b->lse, sizeof lse);
    for (int i = 1; quire_cpu_level_name(i); i++) {
        if (!quire_cpu_level_usable(i))
            continue;
        memset(b->out, 0xee, n * sizeof *b->out);
        play_at(b, quire_cpu_level_name(i));
        assert_memory_equal(b->out, out, n * sizeof *out);
        assert_memory_equal(b->lse, lse, n * sizeof *lse);
    }
}

/* Checks that row t weighs keys [lo, hi) equally and no other. */
static inline void assert_sees(const struct board *b, int t, int lo, int hi)
{
    for (int h = 0; h < HEADS; h++)
        for (int j = 0; j < KEYS; j++) {
            const float want = j >= lo && j < hi ? 1.0f / (float)(hi - lo) : 0;
            if (fabsf(b->out[t][h][j] - want) > 1e-6f)
                fail_msg("row %d, key %d weighs %g, not %g", t, j, (double)b->out[t][h][j],
                         (double)want);
        }
}

#endif
