/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_model.h - a model of an engine for the scheduler tests: the real scheduler and the real
 * sequence memory over a small pool, and in place of a forward pass a hash of all earlier tokens,
 * which is stored as the key of its token. Whatever the schedule, every key that a task would
 * attend to must be the hash of exactly its own tokens. */
#ifndef QUIRE_SCHEDULER_MODEL_H
#define QUIRE_SCHEDULER_MODEL_H
#include "engine/scheduler.h"
#include "quire_cmocka.h"

enum { MODEL_BLOCK = 16, MODEL_HEAD = 8, MODEL_MAX_TASKS = 64, MODEL_MAX_TOKENS = 4096 };

struct model_task {
    struct qr_task task;
    int32_t *tokens;  /* [max_tokens] */
    uint32_t n_final; /* prompt and output */
    bool live, done;
};

struct model {
    struct quire_kv_cache *kv;
    struct qr_sequence_memory memory;
    struct qr_scheduler scheduler;
    uint32_t n_groups, n_blocks[2], max_tokens;
    struct model_task tasks[MODEL_MAX_TASKS];
    uint64_t n_arrived;
};

struct model_params {
    uint32_t n_blocks, windowed_blocks, window; /* windowed_blocks 0 = one group */
    uint32_t max_tokens, max_running, max_step_tokens, hash_bits;
};

static inline void model_open(struct model *m, const struct model_params *p)
{
    *m = (struct model){ .n_groups = p->windowed_blocks ? 2 : 1, .max_tokens = p->max_tokens };
    m->n_blocks[0] = p->n_blocks;
    m->n_blocks[1] = p->windowed_blocks;
    struct quire_kv_group_config groups[2];
    for (int g = 0; g < 2; g++)
        groups[g] = (struct quire_kv_group_config){ .n_layers = 1,
                                                    .n_kv_heads = 1,
                                                    .head_size = MODEL_HEAD,
                                                    .n_blocks = m->n_blocks[g],
                                                    .sliding_window = g ? p->window : 0 };
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = MODEL_BLOCK,
                                            .groups = groups,
                                            .n_groups = m->n_groups };
    assert_status(QUIRE_OK, quire_kv_create(&config, &m->kv, NULL));
    const struct qr_sequence_memory_params memory = { .kv = m->kv,
                                                      .n_sequences = p->max_running,
                                                      .max_tokens = p->max_tokens,
                                                      .hash_bits = p->hash_bits };
    assert_status(QUIRE_OK, qr_sequence_memory_init(&m->memory, &memory, NULL));
    const struct qr_scheduler_params scheduler = { .memory = &m->memory,
                                                   .max_tasks = MODEL_MAX_TASKS,
                                                   .max_running = p->max_running,
                                                   .max_step_tokens = p->max_step_tokens };
    assert_status(QUIRE_OK, qr_scheduler_init(&m->scheduler, &scheduler, NULL));
}

/* Everything is free once all tasks are gone. */
static inline void model_close(struct model *m)
{
    for (int i = 0; i < MODEL_MAX_TASKS; i++)
        if (m->tasks[i].live)
            qr_scheduler_remove(&m->scheduler, &m->tasks[i].task, true);
    for (uint32_t g = 0; g < m->n_groups; g++)
        assert_int_equal(qr_sequence_blocks_available(&m->memory, g), m->n_blocks[g]);
    qr_scheduler_free(&m->scheduler);
    qr_sequence_memory_free(&m->memory);
    for (uint32_t g = 0; g < m->n_groups; g++)
        assert_int_equal(quire_kv_free_block_count(m->kv, g), m->n_blocks[g]);
    quire_kv_destroy(m->kv);
    for (int i = 0; i < MODEL_MAX_TASKS; i++)
        free(m->tasks[i].tokens);
}

struct model_request {
    const int32_t *prompt;
    uint32_t n_prompt, n_output;
    int32_t priority;
    uint64_t client, salt;
};

static inline struct model_task *model_submit(struct model *m, const struct model_request *r)
{
    struct model_task *t = m->tasks;
    while (t->live)
        t++;
    assert_true(t < m->tasks + MODEL_MAX_TASKS && r->n_prompt + r->n_output <= m->max_tokens);
    free(t->tokens);
    *t = (struct model_task){ .live = true, .n_final = r->n_prompt + r->n_output };
    t->tokens = malloc(m->max_tokens * sizeof(int32_t));
    assert_non_null(t->tokens);
    memcpy(t->tokens, r->prompt, r->n_prompt * sizeof(int32_t));
    t->task = (struct qr_task){ .priority = r->priority,
                                .arrival = ++m->n_arrived,
                                .client = r->client,
                                .salt = r->salt,
                                .n_prompt = r->n_prompt,
                                .tokens = t->tokens,
                                .n_tokens = r->n_prompt };
    qr_scheduler_add(&m->scheduler, &t->task);
    return t;
}

