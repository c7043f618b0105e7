/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c - admission, chunked prefill, preemption, fairness between clients. */
#include "engine/scheduler.h"
#include "base/alloc.h"
#include "base/error.h"
#include "engine/rope_variant.h"
#include "engine/scheduler_clients.h"
#include "engine/scheduler_rope.h"
#include "engine/task_group.h"
#include <string.h>

quire_status qr_scheduler_init(struct qr_scheduler *s, const struct qr_scheduler_params *p,
                               struct quire_error *err)
{
    *s = (struct qr_scheduler){ .params = *p };
    s->running = qr_alloc(p->allocator, p->max_running, sizeof *s->running);
    s->waiting = qr_alloc(p->allocator, p->max_tasks, sizeof *s->waiting);
    s->step = qr_alloc(p->allocator, p->max_running, sizeof *s->step);
    s->clients = qr_calloc(p->allocator, p->max_tasks, sizeof *s->clients);
    if (s->running && s->waiting && s->step && s->clients)
        return QUIRE_OK;
    qr_scheduler_free(s);
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for a queue of %u requests", p->max_tasks);
}

void qr_scheduler_free(struct qr_scheduler *s)
{
    const struct qr_scheduler_params *p = &s->params;
    qr_free(p->allocator, s->running, p->max_running, sizeof *s->running);
    qr_free(p->allocator, s->waiting, p->max_tasks, sizeof *s->waiting);
    qr_free(p->allocator, s->step, p->max_running, sizeof *s->step);
    qr_free(p->allocator, s->clients, p->max_tasks, sizeof *s->clients);
    *s = (struct qr_scheduler){ 0 };
}

uint64_t qr_scheduler_bytes(uint32_t max_tasks, uint32_t max_running)
{
    return (uint64_t)max_tasks * (sizeof(struct qr_task *) + sizeof(struct qr_scheduler_client)) +
           2 * (uint64_t)max_running * sizeof(struct qr_task *);
}

/* ---- The prefix cache */

/* Counts prompt tokens from the prefix cache; what a preempted task gets back is not counted. */
static void take_cached(struct qr_scheduler *s, struct qr_task *task, uint32_t n)
{
    if (task->n_preempted)
        return;
    task->n_cached += n;
    s->n_cached_tokens += n;
}

/* Leading tokens of a task that may come from the prefix cache. The last token is always computed:
 * its logits and hidden state are not cached. */
static uint32_t reusable(const struct qr_task *task)
{
    const uint32_t n = task->n_tokens - 1;
    if (task->pools_rows)
        return task->n_pooled < n ? task->n_pooled : n;
    if (task->no_reuse && !task->n_preempted)
        return 0;
    return task->reads_rows && task->n_rows_read < n ? task->n_rows_read : n;
}

/* ---- Queues */

static bool ranks_before(const struct qr_task *a, const struct qr_task *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->arrival < b->arrival;
}

static void add_running(struct qr_scheduler *s, struct qr_task *task)
{
    uint32_t at = s->n_running++;
    for (; at > 0 && ranks_before(task, s->running[at - 1]); at--)
        s->running[at] = s->running[at - 1];
    s->running[at] = task;
    task->running = true;
}

static void add_waiting(struct qr_scheduler *s, struct qr_task *task)
{
    uint32_t at = s->n_waiting++;
    for (; at > 0 && task->arrival < s->waiting[at - 1]->arrival; at--)
        s->waiting[at] = s->waiting[at - 1];
    s->waiting[at] = task;
    task->running = false;
}

static void remove_from(struct qr_task **list, uint32_t *n, const struct qr_task *task)
{
    uint32_t at = 0;
    while (at < *n && list[at] != task)
        at++;
    if (at == *n)
        return;
    (*n)--;
    memmove(list + at, list + at + 1, (*n - at) * sizeof *list);
}

