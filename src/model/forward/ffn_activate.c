/* SPDX-License-Identifier: Apache-2.0 */
/* ffn_activate.c - activation functions of feed-forward networks. */
#include "model/forward/ffn_activate.h"
#include <math.h>

static void relu_mul(float *gate, const float *up, size_t n, bool squared)
{
    for (size_t i = 0; i < n; i++) {
        const float r = gate[i] > 0 ? gate[i] : 0;
        gate[i] = (squared ? r * r : r) * (up ? up[i] : 1);
    }
}

/* x * sigmoid(a x) = silu(a x) / a */
static void gelu_quick(const struct qr_kernels *k, float *gate, const float *up, size_t n)
{
    static const float alpha = 1.702f;
    k->scale(gate, alpha, n);
    k->silu_mul(gate, up, n);
    k->scale(gate, 1 / alpha, n);
}

static void clamp(const struct qr_ffn_act *act, float *gate, float *up, size_t n)
{
    const float most = act->gate_limit, limit = act->up_limit;
    for (size_t i = 0; i < n; i++) {
        gate[i] = gate[i] < most ? gate[i] : most;
        up[i] = up[i] < -limit ? -limit : up[i] < limit ? up[i] : limit;
    }
}

static void swiglu_oai(const struct quire_model *m, const struct qr_ffn_act *act, float *gate,
                       float *up, size_t n)
{
    const float alpha = m->config->act_alpha;
    clamp(act, gate, up, n);
    for (size_t i = 0; i < n; i++) {
        gate[i] = alpha * gate[i];
        up[i] = (up[i] + 1) / alpha;
    }
    m->kernels->silu_mul(gate, up, n);
}

static void xielu(const struct qr_xielu *p, float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = gate[i];
        const float y =
            x > 0 ? p->alpha_p * x * x : p->alpha_n * (expm1f(x < p->eps ? x : p->eps) - x);
        gate[i] = (y + p->beta * x) * (up ? up[i] : 1);
    }
}

void qr_ffn_activate(const struct quire_model *m, const struct qr_ffn_act *act, float *gate,
                     float *up, size_t n)
{
    const struct qr_model_config *c = m->config;
    const struct qr_kernels *k = m->kernels;
    switch (c->activation) {
    case QR_ACT_SILU:
        if (act->up_limit > 0 && up)
            clamp(act, gate, up, n);
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
    case QR_ACT_XIELU:
        xielu(&act->xielu, gate, up, n);
        break;
    case QR_ACT_SWIGLU_OAI:
        swiglu_oai(m, act, gate, up, n);
        break;
    }
}
