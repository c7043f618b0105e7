/* SPDX-License-Identifier: Apache-2.0 */
/* hf_windows.c - sliding windows per layer in config.json. */
#include "model/config/hf_windows.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/hf_layer_lists.h"
#include <string.h>

/* Entry i of layer_types, or NULL. */
static const char *layer_type(const struct qr_hf_source *h, const struct qr_json *types, size_t i)
{
    const struct qr_json *v = qr_json_at(types, i);
    uint32_t flag;
    if (h->arch->hf_window_flags && qr_json_is_u32(v, &flag) && flag <= 1)
        return flag ? "sliding_attention" : "full_attention";
    return qr_json_string(v);
}

static quire_status unknown_type(const struct qr_hf_source *h, size_t i, const char *type)
{
    return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                   "config.json: %s[%zu] is %.60s, which is not supported",
                   qr_hf_name(h, "layer_types"), i, type);
}

/* Whether the family has names of its own for the types of layers, and this is one. */
static bool is_own_type(const char *own, const char *type) { return own && strcmp(own, type) == 0; }

/* layer_types of the newer style: an explicit list that overrides the family's rule. */
static quire_status windows_from_layer_types(const struct qr_hf_source *h,
                                             const struct qr_json *types, uint32_t window)
{
    struct qr_model_config *cfg = h->cfg;
    bool ok;
    QR_TRY(qr_hf_is_per_layer(h, types, &ok));
    if (!ok)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers",
                       qr_hf_name(h, "layer_types"), cfg->n_layers);
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        const char *type = layer_type(h, types, i);
        if (!type)
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u] must be %s",
                           qr_hf_name(h, "layer_types"), i,
                           h->arch->hf_window_flags ? "0 or 1" : "a string");
        if (h->arch->hf_full_type && !is_own_type(h->arch->hf_full_type, type) &&
            !is_own_type(h->arch->hf_window_type, type))
            return unknown_type(h, i, type);
        if (is_own_type(h->arch->hf_full_type, type))
            continue;
        if (is_own_type(h->arch->hf_window_type, type) || strcmp(type, "sliding_attention") == 0 ||
            strcmp(type, "local") == 0 ||
            (h->arch->chunked_windows && strcmp(type, "chunked_attention") == 0))
            cfg->layers[i].window = window;
        else if (strcmp(type, "global") == 0)
            continue;
        else if (strcmp(type, "full_attention") != 0)
            return unknown_type(h, i, type);
    }
    return QUIRE_OK;
}

/* attention_types (GPT-Neo): [[[type, ...], repetitions], ...], which expands to one type per
 * layer. */
static quire_status windows_from_attention_types(const struct qr_hf_source *h,
                                                 const struct qr_json *types, uint32_t window)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t layer = 0;
    for (struct qr_json_iter t = qr_json_iterate(types); qr_json_next(&t);) {
        const struct qr_json *names = qr_json_at(t.value, 0);
        const size_t n_names = qr_json_size(names), i = t.index;
        uint32_t repetitions = 0;
        if (!qr_json_is_u32(qr_json_at(t.value, 1), &repetitions) || !n_names)
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: attention_types[%zu] must be [[names], number]", i);
        for (uint64_t n = 0; n < (uint64_t)repetitions * n_names && layer < cfg->n_layers;
             n++, layer++) {
            const char *name = qr_json_string(qr_json_at(names, n % n_names));
            if (name && strcmp(name, "local") == 0)
                cfg->layers[layer].window = window;
        }
    }
    if (layer < cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: attention_types lists %u of %u layers",
                       layer, cfg->n_layers);
    return QUIRE_OK;
}

/* Without a window in use, a layer type must be one that then means full attention. */
static quire_status check_layer_types(const struct qr_hf_source *h, const struct qr_json *types)
{
    if (h->arch->recurrent || h->arch->has_index)
        return QUIRE_OK; /* qr_hf_read_mixers or qr_hf_read_index reads them */
    static const char *const full[] = { "full_attention", "sliding_attention", "global", "local" };
    for (size_t i = 0; i < qr_json_size(types); i++) {
        const char *type = layer_type(h, types, i);
        bool known = type && is_own_type(h->arch->hf_full_type, type);
        for (size_t k = 0; type && !h->arch->hf_full_type && k < sizeof full / sizeof *full; k++)
            known = known || strcmp(type, full[k]) == 0;
        if (type && is_own_type(h->arch->hf_window_type, type))
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: sliding_window is missing, but layer_types[%zu] is %.60s",
                           i, type);
        if (!known)
            return unknown_type(h, i, type ? type : "not a string");
    }
    return QUIRE_OK;
}

static quire_status read_window_period(const struct qr_hf_source *h, uint32_t *period)
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

