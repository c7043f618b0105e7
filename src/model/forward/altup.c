/* SPDX-License-Identifier: Apache-2.0 */
/* altup.c - the residual streams of AltUp (struct qr_altup_config), and LAuReL. */
#include "model/forward/altup.h"
#include "base/bump.h"
#include "base/checked.h"
#include "base/threads.h"
#include "model/config/limits.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <math.h>
#include <string.h>

static float *take_floats(struct qr_bump *c, size_t n, size_t width)
{
    size_t count;
    if (qr_mul_size(n, width, &count))
        return qr_bump_alloc(c, count, sizeof(float));
    c->overflow = true;
    return NULL;
}

void qr_altup_reserve(const struct quire_model *model, struct quire_context *ctx, struct qr_bump *c)
{
    const struct qr_model_config *cfg = model->config;
    if (cfg->altup.n_streams)
        ctx->altup.streams =
            take_floats(c, ctx->max_rows, (size_t)cfg->altup.n_streams * cfg->hidden_size);
    if (cfg->laurel_rank)
        ctx->altup.low = take_floats(c, ctx->max_rows, cfg->laurel_rank);
}

static float *stream_row(const struct qr_step *s, size_t stream, size_t r)
{
    const struct quire_context *ctx = s->ctx;
    return ctx->altup.streams + (stream * ctx->max_rows + r) * ctx->model->config->hidden_size;
}

const float *qr_altup_active(const struct qr_step *s)
{
    return stream_row(s, s->ctx->model->config->altup.active, 0);
}

/* Copies the rows of a stream to the residual stream. In replicated mode all threads need all rows,
 * of which they compute a part each. */
static void load_stream(const struct qr_step *s, size_t stream, const struct quire_team *team)
{
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = s->ctx->model->config->hidden_size;
    if (s->replicated)
        quire_team_barrier(team);
    memcpy(t.x + t.begin * width, stream_row(s, stream, t.begin),
           (t.end - t.begin) * width * sizeof(float));
}

/* Mean of the squares of a row. */
static double mean_square(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum / (double)n;
}

/* Gives a row the root mean square `target`. */
static void set_magnitude(const struct quire_model *m, float *x, double target)
{
    static const double floor = 1e-5; /* of the mean square */
    const size_t width = m->config->hidden_size;
    const double now = mean_square(x, width);
    m->kernels->scale(x, (float)(target / sqrt(now > floor ? now : floor)), width);
}

void qr_altup_begin(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const uint32_t n = m->config->altup.n_streams;
    const size_t width = m->config->hidden_size;
    const float *x = qr_thread_state(s, team).x;
    struct qr_packed *const *w = m->global.experts[QR_W_ALTUP_PROJ];
    struct qr_act act;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    memcpy(stream_row(s, 0, begin), x + begin * width, (end - begin) * width * sizeof *x);
    for (uint32_t k = 1; k < n; k++) {
        const struct qr_packed *const input = w[k - 1];
        const struct qr_projection p = { input, NULL, stream_row(s, k, 0), QR_NO_ADAPTER_SITE };
        qr_convert_input(s, &act, &input, 1, x, s->n_tokens, team);
        qr_project(s, &act, &p, 1, team);
        quire_team_barrier(team);
    }
    for (size_t r = begin; r < end; r++) {
        const double target = sqrt(mean_square(x + r * width, width));
        for (uint32_t k = 1; k < n; k++)
            set_magnitude(m, stream_row(s, k, r), target);
    }
}

/* tanh(W norm(x) / hidden) of a row: one value per stream. scratch: [hidden] */
static void route(const struct qr_step *s, const struct qr_model_layer *layer, const float *x,
                  float *scratch, float *out)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_config *c = m->config;
    const size_t width = c->hidden_size, n = c->altup.n_streams;
    const float *w = layer->vec[QR_W_ALTUP_ROUTER];
    memcpy(scratch, x, width * sizeof *scratch);
    qr_norm_vector(s, layer->vec[QR_W_ALTUP_ROUTER_NORM], scratch, width);
    for (size_t k = 0; k < n; k++)
        out[k] = 0;
    for (size_t i = 0; i < width; i++) /* one chain per stream */
        for (size_t k = 0; k < n; k++)
            out[k] += w[k * width + i] * scratch[i];
    for (size_t k = 0; k < n; k++)
        out[k] = tanhf(out[k] / (float)width);
}

/* out[n_rows] = w[n_rows][n] x */
static void multiply(const float *w, const float *x, size_t n_rows, size_t n, float *out)
{
    for (size_t j = 0; j < n_rows; j++) {
        out[j] = 0;
        for (size_t k = 0; k < n; k++)
            out[j] += w[j * n + k] * x[k];
    }
}

/* Stream k becomes stream k + sum_j coefs[k][j] stream j, for one row. */
static void mix(const struct qr_step *s, size_t r, const float *coefs)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const size_t n = c->altup.n_streams;
    float old[QR_CONFIG_MAX_STREAMS], *rows[QR_CONFIG_MAX_STREAMS];
    for (size_t k = 0; k < n; k++)
        rows[k] = stream_row(s, k, r);
    for (size_t i = 0; i < c->hidden_size; i++) {
        for (size_t k = 0; k < n; k++)
            old[k] = rows[k][i];
        for (size_t k = 0; k < n; k++) {
            float sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += coefs[k * n + j] * old[j];
            rows[k][i] = sum + old[k];
        }
    }
}

