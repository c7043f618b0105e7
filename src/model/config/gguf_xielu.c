/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_xielu.c - parameters of the xIELU activation in GGUF metadata. */
#include "model/config/gguf_xielu.h"
#include "base/error.h"
#include "model/arch/arch.h"

/* A list with one number per layer. The key has no prefix. */
static quire_status read_list(const struct qr_gguf_source *s, const char *key,
                              struct qr_gguf_array *list)
{
    QR_TRY(qr_gguf_get_array(s->g, key, list, s->err));
    if (list->count != s->cfg->n_layers)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must list %u numbers", key,
                       s->cfg->n_layers);
    return QUIRE_OK;
}

quire_status qr_gguf_read_xielu(const struct qr_gguf_source *s)
{
    static const char *const keys[] = { "xielu.alpha_p", "xielu.alpha_n", "xielu.beta",
                                        "xielu.eps" };
    struct qr_gguf_array lists[4];
    if (s->cfg->activation != QR_ACT_XIELU)
        return QUIRE_OK;
    for (size_t k = 0; k < 4; k++)
        QR_TRY(read_list(s, keys[k], &lists[k]));
    for (uint32_t i = 0; i < s->cfg->n_layers; i++) {
        struct qr_xielu *x = &s->cfg->layers[i].xielu;
        float *const values[] = { &x->alpha_p, &x->alpha_n, &x->beta, &x->eps };
        for (size_t k = 0; k < 4; k++)
            if (!qr_gguf_array_f32(&lists[k], i, values[k]))
                return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s: element %u is no number",
                               keys[k], i);
    }
    s->cfg->xielu_in_layers = true;
    return QUIRE_OK;
}
