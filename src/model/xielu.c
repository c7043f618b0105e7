/* SPDX-License-Identifier: Apache-2.0 */
/* xielu.c - parameters of the xIELU activation in the form that the forward pass reads. */
#include "model/xielu.h"
#include "base/error.h"
#include <math.h>

static double softplus(double x) { return x > 30 ? x : log1p(exp(x)); }

quire_status qr_model_prepare_xielu(struct quire_model *m, struct quire_error *err)
{
    const struct qr_model_config *c = m->config;
    for (uint32_t i = 0; c->activation == QR_ACT_XIELU && i < c->n_layers; i++) {
        struct qr_model_layer *layer = &m->layers[i];
        struct qr_xielu x = c->layers[i].xielu;
        if (!c->xielu_in_layers)
            x = (struct qr_xielu){ layer->vec[QR_W_FFN_XIELU_P][0], layer->vec[QR_W_FFN_XIELU_N][0],
                                   layer->vec[QR_W_FFN_XIELU_BETA][0],
                                   layer->vec[QR_W_FFN_XIELU_EPS][0] };
        if (!isfinite(x.alpha_p) || !isfinite(x.alpha_n) || !isfinite(x.beta) || !isfinite(x.eps))
            return qr_fail(err, QUIRE_E_FORMAT, "layer %u: a parameter of xIELU is not finite", i);
        layer->xielu = (struct qr_xielu){ (float)softplus((double)x.alpha_p),
                                          (float)((double)x.beta + softplus((double)x.alpha_n)),
                                          x.beta, x.eps };
    }
    return QUIRE_OK;
}
