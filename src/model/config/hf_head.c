/* SPDX-License-Identifier: Apache-2.0 */
/* hf_head.c - keys of config.json of a head of multi-token prediction in files of its own. */
#include "model/config/hf_head.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include <string.h>

static bool is_text(const struct qr_json *v, const char *text)
{
    return qr_json_is_string(v) && strcmp(qr_json_string(v), text) == 0;
}

/* A head of the Speculators library, whose sizes are in an object of their own. */
static quire_status find_speculator(struct qr_hf_source *h, const struct qr_json *type)
{
    const struct qr_arch *arch = is_text(type, "eagle3")   ? &qr_arch_eagle3
                                 : is_text(type, "dflash") ? &qr_arch_dflash
                                                           : NULL;
    if (!arch)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: speculators_model_type %.40s is not supported",
                       qr_json_string(type));
    const struct qr_json *sizes = qr_json_get(h->outer, "transformer_layer_config");
    h->root = h->outer;
    if (!qr_json_is_object(sizes))
        return qr_hf_missing(h, "transformer_layer_config");
    h->root = sizes;
    h->arch = arch;
    return QUIRE_OK;
}

quire_status qr_hf_find_head(struct qr_hf_source *h)
{
    static const char *const others[] = { "DFlash2DraftModel", "DSparkDraftModel",
                                          "Qwen3DSparkModel" };
    const struct qr_json *type = qr_json_get(h->outer, "speculators_model_type");
    if (qr_json_is_string(type))
        return find_speculator(h, type);
    const struct qr_json *names = qr_json_get(h->outer, "architectures");
    if (!qr_json_is_array(names))
        return QUIRE_OK;
    for (struct qr_json_iter i = qr_json_iterate(names); qr_json_next(&i);) {
        if (is_text(i.value, "DFlashDraftModel")) {
            h->root = h->outer;
            h->arch = &qr_arch_dflash;
        }
        for (size_t o = 0; o < sizeof others / sizeof *others; o++)
            if (is_text(i.value, others[o]))
                return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                               "config.json: a head of architecture %s is not supported",
                               others[o]);
    }
    return QUIRE_OK;
}

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
    qr_hf_ignore(outer, "num_centroids");
    qr_hf_ignore(outer, "centroid_intermediate_top_k");
    qr_hf_ignore(outer, "tie_word_embeddings"); /* the tensors show it */
    qr_hf_ignore(outer, "block_size");          /* how many tokens to draft */
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

/* Layers whose inputs the head reads: the numbers in a list, plus `add` where they count layers
 * whose outputs it reads. */
static quire_status read_layer_list(const struct qr_hf_source *h, const struct qr_json *list,
                                    const char *key, uint32_t add, uint32_t least, uint32_t most)
{
    struct qr_mtp_config *mtp = &h->cfg->mtp;
    const size_t n = qr_json_size(list);
    bool numbers = n >= least && n <= most;
    for (uint32_t i = 0; numbers && i < n; i++) {
        uint32_t *layer = &mtp->feature_layers[i];
        numbers = qr_json_is_u32(qr_json_at(list, i), layer) && *layer < 1u << 20;
        *layer += add;
    }
    mtp->n_features = (uint32_t)n;
    if (numbers)
        return QUIRE_OK;
    return least == most
               ? qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                         "config.json: %s must list %u numbers of layers", key, most)
               : qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                         "config.json: %s must list %u to %u numbers of layers", key, least, most);
}

/* Of EAGLE-3. Files of the Speculators library count layers by their inputs, those in eagle_config
 * by their outputs. */
static quire_status read_feature_layers(const struct qr_hf_source *outer)
{
    static const char key[] = "eagle_aux_hidden_state_layer_ids";
    struct qr_mtp_config *mtp = &outer->cfg->mtp;
    struct qr_hf_source eagle = *outer;
    const struct qr_json *list = qr_hf_json(outer, key), *inner = NULL;
    eagle.root = qr_hf_json(outer, "eagle_config");
    if (qr_json_is_object(eagle.root))
        inner = qr_hf_json(&eagle, key);
    mtp->n_features = QR_MTP_N_FEATURES;
    for (int i = 0; i < QR_MTP_N_FEATURES; i++)
        mtp->feature_layers[i] = QR_MTP_DEFAULT_LAYER;
    const bool own = qr_json_is_array(list);
    list = own ? list : inner;
    return qr_json_is_array(list) && qr_json_size(list)
               ? read_layer_list(outer, list, key, own ? 0 : 1, QR_MTP_N_FEATURES,
                                 QR_MTP_N_FEATURES)
               : QUIRE_OK;
}

