/* SPDX-License-Identifier: Apache-2.0 */
/* hf_head.c - keys of config.json of a head of multi-token prediction in files of its own. */
#include "model/config/hf_head.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/limits.h"
#include <string.h>

static bool is_text(const struct qr_json *v, const char *text)
{
    return qr_json_is_string(v) && strcmp(qr_json_string(v), text) == 0;
}

/* A head of the Speculators library, whose sizes are in an object of their own. */
static quire_status find_speculator(struct qr_hf_source *h, const struct qr_json *type)
{
    const bool block =
        is_text(type, "dflash") || is_text(type, "dspark") || is_text(type, "dflash2");
    const struct qr_arch *arch = is_text(type, "eagle3") ? &qr_arch_eagle3
                                 : block                 ? &qr_arch_dflash
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
    static const struct {
        const char *name;
        const struct qr_arch *arch;
    } heads[] = {
        { "DFlashDraftModel", &qr_arch_dflash },
        { "DSparkDraftModel", &qr_arch_dflash },
        { "Qwen3DSparkModel", &qr_arch_dflash },
        { "DFlash2DraftModel", &qr_arch_dflash },
        { "Gemma4DSparkModel", &qr_arch_dflash_gemma4 },
        { "Qwen3Eagle3Model", &qr_arch_eagle3_qwen3 },
        { "Gemma4Eagle3Model", &qr_arch_eagle3_gemma4 },
    };
    const struct qr_json *type = qr_json_get(h->outer, "speculators_model_type");
    if (qr_json_is_string(type))
        return find_speculator(h, type);
    const struct qr_json *names = qr_json_get(h->outer, "architectures");
    if (!qr_json_is_array(names))
        return QUIRE_OK;
    for (struct qr_json_iter i = qr_json_iterate(names); qr_json_next(&i);) {
        for (size_t n = 0; n < sizeof heads / sizeof *heads; n++) {
            if (is_text(i.value, heads[n].name)) {
                h->root = h->outer;
                h->arch = heads[n].arch;
            }
        }
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
 * whose outputs it reads; -1 is the embedding then. */
static quire_status read_layer_list(const struct qr_hf_source *h, const struct qr_json *list,
                                    const char *key, uint32_t add)
{
    struct qr_mtp_config *mtp = &h->cfg->mtp;
    const size_t n = qr_json_size(list);
    bool numbers = n >= 1 && n <= QR_MTP_MAX_FEATURES;
    for (uint32_t i = 0; numbers && i < n; i++) {
        const struct qr_json *v = qr_json_at(list, i);
        const int64_t layer = qr_json_is_integer(v) ? qr_json_integer(v) : INT64_MIN;
        numbers = layer >= -(int64_t)add && layer < QR_CONFIG_MAX_LAYERS;
        mtp->feature_layers[i] = numbers ? (uint32_t)(layer + add) : 0;
    }
    mtp->n_features = (uint32_t)n;
    return numbers ? QUIRE_OK
                   : qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                             "config.json: %s must list 1 to %d numbers of layers", key,
                             QR_MTP_MAX_FEATURES);
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
               ? read_layer_list(outer, list, key, own ? 0 : 1)
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
    static const char layers[] = "target_layer_ids";
    mtp->kind = QR_MTP_FEATURES;
    QR_TRY(read_vocabulary(h, outer));
    QR_TRY(qr_hf_bool(outer, "norm_before_residual", false, &mtp->norm_residual));
    QR_TRY(qr_hf_bool(outer, "norm_before_fc", false, &mtp->norm_input));
    QR_TRY(qr_hf_bool(outer, "fc_norm", false, &mtp->norm_features));
    QR_TRY(qr_hf_bool(outer, "norm_output", false, &mtp->norm_state));
    if (mtp->norm_input && mtp->norm_features)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: norm_before_fc and fc_norm exclude each other");
    if (h->arch == &qr_arch_eagle3)
        return read_feature_layers(outer);
    if (cfg->n_layers != 1) /* each of which would read the token */
        return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                       "config.json: num_hidden_layers is %u, EAGLE-3 heads of DeepSpec have 1",
                       cfg->n_layers);
    return read_layer_list(outer, qr_hf_json(outer, layers), layers, 1);
}

static bool has_architecture(const struct qr_hf_source *outer, const char *name)
{
    const struct qr_json *names = qr_json_get(outer->root, "architectures");
    for (size_t i = 0; i < qr_json_size(names); i++)
        if (is_text(qr_json_at(names, i), name))
            return true;
    return false;
}

/* Whether a block drafter is one of DSpark, not of DFlash. */
static bool is_dspark(const struct qr_hf_source *outer)
{
    return has_architecture(outer, "DSparkDraftModel") ||
           has_architecture(outer, "Qwen3DSparkModel") ||
           has_architecture(outer, "Gemma4DSparkModel") ||
           is_text(qr_json_get(outer->root, "speculators_model_type"), "dspark");
}

/* Finds the object with the options of a block drafter: in files of some publishers one of its own,
 * else the whole file. */
static quire_status find_options(const struct qr_hf_source *outer, struct qr_hf_source *own)
{
    static const char *const keys[] = { "dflash_config", "dspark_config" };
    *own = *outer;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && own->root == outer->root; i++) {
        const struct qr_json *object = qr_hf_json(outer, keys[i]);
        if (qr_json_is_object(object))
            own->root = object;
    }
    return own->root == outer->root && !is_dspark(outer) ? qr_hf_missing(outer, "dflash_config")
                                                         : QUIRE_OK;
}

/* Where an option is: in the object of its own, or in the whole file. */
static struct qr_hf_source option(const struct qr_hf_source *outer, const struct qr_hf_source *own,
                                  const char *key)
{
    qr_hf_ignore(outer, key); /* some files have it in both */
    return qr_json_get(own->root, key) ? *own : *outer;
}

