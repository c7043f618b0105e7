/* SPDX-License-Identifier: Apache-2.0 */
/* hyper.c - the residual streams of hyper-connections (struct qr_hyper_config). */
#include "model/forward/hyper.h"
#include "base/bump.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/config/limits.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <math.h>
#include <string.h>

/* Weights of a site; INJECT is unused for the output. */
struct site {
    enum qr_weight_role norm, down, up, inject, mix, base, scale;
};
static const struct site sites[] = {
    [QR_HYPER_ATTENTION] = { QR_W_HYPER_ATTN_NORM, QR_W_HYPER_ATTN_DOWN, QR_W_HYPER_ATTN_UP,
                             QR_W_HYPER_ATTN_INJECT, QR_W_HYPER_ATTN_MIX, QR_W_HYPER_ATTN_BASE,
                             QR_W_HYPER_ATTN_SCALE },
    [QR_HYPER_FFN] = { QR_W_HYPER_FFN_NORM, QR_W_HYPER_FFN_DOWN, QR_W_HYPER_FFN_UP,
                       QR_W_HYPER_FFN_INJECT, QR_W_HYPER_FFN_MIX, QR_W_HYPER_FFN_BASE,
                       QR_W_HYPER_FFN_SCALE },
    [QR_HYPER_OUTPUT] = { QR_W_HYPER_OUT_NORM, QR_W_HYPER_OUT_DOWN, QR_W_HYPER_OUT_UP,
                          QR_W_HYPER_ATTN_INJECT, QR_W_HYPER_OUT_MIX, QR_W_HYPER_OUT_BASE,
                          QR_W_HYPER_OUT_SCALE },
};

static float *take_floats(struct qr_bump *c, size_t n, size_t width)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(c, count, sizeof(float));
    c->overflow = true;
    return NULL;
}

/* Elements of all streams of a row. */
static size_t row_width(const struct qr_model_config *c)
{
    return (size_t)c->hyper.n_streams * c->hidden_size;
}

/* Products of a row of SINKHORN: for the mixture, for the output's weights, for the matrix. */
static size_t mix_width(const struct qr_model_config *c)
{
    return (2 + (size_t)c->hyper.n_streams) * c->hyper.n_streams;
}

void qr_hyper_reserve(const struct quire_model *model, struct quire_context *ctx, struct qr_bump *c)
{
    const struct qr_model_config *cfg = model->config;
    const size_t rows = ctx->max_rows, width = row_width(cfg);
    struct qr_hyper_buffers *b = &ctx->hyper;
    if (cfg->hyper.kind == QR_HYPER_NONE)
        return;
    b->streams = take_floats(c, rows, width);
    b->normed = take_floats(c, rows, width);
    if (cfg->hyper.kind == QR_HYPER_SINKHORN) {
        b->mix = take_floats(c, rows, mix_width(cfg));
        return;
    }
    b->wide = take_floats(c, rows, width);
    b->low = take_floats(c, rows, cfg->hyper.rank);
    b->inject = take_floats(c, rows, cfg->hyper.n_streams);
    if (!cfg->ngram.size)
        return;
    b->conv = take_floats(c, rows, width);
    b->ngrams = take_floats(c, rows, cfg->ngram.dim);
}

void qr_hyper_begin(const struct qr_step *s, const struct quire_team *team)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const float *x = qr_thread_state(s, team).x;
    const size_t width = c->hidden_size, n = c->hyper.n_streams;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        for (size_t k = 0; k < n; k++)
            memcpy(s->ctx->hyper.streams + (r * n + k) * width, x + r * width, width * sizeof *x);
}

void qr_hyper_norm_row(const struct qr_step *s, const float *weight, float *row)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const size_t width = c->hidden_size;
    for (size_t k = 0; k < c->hyper.n_streams; k++)
        qr_norm_vector(s, weight + k * width, row + k * width, width);
}

/* Products of the normed streams: input of the gates, and weights of the output. */
static void project(const struct qr_step *s, const struct qr_model_layer *layer, uint32_t i,
                    enum qr_hyper_site at, const struct quire_team *team)
{
    const struct qr_hyper_buffers *b = &s->ctx->hyper;
    const struct site *site = &sites[at];
    const struct qr_packed *const w[] = { layer->mat[site->down], layer->mat[site->inject] };
    const struct qr_projection p[] = { { w[0], NULL, b->low, { site->down, i, 0 } },
                                       { w[1], NULL, b->inject, { site->inject, i, 1 } } };
    const int n = at == QR_HYPER_OUTPUT ? 1 : 2;
    struct qr_act act;
    qr_convert_input(s, &act, w, n, b->normed, s->n_tokens, team);
    qr_project(s, &act, p, (size_t)n, team);
    quire_team_barrier(team);
}

