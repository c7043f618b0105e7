/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_model.h - a model of an engine for the scheduler tests: the real scheduler and the real
 * sequence memory over a small pool, and in place of a forward pass a hash of all earlier tokens,
 * which is stored as the key of its token. Whatever the schedule, every key that a task would
 * attend to must be the hash of exactly its own tokens. */
#ifndef QUIRE_SCHEDULER_MODEL_H
#define QUIRE_SCHEDULER_MODEL_H
#include "engine/sequence_setup.h"
#include "engine/task_group.h"
#include "quire_cmocka.h"

enum { MODEL_BLOCK = 16, MODEL_HEAD = 8, MODEL_MAX_TASKS = 64, MODEL_MAX_TOKENS = 4096 };

struct model_task {
    struct qr_task task;
    int32_t *tokens;  /* [max_tokens] */
    uint32_t n_final; /* prompt and output */
    bool live, done;
    /* of a group */
    struct model_task *leader, *next; /* leader NULL = no group */
    struct qr_task_group_limits limits;
    bool ready; /* its pending tokens are computed */
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

/* Whether the pool is large enough for a group of n tasks. */
static inline bool model_group_fits(const struct model *m, const struct model_request *r,
                                    uint32_t n)
{
    const struct qr_task_group_limits limits = {
        .n_tasks = n,
        .n_prompt = r->n_prompt,
        .max_tokens = r->n_prompt + r->n_output - 1,
        .max_step_tokens = m->scheduler.params.max_step_tokens,
    };
    for (uint32_t g = 0; g < m->n_groups; g++)
        if (qr_task_group_blocks(&m->memory, &limits, g) > m->n_blocks[g])
            return false;
    return n <= m->scheduler.params.max_running;
}

/* Submits n tasks as a group, of which the first one has the prompt. */
static inline struct model_task *model_submit_group(struct model *m, const struct model_request *r,
                                                    uint32_t n)
{
    struct model_task *leader = NULL, **link = &leader;
    assert_true(model_group_fits(m, r, n));
    for (uint32_t i = 0; i < n; i++) {
        struct model_task *t = model_submit(m, r);
        *link = t;
        link = &t->next;
        t->leader = leader;
        t->task.idle = i > 0;
    }
    leader->limits = (struct qr_task_group_limits){
        .n_tasks = n,
        .n_prompt = r->n_prompt,
        .max_tokens = r->n_prompt + r->n_output - 1,
        .max_step_tokens = m->scheduler.params.max_step_tokens,
    };
    for (struct model_task *t = leader; t; t = t->next) {
        t->task.group = &leader->task;
        t->task.group_limits = &leader->limits;
        t->task.next_in_group = t->next ? &t->next->task : NULL;
    }
    return leader;
}

/* Removes a task, or the group of a leader. */
static inline void model_remove(struct model *m, struct model_task *t, bool done)
{
    for (struct model_task *next; t; t = next) {
        next = t->leader ? t->next : NULL;
        qr_scheduler_remove(&m->scheduler, &t->task, true);
        t->live = false;
        t->done = done;
    }
}

static inline void model_cancel(struct model *m, struct model_task *t)
{
    model_remove(m, t->leader ? t->leader : t, false);
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

/* Moves the beams of a group whose tasks are all computed, in a way that depends on the tokens: any
 * number of beams, of any parents. */
static inline void model_move_group(struct model *m, struct model_task *leader)
{
    struct model_task *live[MODEL_MAX_TASKS], *to[MODEL_MAX_TASKS] = { NULL };
    uint32_t n_live = 0, n_next, at, i = 0;
    for (struct model_task *t = leader; t; t = t->next) {
        if (!t->task.idle && !t->ready)
            return;
        if (!t->task.idle)
            live[n_live++] = t;
    }
    at = live[0]->task.n_tokens;
    if (at == leader->n_final) {
        model_remove(m, leader, true);
        return;
    }
    uint64_t choice = model_hash(at, live[0]->tokens[at - 1], 5);
    n_next = 1 + (uint32_t)(choice % leader->limits.n_tasks);
    struct model_task *parents[MODEL_MAX_TASKS];
    bool stays[MODEL_MAX_TASKS] = { false };
    for (uint32_t k = 0; k < n_next; k++) {
        const uint32_t p = (uint32_t)((choice >>= 5) % n_live);
        parents[k] = live[p];
        to[k] = stays[p] ? NULL : live[p];
        stays[p] = true;
    }
    for (uint32_t p = 0; p < n_live; p++)
        live[p]->ready = stays[p];
    for (struct model_task *t = leader; t; t = t->next) {
        if (!t->task.idle && t->ready)
            continue;
        while (i < n_next && to[i])
            i++;
        if (i < n_next) {
            qr_scheduler_branch(&m->scheduler, &t->task, &parents[i]->task);
            memcpy(t->tokens, parents[i]->tokens, at * sizeof(int32_t));
            t->task.n_tokens = at;
            t->ready = true;
            to[i] = t;
        } else if (!t->task.idle) {
            qr_scheduler_set_idle(&m->scheduler, &t->task);
        }
    }
    for (uint32_t k = 0; k < n_next; k++) {
        to[k]->tokens[to[k]->task.n_tokens++] = (int32_t)(100 + k);
        to[k]->ready = false;
    }
}

/* Whether the step advances the first task in rank or another one of its group. */
static inline bool model_first_advances(const struct qr_scheduler *s)
{
    for (uint32_t i = 0; i < s->n_running; i++)
        if (qr_tasks_are_one(s->running[0], s->running[i]) && s->running[i]->n_step > 0)
            return true;
    return false;
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
        assert_true(model_first_advances(s) || (max_prefill == 0 && n_step > 0));
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
        t->ready = true;
        if (t->leader) {
            continue;
        } else if (at == t->n_final) {
            model_remove(m, t, true);
        } else {
            t->tokens[at] = (int32_t)(model_hash(at, t->tokens[at - 1], 7) % 50);
            t->task.n_tokens++;
        }
    }
    for (uint32_t i = 0; i < n_step; i++)
        if (step[i]->live && step[i]->leader)
            model_move_group(m, step[i]->leader);
    return n;
}

#endif