static void end_sequence(struct qr_scheduler *s, struct qr_task *task, bool keep)
{
    if (task->sequence)
        qr_sequence_end(s->params.memory, task->sequence, task->tokens, keep);
    task->sequence = NULL;
    task->n_computed = task->n_step = task->n_step_draft = 0;
    task->replays = false;
}

void qr_scheduler_add(struct qr_scheduler *s, struct qr_task *task)
{
    qr_scheduler_enter_client(s, task);
    add_waiting(s, task);
}

void qr_scheduler_remove(struct qr_scheduler *s, struct qr_task *task, bool keep)
{
    s->clients[task->client_slot].n_tasks--;
    remove_from(s->step, &s->n_step, task);
    if (task->running) {
        remove_from(s->running, &s->n_running, task);
        end_sequence(s, task, keep);
        task->running = false;
    } else {
        remove_from(s->waiting, &s->n_waiting, task);
    }
}

static void preempt_one(struct qr_scheduler *s, struct qr_task *task)
{
    remove_from(s->running, &s->n_running, task);
    remove_from(s->step, &s->n_step, task);
    s->n_step_tokens -= task->n_step + task->n_step_draft;
    s->n_step_draft_tokens -= task->n_step_draft;
    end_sequence(s, task, true);
    task->n_preempted++;
    s->n_preemptions++;
    add_waiting(s, task);
}

static void preempt(struct qr_scheduler *s, struct qr_task *task)
{
    if (!task->group)
        preempt_one(s, task);
    for (struct qr_task *t = task->group; t; t = t->next_in_group)
        preempt_one(s, t);
}

/* ---- Memory */

/* Opens the task's sequence with up to n_reusable tokens from the prefix cache. */
static bool begin(struct qr_scheduler *s, struct qr_task *task, uint32_t n_reusable)
{
    const struct qr_sequence_prefix prefix = {
        .tokens = task->tokens,
        .n_reusable = n_reusable,
        .salt = task->salt,
        .n_source = task->n_source,
        .variant = qr_scheduler_key_variant(s, task, qr_scheduler_rope_length(s, task, 0)),
    };
    task->sequence = qr_sequence_begin(s->params.memory, &prefix);
    if (!task->sequence)
        return false;
    task->n_computed = task->sequence->n_tokens;
    return true;
}

/* Reserves memory for n tokens of a running task; preempts tasks of lower rank, lowest first, as
 * long as it fails. */
static bool reserve(struct qr_scheduler *s, struct qr_task *task, uint32_t n)
{
    while (qr_sequence_reserve(s->params.memory, task->sequence, n, NULL) != QUIRE_OK) {
        struct qr_task *last = s->running[s->n_running - 1];
        if (!qr_tasks_are_one(last, task)) {
            preempt(s, last);
            continue;
        }
        /* a pool without room for the copy of a shared block: compute those tokens instead */
        const uint32_t whole = task->sequence->n_indexed;
        if (!qr_sequence_must_copy(s->params.memory, task->sequence))
            return false;
        end_sequence(s, task, false);
        (void)begin(s, task, whole); /* succeeds: a sequence was just closed */
    }
    return true;
}

/* Whether the blocks are available with which all tasks of a group reach their maximum length, and
 * one block per other running task. `pilot` holds those from the prefix cache. */
static bool group_fits(const struct qr_scheduler *s, const struct qr_task *pilot)
{
    const struct qr_sequence_memory *m = s->params.memory;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        const struct qr_sequence_group *held = &pilot->sequence->groups[g];
        const uint32_t n_held = held->end_block - held->first_block;
        const uint32_t n = qr_task_group_blocks(m, pilot->group_limits, g);
        if ((n > n_held ? n - n_held : 0) + s->n_running > qr_sequence_blocks_available(m, g))
            return false;
    }
    return true;
}

/* Whether the blocks of all pending tokens of a task are available, and one block per running task
 * for its next tokens. A single task always fits. */
