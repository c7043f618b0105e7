/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_rope.c - keys of config.json that give layers RoPE or none, or a base of their own. */
#include "model/config/hf_layer_rope.h"
#include "base/error.h"
#include "model/arch/arch.h"

/* no_rope_layers: 1 for each layer with RoPE. In families where windows decide (Llama 4), these
 * must be the layers with a window. */
static quire_status check_no_rope_layers(const struct qr_hf_source *h)
{
    const struct qr_json *list = qr_hf_json(h, "no_rope_layers");
    for (uint32_t i = 0; i < h->cfg->n_layers && i < qr_json_size(list); i++) {
        uint32_t has_rope;
        if (!qr_json_is_u32(qr_json_at(list, i), &has_rope) ||
            (has_rope != 0) != (h->cfg->layers[i].rope != QR_LAYER_NO_ROPE))
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: no_rope_layers[%u]: RoPE in other layers than those with "
                           "local attention is not supported",
                           i);
    }
    return QUIRE_OK;
}

/* SmolLM3: no_rope_layers or, without it, no RoPE in every no_rope_layer_interval-th layer. */
static quire_status read_no_rope_layers(const struct qr_hf_source *h)
{
    const char *key = qr_hf_name(h, "no_rope_layers");
    const struct qr_json *list = qr_hf_json(h, "no_rope_layers");
    uint32_t interval;
    QR_TRY(qr_hf_u32(h, "no_rope_layer_interval", &interval));
    const bool listed = list && !qr_json_is_null(list);
    if (listed && (!qr_json_is_array(list) || qr_json_size(list) != h->cfg->n_layers))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers", key,
                       h->cfg->n_layers);
    if (!listed && interval == 0)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: no_rope_layer_interval is 0");
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        uint32_t has_rope = !listed && (i + 1) % interval != 0;
        if (listed && (!qr_json_is_u32(qr_json_at(list, i), &has_rope) || has_rope > 1))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u] must be 0 or 1", key, i);
        if (!has_rope)
            h->cfg->layers[i].rope = QR_LAYER_NO_ROPE;
    }
    return QUIRE_OK;
}

/* The set with a base, which is added if it is new. */
static quire_status find_set(const struct qr_hf_source *h, double theta, uint32_t layer)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t set = 0;
    while (set < cfg->n_rope && cfg->rope[set].theta != theta)
        set++;
    if (set == QR_ROPE_MAX_SETS)
        return qr_fail(h->err, QUIRE_E_LIMIT,
                       "config.json: layer_rope_theta has more than %d different values",
                       QR_ROPE_MAX_SETS);
    if (set == cfg->n_rope) {
        cfg->rope[set] = cfg->rope[0];
        cfg->rope[set].theta = theta;
        cfg->n_rope++;
    }
    cfg->layers[layer].rope = (uint8_t)set;
    return QUIRE_OK;
}

/* layer_rope_theta: the base of each layer; 0: no RoPE. */
static quire_status read_layer_thetas(const struct qr_hf_source *h)
{
    static const char key[] = "layer_rope_theta";
    const struct qr_json *list = qr_hf_json(h, key);
    if (!list || qr_json_is_null(list))
        return QUIRE_OK;
    if (!qr_json_is_array(list) || qr_json_size(list) != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers", key,
                       h->cfg->n_layers);
    /* GCOVR_EXCL_BR_LINE: the family has one set of RoPE parameters. */
    if (h->cfg->n_rope != 1 || h->cfg->rope[0].scaling != QR_ROPE_SCALING_NONE)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: %s together with RoPE scaling is not supported", key);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        double theta;
        if (!qr_json_is_f64(qr_json_at(list, i), &theta) || !(theta >= 0))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u] must be a number >= 0", key,
                           i);
        if (theta == 0)
            h->cfg->layers[i].rope = QR_LAYER_NO_ROPE;
        else
            QR_TRY(find_set(h, theta, i));
    }
    return QUIRE_OK;
}

quire_status qr_hf_read_layer_rope(const struct qr_hf_source *h)
{
    if (h->arch->hf_layer_rope_theta)
        return read_layer_thetas(h);
    if (h->arch->hf_no_rope_layers)
        return read_no_rope_layers(h);
    return h->arch->rope_in_windows_only ? check_no_rope_layers(h) : QUIRE_OK;
}
