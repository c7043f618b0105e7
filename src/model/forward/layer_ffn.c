/* SPDX-License-Identifier: Apache-2.0 */
/* layer_ffn.c - the feed-forward sublayer: norm, then a dense network, a mixture of experts, or
 * both. */
#include "model/forward/layer_ffn.h"
#include "base/threads.h"
#include "model/forward/block_conv.h"
#include "model/forward/ffn_dense.h"
#include "model/forward/layer_moe.h"
#include "model/forward/norm.h"
#include "model/forward/thread_state.h"
#include "model/forward/token_shift.h"

/* Experts beside the dense network, whose output is in out: out = o1(out) + o2(experts(m2(x))),
 * where x may be the residual stream before the mixer. */
static void add_experts(const struct qr_step *s, uint32_t i, float *out,
                        const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct qr_thread_state t = qr_thread_state(s, team);
    const size_t width = ctx->model->config->hidden_size;
    const float *early = ctx->moe.early;
    size_t begin, end;
    if (!early)
        qr_norm_rows(s, layer, QR_W_EXPERT_NORM, QR_W_FFN_NORM_BIAS, t.h, t.x, width, t.begin,
                     t.end);
    if (!early && !s->replicated)
        quire_team_barrier(team); /* qr_moe reads rows of other threads */
    qr_moe(s, i, early ? early : t.h, ctx->sub2, team);
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (!ctx->model->config->moe.beside_plain) {
        qr_norm_rows(s, layer, QR_W_FFN_DENSE_POST_NORM, QR_W_FFN_NORM_BIAS, out, out, width, begin,
                     end);
        qr_norm_rows(s, layer, QR_W_EXPERT_POST_NORM, QR_W_FFN_NORM_BIAS, ctx->sub2, ctx->sub2,
                     width, begin, end);
    }
    ctx->model->kernels->add(out + begin * width, ctx->sub2 + begin * width, (end - begin) * width);
    quire_team_barrier(team);
}

void qr_ffn_dense_of(const struct qr_step *s, uint32_t i, const float *src, float *out,
                     const struct quire_team *team)
{
    static const struct qr_ffn_roles roles = { QR_W_FFN_GATE,    QR_W_FFN_UP,
                                               QR_W_FFN_DOWN,    QR_W_FFN_GATE_BIAS,
                                               QR_W_FFN_UP_BIAS, QR_W_FFN_DOWN_BIAS };
    qr_ffn_dense(s, &s->ctx->model->layers[i], &roles, src, out, team);
}

void qr_ffn_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                     const struct quire_team *team)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    const struct qr_thread_state t = qr_thread_state(s, team);
    const float *src = normed ? t.h : t.x;
    if (layer->vec[QR_W_FFN_MIX_UP]) {
        qr_channel_mix(s, i, out, team);
        return;
    }
    /* PARALLEL1: h still holds the normed input of the attention sublayer, which both read */
    if (normed && c->block != QR_BLOCK_PARALLEL)
        qr_norm_rows(s, layer, QR_W_FFN_NORM, QR_W_FFN_NORM_BIAS, t.h, t.x, c->hidden_size, t.begin,
                     t.end);
    const struct qr_layer_config *l = &c->layers[i];
    if (c->mtp.conv_taps)
        src = qr_block_conv_before(s, i, QR_W_MTP_FFN_CONV, team);
    if (qr_layer_has_dense(c, l))
        qr_ffn_dense_of(s, i, src, out, team);
    if (c->mtp.conv_taps)
        qr_block_conv_behind(s, i, QR_W_MTP_FFN_CONV, out, team);
    if (l->moe && c->moe.beside_dense)
        add_experts(s, i, out, team);
    if (!l->moe || c->moe.beside_dense)
        return;
    if (!s->replicated)
        quire_team_barrier(team); /* qr_moe reads rows of other threads */
    qr_moe(s, i, src, l->shortcut ? s->ctx->moe.shortcut : out, team);
}
