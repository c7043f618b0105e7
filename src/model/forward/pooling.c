/* SPDX-License-Identifier: Apache-2.0 */
/* pooling.c - one vector for each sequence of an encoder pass. */
#include "model/forward/pooling.h"
#include "base/threads.h"
#include "model/forward/projection.h"
#include <math.h>
#include <string.h>

/* Mean of rows [first, end), added in token order, so that the bits do not depend on the team. */
static void mean(const struct qr_step *s, float *out, size_t first, size_t end)
{
    const struct qr_kernels *k = s->ctx->model->kernels;
    const size_t width = s->ctx->model->config->hidden_size;
    memcpy(out, s->ctx->h + first * width, width * sizeof *out);
    for (size_t r = first + 1; r < end; r++)
        k->add(out, s->ctx->h + r * width, width);
    k->scale(out, 1 / (float)(end - first), width);
}

static void normalize(float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    if (sum > 0)
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(x[i] / sqrt(sum));
}

/* The dense layer of the model's pooler, from head_in into e->pooled. Ends with a barrier. */
static void dense(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_packed *w = m->global.mat[QR_W_POOLER];
    const struct qr_projection p = { w, m->global.vec[QR_W_POOLER_BIAS], s->encode->pooled };
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
        if (e->pooling == QUIRE_POOLING_MEAN)
            mean(s, out, first, after);
        else
            memcpy(out, s->ctx->h + (e->pooling == QUIRE_POOLING_LAST ? after - 1 : first) * width,
                   width * sizeof *out);
    }
    if (pooler)
        dense(s, team);
    for (size_t i = begin; i < end; i++) {
        if (pooler)
            m->kernels->soft_cap(e->pooled + i * width, 1, width); /* tanh */
        if (e->normalize)
            normalize(e->pooled + i * width, width);
    }
}
