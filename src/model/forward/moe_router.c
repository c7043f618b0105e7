/* SPDX-License-Identifier: Apache-2.0 */
/* moe_router.c - routers with layers of their own and a state that later layers read. All products
 * are f32 in every compute mode: a rounded score could choose another expert. */
#include "model/forward/moe_router.h"
#include "base/threads.h"
#include "model/forward/projection.h"

/* out = src W^T + bias. Ends with a barrier. */
static void project(const struct qr_step *s, uint32_t i, enum qr_weight_role role,
                    enum qr_weight_role bias, const float *src, float *out,
                    const struct quire_team *team)
{
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    const struct qr_projection p = { layer->mat[role], layer->vec[bias], out, QR_NO_ADAPTER_SITE };
    qr_project_f32(s, src, &p, 1, team);
    quire_team_barrier(team);
}

/* GELU of the thread's rows. Ends with a barrier. */
static void activate(const struct qr_step *s, float *x, const struct quire_team *team)
{
    const size_t width = s->ctx->model->config->moe.router_hidden;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        s->ctx->model->kernels->gelu_erf_mul(x + r * width, NULL, width);
    quire_team_barrier(team);
}

/* state = in [+ carry * state of the layer before], and its norm in place of in, by row. Ends with
 * a barrier. */
static void advance(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct qr_moe_buffers *b = &s->ctx->moe;
    const size_t width = m->config->moe.router_hidden;
    const float *carry = m->layers[i].vec[QR_W_ROUTER_CARRY];
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        float *state = b->router_state + r * width, *x = b->router_a + r * width;
        for (size_t c = 0; c < width; c++)
            state[c] = carry ? x[c] + carry[c] * state[c] : x[c];
        m->kernels->rms_norm(x, state, m->layers[i].vec[QR_W_ROUTER_NORM], 0, m->config->norm_eps,
                             width);
    }
    quire_team_barrier(team);
}

const float *qr_moe_router_hidden(const struct qr_step *s, uint32_t i, const float *src,
                                  const struct quire_team *team)
{
    const struct qr_moe_buffers *b = &s->ctx->moe;
    project(s, i, QR_W_ROUTER_IN, QR_W_ROUTER_IN_BIAS, src, b->router_a, team);
    advance(s, i, team);
    project(s, i, QR_W_ROUTER_FC1, QR_W_ROUTER_FC1_BIAS, b->router_a, b->router_b, team);
    activate(s, b->router_b, team);
    project(s, i, QR_W_ROUTER_FC2, QR_W_ROUTER_FC2_BIAS, b->router_b, b->router_a, team);
    activate(s, b->router_a, team);
    return b->router_a;
}
