/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_weights.c - vectors of recurrent layers in the form that the kernels read: convolutions
 * by tap, decay rates by key element. */
#include "model/recurrent_weights.h"
#include "base/error.h"
#include "kernels/kernels.h"
#include <math.h>

/* The parts q, k and v of a convolution: their roles, channels and factors. */
struct part {
    enum qr_weight_role taps, bias;
    size_t channels;
    float scale;
};

static float *reserve(struct quire_model *m, size_t n, size_t width, struct quire_error *err)
{
    float *p = qr_arena_alloc(&m->vectors, n, width * sizeof *p);
    if (!p)
        qr_fail(err, QUIRE_E_NOMEM, "no memory for the vectors of a recurrent layer");
    return p;
}

/* Transposes [channels][taps] of each part to [taps][all channels]. A factor of the input is one of
 * the taps. */
static quire_status prepare_conv(struct quire_model *m, struct qr_model_layer *layer,
                                 struct quire_error *err)
{
    const struct qr_recurrent_config *r = &m->config->recurrent;
    const size_t width = (size_t)qr_recurrent_conv_width(r), taps = r->conv_taps;
    const size_t values = r->conv_thirds ? width / 3 : (size_t)qr_recurrent_value_width(r);
    const size_t keys = (width - values) / 2;
    const struct part parts[] = {
        { QR_W_REC_CONV_Q, QR_W_REC_CONV_Q_BIAS, keys, r->part_scales[3] },
        { QR_W_REC_CONV_K, QR_W_REC_CONV_K_BIAS, keys, r->part_scales[2] },
        { QR_W_REC_CONV_V, QR_W_REC_CONV_V_BIAS, values, r->part_scales[1] },
    };
    float *conv = reserve(m, taps, width, err);
    float *bias = conv && r->conv_bias ? reserve(m, 1, width, err) : NULL;
    if (!conv || (r->conv_bias && !bias))
        return QUIRE_E_NOMEM;
    for (size_t p = 0, first = 0; p < 3; first += parts[p++].channels)
        for (size_t c = 0; c < parts[p].channels; c++) {
            for (size_t t = 0; t < taps; t++)
                conv[t * width + first + c] =
                    layer->vec[parts[p].taps][c * taps + t] * parts[p].scale;
            if (bias)
                bias[first + c] = layer->vec[parts[p].bias][c];
        }
    layer->recurrent.conv = conv;
    layer->recurrent.conv_bias = bias;
    return QUIRE_OK;
}

static float decay_rate(const struct qr_recurrent_config *r, float a)
{
    return r->log_decay ? -expf(a) : a;
}

/* Place of key element i of a channel in an array with the tiles of a state: [channels /
 * QR_SCAN_COLUMNS][keys][channels of the tile]. */
static size_t tile_index(size_t channels, size_t keys, size_t channel, size_t i)
{
    const size_t first = channel / QR_SCAN_COLUMNS * QR_SCAN_COLUMNS, rest = channels - first;
    const size_t width = rest < QR_SCAN_COLUMNS ? rest : QR_SCAN_COLUMNS;
    return first * keys + i * width + channel - first;
}

static quire_status prepare_decay(struct quire_model *m, struct qr_model_layer *layer,
                                  struct quire_error *err)
{
    const struct qr_recurrent_config *r = &m->config->recurrent;
    const size_t heads = r->n_heads, keys = r->key_dim;
    const bool by_channel = r->kind == QR_RECURRENT_MAMBA1;
    const size_t copies = by_channel || r->vector_decay ? keys : 1;
    const float *a = layer->vec[QR_W_REC_A];
    float *decay = reserve(m, heads, copies, err);
    if (!decay)
        return QUIRE_E_NOMEM;
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < copies; i++)
            if (by_channel)
                decay[tile_index(heads, keys, h, i)] = decay_rate(r, a[h * keys + i]);
            else
                decay[h * copies + i] = decay_rate(r, a[h]);
    layer->recurrent.decay = decay;
    return QUIRE_OK;
}

/* WKV7, bounded decays: the factor of the sigmoid of a step size in the logarithm of its decay. */
static quire_status prepare_constant_decay(struct quire_model *m, struct qr_model_layer *layer,
                                           float bound, struct quire_error *err)
{
    const size_t n = (size_t)qr_recurrent_dt_width(&m->config->recurrent);
    float *decay = reserve(m, n, 1, err);
    if (!decay)
        return QUIRE_E_NOMEM;
    for (size_t c = 0; c < n; c++)
        decay[c] = bound;
    layer->recurrent.decay = decay;
    return QUIRE_OK;
}

/* Bounded decays: the factors of step sizes within the sigmoid. */
static quire_status prepare_rates(struct quire_model *m, struct qr_model_layer *layer,
                                  struct quire_error *err)
{
    const struct qr_recurrent_config *r = &m->config->recurrent;
    float *rates = reserve(m, r->n_heads, 1, err);
    if (!rates)
        return QUIRE_E_NOMEM;
    for (size_t h = 0; h < r->n_heads; h++) {
        const float a = layer->vec[QR_W_REC_A][h];
        rates[h] = r->log_decay ? expf(a) : a;
    }
    layer->recurrent.rates = rates;
    return prepare_constant_decay(m, layer, r->decay_bound, err);
}

