/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layers.c - what differs from layer to layer in config.json: sliding windows and the rope set that goes along. */
#include "base/error.h"
#include "model/hf_internal.h"
#include <string.h>

/* layer_types of the newer style: an explicit list that overrides the family's rule. */
static quire_status listed_windows(const struct qr_hf *h, const json_t *types, uint32_t window)
{
    struct qr_model_config *cfg = h->cfg;
    if (!json_is_array(types) || json_array_size(types) != cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: layer_types must list %u layers",
                       cfg->n_layers);
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (!type)
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: layer_types[%u] must be a string",
                           i);
        if (strcmp(type, "sliding_attention") == 0)
            cfg->layers[i].window = window;
        else if (strcmp(type, "full_attention") != 0)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: layer_types[%u] is %.60s, which is not supported", i,
                           type);
    }
    return QUIRE_OK;
}

static quire_status window_from(const struct qr_hf *h, bool *in_use, uint32_t *first)
{
    QR_TRY(qr_hf_bool(h, "use_sliding_window", false, in_use));
    return qr_hf_u32(h, "max_window_layers", first);
}

static quire_status window_period(const struct qr_hf *h, uint32_t *period)
{
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "sliding_window_pattern", period, &has));
    if (!has)
        QR_TRY(qr_hf_u32_opt(h, "_sliding_window_pattern", period, &has));
    if (!has)
        *period = h->arch->window_period;
    if (*period == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: sliding_window_pattern is 0");
    return QUIRE_OK;
}

static quire_status ruled_windows(const struct qr_hf *h, uint32_t window)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t first = 0, period = 0;
    bool in_use = true;
    if (h->arch->hf_window == QR_WINDOW_FROM)
        QR_TRY(window_from(h, &in_use, &first));
    else if (h->arch->hf_window == QR_WINDOW_PERIODIC)
        QR_TRY(window_period(h, &period));
    for (uint32_t i = first; in_use && i < cfg->n_layers; i++)
        if (period == 0 || (i + 1) % period != 0)
            cfg->layers[i].window = window;
    return QUIRE_OK;
}

quire_status qr_hf_layers(const struct qr_hf *h)
{
    const enum qr_window_rule rule = h->arch->hf_window;
    const json_t *types = json_object_get(h->root, "layer_types");
    uint32_t window = 0;
    bool has = false, in_use = true;
    if (rule != QR_WINDOW_NEVER)
        QR_TRY(qr_hf_u32_opt(h, "sliding_window", &window, &has));
    if (rule == QR_WINDOW_FROM)
        QR_TRY(qr_hf_bool(h, "use_sliding_window", false, &in_use));
    if (has && in_use && window) {
        if (!h->cfg->causal)
            window = window / 2 + 1; /* the key counts both sides */
        if (rule != QR_WINDOW_ALL && types && !json_is_null(types))
            QR_TRY(listed_windows(h, types, window));
        else
            QR_TRY(ruled_windows(h, window));
    }
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        h->cfg->layers[i].rope = h->cfg->n_rope == 2 && h->cfg->layers[i].window ? 1 : 0;
    return QUIRE_OK;
}