/* Gates of the mixture from their low-rank form. */
static void project_gates(const struct qr_step *s, const struct qr_model_layer *layer, uint32_t i,
                          enum qr_weight_role up, const struct quire_team *team)
{
    const struct qr_packed *w = layer->mat[up];
    const struct qr_projection p = { w, NULL, s->ctx->hyper.wide, { up, i, 0 } };
    struct qr_act act;
    qr_convert_input(s, &act, &w, 1, s->ctx->hyper.low, s->n_tokens, team);
    qr_project(s, &act, &p, 1, team);
    quire_team_barrier(team);
}

/* The mixture of row r: mean of sigmoid(gate) * normed stream. */
static void mix_row(const struct qr_step *s, size_t r)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_kernels *k = ctx->model->kernels;
    const size_t width = ctx->model->config->hidden_size;
    const size_t n = ctx->model->config->hyper.n_streams;
    float *gated = ctx->hyper.wide + r * n * width, *x = ctx->x + r * width;
    k->sigmoid_mul(gated, ctx->hyper.normed + r * n * width, 1, n * width);
    memcpy(x, gated, width * sizeof *x);
    for (size_t j = 1; j < n; j++)
        k->add(x, gated + j * width, width);
    k->scale(x, 1 / (float)n, width);
}

static void read_gated(const struct qr_step *s, uint32_t i, enum qr_hyper_site at,
                       const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_model_config *c = m->config;
    const struct qr_kernels *k = m->kernels;
    const struct qr_hyper_buffers *b = &ctx->hyper;
    const struct qr_model_layer *layer = at == QR_HYPER_OUTPUT ? &m->global : &m->layers[i];
    const size_t n = c->hyper.n_streams, width = row_width(c), rank = c->hyper.rank;
    const float share = 1 / (float)n;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    memcpy(b->normed + begin * width, b->streams + begin * width,
           (end - begin) * width * sizeof(float));
    for (size_t r = begin; r < end; r++)
        qr_hyper_norm_row(s, layer->vec[sites[at].norm], b->normed + r * width);
    if (s->replicated)
        quire_team_barrier(team); /* each thread converts all rows */
    project(s, layer, i, at, team);
    for (size_t r = begin; r < end; r++) {
        k->scale(b->low + r * rank, share, rank);
        k->silu_mul(b->low + r * rank, NULL, rank);
        if (at == QR_HYPER_OUTPUT)
            continue;
        k->scale(b->inject + r * n, share, n);
        k->sigmoid_mul(b->inject + r * n, NULL, 2, n);
    }
    if (s->replicated)
        quire_team_barrier(team);
    project_gates(s, layer, i, sites[at].up, team);
    for (size_t r = begin; r < end; r++)
        mix_row(s, r);
}

/* ---- SINKHORN */

/* Divides the rows of m[n][n] by their sums + eps; or the columns. */
static void normalize(float *m, size_t n, float eps, bool columns)
{
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += columns ? m[j * n + i] : m[i * n + j];
        for (size_t j = 0; j < n; j++)
            m[columns ? j * n + i : i * n + j] /= sum + eps;
    }
}

/* Makes logits m[n][n] a matrix that is doubly stochastic up to eps. */
static void sinkhorn(const struct qr_hyper_config *h, float *m)
{
    const size_t n = h->n_streams;
    for (size_t i = 0; i < n; i++) {
        float most = m[i * n], sum = 0;
        for (size_t j = 1; j < n; j++)
            most = fmaxf(most, m[i * n + j]);
        for (size_t j = 0; j < n; j++)
            sum += m[i * n + j] = expf(m[i * n + j] - most);
        for (size_t j = 0; j < n; j++)
            m[i * n + j] = m[i * n + j] / sum + h->eps;
    }
    normalize(m, n, h->eps, true);
    for (uint32_t t = 1; t < h->iterations; t++) {
        normalize(m, n, h->eps, false);
        normalize(m, n, h->eps, true);
    }
}

