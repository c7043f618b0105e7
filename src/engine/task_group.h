/* SPDX-License-Identifier: Apache-2.0 */
/* task_group.h - tasks that are admitted and preempted together: the beams of a search.
 *
 * A group has one task per beam. All of them wait or all of them run, in consecutive places of the
 * ranking. A task that holds no beam at the moment is idle: it runs without a sequence, and its
 * place is kept. Beams move between tasks by forks of sequences (qr_scheduler_branch). */
#ifndef QR_ENGINE_TASK_GROUP_H
#define QR_ENGINE_TASK_GROUP_H
#include "engine/scheduler.h"

/* Limits of the sequences of a group. */
struct qr_task_group_limits {
    uint32_t n_tasks, n_prompt;
    uint32_t max_tokens;      /* of one sequence, prompt included */
    uint32_t max_step_tokens; /* of one step */
    uint32_t n_source;        /* tokens of the source, of encoder-decoders */
};

/* Blocks of a KV group with which the group can always advance while it runs alone. The tasks share
 * the full blocks of the prompt. Those that a preemption made recompute them share each block as
 * soon as it is full, so that until then a step holds at most its own tokens twice. */
uint32_t qr_task_group_blocks(const struct qr_sequence_memory *m,
                              const struct qr_task_group_limits *limits, uint32_t kv_group);

/* The first task that is not idle, or the task itself if it has no group. It is admitted for the
 * group and computes the prompt. */
struct qr_task *qr_task_pilot(struct qr_task *task);

/* Number of tasks that run if this one does. */
static inline uint32_t qr_task_width(const struct qr_task *task)
{
    return task->group ? task->group_limits->n_tasks : 1;
}

static inline bool qr_tasks_are_one(const struct qr_task *a, const struct qr_task *b)
{
    return a == b || (a->group && a->group == b->group);
}

#endif