/* RG-LRU: the logarithm of the smallest decay of each channel, -8 softplus(parameter). */
static quire_status prepare_log_decays(struct quire_model *m, struct qr_model_layer *layer,
                                       struct quire_error *err)
{
    const size_t n = (size_t)qr_recurrent_value_width(&m->config->recurrent);
    const float *a = layer->vec[QR_W_REC_A];
    float *decay = reserve(m, n, 1, err);
    if (!decay)
        return QUIRE_E_NOMEM;
    for (size_t c = 0; c < n; c++) {
        const double x = (double)a[c];
        decay[c] = (float)(-8 * (fmax(x, 0) + log1p(exp(-fabs(x)))));
    }
    layer->recurrent.decay = decay;
    return QUIRE_OK;
}

/* Lightning attention: exp(-slope), constant per head and layer (MiniMax-01, arXiv 2501.08313). */
static quire_status prepare_slopes(struct quire_model *m, uint32_t i, struct quire_error *err)
{
    const double n = m->config->n_layers, heads = m->config->recurrent.n_heads;
    const double factor = 1 - i / (n - 1 + 1e-5) + 1e-5;
    float *decay = reserve(m, m->config->recurrent.n_heads, 1, err);
    if (!decay)
        return QUIRE_E_NOMEM;
    for (uint32_t h = 0; h < m->config->recurrent.n_heads; h++)
        decay[h] = (float)exp(-exp2(-8 * (h + 1.0) / heads) * factor);
    m->layers[i].recurrent.decay = decay;
    return QUIRE_OK;
}

/* Transposes w[channels][taps] to [taps][channels]; NULL: no memory. */
static float *transposed_taps(struct quire_model *m, const float *w, size_t taps, size_t width,
                              struct quire_error *err)
{
    float *conv = reserve(m, taps, width, err);
    if (!conv)
        return NULL;
    for (size_t c = 0; c < width; c++)
        for (size_t t = 0; t < taps; t++)
            conv[t * width + c] = w[c * taps + t];
    return conv;
}

/* The convolution over channels of attention with convolutions. */
static quire_status prepare_attention_conv(struct quire_model *m, uint32_t i,
                                           struct quire_error *err)
{
    struct qr_model_layer *layer = &m->layers[i];
    layer->recurrent.conv =
        transposed_taps(m, layer->vec[QR_W_ATTN_CONV], m->config->conv_attention.channel_taps,
                        (size_t)qr_conv_attention_width(&m->config->layers[i]), err);
    layer->recurrent.conv_bias = layer->vec[QR_W_ATTN_CONV_BIAS];
    return layer->recurrent.conv ? QUIRE_OK : QUIRE_E_NOMEM;
}

/* The convolution of n-gram embeddings. */
static quire_status prepare_ngram_conv(struct quire_model *m, struct qr_model_layer *layer,
                                       struct quire_error *err)
{
    layer->ngram_conv =
        transposed_taps(m, layer->vec[QR_W_NGRAM_CONV], m->config->ngram.taps,
                        (size_t)m->config->hyper.n_streams * m->config->hidden_size, err);
    return layer->ngram_conv ? QUIRE_OK : QUIRE_E_NOMEM;
}

quire_status qr_model_prepare_recurrent(struct quire_model *m, struct quire_error *err)
{
    const struct qr_recurrent_config *r = &m->config->recurrent;
    for (uint32_t i = 0; i < m->config->n_layers; i++) {
        if (qr_layer_convolves(m->config, &m->config->layers[i]))
            QR_TRY(prepare_attention_conv(m, i, err));
        if (m->config->layers[i].ngram)
            QR_TRY(prepare_ngram_conv(m, &m->layers[i], err));
        if (!qr_layer_recurs(&m->config->layers[i]))
            continue;
        if (r->conv_taps)
            QR_TRY(prepare_conv(m, &m->layers[i], err));
        if (r->kind == QR_RECURRENT_LIGHTNING)
            QR_TRY(prepare_slopes(m, i, err));
        else if (r->kind == QR_RECURRENT_RG_LRU)
            QR_TRY(prepare_log_decays(m, &m->layers[i], err));
        else if (r->kind == QR_RECURRENT_WKV7)
            QR_TRY(prepare_constant_decay(m, &m->layers[i], (float)-exp(-0.5), err));
        else if (r->decay_bound != 0)
            QR_TRY(prepare_rates(m, &m->layers[i], err));
        else if (r->kind != QR_RECURRENT_SHORT_CONV && r->kind != QR_RECURRENT_WKV6)
            QR_TRY(prepare_decay(m, &m->layers[i], err));
    }
    return QUIRE_OK;
}
