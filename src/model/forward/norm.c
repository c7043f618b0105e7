/* SPDX-License-Identifier: Apache-2.0 */
/* norm.c - the norms of a model, applied to rows. */
#include "model/forward/norm.h"
#include <string.h>

/* What QR_NORM_RMS_PLAMO adds to weights: 1, behind a mixer 1/5, behind a feed-forward network
 * 5^(-3/2), and nothing to those of queries and keys that each head has of its own. */
static float plamo_offset(const struct qr_model_config *c, enum qr_weight_role role)
{
    switch (role) {
    case QR_W_ATTN_POST_NORM:
        return 1 / 5.0f;
    case QR_W_FFN_POST_NORM:
        return 0.0894427191f;
    case QR_W_ATTN_Q_NORM:
        return c->qk_norm != QR_QK_NORM_HEADS;
    default:
        return 1;
    }
}

static float norm_eps(const struct qr_model_config *c, enum qr_weight_role role)
{
    const bool post = role == QR_W_ATTN_POST_NORM || role == QR_W_FFN_POST_NORM;
    return post && c->post_norm_eps > 0 ? c->post_norm_eps : c->norm_eps;
}

static void norm_row(const struct qr_step *s, enum qr_weight_role role, const float *weight,
                     const float *bias, float *out, const float *in, size_t width)
{
    const struct qr_model_config *c = s->ctx->model->config;
    const struct qr_kernels *k = s->ctx->model->kernels;
    const float eps = norm_eps(c, role);
    switch (c->norm) {
    case QR_NORM_RMS:
        k->rms_norm(out, in, weight, 0, eps, width);
        break;
    case QR_NORM_RMS_PLUS1:
        k->rms_norm(out, in, weight, 1, eps, width);
        break;
    case QR_NORM_RMS_PLUS1_LAYERS:
        k->rms_norm(out, in, weight, role != QR_W_OUTPUT_NORM, eps, width);
        break;
    case QR_NORM_RMS_PLAMO:
        k->rms_norm(out, in, weight, plamo_offset(c, role), eps, width);
        break;
    case QR_NORM_RMS_PLAIN:
        k->rms_norm(out, in, NULL, 0, eps, width);
        break;
    case QR_NORM_LAYER:
        k->layer_norm(out, in, weight, bias, 0, eps, width);
        break;
    case QR_NORM_LAYER_PLUS1:
        k->layer_norm(out, in, weight, bias, 1, eps, width);
        break;
    case QR_NORM_LAYER_PLAIN:
        k->layer_norm(out, in, NULL, NULL, 0, eps, width);
        break;
    }
}

void qr_norm_rows(const struct qr_step *s, const struct qr_model_layer *layer,
                  enum qr_weight_role w, enum qr_weight_role b, float *dst, const float *src,
                  size_t width, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++)
        norm_row(s, w, layer->vec[w], layer->vec[b], dst + r * width, src + r * width, width);
}

void qr_norm_vector(const struct qr_step *s, const float *weight, float *x, size_t width)
{
    norm_row(s, QR_W_ATTN_Q_NORM, weight, NULL, x, x, width);
}

void qr_norm_vector_biased(const struct qr_step *s, const float *weight, const float *bias,
                           float *x, size_t width)
{
    norm_row(s, QR_W_ATTN_Q_NORM, weight, bias, x, x, width);
}

void qr_final_norm_rows(const struct qr_step *s, float *dst, const float *src, size_t begin,
                        size_t end)
{
    const struct quire_model *m = s->ctx->model;
    const size_t width = m->config->hidden_size;
    if (m->config->mtp.heads)
        qr_norm_rows(s, &m->layers[s->stack.first], QR_W_MTP_NORM, s->stack.output_norm_bias, dst,
                     src, width, begin, end);
    else if (qr_model_has_final_norm(m->config))
        qr_norm_rows(s, &m->global, s->stack.output_norm, s->stack.output_norm_bias, dst, src,
                     width, begin, end);
    else if (dst != src)
        memcpy(dst + begin * width, src + begin * width, (end - begin) * width * sizeof *dst);
}