static inline void model_cancel(struct model *m, struct model_task *t)
{
    qr_scheduler_remove(&m->scheduler, &t->task, true);
    t->live = false;
}

static inline uint64_t model_hash(uint64_t before, int32_t token, uint64_t salt)
{
    const uint64_t x = (before ^ (uint64_t)(uint32_t)token ^ salt << 40) * 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

/* A hash as a row of f32 whose values are exact. */
static inline void model_row(uint64_t hash, float row[MODEL_HEAD])
{
    for (int i = 0; i < MODEL_HEAD; i++)
        row[i] = (float)(hash >> 8 * i & 255);
}

static inline int64_t model_slot(const struct model_task *t, uint32_t group, uint32_t position)
{
    const struct qr_sequence_group *g = &t->task.sequence->groups[group];
    const uint32_t block = position / MODEL_BLOCK;
    assert_true(block >= g->first_block && block < g->end_block);
    return (int64_t)g->block_table[block] * MODEL_BLOCK + position % MODEL_BLOCK;
}

/* Checks all keys that the first new token attends to, then writes those of the new tokens. */
static inline void model_compute(struct model *m, struct model_task *t)
{
    static uint64_t hashes[MODEL_MAX_TOKENS];
    const struct qr_task *k = &t->task;
    const uint32_t end = k->n_computed + k->n_step;
    assert_true(end <= k->n_tokens && k->sequence->n_tokens == k->n_computed);
    for (uint32_t i = 0; i < end; i++)
        hashes[i] = model_hash(i ? hashes[i - 1] : 1, t->tokens[i], k->salt);
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const uint32_t window = m->memory.windows[g];
        const uint32_t first =
            window && k->n_computed + 1 > window ? k->n_computed + 1 - window : 0;
        for (uint32_t i = first; i < end; i++) {
            float expected[MODEL_HEAD], row[MODEL_HEAD];
            const int64_t slot = model_slot(t, g, i);
            model_row(hashes[i], expected);
            if (i < k->n_computed) {
                const struct quire_kv_read_args read = {
                    .struct_size = sizeof read, .group = g, .k = row, .slots = &slot, .n_tokens = 1
                };
                assert_status(QUIRE_OK, quire_kv_read(m->kv, &read, NULL));
                assert_memory_equal(row, expected, sizeof row);
                continue;
            }
            const struct quire_kv_write_args write = { .struct_size = sizeof write,
                                                       .group = g,
                                                       .dtype = QUIRE_KV_F32,
                                                       .k = expected,
                                                       .v = expected,
                                                       .slot_mapping = &slot,
                                                       .n_tokens = 1 };
            assert_status(QUIRE_OK, quire_kv_write(m->kv, &write, NULL, NULL));
        }
    }
}

/* One step. Returns the number of tokens computed. */
static inline uint32_t model_step(struct model *m, uint32_t max_prefill)
{
    struct qr_scheduler *s = &m->scheduler;
    qr_scheduler_plan(s, max_prefill);
    uint32_t n = 0;
    struct model_task *step[MODEL_MAX_TASKS];
    const uint32_t n_step = s->n_step;
    /* no deadlock: as long as there are tasks, the first in rank advances */
    assert_true(n_step > 0 || s->n_running + s->n_waiting == 0);
    if (s->n_running)
        assert_true(s->running[0]->n_step > 0 || (max_prefill == 0 && n_step > 0));
    for (uint32_t i = 0; i < n_step; i++) {
        step[i] = (struct model_task *)((char *)s->step[i] - offsetof(struct model_task, task));
        assert_true(step[i]->live && step[i]->task.running && step[i]->task.n_step > 0);
        n += step[i]->task.n_step;
    }
    assert_true(n <= s->params.max_step_tokens && n == s->n_step_tokens);
    for (uint32_t i = 0; i < n_step; i++)
        model_compute(m, step[i]);
    for (uint32_t i = 0; i < n_step; i++) {
        struct model_task *t = step[i];
        qr_scheduler_commit(s, &t->task);
        if (t->task.n_computed < t->task.n_tokens)
            continue;
        const uint32_t at = t->task.n_tokens;
        if (at == t->n_final) {
            qr_scheduler_remove(s, &t->task, true);
            t->live = false;
            t->done = true;
        } else {
            t->tokens[at] = (int32_t)(model_hash(at, t->tokens[at - 1], 7) % 50);
            t->task.n_tokens++;
        }
    }
    return n;
}

#endif
