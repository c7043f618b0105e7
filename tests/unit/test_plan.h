/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.h - a small cache and plan for tests of their arguments and limits. */
#ifndef QUIRE_TEST_PLAN_H
#define QUIRE_TEST_PLAN_H
#include "test_attn.h"

/* A pool of two KV groups and a plan of three attention groups: full and windowed layers of KV
 * group 0, and KV group 1, whose window frees blocks. */
enum { BLOCK = 16, N_BLOCKS = 40, MAX_TOKENS = 64, MAX_SEQS = 4, MAX_LEN = 300 };

struct fixture {
    struct quire_kv_cache *kv;
    struct quire_attention_config config[3];
    struct quire_plan_group groups[3];
    struct quire_plan_params params;
    struct quire_plan *plan;
    int32_t table[2][MAX_SEQS][20], starts[MAX_SEQS + 1], lens[MAX_SEQS];
    struct quire_attention_batch_group tables[2];
    struct quire_attention_batch batch;
    float q[MAX_TOKENS * 2 * 8], out[MAX_TOKENS * 2 * 8], lse[MAX_TOKENS * 2];
    struct quire_attention_args args;
};

static inline void setup(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    const struct quire_kv_group_config groups[2] = {
        { .n_layers = 2, .n_kv_heads = 1, .head_size = 8, .n_blocks = N_BLOCKS },
        { .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = 7, .sliding_window = 33 },
    };
    const struct quire_kv_params kv = { .struct_size = sizeof kv,
                                        .block_size = BLOCK,
                                        .groups = groups,
                                        .n_groups = 2,
                                        .flags = QUIRE_KV_TOUCH };
    must(quire_kv_create(&kv, &f->kv, &err));
    for (int i = 0; i < 3; i++) {
        quire_attention_config_init(&f->config[i], sizeof f->config[i], 2, 1, 8);
        f->groups[i] = (struct quire_plan_group){ .config = &f->config[i], .kv_group = i == 2 };
    }
    f->config[1].window_left = 15;
    f->config[2].window_left = 32;
    f->params = (struct quire_plan_params){ .struct_size = sizeof f->params,
                                            .kv = f->kv,
                                            .groups = f->groups,
                                            .n_groups = 3,
                                            .max_tokens = MAX_TOKENS,
                                            .max_seqs = MAX_SEQS,
                                            .max_seq_len = MAX_LEN,
                                            .n_threads = 2 };
    must(quire_plan_create(&f->params, &f->plan, &err));
    /* two sequences: 20 tokens, all new; and 100 tokens with one new */
    f->starts[1] = 20;
    f->starts[2] = 21;
    f->lens[0] = 20;
    f->lens[1] = 100;
    for (int i = 0; i < 2; i++) {
        for (int s = 0; s < MAX_SEQS; s++)
            for (int j = 0; j < 20; j++)
                f->table[i][s][j] = -1;
        f->tables[i] = (struct quire_attention_batch_group){ .block_table = f->table[i][0],
                                                             .max_blocks = 7,
                                                             .block_table_stride = 20 };
    }
    for (int j = 0; j < 7; j++) {
        f->table[0][0][j] = j < 2 ? 30 + j : -1;
        f->table[0][1][j] = j;
        f->table[1][0][j] = j < 2 ? j : -1;
        f->table[1][1][j] =
            j >= 4 ? j - 2 : 1000; /* blocks 0 .. 3 are outside the window: never read */
    }
    f->batch = (struct quire_attention_batch){ .struct_size = sizeof f->batch,
                                               .n_seqs = 2,
                                               .query_start_loc = f->starts,
                                               .seq_lens = f->lens,
                                               .n_groups = 2,
                                               .groups = f->tables };
    f->args = (struct quire_attention_args){
        .struct_size = sizeof f->args, .q = f->q, .out = f->out, .lse = f->lse
    };
}

static inline void teardown(struct fixture *f)
{
    quire_plan_destroy(f->plan);
    quire_kv_destroy(f->kv);
}

#define assert_refused(code_, word, call)                                                          \
    do {                                                                                           \
        struct quire_error err = QUIRE_ERROR_INIT;                                                 \
        assert_status(code_, call);                                                                \
        if (!strstr(err.msg, word))                                                                \
            fail_msg("%s: message '%s' lacks '%s'", #call, err.msg, word);                         \
    } while (0)

#endif