static bool fits(const struct qr_scheduler *s, const struct qr_task *task)
{
    if (s->n_running == 0)
        return true;
    const struct qr_sequence_memory *m = s->params.memory;
    if (task->group)
        return group_fits(s, task);
    const uint32_t pending = task->n_tokens - task->sequence->n_tokens;
    const uint32_t chunk =
        pending < s->params.max_step_tokens ? pending : s->params.max_step_tokens;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        /* a window gives back its blocks while the task advances */
        const uint32_t n = m->windows[g] ? chunk : pending;
        const uint32_t missing = qr_sequence_blocks_missing(m, task->sequence, g, n);
        if (missing + s->n_running > qr_sequence_blocks_available(m, g))
            return false;
    }
    return true;
}

/* ---- The step */

/* Whether the task must be computed in one step, and `budget` tokens are too few. */
static bool exceeds(const struct qr_task *task, uint32_t budget)
{
    return task->whole && task->n_tokens - task->n_computed > budget;
}

static void plan_task(struct qr_scheduler *s, struct qr_task *task, uint32_t n)
{
    task->n_step = n;
    s->step[s->n_step++] = task;
    s->n_step_tokens += n;
}

/* Adds draft tokens to a planned task as far as memory is free for them and the step has room,
 * beside n_rows rows without drafts. All rows of a step have one RoPE length, which the draft must
 * not change. */
static void plan_draft(struct qr_scheduler *s, struct qr_task *task, uint32_t n_rows)
{
    const uint32_t rows = s->params.max_step_tokens - n_rows - s->n_step_draft_tokens;
    const uint32_t left = s->params.max_draft_tokens - s->n_step_draft_tokens;
    const uint32_t room = s->params.memory->max_tokens - task->n_tokens;
    uint32_t n = task->n_draft < rows ? task->n_draft : rows;
    n = n < left ? n : left;
    n = n < room ? n : room;
    if (n == 0 ||
        qr_scheduler_rope_variant(s, task->n_tokens) !=
            qr_scheduler_rope_variant(s, task->n_tokens + n) ||
        qr_sequence_reserve(s->params.memory, task->sequence, 1 + n, NULL) != QUIRE_OK ||
        !qr_sequence_begin_draft(s->params.memory, task->sequence, 1 + n))
        return;
    task->n_step_draft = n;
    s->n_step_draft_tokens += n;
    s->n_step_tokens += n;
}

/* Keys of the short factors of LongRoPE must not meet queries of the long ones: the sequence is
 * recomputed when its output grows past the original context, as a prompt of that length. */
static void check_rope_variant(struct qr_scheduler *s, struct qr_task *task)
{
    struct qr_sequence *q = task->sequence;
    const uint32_t length = qr_scheduler_rope_length(s, task, task->n_computed);
    if (qr_scheduler_key_variant(s, task, length) == q->variant)
        return;
    if (s->params.model && qr_rope_is_dynamic(s->params.model)) {
        qr_sequence_stop_indexing(q);
        return;
    }
    end_sequence(s, task, true);
    (void)begin(s, task, 0); /* succeeds: a sequence was just closed */
}

/* Opens the sequence of a task whose group was preempted, once the prompt is in the cache again: it
 * is computed and held only once. */
static bool rejoin(struct qr_scheduler *s, struct qr_task *task)
{
    const struct qr_task *pilot = qr_task_pilot(task);
    if (task->idle || pilot->n_computed < pilot->n_prompt)
        return false;
    (void)begin(s, task, reusable(task)); /* succeeds: its place was kept */
    qr_scheduler_charge(s, task);
    return true;
}

/* Number of the next n tokens of the task after which its state can be a checkpoint: chunks of a
 * prompt end with a block, and the last whole block before the end of the prompt ends a chunk. */
static uint32_t to_checkpoint(const struct qr_scheduler *s, const struct qr_task *task, uint32_t n)
{
    const struct qr_sequence_memory *m = s->params.memory;
    const uint32_t begin = task->n_computed, last = task->n_prompt - 1;
    if (!m->states.pool || !m->index || task->whole || begin >= task->n_prompt)
        return n;
    const uint32_t end = begin + n < last ? begin + n : last, whole = end - end % m->block_size;
    return whole > begin ? whole - begin : n;
}

