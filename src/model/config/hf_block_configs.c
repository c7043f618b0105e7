/* SPDX-License-Identifier: Apache-2.0 */
/* hf_block_configs.c - block_configs of DeciLM: an object per layer with one for its attention and
 * one for its feed-forward network, both of which a layer may lack. */
#include "model/config/hf_block_configs.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"
#include <math.h>
#include <string.h>

static const char list_key[] = "block_configs";

/* One sublayer of a layer: *size is 0 if there is none. There are further options, for other kinds
 * of attention and networks, which must be off. */
static quire_status read_part(const struct qr_hf_source *h, uint32_t layer, const char *name,
                              const char *size_key, double *size)
{
    const struct qr_json *part = qr_json_get(qr_json_at(qr_hf_json(h, list_key), layer), name);
    bool none = false;
    *size = 0;
    if (!qr_json_is_object(part))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u].%s must be an object", list_key,
                       layer, name);
    for (struct qr_json_iter i = qr_json_iterate(part); qr_json_next(&i);) {
        const bool off = qr_hf_is_off(i.value);
        if (strcmp(i.key, "no_op") == 0 && qr_json_is_bool(i.value))
            none = !off;
        else if (!off && (strcmp(i.key, size_key) != 0 || !qr_json_is_f64(i.value, size)))
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s[%u].%s.%.40s is not supported with this value",
                           list_key, layer, name, i.key);
    }
    if (none)
        *size = 0;
    else if (!(*size > 0))
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: %s[%u].%s.%s must be a positive number", list_key, layer, name,
                       size_key);
    return QUIRE_OK;
}

/* n_heads_in_group: query heads per key-value head. */
static quire_status read_attention(const struct qr_hf_source *h, uint32_t layer)
{
    struct qr_layer_config *l = &h->cfg->layers[layer];
    double group;
    QR_TRY(read_part(h, layer, "attention", "n_heads_in_group", &group));
    if (group == 0) {
        l->mixer = QR_MIXER_NONE;
        return QUIRE_OK;
    }
    if (group != floor(group) || group > l->n_heads || l->n_heads % (uint32_t)group != 0)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: %s[%u].attention.n_heads_in_group is %g, with %u heads",
                       list_key, layer, group, l->n_heads);
    l->n_kv_heads = l->n_heads / (uint32_t)group;
    return QUIRE_OK;
}

/* ffn_mult: 2/3 of its product with the hidden size, rounded up to whole blocks, is the width. */
static quire_status read_ffn(const struct qr_hf_source *h, uint32_t layer)
{
    enum { BLOCK = 256 };
    struct qr_layer_config *l = &h->cfg->layers[layer];
    double factor;
    QR_TRY(read_part(h, layer, "ffn", "ffn_mult", &factor));
    const double width = floor(2 * factor * h->cfg->hidden_size / 3);
    if (width > QR_CONFIG_MAX_FFN)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: %s[%u].ffn.ffn_mult is %g, with a hidden size of %u", list_key,
                       layer, factor, h->cfg->hidden_size);
    l->no_ffn = factor == 0;
    l->ffn_size = ((uint32_t)width + BLOCK - 1) / BLOCK * BLOCK;
    return QUIRE_OK;
}

quire_status qr_hf_read_block_configs(const struct qr_hf_source *h)
{
    const struct qr_json *list = qr_hf_json(h, list_key);
    if (!qr_json_is_array(list) || qr_json_size(list) != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers", list_key,
                       h->cfg->n_layers);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++) {
        QR_TRY(read_attention(h, i));
        QR_TRY(read_ffn(h, i));
    }
    return QUIRE_OK;
}
