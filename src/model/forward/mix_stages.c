/* SPDX-License-Identifier: Apache-2.0 */
/* mix_stages.c - stages of the recurrent sublayers of RWKV-6 and RWKV-7. */
#include "model/forward/mix_stages.h"
#include "base/threads.h"
#include "model/forward/projection.h"

void qr_mix_project(const struct qr_recurrent *x, enum qr_weight_role role,
                    enum qr_weight_role bias, const float *src, float *out, size_t stride,
                    const struct quire_team *team)
{
    const struct qr_packed *w = x->layer->mat[role];
    const uint32_t layer = (uint32_t)(x->layer - x->s->ctx->model->layers);
    const struct qr_projection p = {
        w, bias == role ? NULL : x->layer->vec[bias], out, { role, layer, 0 }
    };
    struct qr_act act;
    qr_convert_input(x->s, &act, &w, 1, src, x->s->n_tokens, team);
    qr_project_strided(x->s, &act, &p, &stride, 1, team);
    quire_team_barrier(team);
}

void qr_mix_activate(const struct qr_recurrent *x, float *low, size_t rank, bool sigmoid,
                     const struct quire_team *team)
{
    const struct qr_kernels *k = x->s->ctx->model->kernels;
    size_t begin, end;
    qr_team_range(team, x->s->n_tokens, 1, &begin, &end);
    if (sigmoid)
        k->sigmoid_mul(low + begin * rank, NULL, 1, (end - begin) * rank);
    else
        k->soft_cap(low + begin * rank, 1, (end - begin) * rank); /* tanh */
    quire_team_barrier(team);
}

void qr_mix_rows(const struct qr_recurrent *x, void (*run)(const struct qr_recurrent *, size_t),
                 const struct quire_team *team)
{
    size_t begin, end;
    qr_team_range(team, x->s->n_tokens, 1, &begin, &end);
    for (size_t t = begin; t < end; t++)
        run(x, t);
    quire_team_barrier(team);
}
