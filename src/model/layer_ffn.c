/* SPDX-License-Identifier: Apache-2.0 */
/* layer_ffn.c - the dense feed-forward sublayer, and the activation that experts share with it. */
#include "base/threads.h"
#include "model/context.h"

static void relu_mul(float *gate, const float *up, size_t n, bool squared)
{
    for (size_t i = 0; i < n; i++) {
        const float r = gate[i] > 0 ? gate[i] : 0;
        gate[i] = (squared ? r * r : r) * (up ? up[i] : 1);
    }
}

/* x * sigmoid(a x) is silu(a x) / a, so the kernel of silu serves any a. */
static void gelu_quick(const struct quire_kernels *k, float *gate, const float *up, size_t n)
{
    static const float alpha = 1.702f;
    k->scale(gate, alpha, n);
    k->silu_mul(gate, up, n);
    k->scale(gate, 1 / alpha, n);
}

static void swiglu_oai(const struct qr_model_config *c, const struct quire_kernels *k, float *gate, float *up, size_t n)
{
    const float limit = c->act_limit, alpha = c->act_alpha;
    for (size_t i = 0; i < n; i++) {
        const float g = gate[i] < limit ? gate[i] : limit;
        const float u = up[i] < -limit ? -limit : up[i] < limit ? up[i] : limit;
        gate[i] = alpha * g;
        up[i] = (u + 1) / alpha;
    }
    k->silu_mul(gate, up, n);
}

void qr_activate(const struct qr_model_config *c, const struct quire_kernels *k, float *gate, float *up, size_t n)
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
    case QR_ACT_GELU_QUICK:
        gelu_quick(k, gate, up, n);
        break;
    case QR_ACT_SWIGLU_OAI:
        swiglu_oai(c, k, gate, up, n);
        break;
    }
}

void qr_ffn_dense(const struct qr_step *s, const struct qr_model_layer *layer, const struct qr_ffn_roles *roles,
                  const float *src, float *out, const struct quire_team *team)
{
    struct quire_context *ctx = s->ctx;
    const struct qr_packed *up = layer->mat[roles->up], *gate = layer->mat[roles->gate];
    const struct qr_packed *down = layer->mat[roles->down], *const in[] = { up, gate };
    const size_t width = up->n;
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    struct qr_act act;
    qr_prepare(s, &act, in, gate ? 2 : 1, src, s->n_tokens, team);
    qr_project(s, &act, up, layer->vec[roles->up_bias], ctx->up, team);
    if (gate)
        qr_project(s, &act, gate, layer->vec[roles->gate_bias], ctx->gate, team);
    quire_team_barrier(team);
    float *inner = gate ? ctx->gate : ctx->up;
    for (size_t r = begin; r < end; r++)
        qr_activate(ctx->model->config, ctx->model->kernels, inner + r * width, gate ? ctx->up + r * width : NULL,
                    width);
    quire_team_barrier(team);
    qr_prepare(s, &act, &down, 1, inner, s->n_tokens, team);
    qr_project(s, &act, down, layer->vec[roles->down_bias], out, team);
    quire_team_barrier(team);
}

void qr_ffn_sublayer(const struct qr_step *s, uint32_t i, bool normed, float *out, const struct quire_team *team)
{
    static const struct qr_ffn_roles roles = { QR_W_FFN_GATE,      QR_W_FFN_UP,      QR_W_FFN_DOWN,
                                               QR_W_FFN_GATE_BIAS, QR_W_FFN_UP_BIAS, QR_W_FFN_DOWN_BIAS };
    struct quire_context *ctx = s->ctx;
    const struct qr_model_config *c = ctx->model->config;
    const struct qr_model_layer *layer = &ctx->model->layers[i];
    size_t begin, end;
    qr_team_range(team, s->n_tokens, 1, &begin, &end);
    if (normed && c->block != QR_BLOCK_PARALLEL1) /* that one uses the attention's normed input, still in h */
        qr_norm_rows(s, layer, QR_W_FFN_NORM, QR_W_FFN_NORM_BIAS, ctx->h, ctx->x, c->hidden_size, begin, end);
    quire_team_barrier(team);
    if (c->layers[i].moe)
        qr_moe(s, i, normed ? ctx->h : ctx->x, out, team);
    else
        qr_ffn_dense(s, layer, &roles, normed ? ctx->h : ctx->x, out, team);
}
