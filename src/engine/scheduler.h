/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.h - continuous batching: which tasks run in the next step, with how many tokens.
 *
 * A task is one sequence to be generated. Tasks wait until they are admitted, run until they
 * finish, and may be preempted in between. Every step computes one token of each task that
 * generates, and fills the rest of its token budget with chunks of prompts, in the order of rank:
 * higher priority first, then earlier arrival.
 *
 * Admission takes the waiting tasks of the highest priority; among these the client whose tasks
 * have been given the fewest tokens so far (virtual token counter), and of that client the first to
 * arrive. A task is admitted when the blocks of all its tokens are available, one more per running
 * task included, so that it can also continue for a while.
 *
 * Preemption: when a running task gets no block, the task of the lowest rank gives back all its
 * blocks and waits again; the prefix cache keeps what nobody else needs. Recomputed keys and values
 * have the same bits. The running task of the highest rank is never preempted, and the pool holds
 * at least one sequence of the maximum length, so some task always advances.
 *
 * The prefix cache tells apart keys of different RoPE variants and adapters: the variant of a
 * sequence is qr_rope_variant(), or with an adapter a hash of that and the task's adapter_key whose
 * highest bit is 1, so that sequences without adapter share nothing with others. It does not depend
 * on the process: saved prefixes are found again.
 *
 * Groups of tasks (task_group.h) are admitted, when the memory of all of them up to their maximum
 * length is available, and preempted as a whole.
 *
 * The scheduler does not know models: it computes nothing and can be tested exhaustively. */
#ifndef QR_ENGINE_SCHEDULER_H
#define QR_ENGINE_SCHEDULER_H
#include "engine/sequence_memory.h"

struct quire_adapter;
struct quire_model;
struct qr_task_group_limits;

struct qr_task {
    /* set by the owner before qr_scheduler_add() */
    int32_t priority;      /* higher runs first */
    uint64_t arrival;      /* unique, ascending */
    uint64_t client, salt; /* fairness; prefix cache */
    bool no_reuse;         /* computes the whole prompt */
    uint32_t n_prompt;
    bool reads_rows; /* the owner reads the rows of all tokens of a step, until it clears this */
    /* kept up to date by the owner */
    const int32_t *tokens; /* [n_tokens] prompt, then output */
    uint32_t n_tokens;
    uint32_t n_rows_read; /* with reads_rows: leading tokens that need not be computed again */
    const int32_t *draft; /* [n_draft] tokens to verify in the next step, if it decodes */
    uint32_t n_draft;
    /* results */
    bool running;
    uint32_t n_computed;          /* leading tokens in the KV cache; 0 while waiting */
    uint32_t n_cached;            /* prompt tokens taken from the cache before any preemption */
    uint32_t n_preempted;         /* times */
    uint32_t n_step;              /* tokens of the planned step, from n_computed on */
    uint32_t n_step_draft;        /* draft tokens of the planned step, behind them */
    struct qr_sequence *sequence; /* while running */
    uint32_t n_charged;           /* leading tokens counted for the client */
    uint32_t client_slot;         /* index in qr_scheduler.clients */
    /* set by the owner: [n_prompt] embedding of each prompt position, NULL where tokens[] is a
     * token id; NULL = there are none */
    const float **embeddings;
    /* of tasks that end with their prompt, set by the owner before qr_scheduler_add() */
    bool pools;      /* hidden states are pooled; there are no logits */
    bool pools_rows; /* hidden states are needed of all tokens from n_pooled on, kept up to date */
    bool whole;      /* all tokens are computed in one step */
    uint32_t n_pooled;
    /* of a group (task_group.h), whose tasks have consecutive arrivals and one priority */
    struct qr_task *group; /* its first task; NULL = none */
    struct qr_task *next_in_group;
    const struct qr_task_group_limits *group_limits;
    bool idle;    /* holds no beam */
    bool replays; /* output tokens are computed again after a rejected draft */
    /* set by the owner before qr_scheduler_add() */
    const struct quire_adapter *adapter; /* NULL = none */
    float adapter_scale;
    uint64_t adapter_key; /* hash of the adapter's content and the scale; 0 = none */
    /* of encoder-decoders: [n_source] tokens that are encoded with the first step of a sequence */
    const int32_t *source;
    uint32_t n_source;
};

struct qr_scheduler_client {
    uint64_t key;
    uint32_t n_tasks; /* waiting or running; 0 = unused entry */
    uint64_t served;  /* tokens of its tasks that were computed or taken from the prefix cache */
};

