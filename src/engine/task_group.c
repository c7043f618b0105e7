/* SPDX-License-Identifier: Apache-2.0 */
/* task_group.c - the memory of tasks that run together. */
#include "engine/task_group.h"

static uint64_t blocks_for(uint32_t tokens, uint32_t block_size)
{
    return tokens / block_size + (tokens % block_size != 0);
}

uint32_t qr_task_group_blocks(const struct qr_sequence_memory *m,
                              const struct qr_task_group_limits *l, uint32_t kv_group)
{
    const uint32_t size = m->block_size, window = m->windows[kv_group];
    if (m->has_cross_group && kv_group == m->cross_group) { /* each encodes it after a preemption */
        const uint64_t sources = l->n_tasks * blocks_for(l->n_source, size);
        return sources < UINT32_MAX ? (uint32_t)sources : UINT32_MAX;
    }
    const uint64_t recomputed = blocks_for(l->max_step_tokens, size);
    const uint64_t shared = l->n_prompt / size;
    const uint64_t own = blocks_for(l->max_tokens, size) - shared;
    /* without sharing, no sequence has more than its own length */
    const uint64_t unshared = l->n_tasks * (shared + own);
    uint64_t n = shared + l->n_tasks * own + recomputed;
    if (window) {
        const uint64_t one = qr_sequence_blocks_needed(size, window, l->max_tokens, 1, 0);
        const uint64_t windowed = l->n_tasks * one + recomputed;
        n = windowed < n ? windowed : n;
    }
    n = unshared < n ? unshared : n;
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

struct qr_task *qr_task_pilot(struct qr_task *task)
{
    if (!task->group)
        return task;
    for (task = task->group; task->idle; task = task->next_in_group) {}
    return task;
}
