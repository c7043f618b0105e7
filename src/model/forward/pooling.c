/* SPDX-License-Identifier: Apache-2.0 */
/* pooling.c - one vector for each sequence of an encoder pass. */
#include "model/forward/pooling.h"
#include "base/threads.h"
#include "model/forward/projection.h"
#include <math.h>
#include <string.h>

void qr_pool_add(const struct quire_model *m, float *sum, uint32_t n_before, const float *rows,
                 size_t n)
{
    const size_t width = m->config->hidden_size;
    for (size_t r = 0; r < n; r++) {
        if (n_before + r == 0)
            memcpy(sum, rows, width * sizeof *sum);
        else
            m->kernels->add(sum, rows + r * width, width);
    }
}

void qr_pool_mean(const struct quire_model *m, float *sum, size_t n)
{
    m->kernels->scale(sum, 1 / (float)n, m->config->hidden_size);
}

void qr_pool_normalize(float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    if (sum > 0)
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(x[i] / sqrt(sum));
}

uint32_t qr_pool_width(const struct qr_model_config *c)
{
    return c->n_dense ? c->dense[c->n_dense - 1].out : c->hidden_size;
}

/* Elements of the widest vector on the way. */
static uint32_t most_wide(const struct qr_model_config *c)
{
    uint32_t most = c->hidden_size;
    for (uint32_t i = 0; i < c->n_dense; i++)
        most = c->dense[i].out > most ? c->dense[i].out : most;
    return most;
}

uint32_t qr_pool_floats(const struct qr_model_config *c)
{
    return (c->n_dense ? 2 : 1) * most_wide(c);
}

/* out = w x + bias in f32, by one thread. */
static void multiply(const struct quire_model *m, enum qr_weight_role weight,
                     enum qr_weight_role bias, const float *x, float *out)
{
    const struct qr_packed *w = m->global.mat[weight];
    struct qr_act act;
    qr_act_init(&act, QR_ACT_F32, x, w->k, 1, w->k, NULL);
    const struct qr_linear_args args = { .w = w,
                                         .x = &act,
                                         .out = out,
                                         .out_stride = w->n,
                                         .bias = m->global.vec[bias],
                                         .compute = QUIRE_COMPUTE_F32 };
    const struct qr_linear_block all = { 0, w->n, 0, 1 };
    qr_linear_run_block(&args, &all, m->kernels);
}

void qr_pool_dense(const struct quire_model *m, float *x)
{
    float *out = x + most_wide(m->config);
    for (uint32_t i = 0; i < m->config->n_dense; i++) {
        const size_t n = m->global.mat[QR_W_DENSE_0 + i]->n;
        multiply(m, QR_W_DENSE_0 + i, QR_W_DENSE_0_BIAS + i, x, out);
        if (m->config->dense[i].tanh)
            m->kernels->soft_cap(out, 1, n); /* tanh */
        memcpy(x, out, n * sizeof *x);
    }
}

uint32_t qr_pool_class_floats(const struct qr_model_config *c)
{
    return c->hidden_size + (c->class_yes_no ? 2 : c->n_labels);
}

void qr_pool_classify(const struct quire_model *m, float *x)
{
    const struct qr_model_config *c = m->config;
    float *out = x + c->hidden_size;
    multiply(m, QR_W_CLASS_OUT, QR_W_CLASS_OUT_BIAS, x, out);
    if (c->class_yes_no)
        out[0] -= out[1];
    memmove(x, out, c->n_labels * sizeof *x);
}

/* The dense layer of the model's pooler, from head_in into e->pooled. Ends with a barrier. */
static void dense(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_packed *w = m->global.mat[QR_W_POOLER];
    const struct qr_projection p = { w, m->global.vec[QR_W_POOLER_BIAS], s->encode->pooled,
                                     QR_NO_ADAPTER_SITE };
    struct qr_act act;
    quire_team_barrier(team);
    qr_convert_input(s, &act, &w, 1, s->ctx->head_in, s->encode->n_seqs, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
}

void qr_pool(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_encode_args *e = s->encode;
    const struct quire_model *m = s->ctx->model;
    const size_t width = m->config->hidden_size;
    const bool pooler = e->pooling == QUIRE_POOLING_POOLER;
    size_t begin, end;
    qr_team_range(team, e->n_seqs, 1, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const size_t first = (size_t)e->query_start_loc[i],
                     after = (size_t)e->query_start_loc[i + 1];
        float *out = (pooler ? s->ctx->head_in : e->pooled) + i * width;
        if (e->pooling == QUIRE_POOLING_MEAN) {
            qr_pool_add(m, out, 0, s->ctx->h + first * width, after - first);
            qr_pool_mean(m, out, after - first);
        } else {
            memcpy(out, s->ctx->h + (e->pooling == QUIRE_POOLING_LAST ? after - 1 : first) * width,
                   width * sizeof *out);
        }
    }
    if (pooler)
        dense(s, team);
    for (size_t i = begin; i < end; i++) {
        if (pooler)
            m->kernels->soft_cap(e->pooled + i * width, 1, width); /* tanh */
        if (e->normalize)
            qr_pool_normalize(e->pooled + i * width, width);
    }
}
