/* SPDX-License-Identifier: Apache-2.0 */
/* test_head_step.h - steps of one sequence with a model of one KV group. */
#ifndef QUIRE_TEST_HEAD_STEP_H
#define QUIRE_TEST_HEAD_STEP_H
#include "engine_requests.h"

enum { STEP_BLOCK = 16 }; /* the only block, and the longest sequence */

struct step {
    struct quire_kv_cache *kv;
    struct quire_context *context;
    int32_t table[1];
    int64_t slots[STEP_BLOCK];
    int32_t n_before; /* tokens before the step */
};

static inline void open_step(struct step *s, struct quire_model *m)
{
    struct quire_kv_group_config group = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_context_params cp;
    uint32_t n;
    assert_status(QUIRE_OK, quire_model_kv_groups(m, &group, 1, &n));
    group.n_blocks = 1;
    group.k_dtype = group.v_dtype = QUIRE_KV_F32;
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .block_size = STEP_BLOCK, .groups = &group, .n_groups = 1
    };
    assert_status(QUIRE_OK, quire_kv_create(&kp, &s->kv, &err));
    assert_status(QUIRE_OK, quire_kv_alloc(s->kv, 0, -1, 1, s->table, &err));
    for (int i = 0; i < STEP_BLOCK; i++)
        s->slots[i] = (int64_t)s->table[0] * STEP_BLOCK + i;
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = s->kv;
    assert_status(QUIRE_OK, quire_context_create(m, &cp, &s->context, &err));
}

static inline void close_step(struct step *s)
{
    quire_context_destroy(s->context);
    quire_kv_destroy(s->kv);
}

/* Runs a step of n tokens with these arguments; the batch is filled in. */
static inline void run_step(const struct step *s, int32_t n, struct quire_forward_args *args,
                            quire_status want, const char *text)
{
    const int32_t starts[] = { 0, n }, len = s->n_before + n;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_attention_batch_group g = { .block_table = s->table,
                                             .max_blocks = 1,
                                             .slot_mapping = s->slots + s->n_before };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = 1,
                                                 .groups = &g };
    args->struct_size = sizeof *args;
    args->batch = &batch;
    assert_status(want, quire_context_forward(s->context, args, &err));
    if (want != QUIRE_OK && !strstr(err.msg, text))
        fail_msg("%s: %s", text, err.msg);
}

#endif
