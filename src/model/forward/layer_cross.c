/* SPDX-License-Identifier: Apache-2.0 */
/* layer_cross.c - attention to the encoder's output: the decoder's sublayer, and the keys and values made for it. */
#include "base/threads.h"
#include "model/forward/stage.h"
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
    const struct qr_member me = qr_member_of(s, team);
    struct qr_act act;
    if (normed)
        qr_norm_rows(s, layer, QR_W_CROSS_NORM, QR_W_CROSS_NORM_BIAS, me.h, me.x,
                     ctx->model->config->hidden_size, me.begin, me.end);
    qr_member_input(s, &act, &q, 1, normed ? me.h : me.x, team);
    qr_project_blocks(s, &act, q, layer->vec[QR_W_CROSS_Q_BIAS], ctx->q, team);
    quire_team_barrier(team);
    attend(s, i, team);
    quire_team_barrier(team);
    qr_member_input(s, &act, &o, 1, ctx->att, team);
    qr_project_blocks(s, &act, o, layer->vec[QR_W_CROSS_O_BIAS], out, team);
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
        struct qr_act act;
        qr_prepare(s, &act, w, 2, ctx->h, s->n_tokens, team);
        qr_project(s, &act, w[0], layer->vec[QR_W_CROSS_K_BIAS], ctx->k, team);
        qr_project(s, &act, w[1], layer->vec[QR_W_CROSS_V_BIAS], ctx->v, team);
        quire_team_barrier(team);
        quire_kv_write_part(ctx->kv, &write, team);
        quire_team_barrier(team);
    }
}
