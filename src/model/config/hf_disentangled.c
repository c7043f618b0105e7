/* SPDX-License-Identifier: Apache-2.0 */
/* hf_disentangled.c - disentangled attention in config.json. */
#include "model/config/hf_disentangled.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"
#include <math.h>
#include <string.h>

/* Options of which one value is supported, with the default of the reference implementation. */
static quire_status check_options(const struct qr_hf_source *h)
{
    static const struct {
        const char *key;
        bool dflt, supported;
    } options[] = {
        { "relative_attention", false, true },
        { "position_biased_input", true, false },
        { "share_att_key", false, true },
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        bool value;
        QR_TRY(qr_hf_bool(h, options[i].key, options[i].dflt, &value));
        if (value != options[i].supported)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s is %s; only %s is supported", options[i].key,
                           value ? "true" : "false", options[i].supported ? "true" : "false");
    }
    return QUIRE_OK;
}

static quire_status check_heads(const struct qr_hf_source *h)
{
    const struct qr_layer_config *l = h->cfg->layers; /* all are equal */
    return l->n_heads == l->n_kv_heads
               ? QUIRE_OK
               : qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                         "config.json: num_key_value_heads is %u, with disentangled attention "
                         "num_attention_heads, %u, is supported",
                         l->n_kv_heads, l->n_heads);
}

static quire_status add_term(const struct qr_hf_source *h, const char *name, size_t n)
{
    struct qr_disentangled_config *d = &h->cfg->disentangled;
    const bool query = n == 3 && memcmp(name, "c2p", 3) == 0,
               key = n == 3 && memcmp(name, "p2c", 3) == 0;
    if (!query && !key)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: pos_att_type %.*s; c2p and p2c are supported",
                       (int)(n < 40 ? n : 40), name);
    d->query_position |= query;
    d->key_position |= key;
    return QUIRE_OK;
}

/* A list of names, or one text with '|' between them. */
static quire_status read_terms(const struct qr_hf_source *h)
{
    static const char key[] = "pos_att_type";
    const struct qr_json *value = qr_hf_json(h, key);
    if (!value || qr_json_is_null(value))
        return QUIRE_OK;
    if (qr_json_is_string(value)) {
        for (const char *at = qr_json_string(value), *end; *at; at = *end ? end + 1 : end) {
            end = at + strcspn(at, "|");
            QR_TRY(add_term(h, at, (size_t)(end - at)));
        }
        return QUIRE_OK;
    }
    if (!qr_json_is_array(value))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be a list or a text", key);
    for (struct qr_json_iter i = qr_json_iterate(value); qr_json_next(&i);) {
        if (!qr_json_is_string(i.value))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be a list of texts", key);
        QR_TRY(add_term(h, qr_json_string(i.value), strlen(qr_json_string(i.value))));
    }
    return QUIRE_OK;
}

/* A number of distances; below 1: `dflt`. */
static quire_status read_distances(const struct qr_hf_source *h, const char *key, uint32_t dflt,
                                   uint32_t *out)
{
    double v = -1;
    bool has;
    QR_TRY(qr_hf_f64_opt(h, key, &v, &has));
    if (!(v == floor(v)) || v > QR_CONFIG_MAX_CONTEXT)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s is %g", key, v);
    *out = v < 1 ? dflt : (uint32_t)v;
    return QUIRE_OK;
}

static quire_status read_table(const struct qr_hf_source *h)
{
    struct qr_disentangled_config *d = &h->cfg->disentangled;
    const char *norm = "none";
    uint32_t buckets = 0;
    if (h->cfg->context_length > QR_CONFIG_MAX_DISTANCE)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: max_position_embeddings is %u, with disentangled attention up "
                       "to %u is supported",
                       h->cfg->context_length, QR_CONFIG_MAX_DISTANCE);
    QR_TRY(read_distances(h, "max_relative_positions", h->cfg->context_length, &d->max_distance));
    QR_TRY(read_distances(h, "position_buckets", 0, &buckets));
    d->buckets = buckets > 0;
    d->span = buckets ? buckets : d->max_distance;
    if (d->span > QR_CONFIG_MAX_DISTANCES ||
        (buckets && (buckets < 4 || d->max_distance <= buckets / 2 + 1)))
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: %u position_buckets for %u distances; up to %u rows of "
                       "distances are supported, and 4 buckets or more for more distances",
                       buckets, d->max_distance, QR_CONFIG_MAX_DISTANCES);
    QR_TRY(qr_hf_str(h, "norm_rel_ebd", &norm));
    d->norm = strcmp(norm, "layer_norm") == 0;
    if (!d->norm && strcmp(norm, "none") != 0)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: norm_rel_ebd %.40s; layer_norm and none are supported", norm);
    return QUIRE_OK;
}

quire_status qr_hf_read_disentangled(const struct qr_hf_source *h)
{
    const struct qr_disentangled_config *d = &h->cfg->disentangled;
    if (!h->arch->disentangled)
        return QUIRE_OK;
    QR_TRY(check_options(h));
    QR_TRY(check_heads(h));
    QR_TRY(read_terms(h));
    QR_TRY(read_table(h));
    h->cfg->attention_scale /= sqrtf((float)(1 + d->query_position + d->key_position));
    return QUIRE_OK;
}