struct qr_scheduler_params {
    struct qr_sequence_memory *memory; /* borrowed */
    const struct quire_model *model;   /* for RoPE variants; borrowed; NULL = none */
    uint32_t max_tasks;                /* waiting and running */
    uint32_t max_running, max_step_tokens;
    uint32_t max_draft_tokens; /* of one step */
    const struct quire_allocator *allocator;
};

struct qr_scheduler {
    struct qr_scheduler_params params;
    struct qr_task **running; /* [max_running] by rank, highest first */
    struct qr_task **waiting; /* [max_tasks] by arrival */
    struct qr_task **step;    /* [max_running] tasks of the planned step */
    uint32_t n_running, n_waiting, n_step, n_step_tokens, n_step_draft_tokens;
    struct qr_scheduler_client *clients; /* [max_tasks] */
    uint64_t n_preemptions;
    uint64_t n_cached_tokens; /* sum of n_cached of all tasks */
    /* the task that did not fit, and the memory's epoch then: until that changes, or no task runs,
     * it does not fit either */
    uint64_t refused_arrival, refused_epoch;
    uint64_t n_lookups; /* of waiting tasks in the prefix cache */
    /* tokens of the sources that the planned step encodes, and how many more than one source may
     * have */
    uint32_t n_step_source, max_step_source;
};

/* Reserves all memory. On failure there is nothing to free. */
quire_status qr_scheduler_init(struct qr_scheduler *s, const struct qr_scheduler_params *params,
                               struct quire_error *err);
void qr_scheduler_free(struct qr_scheduler *s); /* safe on zeroes; ends no sequences */

/* Bytes that qr_scheduler_init() allocates. */
uint64_t qr_scheduler_bytes(uint32_t max_tasks, uint32_t max_running);

/* Adds a task to the queue; at most max_tasks. */
void qr_scheduler_add(struct qr_scheduler *s, struct qr_task *task);

/* Removes a task that waits or runs. keep: its blocks stay in the prefix cache; false after a
 * failed step, when their contents are undefined. */
void qr_scheduler_remove(struct qr_scheduler *s, struct qr_task *task, bool keep);

/* Lets a task that waits share the sequence of `parent`, whose prompt is equal and complete, and
 * run. False: no sequence is left; the task goes on waiting. */
bool qr_scheduler_fork(struct qr_scheduler *s, struct qr_task *task, const struct qr_task *parent);

/* A running task of a group takes over the sequence of another one, whose pending tokens are all
 * computed, by a fork; it drops its own. The owner then copies the tokens. */
void qr_scheduler_branch(struct qr_scheduler *s, struct qr_task *task,
                         const struct qr_task *parent);

/* A running task of a group holds no beam from now on; its blocks are released. */
void qr_scheduler_set_idle(struct qr_scheduler *s, struct qr_task *task);

/* Plans the next step: step[0 .. n_step) with n_step tokens each, whose memory is reserved. At most
 * max_prefill_tokens tokens of prompts. Replaces a plan that was not committed. */
void qr_scheduler_plan(struct qr_scheduler *s, uint32_t max_prefill_tokens);

/* The next n draft tokens, which were accepted and are now tokens of the task, are in the KV
 * cache. */
void qr_scheduler_commit_draft(struct qr_scheduler *s, struct qr_task *task, uint32_t n);

/* The draft of a task is verified. With recurrent layers, after a rejected token the state before
 * the step is in force again, and the next step computes the accepted tokens once more. A task that
 * has ended meanwhile is left alone. */
void qr_scheduler_end_draft(struct qr_scheduler *s, struct qr_task *task);

/* The planned tokens of a task are in the KV cache. */
void qr_scheduler_commit(struct qr_scheduler *s, struct qr_task *task);

/* Whether the step may encode the task's source, if that is due: one source always may. */
static inline bool qr_scheduler_take_source(struct qr_scheduler *s, const struct qr_task *task)
{
    const uint32_t n = task->sequence->source_ready ? 0 : task->n_source;
    if (n && s->n_step_source && n + (uint64_t)s->n_step_source > s->max_step_source)
        return false;
    s->n_step_source += n;
    return true;
}

/* The task computes output, not its prompt, and one token is pending. */
static inline bool qr_task_decodes(const struct qr_task *task)
{
    return task->n_computed >= task->n_prompt && task->n_tokens - task->n_computed == 1;
}

#endif
