/* SPDX-License-Identifier: Apache-2.0 */
/* hf_head.c - keys of config.json of a head of multi-token prediction in files of its own. */
#include "model/config/hf_head.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"

static quire_status must_be_zero(const struct qr_hf_source *h, const char *key, const char *why)
{
    uint32_t n = 0;
    bool has;
    QR_TRY(qr_hf_u32_opt(h, key, &n, &has));
    return n ? qr_fail(h->err, QUIRE_E_UNSUPPORTED, "config.json: %s is %u: %s", key, n, why)
             : QUIRE_OK;
}

/* A head that reads the keys and values of its model. `outer` is the whole file. */
static quire_status read_shared_kv(const struct qr_hf_source *h, const struct qr_hf_source *outer)
{
    struct qr_model_config *cfg = h->cfg;
    struct qr_mtp_config *mtp = &cfg->mtp;
    uint32_t n_shared = 0;
    bool clusters, has;
    mtp->kind = QR_MTP_SHARED_KV;
    QR_TRY(qr_hf_u32(outer, "backbone_hidden_size", &mtp->base_size));
    QR_TRY(qr_hf_bool(outer, "use_ordered_embeddings", false, &clusters));
    if (clusters) {
        QR_TRY(qr_hf_u32(outer, "num_centroids", &mtp->n_clusters));
        QR_TRY(qr_hf_u32(outer, "centroid_intermediate_top_k", &mtp->top_clusters));
        if (!mtp->n_clusters)
            return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: num_centroids is 0");
    }
    QR_TRY(qr_hf_u32_opt(h, "num_kv_shared_layers", &n_shared, &has));
    if (n_shared && n_shared != cfg->n_layers)
        return qr_fail(
            h->err, QUIRE_E_UNSUPPORTED,
            "config.json: num_kv_shared_layers is %u of %u layers: a head reads the keys "
            "and values of its model in all layers",
            n_shared, cfg->n_layers);
    QR_TRY(must_be_zero(h, "hidden_size_per_layer_input", "heads have no embeddings per layer"));
    qr_hf_ignore(h, "vocab_size_per_layer_input");
    qr_model_config_use_kv_of_base(cfg);
    return QUIRE_OK;
}

/* The layers whose inputs the head reads. Files of the Speculators library count so; those in
 * eagle_config count layers whose outputs it reads. */
static quire_status read_feature_layers(const struct qr_hf_source *outer, uint32_t *layers)
{
    static const char key[] = "eagle_aux_hidden_state_layer_ids";
    struct qr_hf_source eagle = *outer;
    const struct qr_json *list = qr_hf_json(outer, key), *inner = NULL;
    uint32_t add = 0;
    eagle.root = qr_hf_json(outer, "eagle_config");
    if (qr_json_is_object(eagle.root))
        inner = qr_hf_json(&eagle, key);
    for (int i = 0; i < QR_MTP_N_FEATURES; i++)
        layers[i] = QR_MTP_DEFAULT_LAYER;
    if (!qr_json_is_array(list)) {
        list = inner;
        add = 1;
    }
    if (!qr_json_is_array(list) || qr_json_size(list) == 0)
        return QUIRE_OK;
    for (int i = 0; i < QR_MTP_N_FEATURES; i++) {
        const bool number =
            qr_json_is_u32(qr_json_at(list, (size_t)i), &layers[i]) && layers[i] < 1u << 20;
        if (!number || qr_json_size(list) != QR_MTP_N_FEATURES)
            return qr_fail(outer->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s must list %d numbers of layers", key,
                           QR_MTP_N_FEATURES);
        layers[i] += add;
    }
    return QUIRE_OK;
}

/* A head that reads features of its model. */
static quire_status read_features(const struct qr_hf_source *h, const struct qr_hf_source *outer)
{
    struct qr_model_config *cfg = h->cfg;
    struct qr_mtp_config *mtp = &cfg->mtp;
    bool has, before_fc;
    mtp->kind = QR_MTP_FEATURES;
    mtp->base_size = cfg->hidden_size;
    mtp->order_is_offset = true;
    QR_TRY(qr_hf_u32_opt(outer, "target_hidden_size", &mtp->base_size, &has));
    QR_TRY(qr_hf_u32_opt(outer, "draft_vocab_size", &mtp->n_outputs, &has));
    if (mtp->n_outputs == cfg->vocab_size)
        mtp->n_outputs = 0;
    QR_TRY(qr_hf_bool(outer, "norm_before_residual", false, &mtp->norm_residual));
    QR_TRY(qr_hf_bool(outer, "norm_before_fc", false, &before_fc));
    if (before_fc)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: norm_before_fc is true, which is not supported");
    if (cfg->n_layers != 1)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: num_hidden_layers is %u, a head with features has 1",
                       cfg->n_layers);
    return read_feature_layers(outer, mtp->feature_layers);
}

quire_status qr_hf_read_head(const struct qr_hf_source *h)
{
    struct qr_hf_source outer = *h;
    if (!h->arch->head_of[0])
        return QUIRE_OK;
    outer.root = h->outer;
    return h->arch->features ? read_features(h, &outer) : read_shared_kv(h, &outer);
}