/* The mixture of row r, into the residual stream, and what mixes the streams afterwards. */
static void collapse_row(const struct qr_step *s, const struct qr_model_layer *layer,
                         enum qr_hyper_site at, size_t r)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const struct qr_hyper_config *h = &m->config->hyper;
    const size_t n = h->n_streams, width = m->config->hidden_size;
    const float *scale = layer->vec[sites[at].scale], *base = layer->vec[sites[at].base];
    const size_t used = at == QR_HYPER_OUTPUT ? n : mix_width(m->config);
    const float *streams = ctx->hyper.streams + r * n * width;
    float *mix = ctx->hyper.mix + r * used, *x = ctx->x + r * width;
    for (size_t j = 0; j < used; j++)
        mix[j] = mix[j] * scale[j < n ? 0 : j < 2 * n ? 1 : 2] + base[j];
    m->kernels->sigmoid_mul(mix, NULL, 1, n);
    for (size_t k = 0; k < n; k++)
        mix[k] += h->eps;
    memcpy(x, streams, width * sizeof *x);
    m->kernels->scale(x, mix[0], width);
    for (size_t k = 1; k < n; k++)
        m->kernels->axpy(x, mix[k], streams + k * width, width);
    if (at == QR_HYPER_OUTPUT)
        return;
    m->kernels->sigmoid_mul(mix + n, NULL, 2, n);
    sinkhorn(h, mix + 2 * n);
}

static void read_sinkhorn(const struct qr_step *s, uint32_t i, enum qr_hyper_site at,
                          const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_hyper_buffers *b = &s->ctx->hyper;
    const struct qr_model_layer *layer = at == QR_HYPER_OUTPUT ? &m->global : &m->layers[i];
    const size_t width = row_width(m->config);
    const struct qr_projection p = { layer->mat[sites[at].mix], NULL, b->mix, QR_NO_ADAPTER_SITE };
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        m->kernels->rms_norm(b->normed + r * width, b->streams + r * width, NULL, 0,
                             m->config->norm_eps, width);
    quire_team_barrier(team);
    qr_project_f32(s, b->normed, &p, 1, team);
    quire_team_barrier(team);
    for (size_t r = begin; r < end; r++)
        collapse_row(s, layer, at, r);
}

/* Stream k of row r becomes w_k sub + sum_j mix[j][k] stream j. */
static void expand_row(const struct qr_step *s, size_t r, const float *sub)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const size_t n = c->hyper.n_streams, width = c->hidden_size;
    const float *w = s->ctx->hyper.mix + r * mix_width(c) + n, *mix = w + n;
    float *streams = s->ctx->hyper.streams + r * n * width, old[QR_CONFIG_MAX_STREAMS];
    for (size_t i = 0; i < width; i++) {
        for (size_t j = 0; j < n; j++)
            old[j] = streams[j * width + i];
        for (size_t k = 0; k < n; k++) {
            float sum = w[k] * sub[i];
            for (size_t j = 0; j < n; j++)
                sum += mix[j * n + k] * old[j];
            streams[k * width + i] = sum;
        }
    }
}

void qr_hyper_read(const struct qr_step *s, uint32_t i, enum qr_hyper_site at,
                   const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    if (c->hyper.kind == QR_HYPER_SINKHORN)
        read_sinkhorn(s, i, at, team);
    else
        read_gated(s, i, at, team);
    if (!s->replicated)
        return;
    quire_team_barrier(team);
    memcpy(qr_thread_state(s, team).x, ctx->x,
           s->n_tokens * (size_t)c->hidden_size * sizeof(float));
}

void qr_hyper_add(const struct qr_step *s, const float *sub, const struct quire_team *team)
{
    const struct qr_hyper_buffers *b = &s->ctx->hyper;
    const struct qr_model_config *c = s->ctx->model->config;
    const size_t width = c->hidden_size, n = c->hyper.n_streams;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (c->hyper.kind == QR_HYPER_SINKHORN) {
        for (size_t r = begin; r < end; r++)
            expand_row(s, r, sub + r * width);
        return;
    }
    for (size_t r = begin; r < end; r++)
        for (size_t k = 0; k < n; k++)
            s->ctx->model->kernels->axpy(b->streams + (r * n + k) * width, b->inject[r * n + k],
                                         sub + r * width, width);
}

void qr_hyper_mean(const struct qr_step *s, float *out, size_t begin, size_t end)
{
    const struct qr_kernels *kernels = s->ctx->model->kernels;
    const struct qr_model_config *c = s->ctx->model->config;
    const size_t width = c->hidden_size, n = c->hyper.n_streams;
    for (size_t r = begin; r < end; r++) {
        const float *streams = s->ctx->hyper.streams + r * n * width;
        memcpy(out + r * width, streams, width * sizeof *out);
        for (size_t k = 1; k < n; k++)
            kernels->add(out + r * width, streams + k * width, width);
        kernels->scale(out + r * width, 1 / (float)n, width);
    }
}
