/* SPDX-License-Identifier: Apache-2.0 */
/* classify.c - scores of whole sequences: the input of the classification head, its dense layer,
 * its output matrix. */
#include "model/forward/classify.h"
#include "base/threads.h"
#include "model/forward/ffn_activate.h"
#include "model/forward/norm.h"
#include "model/forward/pooling.h"
#include "model/forward/projection.h"
#include <string.h>

/* The state of each sequence [begin, end) that the head reads, into head_in. */
static void gather(const struct qr_step *s, size_t begin, size_t end)
{
    const struct quire_encode_args *e = s->encode;
    const struct quire_model *m = s->ctx->model;
    const size_t width = m->config->hidden_size;
    for (size_t i = begin; i < end; i++) {
        const size_t first = (size_t)e->query_start_loc[i],
                     n = (size_t)e->query_start_loc[i + 1] - first;
        float *out = s->ctx->head_in + i * width;
        qr_pool_add(m, out, 0, s->ctx->h + first * width, m->config->class_mean ? n : 1);
        if (m->config->class_mean)
            qr_pool_mean(m, out, n);
    }
}

/* out = w x + bias for the rows of all sequences. Starts and ends with a barrier. */
static void project(const struct qr_step *s, enum qr_weight_role w, enum qr_weight_role bias,
                    const float *x, float *out, const struct quire_team *team)
{
    const struct qr_model_layer *global = &s->ctx->model->global;
    const struct qr_packed *matrix = global->mat[w];
    const struct qr_projection p = { matrix, global->vec[bias], out, QR_NO_ADAPTER_SITE };
    struct qr_act act;
    quire_team_barrier(team);
    qr_convert_input(s, &act, &matrix, 1, x, s->encode->n_seqs, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
}

/* The function behind the pooler or the dense layer of the head. */
static void activate(const struct quire_model *m, float *x, size_t n)
{
    if (m->config->class_head == QR_CLASS_DENSE_GELU)
        m->kernels->gelu_erf_mul(x, NULL, n);
    else if (m->config->class_head == QR_CLASS_DENSE_RELU)
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] > 0 ? x[i] : 0;
    else
        m->kernels->soft_cap(x, 1, n); /* tanh */
}

/* Dense layer of the head and what follows it; returns the input of the output matrix, of which the
 * rows [begin, end) are complete. */
static const float *run_dense(const struct qr_step *s, size_t begin, size_t end,
                              const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const size_t width = m->config->hidden_size;
    float *mid = ctx->head_mid;
    switch (m->config->class_head) {
    case QR_CLASS_POOLER:
        project(s, QR_W_POOLER, QR_W_POOLER_BIAS, ctx->head_in, mid, team);
        break;
    case QR_CLASS_DENSE:
    case QR_CLASS_DENSE_RELU:
    case QR_CLASS_DENSE_GELU:
        project(s, QR_W_CLASS_DENSE, QR_W_CLASS_DENSE_BIAS, ctx->head_in, mid, team);
        break;
    case QR_CLASS_MASKED:
        project(s, QR_W_HEAD_DENSE, QR_W_HEAD_DENSE_BIAS, ctx->head_in, mid, team);
        for (size_t i = begin; i < end; i++)
            qr_ffn_activate(m, &m->global.act, mid + i * width, NULL, width);
        qr_norm_rows(s, &m->global, QR_W_HEAD_NORM, QR_W_HEAD_NORM_BIAS, ctx->head_in, mid, width,
                     begin, end);
        return ctx->head_in;
    case QR_CLASS_PLAIN:
    case QR_CLASS_NONE:
        return ctx->head_in;
    }
    for (size_t i = begin; i < end; i++)
        activate(m, mid + i * width, width);
    return mid;
}

void qr_classify(const struct qr_step *s, const struct quire_team *team)
{
    size_t begin, end;
    qr_team_range(team, s->encode->n_seqs, 1, &begin, &end);
    quire_team_barrier(team); /* head_in may still be read */
    gather(s, begin, end);
    const float *x = run_dense(s, begin, end, team);
    project(s, QR_W_CLASS_OUT, QR_W_CLASS_OUT_BIAS, x, s->encode->scores, team);
}
