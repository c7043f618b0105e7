/* SPDX-License-Identifier: Apache-2.0 */
/* vector.c - the vectors of EMBED and SCORE requests: memory, pooling, completion. */
#include "engine/vector.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/finish.h"
#include "engine/request.h"
#include "model/forward/pooling.h"
#include <math.h>
#include <string.h>

/* ---- Memory */

static void free_buffers(const struct quire_engine *e, struct qr_vector_buffers *b)
{
    const size_t tokens = e->info.max_step_tokens, seqs = e->info.max_seqs;
    qr_free(e->allocator, b->hidden, tokens * e->hidden_size, sizeof *b->hidden);
    qr_free(e->allocator, b->pooled, seqs * e->hidden_size, sizeof *b->pooled);
    qr_free(e->allocator, b->scores, seqs * e->n_labels, sizeof *b->scores);
    qr_free(e->allocator, b->type_ids, tokens, sizeof *b->type_ids);
    *b = (struct qr_vector_buffers){ 0 };
}

static bool allocate(const struct quire_engine *e, struct qr_vector_buffers *b)
{
    const size_t tokens = e->info.max_step_tokens, seqs = e->info.max_seqs;
    b->hidden = qr_alloc(e->allocator, tokens * e->hidden_size, sizeof *b->hidden);
    if (!e->encodes)
        return b->hidden != NULL;
    b->pooled = qr_alloc(e->allocator, seqs * e->hidden_size, sizeof *b->pooled);
    b->scores = qr_alloc(e->allocator, seqs * e->n_labels, sizeof *b->scores);
    b->type_ids = qr_alloc(e->allocator, tokens, sizeof *b->type_ids);
    return b->hidden && b->pooled && b->scores && b->type_ids;
}

/* The host's allocator is called without the lock. */
quire_status qr_vector_reserve(struct quire_engine *e, struct quire_error *err)
{
    struct qr_vector_buffers n = { 0 };
    pthread_mutex_lock(&e->lock);
    const bool exists = e->vectors.hidden != NULL;
    pthread_mutex_unlock(&e->lock);
    if (exists)
        return QUIRE_OK;
    const bool enough = allocate(e, &n);
    pthread_mutex_lock(&e->lock);
    if (enough && !e->vectors.hidden) {
        e->vectors = n;
        n = (struct qr_vector_buffers){ 0 };
    }
    pthread_mutex_unlock(&e->lock);
    free_buffers(e, &n);
    return enough ? QUIRE_OK
                  : qr_fail(err, QUIRE_E_NOMEM, "no memory for the hidden states of %u tokens",
                            e->info.max_step_tokens);
}

void qr_vector_free_buffers(struct quire_engine *e) { free_buffers(e, &e->vectors); }

uint64_t qr_vector_buffer_bytes(const struct quire_engine *e)
{
    const uint64_t tokens = e->info.max_step_tokens, seqs = e->info.max_seqs;
    return tokens * (e->hidden_size * sizeof(float) + sizeof(int32_t)) +
           seqs * ((uint64_t)e->hidden_size + e->n_labels) * sizeof(float);
}

static enum quire_pooling pooling_of(const struct quire_engine *e,
                                     const struct quire_request_params *p)
{
    return p->pooling == QUIRE_POOLING_DEFAULT ? (enum quire_pooling)e->model->config->pooling
                                               : p->pooling;
}

quire_status qr_vector_init(struct quire_engine *e, struct qr_request *r,
                            const struct quire_request_params *p, struct qr_prompt *prompt,
                            struct quire_error *err)
{
    struct qr_vector *v = &r->vector;
    const bool scores = p->task == QUIRE_TASK_SCORE;
    const bool of_state = scores && !e->encodes; /* of a decoder's last token */
    v->task = p->task;
    v->pooling = of_state ? QUIRE_POOLING_LAST : pooling_of(e, p);
    v->normalize = p->normalize;
    v->raw_scores = p->raw_scores;
    v->dense = !scores && p->pooling == QUIRE_POOLING_DEFAULT && e->model->config->n_dense;
    v->width = scores && !of_state ? e->n_labels : e->hidden_size;
    v->n_values = scores          ? e->n_labels
                  : p->dimensions ? p->dimensions
                  : v->dense      ? qr_pool_width(e->model->config)
                                  : e->hidden_size;
    v->capacity = v->dense   ? qr_pool_floats(e->model->config)
                  : of_state ? qr_pool_class_floats(e->model->config)
                             : v->width;
    v->type_ids = prompt->type_ids;
    prompt->type_ids = NULL;
    r->task.pools = true;
    r->task.pools_rows = v->pooling != QUIRE_POOLING_LAST;
    r->task.whole = e->encodes;
    v->values = qr_alloc(e->allocator, v->capacity, sizeof *v->values);
    if (!v->values)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a vector of %u values", v->capacity);
    return qr_vector_reserve(e, err);
}

