/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - sources of encoder-decoders. */
#include "engine/source.h"
#include "base/alloc.h"
#include "base/error.h"
#include "model/load/model.h"
#include <string.h>

/* ---- Memory */

quire_status qr_sources_init(struct quire_engine *e, struct quire_error *err)
{
    struct qr_source_pass *s = &e->sources;
    if (!e->memory.has_cross_group)
        return QUIRE_OK;
    s->query_start_loc =
        qr_alloc(e->allocator, e->info.max_seqs + (size_t)1, sizeof *s->query_start_loc);
    s->token_ids = qr_alloc(e->allocator, e->max_source_tokens, sizeof *s->token_ids);
    s->slot_mapping = qr_alloc(e->allocator, e->max_source_tokens, sizeof *s->slot_mapping);
    if (s->query_start_loc && s->token_ids && s->slot_mapping)
        return QUIRE_OK;
    qr_sources_free(e);
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for an encoder pass of %u tokens",
                   e->max_source_tokens);
}

void qr_sources_free(struct quire_engine *e)
{
    struct qr_source_pass *s = &e->sources;
    qr_free(e->allocator, s->query_start_loc, e->info.max_seqs + (size_t)1,
            sizeof *s->query_start_loc);
    qr_free(e->allocator, s->token_ids, e->max_source_tokens, sizeof *s->token_ids);
    qr_free(e->allocator, s->slot_mapping, e->max_source_tokens, sizeof *s->slot_mapping);
    *s = (struct qr_source_pass){ 0 };
}

uint64_t qr_sources_bytes(const struct quire_engine *e)
{
    if (!e->max_source_tokens)
        return 0;
    return (e->info.max_seqs + (uint64_t)1) * sizeof(int32_t) +
           (uint64_t)e->max_source_tokens * (sizeof(int32_t) + sizeof(int64_t));
}

/* ---- Requests */

quire_status qr_source_check(const struct quire_engine *e, const struct quire_request_params *p,
                             struct quire_error *err)
{
    if (!e->max_source_tokens)
        return QUIRE_OK;
    const char *field = p->task != QUIRE_TASK_GENERATE         ? "task"
                        : p->parts                             ? "parts"
                        : p->flags & QUIRE_REQUEST_ECHO        ? "flags: QUIRE_REQUEST_ECHO"
                        : p->flags & QUIRE_REQUEST_PROMPT_ONLY ? "flags: QUIRE_REQUEST_PROMPT_ONLY"
                                                               : NULL;
    return field ? qr_fail(err, QUIRE_E_UNSUPPORTED,
                           "%s: architecture '%s' is an encoder-decoder: it answers a text or "
                           "tokens, which are not part of its answer",
                           field, e->model->config->arch)
                 : QUIRE_OK;
}

quire_status qr_source_take(const struct quire_engine *e, struct qr_prompt *prompt,
                            struct quire_error *err)
{
    int32_t *start = qr_alloc(e->allocator, 1, sizeof *start);
    if (!start)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the first token of an answer");
    *start = e->decoder_start_id;
    prompt->source = prompt->tokens;
    prompt->n_source = prompt->n;
    prompt->source_capacity = prompt->capacity;
    prompt->tokens = start;
    prompt->n = prompt->capacity = 1;
    return QUIRE_OK;
}

quire_status qr_source_attach(struct quire_engine *e, struct qr_request *r,
                              const struct qr_prompt *prompt, struct quire_error *err)
{
    if (!prompt->source)
        return QUIRE_OK;
    int32_t *copy = qr_alloc(e->allocator, prompt->n_source, sizeof *copy);
    if (!copy)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %u tokens", prompt->n_source);
    memcpy(copy, prompt->source, prompt->n_source * sizeof *copy);
    r->task.source = copy;
    r->task.n_source = prompt->n_source;
    r->usage.prompt_tokens = prompt->n_source;
    return QUIRE_OK;
}

void qr_source_detach(struct quire_engine *e, struct qr_request *r)
{
    qr_free(e->allocator, (void *)(uintptr_t)r->task.source, r->task.n_source,
            sizeof *r->task.source);
    r->task.source = NULL;
}

/* ---- The encoder pass */

/* Adds the source of a task to the pass. Its blocks are reserved. */
static quire_status add_source(struct quire_engine *e, const struct qr_task *task, uint32_t *n_seqs,
                               struct quire_error *err)
{
    struct qr_source_pass *s = &e->sources;
    const struct qr_sequence_group *g = &task->sequence->groups[e->memory.cross_group];
    const struct quire_kv_slot_args map = {
        .struct_size = sizeof map,
        .block_size = e->memory.block_size,
        .block_table = g->block_table,
        .n_entries = g->end_block,
        .n_tokens = task->n_source,
    };
    memcpy(s->token_ids + s->n_tokens, task->source, task->n_source * sizeof *s->token_ids);
    QR_TRY(quire_kv_map_slots(&map, s->slot_mapping + s->n_tokens, err));
    s->n_tokens += task->n_source;
    s->query_start_loc[++*n_seqs] = (int32_t)s->n_tokens;
    return QUIRE_OK;
}

quire_status qr_sources_encode(struct quire_engine *e, struct quire_error *err)
{
    struct qr_source_pass *s = &e->sources;
    const struct qr_scheduler *scheduler = &e->scheduler;
    uint32_t n_seqs = 0;
    s->n_tokens = 0;
    if (!e->max_source_tokens)
        return QUIRE_OK;
    s->query_start_loc[0] = 0;
    for (uint32_t i = 0; i < scheduler->n_step; i++)
        if (!scheduler->step[i]->sequence->source_ready)
            QR_TRY(add_source(e, scheduler->step[i], &n_seqs, err));
    const struct quire_encode_args args = {
        .struct_size = sizeof args,
        .n_seqs = n_seqs,
        .query_start_loc = s->query_start_loc,
        .token_ids = s->token_ids,
        .cross_slot_mapping = s->slot_mapping,
    };
    if (n_seqs)
        QR_TRY(quire_context_encode(e->context, &args, err));
    for (uint32_t i = 0; i < scheduler->n_step; i++)
        scheduler->step[i]->sequence->source_ready = true;
    return QUIRE_OK;
}
