/* SPDX-License-Identifier: Apache-2.0 */
/* per_layer_embedding.c - per-layer embeddings (struct qr_ple_config): a vector for each token and
 * layer, and what a layer makes of it. */
#include "model/forward/per_layer_embedding.h"
#include "base/bump.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/forward/ffn_activate.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <math.h>

static float *take_floats(struct qr_bump *c, size_t n, size_t width)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(c, count, sizeof(float));
    c->overflow = true;
    return NULL;
}

void qr_ple_reserve(const struct quire_model *model, struct quire_context *ctx, struct qr_bump *c)
{
    const struct qr_model_config *cfg = model->config;
    const size_t all = (size_t)cfg->n_layers * cfg->ple.dim;
    if (!all)
        return;
    ctx->ple.rows = take_floats(c, ctx->max_rows, all);
    ctx->ple.gate = take_floats(c, ctx->max_rows, cfg->ple.dim);
    ctx->ple.scratch = take_floats(c, ctx->threads ? quire_threads_count(ctx->threads) : 1, all);
}

/* The vectors of row r: the row of the table for its token is added to the normed projection. */
static void finish_row(const struct qr_step *s, size_t r, float *scratch)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t dim = c->ple.dim, all = c->n_layers * dim;
    const size_t token = (size_t)s->args->token_ids[r];
    float *e = s->ctx->ple.rows + r * all;
    m->kernels->scale(e, (float)(1 / sqrt((double)c->hidden_size)), all);
    for (size_t i = 0; i < c->n_layers; i++)
        qr_norm_vector(s, m->global.vec[QR_W_PLE_NORM], e + i * dim, dim);
    qr_packed_unpack_row(m->global.mat[QR_W_PLE_EMBD], token < c->ple.vocab_size ? token : 0,
                         scratch);
    m->kernels->axpy(e, sqrtf((float)dim), scratch, all);
    m->kernels->scale(e, (float)sqrt(0.5), all);
}

void qr_ple_prepare(const struct qr_step *s, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_packed *w = ctx->model->global.mat[QR_W_PLE_PROJ];
    const struct qr_projection p = { w, NULL, ctx->ple.rows, { QR_W_PLE_PROJ, 0, 0 } };
    struct qr_act act;
    size_t begin, end;
    qr_convert_input(s, &act, &w, 1, qr_thread_state(s, team).x, s->n_tokens, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        finish_row(s, r, ctx->ple.scratch + (size_t)team->rank * c->n_layers * c->ple.dim);
    quire_team_barrier(team);
}

void qr_ple_sublayer(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_layer *layer = &m->layers[i];
    const size_t dim = m->config->ple.dim, all = m->config->n_layers * dim;
    const struct qr_packed *gate = layer->mat[QR_W_PLE_GATE], *to_out = layer->mat[QR_W_PLE_OUT];
    const struct qr_projection p[] = { { gate, NULL, ctx->ple.gate, { QR_W_PLE_GATE, i, 0 } },
                                       { to_out, NULL, out, { QR_W_PLE_OUT, i, 0 } } };
    struct qr_act act;
    size_t begin, end;
    qr_convert_input(s, &act, &gate, 1, qr_thread_state(s, team).x, s->n_tokens, team);
    qr_project(s, &act, &p[0], 1, team);
    quire_team_barrier(team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        qr_ffn_activate(m, &layer->act, ctx->ple.gate + r * dim, ctx->ple.rows + r * all + i * dim,
                        dim);
    if (s->replicated)
        quire_team_barrier(team); /* each thread converts all rows */
    qr_convert_input(s, &act, &to_out, 1, ctx->ple.gate, s->n_tokens, team);
    qr_project(s, &act, &p[1], 1, team);
    quire_team_barrier(team);
}