/* The family's rule. */
static quire_status windows_from_rule(const struct qr_hf_source *h, uint32_t window)
{
    struct qr_model_config *cfg = h->cfg;
    const enum qr_window_rule rule = h->arch->hf_window;
    uint32_t first = 0, period = 0;
    if (rule == QR_WINDOW_FROM)
        QR_TRY(qr_hf_u32(h, "max_window_layers", &first));
    else if (rule == QR_WINDOW_PERIODIC || rule == QR_WINDOW_PERIODIC_FIRST)
        QR_TRY(read_window_period(h, &period));
    uint32_t full = rule == QR_WINDOW_PERIODIC_FIRST || !period ? 0 : period - 1; /* in a period */
    if (h->arch->hf_windows_from_last && period)
        full = (cfg->n_layers - 1) % period;
    for (uint32_t i = first; i < cfg->n_layers; i++)
        if (period == 0 || i % period != full)
            cfg->layers[i].window = window;
    return QUIRE_OK;
}

/* full_attention_idx: layers without a window. */
static quire_status read_full_layers(const struct qr_hf_source *h)
{
    static const char key[] = "full_attention_idx";
    const struct qr_json *list = qr_hf_json(h, key);
    if (list && !qr_json_is_null(list) && !qr_json_is_array(list))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be a list", key);
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);) {
        uint32_t layer;
        if (!qr_json_is_u32(i.value, &layer) || layer >= h->cfg->n_layers)
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: %s[%zu] is not one of the %u layers", key, i.index,
                           h->cfg->n_layers);
        h->cfg->layers[layer].window = 0;
    }
    return QUIRE_OK;
}

/* The size of windows. local_attention counts both directions; releases of the reference
 * implementation differ about a sliding_window that is not its half. */
static quire_status read_window_size(const struct qr_hf_source *h, uint32_t *window, bool *has)
{
    uint32_t own;
    bool has_own;
    if (!h->arch->hf_half_window)
        return qr_hf_u32_opt(h, "sliding_window", window, has);
    QR_TRY(qr_hf_u32_opt(h, "local_attention", window, has));
    *window /= 2;
    if (!*has || !*window)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED, "config.json: local_attention is below 2");
    own = *window;
    QR_TRY(qr_hf_u32_opt(h, "sliding_window", &own, &has_own));
    if (own != *window)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: sliding_window is %u, half of local_attention is %u", own,
                       *window);
    return QUIRE_OK;
}

quire_status qr_hf_read_windows(const struct qr_hf_source *h, bool *has_window)
{
    const enum qr_window_rule rule = h->arch->hf_window;
    const struct qr_json *types = qr_hf_json(h, "layer_types");
    uint32_t window = 0;
    bool has = false, in_use = true;
    if (rule != QR_WINDOW_NONE)
        QR_TRY(read_window_size(h, &window, &has));
    if (rule == QR_WINDOW_FROM) {
        QR_TRY(qr_hf_bool(h, "use_sliding_window", false, &in_use));
        qr_hf_ignore(h, "max_window_layers"); /* no effect unless the window is in use */
    } else if (rule == QR_WINDOW_PERIODIC || rule == QR_WINDOW_PERIODIC_FIRST) {
        qr_hf_ignore(h, "sliding_window_pattern"); /* layer_types takes precedence */
        qr_hf_ignore(h, "_sliding_window_pattern");
    } else if (rule == QR_WINDOW_LOCAL) {
        qr_hf_ignore(h, "attention_types");
    }
    if (has && in_use && window) {
        /* GCOVR_EXCL_BR_LINE: no encoder has chunked windows. */
        if (!h->cfg->causal && !h->arch->chunked_windows)
            window = window / 2 + 1; /* the key counts both directions */
        else if (h->arch->hf_window_before && window < UINT32_MAX)
            window++;
        if (rule != QR_WINDOW_ALL && types && !qr_json_is_null(types))
            QR_TRY(windows_from_layer_types(h, types, window));
        else if (rule == QR_WINDOW_LISTED)
            return qr_hf_missing(h, "layer_types");
        else if (rule == QR_WINDOW_LOCAL)
            QR_TRY(windows_from_attention_types(h, qr_hf_json(h, "attention_types"), window));
        else
            QR_TRY(windows_from_rule(h, window));
    } else {
        QR_TRY(check_layer_types(h, types));
    }
    if (h->arch->hf_window_before)
        QR_TRY(read_full_layers(h));
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        struct qr_layer_config *l = &h->cfg->layers[i];
        l->chunked = l->window && h->arch->chunked_windows;
    }
    *has_window = has && in_use && window;
    return QUIRE_OK;
}
