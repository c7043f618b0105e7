/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_sizes.c - keys of config.json that give layers heads, keys and values, or feed-forward
 * networks of their own, and per-layer embeddings. */
#include "model/config/hf_layer_sizes.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/hf_block_configs.h"
#include "model/config/hf_size_lists.h"
#include "model/config/limits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One entry of per_layer_config: the sizes in which a layer differs from the others. */
static quire_status read_layer_config(const struct qr_hf_source *h, const char *name,
                                      const struct qr_json *sizes)
{
    struct qr_model_config *cfg = h->cfg;
    char *end;
    const unsigned long layer = strtoul(name, &end, 10);
    if (*end || end == name || layer >= cfg->n_layers || !qr_json_is_object(sizes))
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: per_layer_config.%.40s must be an object named after one of "
                       "%u layers",
                       name, cfg->n_layers);
    for (struct qr_json_iter i = qr_json_iterate(sizes); qr_json_next(&i);) {
        uint32_t n;
        if (!qr_json_is_u32(i.value, &n) || n == 0)
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: per_layer_config.%lu.%.40s must be a positive number",
                           layer, i.key);
        if (strcmp(i.key, "head_dim") == 0)
            cfg->layers[layer].head_dim = cfg->layers[layer].v_head_dim = n;
        else if (strcmp(i.key, "num_key_value_heads") == 0)
            cfg->layers[layer].n_kv_heads = n;
        else
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: per_layer_config.%lu.%.40s is not supported", layer,
                           i.key);
    }
    return QUIRE_OK;
}

/* Heads of the layers without a window: in per_layer_config, or in keys for all of them. With
 * attention_k_eq_v they have no value projection, and only then the number of KV heads counts. */
static quire_status read_global_heads(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    const struct qr_json *list = qr_hf_json(h, "per_layer_config");
    uint32_t size = 0, kv_heads = 0;
    bool v_is_k, has;
    QR_TRY(qr_hf_bool(h, "attention_k_eq_v", false, &v_is_k));
    QR_TRY(qr_hf_u32_opt(h, "global_head_dim", &size, &has));
    QR_TRY(qr_hf_u32_opt(h, "num_global_key_value_heads", &kv_heads, &has));
    cfg->layers[cfg->n_layers - 1].window = 0; /* whatever the file says */
    const bool listed = qr_json_is_object(list);
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        struct qr_layer_config *l = &cfg->layers[i];
        if (l->window)
            continue;
        l->v_is_k = v_is_k;
        if (!listed) {
            l->head_dim = l->v_head_dim = size;
            l->n_kv_heads = v_is_k && kv_heads ? kv_heads : l->n_kv_heads;
        }
    }
    for (struct qr_json_iter i = qr_json_iterate(listed ? list : NULL); qr_json_next(&i);)
        QR_TRY(read_layer_config(h, i.key, i.value));
    return QUIRE_OK;
}

/* num_kv_shared_layers: that many layers at the end read keys and values of the last layer before
 * them of their kind, with a window or without. */
static quire_status read_shared_kv(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    uint32_t n = 0;
    bool has, wide;
    QR_TRY(qr_hf_u32_opt(h, "num_kv_shared_layers", &n, &has));
    QR_TRY(qr_model_config_share_kv(cfg, n, h->err));
    if (!h->arch->global_heads)
        return QUIRE_OK;
    QR_TRY(qr_hf_bool(h, "use_double_wide_mlp", false, &wide));
    if (cfg->layers[0].ffn_size > QR_CONFIG_MAX_FFN)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: intermediate_size is %u",
                       cfg->layers[0].ffn_size);
    for (uint32_t i = cfg->n_layers - n; wide && i < cfg->n_layers; i++)
        cfg->layers[i].ffn_size *= 2;
    return QUIRE_OK;
}

static quire_status read_ple(const struct qr_hf_source *h)
{
    struct qr_ple_config *p = &h->cfg->ple;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, "hidden_size_per_layer_input", &p->dim, &has));
    if (!p->dim) {
        qr_hf_ignore(h, "vocab_size_per_layer_input");
        return QUIRE_OK;
    }
    p->vocab_size = h->cfg->vocab_size;
    return qr_hf_u32_opt(h, "vocab_size_per_layer_input", &p->vocab_size, &has);
}

/* intermediate_size may list the sizes of all layers. */
static quire_status read_ffn_sizes(const struct qr_hf_source *h)
{
    const struct qr_json *list = qr_hf_json(h, "intermediate_size");
    if (!qr_json_is_array(list))
        return QUIRE_OK;
    if (qr_json_size(list) != h->cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: intermediate_size must list %u layers",
                       h->cfg->n_layers);
    for (uint32_t i = 0; i < h->cfg->n_layers; i++)
        if (!qr_json_is_u32(qr_json_at(list, i), &h->cfg->layers[i].ffn_size))
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: intermediate_size[%u] must be a number", i);
    return QUIRE_OK;
}

/* x with P(X <= x) = p for a standard normal X, 0 < p < 1. */
static double normal_quantile(double p)
{
    double low = -40, high = 40;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        if (erfc(-middle / sqrt(2)) / 2 < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* activation_sparsity_pattern: the part of each layer's gates that is 0, if they are normally
 * distributed; 0: all are in use. */
static quire_status read_sparsity(const struct qr_hf_source *h)
{
    static const char key[] = "activation_sparsity_pattern";
    struct qr_model_config *cfg = h->cfg;
    const struct qr_json *list = qr_hf_json(h, key);
    const bool one = list && qr_json_is_f64(list, &(double){ 0 });
    if (!list || qr_json_is_null(list))
        return QUIRE_OK;
    if (!one && qr_json_size(list) != cfg->n_layers)
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must list %u layers", key,
                       cfg->n_layers);
    for (uint32_t i = 0; i < cfg->n_layers; i++) {
        double part = 0;
        if (!qr_json_is_f64(one ? list : qr_json_at(list, i), &part) || !(part >= 0 && part < 1))
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s[%u] must be in [0, 1)", key, i);
        cfg->layers[i].sparse_gate = part > 0;
        cfg->layers[i].gate_cutoff = part > 0 ? (float)normal_quantile(part) : 0;
    }
    return QUIRE_OK;
}

static quire_status read_altup(const struct qr_hf_source *h)
{
    struct qr_altup_config *a = &h->cfg->altup;
    double clip = 0;
    bool has;
    QR_TRY(qr_hf_u32(h, "altup_num_inputs", &a->n_streams));
    QR_TRY(qr_hf_u32(h, "altup_active_idx", &a->active));
    QR_TRY(qr_hf_bool(h, "altup_correct_scale", true, &a->correct_scale));
    QR_TRY(qr_hf_f64_opt(h, "altup_coef_clip", &clip, &has));
    a->coef_clip = (float)clip;
    QR_TRY(qr_hf_u32(h, "laurel_rank", &h->cfg->laurel_rank));
    QR_TRY(read_ffn_sizes(h));
    return read_sparsity(h);
}

quire_status qr_hf_read_layer_sizes(const struct qr_hf_source *h)
{
    if (h->arch->altup)
        QR_TRY(read_altup(h));
    if (h->arch->global_heads)
        QR_TRY(read_global_heads(h));
    if (h->arch->shared_kv)
        QR_TRY(read_shared_kv(h));
    if (h->arch->optional_sublayers)
        QR_TRY(qr_hf_read_block_configs(h));
    if (h->arch->hf_size_lists)
        QR_TRY(qr_hf_read_size_lists(h));
    return h->arch->per_layer_embeddings ? read_ple(h) : QUIRE_OK;
}
