/* SPDX-License-Identifier: Apache-2.0 */
/* layer_ffn.c - the feed-forward sublayer: norm, then a dense network or a mixture of experts. */
#include "model/forward/layer_ffn.h"
#include "base/threads.h"
#include "model/forward/ffn_dense.h"
#include "model/forward/layer_moe.h"
#include "model/forward/norm.h"
#include "model/forward/thread_state.h"

void qr_ffn_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out,
                     const struct quire_team *team)
{
    static const struct qr_ffn_roles roles = { QR_W_FFN_GATE,    QR_W_FFN_UP,
                                               QR_W_FFN_DOWN,    QR_W_FFN_GATE_BIAS,
                                               QR_W_FFN_UP_BIAS, QR_W_FFN_DOWN_BIAS };
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_model_layer *layer = &s->ctx->model->layers[i];
    const struct qr_thread_state t = qr_thread_state(s, team);
    const float *src = normed ? t.h : t.x;
    /* PARALLEL1: h still holds the normed input of the attention sublayer, which both read */
    if (normed && c->block != QR_BLOCK_PARALLEL)
        qr_norm_rows(s, layer, QR_W_FFN_NORM, QR_W_FFN_NORM_BIAS, t.h, t.x, c->hidden_size, t.begin,
                     t.end);
    const bool moe = c->layers[i].moe, shortcut = c->layers[i].shortcut;
    if (!moe || shortcut)
        qr_ffn_dense(s, layer, &roles, src, out, team);
    if (!moe)
        return;
    if (!s->replicated)
        quire_team_barrier(team); /* qr_moe reads rows of other threads */
    qr_moe(s, i, src, shortcut ? s->ctx->moe.shortcut : out, team);
}
