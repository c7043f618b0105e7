/* SPDX-License-Identifier: Apache-2.0 */
/* hf_size_lists.c - lists of head counts and of feed-forward widths by layer in config.json. */
#include "model/config/hf_size_lists.h"
#include "base/error.h"
#include "model/config/limits.h"

/* Entry `layer` of a list of positive numbers, one per layer. */
static quire_status entry(const struct qr_hf_source *h, const char *key, uint32_t layer,
                          double *out)
{
    const struct qr_json *list = qr_hf_json(h, key);
    *out = 0;
    if (!list)
        return qr_hf_missing(h, key);
    if (!qr_json_is_array(list) || qr_json_size(list) != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers", key,
                       h->cfg->n_layers);
    if (!qr_json_is_f64(qr_json_at(list, layer), out) || !(*out > 0))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u] must be a positive number", key,
                       layer);
    return QUIRE_OK;
}

static quire_status head_count(const struct qr_hf_source *h, const char *key, uint32_t layer,
                               uint32_t *out)
{
    double n;
    QR_TRY(entry(h, key, layer, &n));
    *out = n <= QR_CONFIG_MAX_HEADS ? (uint32_t)n : 0;
    return *out == n ? QUIRE_OK
                     : qr_fail(h->err, QUIRE_E_FORMAT,
                               "config.json: %s[%u] is %g, not a number of heads up to %d", key,
                               layer, n, QR_CONFIG_MAX_HEADS);
}

/* The nearest multiple of the divisor to factor * hidden size, the next one if that is smaller by
 * more than a tenth. */
static quire_status ffn_size(const struct qr_hf_source *h, uint32_t layer, uint32_t divisor,
                             uint32_t *out)
{
    double factor;
    QR_TRY(entry(h, "ffn_multipliers", layer, &factor));
    const double width = factor * h->cfg->hidden_size;
    if (!(width <= QR_CONFIG_MAX_FFN))
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: ffn_multipliers[%u] is %g, with a hidden size of %u", layer,
                       factor, h->cfg->hidden_size);
    *out = (uint32_t)(width + divisor / 2.0) / divisor * divisor;
    *out = *out < divisor ? divisor : *out;
    *out += *out < 0.9 * width ? divisor : 0;
    return QUIRE_OK;
}

quire_status qr_hf_read_size_lists(const struct qr_hf_source *h)
{
    uint32_t divisor;
    QR_TRY(qr_hf_u32(h, "ffn_dim_divisor", &divisor));
    if (divisor == 0 || divisor > QR_CONFIG_MAX_FFN)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: ffn_dim_divisor is %u", divisor);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        struct qr_layer_config *l = &h->cfg->layers[i];
        QR_TRY(head_count(h, "num_query_heads", i, &l->n_heads));
        QR_TRY(head_count(h, "num_kv_heads", i, &l->n_kv_heads));
        QR_TRY(ffn_size(h, i, divisor, &l->ffn_size));
    }
    return QUIRE_OK;
}
