/* SPDX-License-Identifier: Apache-2.0 */
/* layer_ffn.c - the dense feed-forward sublayer. */
#include "base/threads.h"
#include "model/context.h"

static void relu_mul(float *gate, const float *up, size_t n, bool squared)
{
    for (size_t i = 0; i < n; i++) {
        const float r = gate[i] > 0 ? gate[i] : 0;
        gate[i] = (squared ? r * r : r) * (up ? up[i] : 1);
    }
}

/* gate = act(gate) * up over one row; up NULL: the activation alone. */
static void activate(const struct qr_model_config *c, const struct quire_kernels *k, float *gate, const float *up,
                     size_t n)
{
    switch (c->activation) {
    case QR_ACT_SILU:
        k->silu_mul(gate, up, n);
        break;
    case QR_ACT_GELU_TANH:
        k->gelu_tanh_mul(gate, up, n);
        break;
    case QR_ACT_GELU_ERF:
        k->gelu_erf_mul(gate, up, n);
        break;
    case QR_ACT_RELU:
    case QR_ACT_RELU2:
        relu_mul(gate, up, n, c->activation == QR_ACT_RELU2);
        break;
    case QR_ACT_GELU_QUICK:  /* refused at open */
    case QR_ACT_SWIGLU_OAI:
        break;
    }
}

void qr_ffn_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    const struct qr_packed *up = layer->mat[QR_W_FFN_UP], *gate = layer->mat[QR_W_FFN_GATE];
    const struct qr_packed *down = layer->mat[QR_W_FFN_DOWN], *const in[] = { up, gate };
    const size_t width = up->n;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (normed && c->block != QR_BLOCK_PARALLEL1) /* that one uses the attention's normed input, still in h */
        qr_norm_rows(s, layer, QR_W_FFN_NORM, QR_W_FFN_NORM_BIAS, ctx->h, ctx->x, c->hidden_size, begin, end);
    quire_team_barrier(team);
    struct qr_act act;
    qr_prepare(s, &act, in, gate ? 2 : 1, normed ? ctx->h : ctx->x, s->n_tokens, team);
    qr_project(s, &act, up, layer->vec[QR_W_FFN_UP_BIAS], ctx->up, team);
    if (gate)
        qr_project(s, &act, gate, layer->vec[QR_W_FFN_GATE_BIAS], ctx->gate, team);
    quire_team_barrier(team);
    float *inner = gate ? ctx->gate : ctx->up;
    for (size_t r = begin; r < end; r++)
        activate(c, ctx->model->kernels, inner + r * width, gate ? ctx->up + r * width : NULL, width);
    quire_team_barrier(team);
    qr_prepare(s, &act, &down, 1, inner, s->n_tokens, team);
    qr_project(s, &act, down, layer->vec[QR_W_FFN_DOWN_BIAS], out, team);
    quire_team_barrier(team);
}
