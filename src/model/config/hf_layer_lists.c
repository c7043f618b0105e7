/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_lists.c - lists of config.json with an entry for each layer. */
#include "model/config/hf_layer_lists.h"
#include "base/error.h"
#include "model/arch/arch.h"

quire_status qr_hf_is_per_layer(const struct qr_hf_source *h, const struct qr_json *v, bool *out)
{
    uint32_t heads = 0;
    bool has;
    if (h->arch->hf_mtp_lists)
        QR_TRY(qr_hf_u32_opt(h, "num_nextn_predict_layers", &heads, &has));
    const uint64_t n = qr_json_size(v), layers = h->cfg->n_layers;
    *out = qr_json_is_array(v) && (n == layers || n == layers + heads);
    return QUIRE_OK;
}

static quire_status check_list(const struct qr_hf_source *h, const char *key,
                               const struct qr_json *list)
{
    bool ok;
    /* GCOVR_EXCL_BR_LINE: qr_hf_read_windows has read the number of heads. */
    QR_TRY(qr_hf_is_per_layer(h, list, &ok));
    return ok ? QUIRE_OK
              : qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers",
                        qr_hf_name(h, key), h->cfg->n_layers);
}

quire_status qr_hf_window_f64(const struct qr_hf_source *h, const char *key, bool windowed,
                              double *out)
{
    const struct qr_json *list = qr_hf_json(h, key);
    bool found = false;
    if (!list || qr_json_is_null(list) || qr_json_is_f64(list, out))
        return QUIRE_OK;
    QR_TRY(check_list(h, key, list));
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        double v;
        if (!qr_json_is_f64(qr_json_at(list, i), &v))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u] must be a number", key, i);
        if ((h->cfg->layers[i].window != 0) != windowed)
            continue;
        if (found && v != *out)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s[%u] is %g, and %g in another layer %s a window; only "
                           "equal ones are supported",
                           key, i, v, *out, windowed ? "with" : "without");
        *out = v;
        found = true;
    }
    return QUIRE_OK;
}

/* null and 0: no limit. */
static quire_status read_limits(const struct qr_hf_source *h, const char *key, bool experts)
{
    const struct qr_json *list = qr_hf_json(h, key);
    if (!list || qr_json_is_null(list))
        return QUIRE_OK;
    QR_TRY(check_list(h, key, list));
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        struct qr_layer_config *l = &h->cfg->layers[i];
        const struct qr_json *entry = qr_json_at(list, i);
        double v = 0;
        if (!qr_json_is_null(entry) && (!qr_json_is_f64(entry, &v) || !(v >= 0)))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u] must be a number >= 0",
                           qr_hf_name(h, key), i);
        *(experts ? &l->expert_limit : &l->ffn_limit) = (float)v;
    }
    return QUIRE_OK;
}

quire_status qr_hf_read_layer_limits(const struct qr_hf_source *h)
{
    if (!h->arch->layer_limits)
        return QUIRE_OK;
    QR_TRY(read_limits(h, "swiglu_limits", true));
    return read_limits(h, "swiglu_limits_shared", false);
}