void qr_altup_predict(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_model_layer *layer = &m->layers[i];
    const size_t n = m->config->altup.n_streams, width = m->config->hidden_size;
    float *scratch = qr_thread_state(s, team).h;
    float routed[QR_CONFIG_MAX_STREAMS], coefs[QR_CONFIG_MAX_STREAMS * QR_CONFIG_MAX_STREAMS];
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        route(s, layer, stream_row(s, m->config->altup.active, r), scratch + r * width, routed);
        multiply(layer->vec[QR_W_ALTUP_PREDICT], routed, n * n, n, coefs);
        mix(s, r, coefs);
    }
    load_stream(s, m->config->altup.active, team);
}

/* Streams of row r, whose active one became x: stream k += (1 + coefs[k]) (x - active). */
static void correct_row(const struct qr_step *s, size_t r, const float *x, const float *coefs,
                        float *change)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_altup_config *a = &m->config->altup;
    const size_t width = m->config->hidden_size;
    memcpy(change, x, width * sizeof *change);
    m->kernels->axpy(change, -1, stream_row(s, a->active, r), width);
    for (size_t k = 0; k < a->n_streams; k++)
        m->kernels->axpy(stream_row(s, k, r), coefs[k] + 1, change, width);
}

void qr_altup_correct(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_altup_config *a = &m->config->altup;
    const struct qr_model_layer *layer = &m->layers[i];
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t n = a->n_streams, width = m->config->hidden_size;
    float routed[QR_CONFIG_MAX_STREAMS], coefs[QR_CONFIG_MAX_STREAMS];
    float w[QR_CONFIG_MAX_STREAMS * QR_CONFIG_MAX_STREAMS] = { 0 };
    size_t begin, end;
    for (size_t k = 0; k < n * n; k++) {
        const float v = layer->vec[QR_W_ALTUP_CORRECT][k], clip = a->coef_clip;
        w[k] = clip > 0 ? fminf(fmaxf(v, -clip), clip) : v;
    }
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        route(s, layer, t.x + r * width, t.h + r * width, routed);
        multiply(w, routed, n, n, coefs);
        correct_row(s, r, t.x + r * width, coefs, t.h + r * width);
    }
    load_stream(s, a->active, team);
    for (size_t r = t.begin; a->correct_scale && r < t.end; r++)
        for (size_t k = 0; k < width; k++)
            t.x[r * width + k] *= layer->vec[QR_W_ALTUP_SCALE][k];
}

void qr_altup_add(const struct qr_step *s, uint32_t i, const float *sub,
                  const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = m->config->hidden_size;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    qr_norm_rows(s, &m->layers[i], QR_W_PLE_POST_NORM, QR_W_FFN_POST_NORM_BIAS, t.h, sub, width,
                 begin, end);
    for (size_t k = 1; k < m->config->altup.n_streams; k++)
        m->kernels->add(stream_row(s, k, begin), t.h + begin * width, (end - begin) * width);
}

void qr_altup_merge(const struct qr_step *s, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    const uint32_t n = m->config->altup.n_streams;
    const size_t width = m->config->hidden_size;
    struct qr_packed *const *w = m->global.experts[QR_W_ALTUP_UNEMBED];
    struct qr_act act;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (uint32_t k = 1; k < n; k++) {
        const struct qr_packed *const input = w[k - 1];
        const struct qr_projection p = { input, NULL, ctx->sub, QR_NO_ADAPTER_SITE };
        if (s->replicated)
            quire_team_barrier(team); /* rows of the stream, and the last use of sub */
        qr_convert_input(s, &act, &input, 1, stream_row(s, k, 0), s->n_tokens, team);
        qr_project(s, &act, &p, 1, team);
        quire_team_barrier(team);
        memcpy(stream_row(s, k, begin), ctx->sub + begin * width,
               (end - begin) * width * sizeof(float));
    }
    for (size_t r = begin; r < end; r++) {
        float *sum = stream_row(s, 0, r);
        const double target = sqrt(mean_square(sum, width));
        for (uint32_t k = 1; k < n; k++) {
            set_magnitude(m, stream_row(s, k, r), target);
            m->kernels->add(sum, stream_row(s, k, r), width);
        }
        m->kernels->scale(sum, 1 / (float)n, width);
    }
    load_stream(s, 0, team);
}

void qr_laurel(const struct qr_step *s, uint32_t i, float *out, const struct quire_team *team)
{
    const struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct qr_packed *left = layer->mat[QR_W_LAUREL_LEFT],
                           *right = layer->mat[QR_W_LAUREL_RIGHT];
    const struct qr_projection p[] = {
        { left, NULL, ctx->altup.low, { QR_W_LAUREL_LEFT, i, 0 } },
        { right, NULL, out, { QR_W_LAUREL_RIGHT, i, 0 } },
    };
    struct qr_act act;
    qr_convert_input(s, &act, &left, 1, qr_thread_state(s, team).h, s->n_tokens, team);
    qr_project(s, &act, &p[0], 1, team);
    quire_team_barrier(team);
    qr_convert_input(s, &act, &right, 1, ctx->altup.low, s->n_tokens, team);
    qr_project(s, &act, &p[1], 1, team);
    quire_team_barrier(team);
}
