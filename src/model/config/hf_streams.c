/* SPDX-License-Identifier: Apache-2.0 */
/* hf_streams.c - hyper-connections and embeddings of n-grams in config.json. */
#include "model/config/hf_streams.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include "model/config/limits.h"
#include "model/config/ngram_tables.h"

static quire_status read_hyper(const struct qr_hf_source *h)
{
    struct qr_hyper_config *c = &h->cfg->hyper;
    double eps;
    c->kind = h->arch->hyper;
    if (c->kind == QR_HYPER_NONE)
        return QUIRE_OK;
    QR_TRY(qr_hf_u32(h, "hc_count", &c->n_streams));
    if (c->kind == QR_HYPER_GATED)
        return qr_hf_u32(h, "hc_lowrank", &c->rank);
    QR_TRY(qr_hf_u32(h, "hc_sinkhorn_iters", &c->iterations));
    QR_TRY(qr_hf_f64(h, "hc_eps", &eps));
    c->eps = (float)eps;
    return QUIRE_OK;
}

/* A number in [min, max]. */
static quire_status read_bounded(const struct qr_hf_source *h, const char *key, uint32_t min,
                                 uint32_t max, uint32_t *out)
{
    QR_TRY(qr_hf_u32(h, key, out));
    if (*out >= min && *out <= max)
        return QUIRE_OK;
    return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s is %u, %u to %u allowed", key, *out,
                   min, max);
}

/* ple_layer_ids: layers with n-gram embeddings, counted from 1, in any order. */
static quire_status mark_layers(const struct qr_hf_source *h, const struct qr_json *list)
{
    static const char key[] = "ple_layer_ids";
    struct qr_model_config *cfg = h->cfg;
    if (!qr_json_is_array(list))
        return qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be a list of layers", key);
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);) {
        uint32_t layer;
        if (!qr_json_is_u32(i.value, &layer) || layer < 1 || layer > cfg->n_layers)
            return qr_fail(h->err, QUIRE_E_FORMAT,
                           "config.json: %s[%zu] is not one of the %u layers", key, i.index,
                           cfg->n_layers);
        cfg->layers[layer - 1].ngram = 1;
    }
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        if (cfg->layers[i].ngram)
            cfg->layers[i].ngram = ++cfg->ngram.n_layers;
    return QUIRE_OK;
}

/* The token that ends an n-gram: eos_token_id, of a list the first. */
static quire_status read_boundary(const struct qr_hf_source *h)
{
    const struct qr_json *v = qr_hf_json(h, "eos_token_id");
    uint32_t id;
    if (qr_json_is_array(v))
        v = qr_json_at(v, 0);
    if (!qr_json_is_u32(v, &id) || id >= h->cfg->vocab_size)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: eos_token_id must be a token, which ends n-grams");
    h->cfg->ngram.boundary = (int32_t)id;
    return QUIRE_OK;
}

static quire_status read_ngrams(const struct qr_hf_source *h)
{
    struct qr_model_config *cfg = h->cfg;
    struct qr_ngram_config *n = &cfg->ngram;
    const struct qr_json *list = qr_hf_json(h, "ple_layer_ids");
    struct qr_ngram_tables t;
    bool has;
    if (list && !qr_json_is_null(list))
        QR_TRY(mark_layers(h, list));
    if (n->n_layers == 0) {
        static const char *const keys[] = { "ple_embed_dim",
                                            "ple_conv_kernel_size",
                                            "ngram_size",
                                            "heads_per_ngram",
                                            "ngram_vocab_size_base",
                                            "make_ngram_vocab_size_divisible_by",
                                            "split_ngram_parts",
                                            "seed" };
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            qr_hf_ignore(h, keys[i]);
        return QUIRE_OK;
    }
    QR_TRY(read_bounded(h, "ngram_size", 2, QR_CONFIG_MAX_NGRAM, &n->size));
    QR_TRY(read_bounded(h, "heads_per_ngram", 1, QR_CONFIG_MAX_NGRAM_HEADS, &n->heads));
    QR_TRY(read_bounded(h, "ple_conv_kernel_size", 1, QR_CONFIG_MAX_TAPS, &n->taps));
    QR_TRY(read_bounded(h, "split_ngram_parts", 1, QR_CONFIG_MAX_NGRAM_PARTS, &n->n_parts));
    QR_TRY(read_bounded(h, "ngram_vocab_size_base", 2, QR_CONFIG_MAX_NGRAM_ROWS, &t.base));
    QR_TRY(read_bounded(h, "make_ngram_vocab_size_divisible_by", 1, QR_CONFIG_MAX_NGRAM_ROWS,
                        &t.divisor));
    QR_TRY(qr_hf_u32(h, "seed", &t.seed));
    n->dim = cfg->hidden_size;
    QR_TRY(qr_hf_u32_opt(h, "ple_embed_dim", &n->dim, &has));
    const uint32_t heads = (n->size - 1) * n->heads;
    if (n->dim == 0 || n->dim > QR_CONFIG_MAX_HIDDEN || n->dim % heads != 0)
        return qr_fail(h->err, QUIRE_E_FORMAT,
                       "config.json: ple_embed_dim is %u, not a multiple of %u heads of n-grams",
                       n->dim, heads);
    if (heads * n->n_layers > QR_CONFIG_MAX_NGRAM_TABLES)
        return qr_fail(h->err, QUIRE_E_LIMIT,
                       "config.json: ple_layer_ids lists %u layers with %u heads of n-grams each, "
                       "%d are allowed in all",
                       n->n_layers, heads, QR_CONFIG_MAX_NGRAM_TABLES);
    QR_TRY(read_boundary(h));
    return qr_ngram_tables_fill(cfg, &t, h->err);
}

quire_status qr_hf_read_streams(const struct qr_hf_source *h)
{
    QR_TRY(read_hyper(h));
    return h->arch->ngrams ? read_ngrams(h) : QUIRE_OK;
}
