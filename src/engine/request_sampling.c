/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/request_sampling.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/struct_size.h"
#include "model/load/model.h"
#include <math.h>
#include <string.h>

/* Copies the arrays of the caller. Tokens that the author suppresses follow the biases. */
static quire_status copy_arrays(const struct quire_engine *e, struct quire_sampling_params *s,
                                struct quire_error *err)
{
    const struct qr_sampling_defaults *author = &e->model->config->sampling;
    const uint32_t n_given = s->n_logit_bias, n_breakers = s->n_dry_breakers;
    const size_t n_bias = (size_t)n_given + author->n_suppressed;
    const bool any = n_bias && n_bias <= UINT32_MAX;
    struct quire_logit_bias *bias = any ? qr_alloc(e->allocator, n_bias, sizeof *bias) : NULL;
    int32_t *breakers = n_breakers ? qr_alloc(e->allocator, n_breakers, sizeof *breakers) : NULL;
    for (size_t i = 0; bias && i < n_bias; i++)
        bias[i] = i < n_given
                      ? s->logit_bias[i]
                      : (struct quire_logit_bias){ author->suppressed[i - n_given], -INFINITY };
    if (breakers)
        memcpy(breakers, s->dry_breakers, n_breakers * sizeof *breakers);
    s->logit_bias = bias;
    s->n_logit_bias = (uint32_t)n_bias;
    s->dry_breakers = breakers;
    return (bias || !n_bias) && (breakers || !n_breakers)
               ? QUIRE_OK
               : qr_fail(err, QUIRE_E_NOMEM, "no memory for %zu logit biases and %u dry_breakers",
                         n_bias, n_breakers);
}

quire_status qr_request_copy_sampling(const struct quire_engine *e, struct qr_request *r,
                                      const struct quire_request_params *p, struct quire_error *err)
{
    struct quire_sampling_params *s = &r->sampling;
    quire_sampling_params_init(s, sizeof *s);
    if (p->sampling)
        qr_struct_copy(s, sizeof *s, p->sampling);
    else
        QR_TRY(quire_engine_default_sampling(e, s));
    return copy_arrays(e, s, err);
}

void qr_request_free_sampling(const struct quire_engine *e, struct qr_request *r)
{
    struct quire_sampling_params *s = &r->sampling;
    qr_free(e->allocator, (void *)(uintptr_t)s->logit_bias, s->n_logit_bias, sizeof *s->logit_bias);
    qr_free(e->allocator, (void *)(uintptr_t)s->dry_breakers, s->n_dry_breakers,
            sizeof *s->dry_breakers);
    s->logit_bias = NULL;
    s->dry_breakers = NULL;
}