/* Sizes of the model, and the tokens that the head has outputs for. */
static quire_status read_vocabulary(const struct qr_hf_source *h, const struct qr_hf_source *outer)
{
    struct qr_mtp_config *mtp = &h->cfg->mtp;
    bool has;
    mtp->base_size = h->cfg->hidden_size;
    mtp->order_is_offset = true;
    QR_TRY(qr_hf_u32_opt(outer, "target_hidden_size", &mtp->base_size, &has));
    QR_TRY(qr_hf_u32_opt(outer, "draft_vocab_size", &mtp->n_outputs, &has));
    if (mtp->n_outputs == h->cfg->vocab_size)
        mtp->n_outputs = 0;
    return QUIRE_OK;
}

/* A head that reads features of its model. */
static quire_status read_features(const struct qr_hf_source *h, const struct qr_hf_source *outer)
{
    struct qr_model_config *cfg = h->cfg;
    struct qr_mtp_config *mtp = &cfg->mtp;
    mtp->kind = QR_MTP_FEATURES;
    QR_TRY(read_vocabulary(h, outer));
    QR_TRY(qr_hf_bool(outer, "norm_before_residual", false, &mtp->norm_residual));
    QR_TRY(qr_hf_bool(outer, "norm_before_fc", false, &mtp->norm_input));
    QR_TRY(qr_hf_bool(outer, "norm_output", false, &mtp->norm_state));
    if (cfg->n_layers != 1)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: num_hidden_layers is %u, a head with features has 1",
                       cfg->n_layers);
    return read_feature_layers(outer);
}

/* A block drafter. The publisher's files have its options in an object of their own. */
static quire_status read_block(const struct qr_hf_source *h, const struct qr_hf_source *outer)
{
    struct qr_mtp_config *mtp = &h->cfg->mtp;
    struct qr_hf_source own = *outer;
    const char *key = "target_layer_ids";
    bool has, has_own = false, non_causal, from_anchor;
    mtp->kind = QR_MTP_BLOCK;
    h->cfg->tied_embeddings = false;
    QR_TRY(read_vocabulary(h, outer));
    QR_TRY(qr_hf_bool(outer, "sample_from_anchor", false, &from_anchor));
    if (from_anchor)
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: sample_from_anchor is true, which is not supported");
    QR_TRY(qr_hf_bool(outer, "sliding_window_non_causal", false, &non_causal));
    mtp->window_causal = !non_causal;
    QR_TRY(qr_hf_u32_opt(outer, "block_size", &mtp->block_size, &has));
    if (h->root == h->outer) {
        own.root = qr_hf_json(outer, "dflash_config");
        if (!qr_json_is_object(own.root))
            return qr_hf_missing(outer, "dflash_config");
        QR_TRY(qr_hf_u32_opt(&own, "block_size", &mtp->block_size, &has_own));
        const struct qr_json *causal = qr_hf_json(&own, "causal");
        if (qr_json_is_bool(causal))
            mtp->full_causal = mtp->window_causal = qr_json_is_true(causal);
    } else {
        key = "aux_hidden_state_layer_ids";
    }
    if (!has && !has_own)
        return qr_hf_missing(outer, "block_size");
    QR_TRY(qr_hf_u32(&own, "mask_token_id", &mtp->mask_token));
    return read_layer_list(outer, qr_hf_json(&own, key), key, 1, 1, QR_MTP_MAX_FEATURES);
}

quire_status qr_hf_read_head(const struct qr_hf_source *h)
{
    struct qr_hf_source outer = *h;
    if (!h->arch->head_of[0])
        return QUIRE_OK;
    outer.root = h->outer;
    return h->arch->head_kind == QR_MTP_FEATURES ? read_features(h, &outer)
           : h->arch->head_kind == QR_MTP_BLOCK  ? read_block(h, &outer)
                                                 : read_shared_kv(h, &outer);
}
