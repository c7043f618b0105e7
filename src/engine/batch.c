/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - block tables, slot mappings and lengths of one step. */
#include "engine/batch.h"
#include "base/alloc.h"
#include "base/error.h"
#include "engine/scheduler_rope.h"
#include <string.h>

quire_status qr_batch_init(struct qr_batch *b, const struct qr_batch_params *p,
                           struct quire_error *err)
{
    const struct quire_allocator *a = p->allocator;
    const size_t groups = p->n_groups, seqs = p->max_seqs, tokens = p->max_tokens;
    *b = (struct qr_batch){ .n_groups = p->n_groups,
                            .max_seqs = p->max_seqs,
                            .max_tokens = p->max_tokens,
                            .max_blocks = p->max_blocks,
                            .max_logits = p->max_logits };
    b->query_start_loc = qr_alloc(a, seqs + 1, sizeof *b->query_start_loc);
    b->seq_lens = qr_alloc(a, seqs, sizeof *b->seq_lens);
    b->rope_lens = qr_alloc(a, seqs, sizeof *b->rope_lens);
    b->state_slots = qr_alloc(a, seqs, sizeof *b->state_slots);
    b->source_lens = qr_alloc(a, seqs, sizeof *b->source_lens);
    b->logits_rows = qr_alloc(a, p->max_logits, sizeof *b->logits_rows);
    b->first_logits = qr_alloc(a, seqs, sizeof *b->first_logits);
    b->complete = qr_alloc(a, seqs, sizeof *b->complete);
    b->token_ids = qr_alloc(a, tokens, sizeof *b->token_ids);
    b->slot_mapping = qr_alloc(a, groups * tokens, sizeof *b->slot_mapping);
    b->block_tables = qr_alloc(a, groups * seqs * p->max_blocks, sizeof *b->block_tables);
    b->first_blocks = qr_alloc(a, groups * seqs, sizeof *b->first_blocks);
    b->groups = qr_calloc(a, groups, sizeof *b->groups);
    b->embedding_rows = qr_calloc(a, tokens, sizeof *b->embedding_rows);
    b->adapters = qr_alloc(a, seqs, sizeof *b->adapters);
    b->adapter_index = qr_alloc(a, seqs, sizeof *b->adapter_index);
    b->adapter_scales = qr_alloc(a, seqs, sizeof *b->adapter_scales);
    if (b->query_start_loc && b->seq_lens && b->rope_lens && b->state_slots && b->source_lens &&
        b->logits_rows && b->first_logits && b->complete && b->token_ids && b->slot_mapping &&
        b->block_tables && b->first_blocks && b->groups && b->embedding_rows && b->adapters &&
        b->adapter_index && b->adapter_scales)
        return QUIRE_OK;
    qr_batch_free(b, a);
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for a step of %u tokens of %u sequences",
                   p->max_tokens, p->max_seqs);
}

void qr_batch_free(struct qr_batch *b, const struct quire_allocator *a)
{
    const size_t groups = b->n_groups, seqs = b->max_seqs, tokens = b->max_tokens;
    qr_free(a, b->query_start_loc, seqs + 1, sizeof *b->query_start_loc);
    qr_free(a, b->seq_lens, seqs, sizeof *b->seq_lens);
    qr_free(a, b->rope_lens, seqs, sizeof *b->rope_lens);
    qr_free(a, b->state_slots, seqs, sizeof *b->state_slots);
    qr_free(a, b->source_lens, seqs, sizeof *b->source_lens);
    qr_free(a, b->logits_rows, b->max_logits, sizeof *b->logits_rows);
    qr_free(a, b->first_logits, seqs, sizeof *b->first_logits);
    qr_free(a, b->complete, seqs, sizeof *b->complete);
    qr_free(a, b->token_ids, tokens, sizeof *b->token_ids);
    qr_free(a, b->slot_mapping, groups * tokens, sizeof *b->slot_mapping);
    qr_free(a, b->block_tables, groups * seqs * b->max_blocks, sizeof *b->block_tables);
    qr_free(a, b->first_blocks, groups * seqs, sizeof *b->first_blocks);
    qr_free(a, b->groups, groups, sizeof *b->groups);
    qr_free(a, b->embedding_rows, tokens, sizeof *b->embedding_rows);
    qr_free(a, b->adapters, seqs, sizeof *b->adapters);
    qr_free(a, b->adapter_index, seqs, sizeof *b->adapter_index);
    qr_free(a, b->adapter_scales, seqs, sizeof *b->adapter_scales);
    *b = (struct qr_batch){ 0 };
}

/* Adds block table and slots of a task in one KV group. Rows of the tables begin at the first block
 * that the sequence still holds. */