void qr_vector_free(struct quire_engine *e, struct qr_request *r)
{
    struct qr_vector *v = &r->vector;
    qr_free(e->allocator, v->values, v->capacity, sizeof *v->values);
    qr_free(e->allocator, v->type_ids, r->task.n_prompt, sizeof *v->type_ids);
    v->values = NULL;
    v->type_ids = NULL;
}

/* ---- Pooling */

/* Pools the rows of sequence i of the batch, whose tokens begin at task->n_computed. Rows that were
 * pooled before a preemption are computed again and left out. */
static void add_rows(struct quire_engine *e, uint32_t i, struct qr_request *r)
{
    const size_t width = e->hidden_size;
    const float *rows = e->vectors.hidden + (size_t)e->batch.query_start_loc[i] * width;
    struct qr_task *task = &r->task;
    struct qr_vector *v = &r->vector;
    const uint32_t first = task->n_computed, end = first + task->n_step, n = task->n_pooled;
    if (v->pooling == QUIRE_POOLING_LAST) {
        if (end == task->n_tokens)
            memcpy(v->values, rows + (end - 1 - first) * width, width * sizeof *rows);
    } else if (end <= n) {
        return;
    } else if (v->pooling == QUIRE_POOLING_MEAN) {
        qr_pool_add(e->model, v->values, n, rows + (n - first) * width, end - n);
        task->n_pooled = end;
    } else { /* the other rows are not needed */
        memcpy(v->values, rows, width * sizeof *rows);
        task->n_pooled = task->n_tokens;
    }
}

/* The output of the model for the whole sequence i of the batch. */
static void take_output(const struct quire_engine *e, uint32_t i, struct qr_vector *v)
{
    const float *from = v->task == QUIRE_TASK_SCORE ? e->vectors.scores : e->vectors.pooled;
    memcpy(v->values, from + (size_t)i * v->width, v->width * sizeof *from);
}

void qr_vector_add_rows(struct quire_engine *e)
{
    for (uint32_t i = 0; i < e->batch.n_seqs; i++) {
        struct qr_request *r = qr_request_of(e->scheduler.step[i]);
        const enum quire_task task = r->vector.task;
        if ((task == QUIRE_TASK_SCORE && e->encodes) || r->vector.pooling == QUIRE_POOLING_POOLER)
            take_output(e, i, &r->vector);
        else if (task == QUIRE_TASK_EMBED || task == QUIRE_TASK_SCORE)
            add_rows(e, i, r);
    }
}

static bool is_finite(const struct qr_vector *v)
{
    for (uint32_t i = 0; i < v->n_values; i++)
        if (!isfinite(v->values[i]))
            return false;
    return true;
}

void qr_vector_finish(struct quire_engine *e, struct qr_request *r)
{
    struct qr_vector *v = &r->vector;
    if (v->task == QUIRE_TASK_SCORE) {
        if (!e->encodes)
            qr_pool_classify(e->model, v->values);
        for (uint32_t i = 0; i < v->n_values && !v->raw_scores && e->sigmoid_scores; i++)
            v->values[i] = (float)(1 / (1 + exp(-(double)v->values[i])));
    } else {
        if (v->pooling == QUIRE_POOLING_MEAN)
            qr_pool_mean(e->model, v->values, r->task.n_tokens);
        if (v->dense)
            qr_pool_dense(e->model, v->values);
        if (v->normalize)
            qr_pool_normalize(v->values, v->n_values);
    }
    r->first_token_time = r->last_token_time = qr_clock_now();
    if (!is_finite(v)) {
        struct quire_error err = QUIRE_ERROR_INIT;
        (void)qr_fail(&err, QUIRE_E_NUMERIC, "the vector contains NaN or infinity");
        qr_request_fail(e, r, QUIRE_E_NUMERIC, &err);
        return;
    }
    qr_request_finish(e, r, QUIRE_FINISH_STOP);
}
