/* SPDX-License-Identifier: Apache-2.0 */
/* layer_cross.c - cross attention: the decoder's sublayer, and writing its keys and values. */
#include "model/forward/layer_cross.h"
#include "base/threads.h"
#include "model/forward/norm.h"
#include "model/forward/projection.h"
#include "model/forward/thread_state.h"
#include <quire/attention.h>

static void attend(const struct qr_step *s, uint32_t i, const struct quire_team *team)
{
    const struct quire_model *m = s->ctx->model;
    const struct quire_attention_args args = {
        .struct_size = sizeof args,
        .group = m->cross_plan_group,
        .layer = i,
        .config = &m->layers[i].cross,
        .q = s->ctx->q,
        .out = s->ctx->att,
    };
    quire_attention_part(s->plan, &args, team);
}

void qr_cross_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                       const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct qr_packed *q = layer->mat[QR_W_CROSS_Q], *o = layer->mat[QR_W_CROSS_O];
    const struct qr_projection to_q = { q, layer->vec[QR_W_CROSS_Q_BIAS], ctx->q,
                                        QR_NO_ADAPTER_SITE },
                               to_out = { o, layer->vec[QR_W_CROSS_O_BIAS], out,
                                          QR_NO_ADAPTER_SITE };
    const struct qr_thread_state t = qr_thread_state(s, team);
    struct qr_act act;
    if (normed)
        qr_norm_rows(s, layer, QR_W_CROSS_NORM, QR_W_CROSS_NORM_BIAS, t.h, t.x,
                     ctx->model->config->hidden_size, t.begin, t.end);
    qr_convert_input(s, &act, &q, 1, normed ? t.h : t.x, s->n_tokens, team);
    qr_project(s, &act, &to_q, 1, team);
    quire_team_barrier(team);
    attend(s, i, team);
    quire_team_barrier(team);
    qr_convert_input(s, &act, &o, 1, ctx->att, s->n_tokens, team);
    qr_project(s, &act, &to_out, 1, team);
    quire_team_barrier(team);
}

void qr_cross_write(const struct qr_step *s, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct quire_model *m = ctx->model;
    for (uint32_t i = 0; i < m->config->n_layers; i++) {
        const struct qr_model_layer *layer = &m->layers[i];
        const struct qr_packed *const w[] = { layer->mat[QR_W_CROSS_K], layer->mat[QR_W_CROSS_V] };
        const struct quire_kv_write_args write = {
            .struct_size = sizeof write,
            .group = (uint32_t)m->cross_group,
            .layer = i,
            .dtype = QUIRE_KV_F32,
            .k = ctx->k,
            .v = ctx->v,
            .slot_mapping = s->encode->cross_slot_mapping,
            .n_tokens = s->n_tokens,
        };
        const struct qr_projection kv[] = {
            { w[0], layer->vec[QR_W_CROSS_K_BIAS], ctx->k, QR_NO_ADAPTER_SITE },
            { w[1], layer->vec[QR_W_CROSS_V_BIAS], ctx->v, QR_NO_ADAPTER_SITE }
        };
        struct qr_act act;
        qr_convert_input(s, &act, w, 2, ctx->h, s->n_tokens, team);
        qr_project(s, &act, kv, 2, team);
        quire_team_barrier(team);
        quire_kv_write_part(ctx->kv, &write, team);
        quire_team_barrier(team);
    }
}
