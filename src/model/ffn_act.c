/* SPDX-License-Identifier: Apache-2.0 */
/* ffn_act.c - parameters of activation functions in the form that the forward pass reads. */
#include "model/ffn_act.h"
#include "base/error.h"
#include <math.h>

static double softplus(double x) { return x > 30 ? x : log1p(exp(x)); }

static quire_status prepare_xielu(const struct quire_model *m, uint32_t i, struct qr_xielu *out,
                                  struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    const struct qr_model_layer *layer = &m->layers[i];
    struct qr_xielu x = c->layers[i].xielu;
    if (!c->xielu_in_layers)
        x = (struct qr_xielu){ layer->vec[QR_W_FFN_XIELU_P][0], layer->vec[QR_W_FFN_XIELU_N][0],
                               layer->vec[QR_W_FFN_XIELU_BETA][0],
                               layer->vec[QR_W_FFN_XIELU_EPS][0] };
    if (!isfinite(x.alpha_p) || !isfinite(x.alpha_n) || !isfinite(x.beta) || !isfinite(x.eps))
        return qr_fail(err, QUIRE_E_FORMAT, "layer %u: a parameter of xIELU is not finite", i);
    *out =
        (struct qr_xielu){ (float)softplus((double)x.alpha_p),
                           (float)((double)x.beta + softplus((double)x.alpha_n)), x.beta, x.eps };
    return QUIRE_OK;
}

/* The x > 0 with silu(x) = y. The iteration is a contraction: its derivative is -y exp(-x), and
 * x >= y. */
static double silu_inverse(double y)
{
    double x = y;
    for (int i = 0; i < 100; i++)
        x = y * (1 + exp(-x));
    return x;
}

/* A limit of silu(gate) is one of the gate, because silu grows where it is positive. */
static struct qr_ffn_act with_limit(const struct qr_model_config *c, float limit)
{
    return limit > 0 ? (struct qr_ffn_act){ .gate_limit = (float)silu_inverse((double)limit),
                                            .up_limit = limit }
                     : (struct qr_ffn_act){ .gate_limit = c->act_limit, .up_limit = c->act_limit };
}

quire_status qr_model_prepare_ffn_act(struct quire_model *m, struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    for (uint32_t i = 0; i < qr_model_total_layers(c); i++) {
        m->layers[i].act = with_limit(c, c->layers[i].ffn_limit);
        m->layers[i].expert_act = with_limit(c, c->layers[i].expert_limit);
    }
    for (uint32_t i = 0; c->activation == QR_ACT_XIELU && i < c->n_layers; i++)
        QR_TRY(prepare_xielu(m, i, &m->layers[i].act.xielu, err));
    return QUIRE_OK;
}
