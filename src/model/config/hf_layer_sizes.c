/* SPDX-License-Identifier: Apache-2.0 */
/* hf_layer_sizes.c - keys of config.json that give layers heads, keys and values, or feed-forward
 * networks of their own, and per-layer embeddings. */
#include "model/config/hf_layer_sizes.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/limits.h"
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
    QR_TRY(qr_hf_bool(h, "use_double_wide_mlp", false, &wide));
    QR_TRY(qr_model_config_share_kv(cfg, n, h->err));
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

quire_status qr_hf_read_layer_sizes(const struct qr_hf_source *h)
{
    if (h->arch->global_heads)
        QR_TRY(read_global_heads(h));
    if (h->arch->shared_kv)
        QR_TRY(read_shared_kv(h));
    return h->arch->per_layer_embeddings ? read_ple(h) : QUIRE_OK;
}