/* Plans up to `budget` pending tokens of a running task; 0 tokens are planned without memory. */
static uint32_t plan_running(struct qr_scheduler *s, struct qr_task *task, uint32_t budget)
{
    struct qr_sequence_memory *m = s->params.memory;
    if (!task->sequence && !rejoin(s, task))
        return 0;
    check_rope_variant(s, task);
    qr_sequence_extend_from_cache(m, task->sequence, task->tokens, reusable(task));
    take_cached(s, task, task->sequence->n_tokens - task->n_computed);
    task->n_computed = task->sequence->n_tokens;
    if (exceeds(task, budget))
        return 0;
    uint32_t n = task->n_tokens - task->n_computed;
    n = to_checkpoint(s, task, qr_scheduler_same_rope_length(s, task, n < budget ? n : budget));
    if (n == 0 || !reserve(s, task, n) || !qr_scheduler_take_source(s, task))
        return 0;
    plan_task(s, task, n);
    return n;
}

/* The waiting task to admit next, or NULL. */
static struct qr_task *next_waiting(const struct qr_scheduler *s)
{
    struct qr_task *best = NULL;
    uint64_t best_served = 0;
    for (uint32_t i = 0; i < s->n_waiting; i++) {
        struct qr_task *t = s->waiting[i];
        if (t != qr_task_pilot(t) || (best && t->priority < best->priority))
            continue;
        const uint64_t served = s->clients[t->client_slot].served;
        if (!best || t->priority > best->priority || served < best_served) {
            best = t;
            best_served = served;
        }
    }
    return best;
}

/* Makes room for the tasks of a group among max_running, if need be of tasks of lower priority. */
static bool make_places(struct qr_scheduler *s, const struct qr_task *task)
{
    const uint32_t width = qr_task_width(task);
    uint32_t n_kept = 0;
    while (n_kept < s->n_running && s->running[n_kept]->priority >= task->priority)
        n_kept++;
    if (n_kept + width > s->params.max_running)
        return false;
    while (s->n_running + width > s->params.max_running)
        preempt(s, s->running[s->n_running - 1]);
    return true;
}

static void start(struct qr_scheduler *s, struct qr_task *task)
{
    remove_from(s->waiting, &s->n_waiting, task);
    add_running(s, task);
}

/* Admits a task, with its group, if the memory is available, if need be that of running tasks of
 * lower priority. */
static bool admit(struct qr_scheduler *s, struct qr_task *task)
{
    if (!make_places(s, task))
        return false;
    if (s->n_running && s->refused_arrival == task->arrival &&
        s->refused_epoch == qr_sequence_memory_epoch(s->params.memory))
        return false;
    s->n_lookups++;
    if (!begin(s, task, reusable(task)))
        return false;
    while (!fits(s, task)) {
        struct qr_task *last = s->n_running ? s->running[s->n_running - 1] : NULL;
        if (!last || last->priority >= task->priority) {
            end_sequence(s, task, true);
            s->refused_arrival = task->arrival;
            s->refused_epoch = qr_sequence_memory_epoch(s->params.memory);
            return false;
        }
        preempt(s, last);
    }
    if (!task->group)
        start(s, task);
    for (struct qr_task *t = task->group; t; t = t->next_in_group)
        start(s, t);
    take_cached(s, task, task->n_computed);
    qr_scheduler_charge(s, task);
    return true;
}

/* Plans the tasks that compute output again; answers come before prompts. Returns the tokens. */
static uint32_t plan_replays(struct qr_scheduler *s, uint32_t n_decoding)
{
    const uint32_t room = s->params.max_step_tokens - n_decoding;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_running && n < room; i++)
        if (s->running[i]->replays && !s->running[i]->n_step)
            n += plan_running(s, s->running[i], room - n);
    return n;
}

