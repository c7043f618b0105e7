/* SPDX-License-Identifier: Apache-2.0 */
/* hf_head.c - keys of config.json of a head of multi-token prediction in files of its own. */
#include "model/config/hf_head.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"

quire_status qr_hf_read_head(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    struct qr_mtp_config *mtp = &cfg->mtp;
    struct qr_hf_source outer = *h;
    uint32_t n_shared = 0;
    bool clusters, has;
    if (!h->arch->head_of[0])
        return QUIRE_OK;
    outer.root = h->outer;
    mtp->in_use = true;
    QR_TRY(qr_hf_u32(&outer, "backbone_hidden_size", &mtp->base_size));
    QR_TRY(qr_hf_bool(&outer, "use_ordered_embeddings", false, &clusters));
    if (clusters) {
        QR_TRY(qr_hf_u32(&outer, "num_centroids", &mtp->n_clusters));
        QR_TRY(qr_hf_u32(&outer, "centroid_intermediate_top_k", &mtp->top_clusters));
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
    QR_TRY(qr_hf_u32_opt(h, "hidden_size_per_layer_input", &n_shared, &has));
    if (has && n_shared)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: hidden_size_per_layer_input is %u: heads have no embeddings "
                       "per layer",
                       n_shared);
    qr_hf_ignore(h, "vocab_size_per_layer_input");
    qr_model_config_use_kv_of_base(cfg);
    return QUIRE_OK;
}