/* The Markov head, and that of confidence. */
static quire_status read_markov(const struct qr_hf_source *outer, const struct qr_hf_source *own)
{
    struct qr_mtp_config *mtp = &outer->cfg->mtp;
    const struct qr_hf_source rank = option(outer, own, "markov_rank"),
                              kind = option(outer, own, "markov_head_type"),
                              loss = option(outer, own, "confidence_head_alpha"),
                              enable = option(outer, own, "enable_confidence_head"),
                              with = option(outer, own, "confidence_head_with_markov");
    const struct qr_json *type = qr_hf_json(&kind, "markov_head_type");
    double alpha = 0; /* weight of its loss in training; 0: there is no such head */
    bool has;
    QR_TRY(qr_hf_u32_opt(&rank, "markov_rank", &mtp->markov_rank, &has));
    if (mtp->markov_rank && qr_json_is_string(type) && !is_text(type, "vanilla"))
        return qr_fail(outer->err, QUIRE_E_UNSUPPORTED,
                       "config.json: markov_head_type %.40s is not supported",
                       qr_json_string(type));
    QR_TRY(qr_hf_f64_opt(&loss, "confidence_head_alpha", &alpha, &has));
    QR_TRY(qr_hf_bool(&enable, "enable_confidence_head", alpha > 0, &mtp->confidence));
    QR_TRY(qr_hf_bool(&with, "confidence_head_with_markov", false, &mtp->confidence_markov));
    mtp->confidence_markov &= mtp->confidence;
    return QUIRE_OK;
}

/* Whether a block drafter is one of DFlash 2. */
static bool is_dflash2(const struct qr_hf_source *outer)
{
    return has_architecture(outer, "DFlash2DraftModel") ||
           is_text(qr_json_get(outer->root, "speculators_model_type"), "dflash2");
}

/* The convolutions and the selector of DFlash 2. */
static quire_status read_dflash2(const struct qr_hf_source *outer, const struct qr_hf_source *own)
{
    struct qr_mtp_config *mtp = &outer->cfg->mtp;
    const struct {
        const char *key;
        uint32_t *value;
    } keys[] = { { "conv_kernel_size", &mtp->conv_taps },
                 { "conv_group_size", &mtp->conv_group },
                 { "selector_rank", &mtp->markov_rank },
                 { "selector_top_k", &mtp->select_top } };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct qr_hf_source at = option(outer, own, keys[i].key);
        QR_TRY(qr_hf_u32(&at, keys[i].key, keys[i].value));
        if (*keys[i].value == 0)
            return qr_fail(outer->err, QUIRE_E_FORMAT, "config.json: %s is 0", keys[i].key);
    }
    return QUIRE_OK;
}

/* Which rows see and predict what, in files of publishers. */
static quire_status read_rows(const struct qr_hf_source *outer, const struct qr_hf_source *own)
{
    struct qr_mtp_config *mtp = &outer->cfg->mtp;
    const struct qr_json *causal = qr_hf_json(own, "causal"),
                         *is_causal = qr_hf_json(outer, "is_causal"),
                         *projector = qr_hf_json(own, "projector_type");
    if (qr_json_is_string(projector) && !is_text(projector, "dflash") &&
        !is_text(projector, "dspark"))
        return qr_fail(outer->err, QUIRE_E_UNSUPPORTED,
                       "config.json: projector_type %.40s is not supported",
                       qr_json_string(projector));
    causal = qr_json_is_bool(causal) ? causal : is_causal;
    if (qr_json_is_bool(causal))
        mtp->full_causal = mtp->window_causal = qr_json_is_true(causal);
    qr_hf_ignore(own, "attention_mode"); /* follows from the numbers of heads */
    return qr_hf_bool(own, "shift_label", mtp->from_anchor, &mtp->from_anchor);
}

/* A block drafter. Its rows predict the tokens behind their places in files of DSpark that do not
 * say otherwise: that is what DeepSpec and SpecForge train. */
static quire_status read_block(const struct qr_hf_source *h, const struct qr_hf_source *outer)
{
    struct qr_mtp_config *mtp = &h->cfg->mtp;
    const bool publisher = h->root == h->outer;
    const char *key = publisher ? "target_layer_ids" : "aux_hidden_state_layer_ids";
    struct qr_hf_source own = *outer;
    bool has, non_causal;
    mtp->kind = QR_MTP_BLOCK;
    h->cfg->tied_embeddings = false;
    QR_TRY(read_vocabulary(h, outer));
    QR_TRY(qr_hf_bool(outer, "sample_from_anchor", is_dspark(outer), &mtp->from_anchor));
    QR_TRY(qr_hf_bool(outer, "sliding_window_non_causal", is_dflash2(outer), &non_causal));
    mtp->window_causal = !non_causal;
    if (publisher) {
        QR_TRY(find_options(outer, &own));
        QR_TRY(read_rows(outer, &own));
    }
    if (is_dspark(outer))
        QR_TRY(read_markov(outer, &own));
    if (is_dflash2(outer))
        QR_TRY(read_dflash2(outer, &own));
    const struct qr_hf_source size = option(outer, &own, "block_size"),
                              mask = option(outer, &own, "mask_token_id"),
                              layers = option(outer, &own, key);
    QR_TRY(qr_hf_u32_opt(&size, "block_size", &mtp->block_size, &has));
    if (!has)
        return qr_hf_missing(outer, "block_size");
    QR_TRY(qr_hf_u32(&mask, "mask_token_id", &mtp->mask_token));
    return read_layer_list(outer, qr_hf_json(&layers, key), key, publisher);
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
