/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_head.c - metadata of GGUF files of heads of multi-token prediction: all layers are the
 * head's. */
#include "model/config/gguf_head.h"
#include "base/error.h"
#include "format/gguf.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/limits.h"

/* A list of layers whose inputs the head reads, and the tokens that it has outputs for: a tensor
 * lists them, if they are a part of the vocabulary. */
static quire_status read_layers(const struct qr_gguf_source *s, const char *key)
{
    struct qr_mtp_config *mtp = &s->cfg->mtp;
    char name[QR_GGUF_KEY_MAX];
    struct qr_gguf_array list;
    size_t order;
    if (qr_gguf_find_tensor(s->g, "d2t", &order)) {
        const uint32_t n = qr_gguf_source_dim(s, order, 0);
        mtp->n_outputs = n == s->cfg->vocab_size ? 0 : n;
    }
    qr_gguf_source_key(s, key, name);
    QR_TRY(qr_gguf_get_array(s->g, name, &list, s->err));
    bool numbers = list.count >= 1 && list.count <= QR_MTP_MAX_FEATURES;
    for (uint32_t i = 0; numbers && i < list.count; i++) {
        int64_t v;
        numbers = qr_gguf_array_i64(&list, i, &v) && v >= 0 && v <= QR_CONFIG_MAX_LAYERS;
        mtp->feature_layers[i] = numbers ? (uint32_t)v : 0;
    }
    mtp->n_features = (uint32_t)list.count;
    return numbers ? QUIRE_OK
                   : qr_fail(s->err, QUIRE_E_FORMAT,
                             "metadata key %s must list 1 to %d numbers of layers", name,
                             QR_MTP_MAX_FEATURES);
}

/* A head with features. */
static quire_status read_features(const struct qr_gguf_source *s)
{
    struct qr_mtp_config *mtp = &s->cfg->mtp;
    mtp->kind = QR_MTP_FEATURES;
    QR_TRY(qr_gguf_source_u32(s, "target_hidden_size", &mtp->base_size));
    QR_TRY(qr_gguf_source_bool_or(s, "norm_before_residual", false, &mtp->norm_residual));
    return read_layers(s, "extract_layers");
}

/* The Markov head of a block drafter, and that of confidence, or a selector and convolutions:
 * tensors show them. */
static quire_status read_parts(const struct qr_gguf_source *s)
{
    struct qr_mtp_config *mtp = &s->cfg->mtp;
    size_t t;
    if (qr_gguf_find_tensor(s->g, "selector_hidden.weight", &t)) {
        QR_TRY(qr_gguf_source_u32(s, "conv_kernel_size", &mtp->conv_taps));
        QR_TRY(qr_gguf_source_u32(s, "conv_group_size", &mtp->conv_group));
        QR_TRY(qr_gguf_source_u32(s, "selector_rank", &mtp->markov_rank));
        return qr_gguf_source_u32(s, "selector_top_k", &mtp->select_top);
    }
    if (qr_gguf_find_tensor(s->g, "markov_w1.weight", &t))
        mtp->markov_rank = qr_gguf_source_dim(s, t, 0);
    mtp->confidence = qr_gguf_find_tensor(s->g, "conf_proj.weight", &t);
    mtp->confidence_markov = mtp->confidence && qr_gguf_source_dim(s, t, 0) != s->cfg->hidden_size;
    return QUIRE_OK;
}

/* A block drafter. */
static quire_status read_block(const struct qr_gguf_source *s)
{
    static const char mask[] = "tokenizer.ggml.mask_token_id";
    struct qr_mtp_config *mtp = &s->cfg->mtp;
    int64_t id;
    mtp->kind = QR_MTP_BLOCK;
    mtp->base_size = s->cfg->hidden_size;
    mtp->window_causal = true;
    QR_TRY(qr_gguf_source_u32(s, "block_size", &mtp->block_size));
    QR_TRY(read_parts(s));
    /* files of DSpark whose rows predict the tokens in their own places say so */
    QR_TRY(qr_gguf_source_bool_or(s, "sample_from_anchor", mtp->markov_rank && !mtp->select_top,
                                  &mtp->from_anchor));
    QR_TRY(qr_gguf_get_i64(s->g, mask, &id, s->err));
    if (id < 0 || id > INT32_MAX)
        return qr_fail(s->err, QUIRE_E_FORMAT, "metadata key %s must be a token id", mask);
    mtp->mask_token = (uint32_t)id;
    return read_layers(s, "target_layers");
}

/* A head that reads the keys and values of its model. */
static quire_status read_shared_kv(const struct qr_gguf_source *s)
{
    struct qr_model_config *cfg = s->cfg;
    uint32_t n = 0, n_shared = 0;
    QR_TRY(qr_gguf_source_u32(s, "embedding_length_out", &cfg->mtp.base_size));
    QR_TRY(qr_gguf_source_u32_or(s, "nextn_predict_layers", cfg->n_layers, &n));
    QR_TRY(qr_gguf_source_u32_or(s, "attention.shared_kv_layers", cfg->n_layers, &n_shared));
    if (n != cfg->n_layers || (n_shared && n_shared != n))
        return qr_fail(
            s->err, QUIRE_E_UNSUPPORTED,
            "metadata key %s.%s is %u of %u layers: all layers of a head predict further "
            "tokens and read the keys and values of its model",
            s->prefix, n != cfg->n_layers ? "nextn_predict_layers" : "attention.shared_kv_layers",
            n != cfg->n_layers ? n : n_shared, cfg->n_layers);
    cfg->mtp.kind = QR_MTP_SHARED_KV;
    qr_model_config_use_kv_of_base(cfg);
    return QUIRE_OK;
}

quire_status qr_gguf_read_head(const struct qr_gguf_source *s)
{
    return s->arch->head_kind == QR_MTP_FEATURES ? read_features(s)
           : s->arch->head_kind == QR_MTP_BLOCK  ? read_block(s)
                                                 : read_shared_kv(s);
}
