/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_heads.c - keys of config.json about heads and sinks by layer, and attention gates. */
#include "model/config/hf_layer_heads.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include <string.h>

/* A size of windowed layers, which must be that of the other layers. */
static quire_status check_same(const struct qr_hf_source *h, const char *key, uint32_t size)
{
    uint32_t v = size;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, key, &v, &has));
    return v == size ? QUIRE_OK
                     : qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                               "config.json: %s is %u, and %u in layers without a window; only "
                               "equal sizes are supported",
                               key, v, size);
}

/* Layers with a window have head counts of their own. With sinks in them (MiMo V2 Flash), these are
 * by default twice the key-value heads. */
static quire_status read_window_heads(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t heads = cfg->layers[0].n_heads, kv_heads = cfg->layers[0].n_kv_heads;
    const bool sinks = h->arch->sinks_in_windows;
    bool has, windowed = false, full = false;
    QR_TRY(qr_hf_u32_opt(h, "swa_num_attention_heads", &heads, &has));
    kv_heads = !sinks || kv_heads > UINT32_MAX / 2 ? kv_heads : 2 * kv_heads;
    QR_TRY(qr_hf_u32_opt(h, "swa_num_key_value_heads", &kv_heads, &has));
    QR_TRY(check_same(h, "swa_head_dim", cfg->head_dim));
    QR_TRY(check_same(h, "swa_v_head_dim", cfg->v_head_dim));
    if (sinks) {
        QR_TRY(qr_hf_bool(h, "add_swa_attention_sink_bias", true, &windowed));
        QR_TRY(qr_hf_bool(h, "add_full_attention_sink_bias", false, &full));
    }
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        l->sinks = l->window ? windowed : full;
        if (l->window) {
            l->n_heads = heads;
            l->n_kv_heads = kv_heads;
        }
    }
    return QUIRE_OK;
}

static bool is_one_of(const char *text, const char *const names[3])
{
    for (size_t i = 0; text && i < 3; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

/* Granularity of the attention gate: true or by head, or by element. */
static quire_status read_gating(const struct qr_hf_source *h)
{
    static const char *const of_heads[] = { "per-head", "per_head", "head_wise" },
                             *const of_elements[] = { "per-element", "per_element",
                                                      "element_wise" };
    const struct qr_json *v = qr_hf_json(h, "gating"), *types = qr_hf_json(h, "gating_types");
    const char *text = qr_json_string(v);
    const bool heads = !v || qr_json_is_true(v) || is_one_of(text, of_heads);
    if (!heads && !is_one_of(text, of_elements))
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED, "config.json: %s %.60s is not supported",
                       qr_hf_name(h, "gating"), text ? text : "that is neither true nor a string");
    h->cfg->gate_per_head = heads;
    for (size_t i = 0; i < qr_json_size(types); i++) {
        const char *type = qr_json_string(qr_json_at(types, i));
        if (!type || strcmp(type, heads ? "per_head" : "per_element") != 0)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: gating_types[%zu] is %.60s, which differs from gating", i,
                           type ? type : "not a string");
    }
    return QUIRE_OK;
}

/* A list of head counts, and the attention gate. */
static quire_status read_layer_heads(const struct qr_hf_source *h)
{
    static const char key[] = "num_attention_heads_per_layer";
    struct qr_model_config *cfg = h->cfg;
    const struct qr_json *list = qr_hf_json(h, key);
    const bool listed = list && !qr_json_is_null(list);
    if (listed && (!qr_json_is_array(list) || qr_json_size(list) != cfg->n_layers))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers", key,
                       cfg->n_layers);
    for (uint32_t i = 0; listed && i < cfg->n_layers; i++)
        if (!qr_json_is_u32(qr_json_at(list, i), &cfg->layers[i].n_heads))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u] must be a number of heads",
                           key, i);
    return read_gating(h);
}

quire_status qr_hf_read_layer_heads(const struct qr_hf_source *h)
{
    if (h->arch->hf_window_heads)
        QR_TRY(read_window_heads(h));
    return h->arch->hf_layer_heads ? read_layer_heads(h) : QUIRE_OK;
}