static quire_status add_group(struct qr_batch *b, const struct qr_scheduler *scheduler,
                              const struct qr_task *task, uint32_t group, struct quire_error *err)
{
    const struct qr_sequence_group *g = &task->sequence->groups[group];
    const uint32_t n_entries = g->end_block - g->first_block;
    const size_t row = (size_t)group * b->max_seqs + b->n_seqs;
    memcpy(b->block_tables + row * b->max_blocks, g->block_table + g->first_block,
           n_entries * sizeof(int32_t));
    b->first_blocks[row] = g->first_block;
    if (n_entries > b->groups[group].max_blocks)
        b->groups[group].max_blocks = n_entries;
    const struct qr_sequence_memory *m = scheduler->params.memory;
    if (m->has_cross_group && group == m->cross_group)
        return QUIRE_OK; /* the encoder pass has written to it */
    const struct quire_kv_slot_args map = {
        .struct_size = sizeof map,
        .block_size = m->block_size,
        .block_table = g->block_table + g->first_block,
        .n_entries = n_entries,
        .first_block = g->first_block,
        .first_pos = task->n_computed,
        .n_tokens = task->n_step + task->n_step_draft,
    };
    return quire_kv_map_slots(&map, b->slot_mapping + (size_t)group * b->max_tokens + b->n_tokens,
                              err);
}

/* Puts the embeddings among the task's planned tokens in place of their ids. */
static void add_embeddings(struct qr_batch *b, const struct qr_task *task)
{
    const uint32_t first = task->n_computed;
    for (uint32_t i = 0; i < task->n_step && first + i < task->n_prompt; i++)
        if (task->embeddings[first + i]) {
            b->embedding_rows[b->n_tokens + i] = task->embeddings[first + i];
            b->has_embeddings = true;
        }
}

/* Enters the adapter of sequence i. */
static void add_adapter(struct qr_batch *b, uint32_t i, const struct qr_task *task)
{
    uint32_t at = 0;
    b->adapter_index[i] = -1;
    b->adapter_scales[i] = task->adapter_scale;
    if (!task->adapter)
        return;
    while (at < b->n_adapters && b->adapters[at] != task->adapter)
        at++;
    if (at == b->n_adapters)
        b->adapters[b->n_adapters++] = task->adapter;
    b->adapter_index[i] = (int32_t)at;
}

static quire_status add_task(struct qr_batch *b, const struct qr_scheduler *scheduler,
                             struct qr_task *task, struct quire_error *err)
{
    const uint32_t i = b->n_seqs, n = task->n_step, n_draft = task->n_step_draft;
    for (uint32_t g = 0; g < b->n_groups; g++)
        QR_TRY(add_group(b, scheduler, task, g, err));
    memcpy(b->token_ids + b->n_tokens, task->tokens + task->n_computed, n * sizeof(int32_t));
    if (n_draft)
        memcpy(b->token_ids + b->n_tokens + n, task->draft, n_draft * sizeof(int32_t));
    if (task->embeddings)
        add_embeddings(b, task);
    add_adapter(b, i, task);
    b->seq_lens[i] = (int32_t)(task->n_computed + n + n_draft);
    b->state_slots[i] = task->sequence->state_slot;
    b->source_lens[i] = (int32_t)task->n_source;
    b->rope_lens[i] = qr_scheduler_rope_length(scheduler, task, task->n_computed);
    b->n_tokens += n + n_draft;
    b->query_start_loc[i + 1] = (int32_t)b->n_tokens;
    if (task->n_computed + n == task->n_tokens) {
        b->complete[b->n_complete] = task;
        b->first_logits[b->n_complete++] = b->n_logits;
        for (uint32_t row = b->n_tokens - 1 - n_draft; row < b->n_tokens && !task->pools; row++)
            b->logits_rows[b->n_logits++] = row;
    }
    b->pools |= task->pools;
    b->n_seqs++;
    return QUIRE_OK;
}

quire_status qr_batch_build(struct qr_batch *b, const struct qr_scheduler *scheduler,
                            struct quire_error *err)
{
    b->n_seqs = b->n_tokens = b->n_logits = b->n_complete = b->n_adapters = 0;
    b->pools = false;
    b->query_start_loc[0] = 0;
    if (b->has_embeddings)
        memset(b->embedding_rows, 0, b->max_tokens * sizeof *b->embedding_rows);
    b->has_embeddings = false;
    for (uint32_t g = 0; g < b->n_groups; g++)
        b->groups[g] = (struct quire_attention_batch_group){
            .block_table = b->block_tables + (size_t)g * b->max_seqs * b->max_blocks,
            .block_table_stride = b->max_blocks,
            .first_block = b->first_blocks + (size_t)g * b->max_seqs,
            .slot_mapping = b->slot_mapping + (size_t)g * b->max_tokens,
        };
    const struct qr_sequence_memory *m = scheduler->params.memory;
    if (m->has_cross_group)
        b->groups[m->cross_group].slot_mapping = NULL;
    for (uint32_t i = 0; i < scheduler->n_step; i++)
        QR_TRY(add_task(b, scheduler, scheduler->step[i], err));
    return QUIRE_OK;
}