void qr_scheduler_plan(struct qr_scheduler *s, uint32_t max_prefill_tokens)
{
    s->n_step = s->n_step_tokens = s->n_step_draft_tokens = s->n_step_source = 0;
    s->max_step_source = max_prefill_tokens;
    uint32_t n_decoding = 0;
    for (uint32_t i = 0; i < s->n_running; i++) {
        struct qr_task *task = s->running[i];
        if (task->sequence) /* of a plan that was not committed */
            qr_sequence_end_draft(s->params.memory, task->sequence, task->tokens);
        task->n_step = task->n_step_draft = 0;
        n_decoding += qr_task_decodes(task);
    }
    /* a task may be preempted by one of higher rank, so the list changes behind position i only */
    for (uint32_t i = 0; i < s->n_running; i++)
        if (qr_task_decodes(s->running[i]))
            (void)plan_running(s, s->running[i], 1);
    const uint32_t n_rows = n_decoding + plan_replays(s, n_decoding);
    for (uint32_t i = 0; i < s->n_step; i++)
        if (s->step[i]->n_draft)
            plan_draft(s, s->step[i], n_rows);
    uint32_t budget = s->params.max_step_tokens - s->n_step_tokens;
    budget = budget < max_prefill_tokens ? budget : max_prefill_tokens;
    for (uint32_t i = 0; i < s->n_running && budget; i++)
        if (s->running[i]->n_step == 0 && !qr_task_decodes(s->running[i]))
            budget -= plan_running(s, s->running[i], budget);
    while (budget && s->n_waiting) {
        struct qr_task *task = next_waiting(s);
        if (exceeds(task, budget) || !admit(s, task))
            break;
        budget -= plan_running(s, task, budget);
    }
}

void qr_scheduler_commit(struct qr_scheduler *s, struct qr_task *task)
{
    qr_sequence_append(s->params.memory, task->sequence, task->tokens, task->n_step);
    task->n_computed += task->n_step;
    if (task->n_computed <= task->n_prompt)
        qr_sequence_checkpoint(s->params.memory, task->sequence);
    task->n_step = 0;
    if (task->n_computed == task->n_tokens)
        task->replays = false;
    qr_scheduler_charge(s, task);
}

void qr_scheduler_commit_draft(struct qr_scheduler *s, struct qr_task *task, uint32_t n)
{
    qr_sequence_append(s->params.memory, task->sequence, task->tokens, n);
    task->n_computed += n;
    qr_scheduler_charge(s, task);
}

void qr_scheduler_end_draft(struct qr_scheduler *s, struct qr_task *task)
{
    if (!task->sequence)
        return;
    qr_sequence_end_draft(s->params.memory, task->sequence, task->tokens);
    task->replays = task->sequence->n_tokens < task->n_computed;
    task->n_computed = task->sequence->n_tokens;
}

bool qr_scheduler_fork(struct qr_scheduler *s, struct qr_task *task, const struct qr_task *parent)
{
    if (s->n_running == s->params.max_running || !parent->sequence)
        return false;
    struct qr_sequence *sequence = qr_sequence_fork(s->params.memory, parent->sequence);
    if (!sequence)
        return false;
    remove_from(s->waiting, &s->n_waiting, task);
    task->sequence = sequence;
    task->n_computed = sequence->n_tokens;
    task->n_charged = task->n_computed;
    take_cached(s, task, task->n_computed);
    add_running(s, task);
    return true;
}

void qr_scheduler_branch(struct qr_scheduler *s, struct qr_task *task, const struct qr_task *parent)
{
    end_sequence(s, task, false);
    task->sequence = qr_sequence_fork(s->params.memory, parent->sequence); /* its place was kept */
    task->n_computed = task->sequence->n_tokens;
    if (task->n_charged < task->n_computed)
        task->n_charged = task->n_computed;
    task->idle = false;
}

void qr_scheduler_set_idle(struct qr_scheduler *s, struct qr_task *task)
{
    end_sequence(s, task, false);
    task->idle = true;
}
